/*
 * Shows that nothing is sent which people were to agree to and have not, that each question ends
 * once, and that what it stood for is free again when the answer is no. On disk and in memory.
 */
#include "ruled.h"

#include <stdio.h>

static const struct operation_id nobody;

static int answered(struct world *world, enum store_kind kind,
		    const struct store_operation *operation, const char *by)
{
	return world_do(world, ruled_answering(world, kind, operation, by));
}

static struct store_operation asked(struct world *world, const char *token, unsigned needed)
{
	return ruled_done(world, ruled_asking(ruled_claim(world, token), needed));
}

static struct store_command *lapsed(struct world *world)
{
	struct store_command *lapse = world_command(world, STORE_LAPSE);

	lapse->limit = 8;
	assert_int_equal(world_do(world, lapse), 0);
	return lapse;
}

static void assert_nothing_is_taken(struct world *world)
{
	assert_int_equal(ruled_taken(world, 8)->errand_count, 0);
}

/* Asked, agreed to, sent once, done. */
static void is_sent_when_it_is_agreed_to(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_asking(ruled_claim(world, "t1"), 1), *answer, *find,
			     *take;

	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_AWAITING_APPROVAL);
	assert_true(claim->operation.is_asked && claim->operation.is_dispatched);
	assert_int_equal(claim->approval.stand, APPROVAL_WAITS);
	assert_int_equal(claim->approval.expires_ms, world->now_ms + RULED_OPEN_MS);
	assert_false(claim->makes_due);
	assert_nothing_is_taken(world);
	answer = ruled_answering(world, STORE_APPROVE, &claim->operation, "alice");
	assert_int_equal(world_do(world, answer), 0);
	assert_int_equal(answer->operation.state, STATE_QUEUED);
	assert_int_equal(answer->approval.stand, APPROVAL_GIVEN);
	assert_true(answer->makes_due);
	take = ruled_taken(world, 8);
	assert_int_equal(take->errand_count, 1);
	assert_str(take->errands[0].request.body, "{\"amount\":1}");
	assert_int_equal(take->errands[0].approval.given, 1);
	assert_nothing_is_taken(world);
	ruled_settled(world, &take->errands[0].operation, EVENT_SUCCEEDED);
	find = ruled_found(world, &claim->operation);
	assert_int_equal(find->operation.state, STATE_COMPLETED);
	assert_int_equal(find->request.method.len, 0);
	assert_str(find->approval.shown, "{\"summary\":\"Pay\"}");
	assert_non_null(strstr(find->approval.answers.at, "\"by\":\"alice\""));
}

/* A retry is told of the question, and asks none of its own. */
static void retry_meets_the_question(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = asked(world, "t1", 1);
	struct store_command *retry = ruled_asking(ruled_claim(world, "t1"), 1);

	assert_int_equal(world_do(world, retry), STORE_EXISTS);
	assert_same_id(&retry->operation.id, &first.id);
	assert_int_equal(retry->approval.stand, APPROVAL_WAITS);
	assert_int_equal(answered(world, STORE_DENY, &first, "alice"), 0);
	retry = ruled_asking(ruled_claim(world, "t1"), 1);
	assert_int_equal(world_do(world, retry), STORE_EXISTS);
	assert_int_equal(retry->operation.state, STATE_CANCELLED);
	assert_int_equal(retry->approval.stand, APPROVAL_DENIED);
	assert_str(retry->operation.reason, "looks right");
	assert_str(retry->operation.decided_by, "alice");
}

static void two_have_to_agree_and_no_one_twice(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 2);
	struct store_command *answer = ruled_answering(world, STORE_APPROVE, &operation, "alice");

	assert_int_equal(world_do(world, answer), 0);
	assert_int_equal(answer->operation.state, STATE_AWAITING_APPROVAL);
	assert_int_equal(answer->approval.given, 1);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), STORE_AGAIN);
	answer = ruled_answering(world, STORE_APPROVE, &operation, "key_2");
	answer->consent.agent = STR("alice"); /* another key of hers */
	assert_int_equal(world_do(world, answer), STORE_AGAIN);
	assert_nothing_is_taken(world);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "bob"), 0);
	assert_int_equal(ruled_taken(world, 8)->errand_count, 1);
}

static void requester_does_not_agree_to_itself(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *answer =
		ruled_answering(world, STORE_APPROVE, &operation, "key_agent");

	assert_int_equal(world_do(world, answer), STORE_OWN);
	answer = ruled_answering(world, STORE_APPROVE, &operation, "key_other");
	answer->consent.agent = STR("bot");
	assert_int_equal(world_do(world, answer), STORE_OWN);
	assert_int_equal(answer->operation.state, STATE_AWAITING_APPROVAL);
	assert_nothing_is_taken(world);
}

static void what_is_agreed_to_is_this_very_command(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *answer = ruled_answering(world, STORE_APPROVE, &operation, "alice");

	answer->consent.fingerprint.bytes[0] ^= 1;
	assert_int_equal(world_do(world, answer), STORE_OTHER);
	answer = ruled_answering(world, STORE_DENY, &operation, "alice");
	answer->consent.fingerprint.bytes[31] ^= 1;
	assert_int_equal(world_do(world, answer), STORE_OTHER);
	answer = ruled_answering(world, STORE_APPROVE, &operation, "alice");
	answer->consent.policy.bytes[0] ^= 1; /* she looked before it was asked anew */
	assert_int_equal(world_do(world, answer), STORE_OTHER);
	assert_nothing_is_taken(world);
}

/* In one batch: the first answer is the end, the second is told so. */
static void one_of_two_at_the_same_time(void **state)
{
	static const enum store_kind kinds[][2] = {{STORE_APPROVE, STORE_APPROVE},
						   {STORE_APPROVE, STORE_DENY},
						   {STORE_DENY, STORE_APPROVE}};
	struct world *world = world_of(state);
	char token[8];

	for (int i = 0; i < 3; i++) {
		struct store_operation operation;
		struct store_command *answers[2];

		snprintf(token, sizeof(token), "t%d", i);
		operation = asked(world, token, 1);
		world_hold(world);
		for (int j = 0; j < 2; j++) {
			answers[j] = ruled_answering(world, kinds[i][j], &operation,
						     j ? "bob" : "alice");
			world_submit(world, answers[j]);
		}
		world_release(world);
		world_wait(world, 2);
		assert_int_equal(answers[0]->result, 0);
		assert_int_equal(answers[1]->result, STORE_LOST);
		assert_int_equal(answers[1]->approval.given, kinds[i][0] == STORE_APPROVE);
	}
	assert_int_equal(ruled_taken(world, 8)->errand_count, 2);
}

/* Two of two, at the same time: both count, once. */
static void both_of_two_at_the_same_time(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 2);
	struct store_command *answers[3];

	world_hold(world);
	for (int i = 0; i < 3; i++) {
		answers[i] =
			ruled_answering(world, STORE_APPROVE, &operation, i == 1 ? "bob" : "alice");
		world_submit(world, answers[i]);
	}
	world_release(world);
	world_wait(world, 3);
	assert_int_equal(answers[0]->result, 0);
	assert_int_equal(answers[1]->result, 0);
	assert_int_equal(answers[2]->result, STORE_LOST);
	assert_int_equal(answers[1]->approval.given, 2);
	assert_int_equal(ruled_taken(world, 8)->errand_count, 1);
}

static void late_answer_finds_it_over(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *answer;

	world->now_ms += RULED_OPEN_MS - 1;
	assert_int_equal(lapsed(world)->cancelled_count, 0);
	world->now_ms += 1;
	answer = ruled_answering(world, STORE_APPROVE, &operation, "alice");
	assert_int_equal(world_do(world, answer), STORE_LAPSED);
	assert_int_equal(answer->operation.state, STATE_CANCELLED);
	assert_int_equal(answer->approval.stand, APPROVAL_LAPSED);
	assert_int_equal(ruled_found(world, &operation)->operation.state, STATE_CANCELLED);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), STORE_LOST);
	assert_nothing_is_taken(world);
}

static void nobody_answers(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = asked(world, "t1", 1), second;
	struct store_command *lapse;

	world->now_ms += 10;
	second = asked(world, "t2", 2);
	assert_int_equal(answered(world, STORE_APPROVE, &second, "alice"), 0);
	assert_int_equal(lapsed(world)->due_ms, world->now_ms + RULED_OPEN_MS - 10);
	world->now_ms += RULED_OPEN_MS - 10;
	lapse = lapsed(world);
	assert_int_equal(lapse->cancelled_count, 1);
	assert_same_id(&lapse->cancelled[0], &first.id);
	assert_int_equal(lapse->due_ms, world->now_ms + 10);
	world->now_ms += 10;
	assert_int_equal(lapsed(world)->cancelled_count, 1);
	assert_int_equal(lapsed(world)->due_ms, 0);
	assert_int_equal(ruled_found(world, &second)->approval.stand, APPROVAL_LAPSED);
}

/* The one that waits longest, not the one that is open longest. */
static void oldest_is_the_one_that_waits_longest(void **state)
{
	struct world *world = world_of(state);
	int64_t first_ms = world->now_ms;
	struct store_operation first, second;
	struct store_command *again;

	assert_int_equal(lapsed(world)->oldest_ms, 0);
	first = asked(world, "t1", 1);
	world->now_ms += 10;
	second = asked(world, "t2", 1);
	assert_int_equal(lapsed(world)->oldest_ms, first_ms);
	world->now_ms += 10;
	again = world_command(world, STORE_ASK_AGAIN);
	again->operation.id = first.id;
	again->approval =
		(struct store_approval){.needed = 1, .for_ms = RULED_OPEN_MS, .shown = STR("{}")};
	assert_int_equal(world_do(world, again), 0);
	assert_int_equal(lapsed(world)->oldest_ms, first_ms + 10);
	assert_int_equal(answered(world, STORE_DENY, &second, "alice"), 0);
	assert_int_equal(lapsed(world)->oldest_ms, first_ms + 20);
	ruled_moved(world, &first, EVENT_CANCELLED);
	assert_int_equal(lapsed(world)->oldest_ms, 0);
}

static void expect_ends(struct world *world, uint64_t given, uint64_t denied, uint64_t lapsed_count,
			uint64_t withdrawn)
{
	struct store_stats stats;

	store_stats_read(world->store, &stats);
	assert_int_equal(stats.questions[APPROVAL_GIVEN], given);
	assert_int_equal(stats.questions[APPROVAL_DENIED], denied);
	assert_int_equal(stats.questions[APPROVAL_LAPSED], lapsed_count);
	assert_int_equal(stats.questions[APPROVAL_WITHDRAWN], withdrawn);
}

/* What ends nothing is not counted: the first of two, a second no, what comes too late. */
static void each_end_is_counted_once(void **state)
{
	struct world *world = world_of(state);
	struct store_operation two = asked(world, "t1", 2), no = asked(world, "t2", 1),
			       late = asked(world, "t3", 1), later = asked(world, "t4", 1), back;

	assert_int_equal(answered(world, STORE_APPROVE, &two, "alice"), 0);
	expect_ends(world, 0, 0, 0, 0);
	assert_int_equal(answered(world, STORE_APPROVE, &two, "bob"), 0);
	assert_int_equal(answered(world, STORE_DENY, &no, "bob"), 0);
	assert_int_equal(answered(world, STORE_DENY, &no, "bob"), STORE_LOST);
	expect_ends(world, 1, 1, 0, 0);
	world->now_ms += RULED_OPEN_MS;
	assert_int_equal(answered(world, STORE_APPROVE, &late, "alice"), STORE_LAPSED);
	expect_ends(world, 1, 1, 1, 0);
	assert_int_equal(lapsed(world)->cancelled_count, 1);
	assert_int_equal(answered(world, STORE_APPROVE, &later, "alice"), STORE_LOST);
	back = asked(world, "t5", 1);
	ruled_moved(world, &back, EVENT_CANCELLED);
	ruled_moved(world, &two, EVENT_CANCELLED); /* it had been agreed to */
	expect_ends(world, 1, 1, 2, 1);
}

static void set_clock_back(struct world *world, int64_t by_ms)
{
	world->now_ms -= by_ms;
	world->wrong_ms -= by_ms;
}

/* Asked in the future: it would be open for longer than was said, so it is over. */
static void clock_that_is_set_back_opens_nothing_longer(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);

	set_clock_back(world, RULED_OPEN_MS);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), STORE_LAPSED);
	asked(world, "t2", 1);
	assert_int_equal(lapsed(world)->cancelled_count, 0);
	set_clock_back(world, RULED_OPEN_MS);
	assert_int_equal(lapsed(world)->cancelled_count, 1);
	assert_nothing_is_taken(world);
}

static void withdrawn_before_it_is_answered(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *move = ruled_moved(world, &operation, EVENT_CANCELLED);

	assert_int_equal(move->approval.stand, APPROVAL_WITHDRAWN);
	assert_true(move->makes_due); /* there is something to tell */
	assert_int_equal(ruled_found(world, &operation)->approval.stand, APPROVAL_WITHDRAWN);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), STORE_LOST);
	world->now_ms += RULED_OPEN_MS;
	assert_int_equal(lapsed(world)->cancelled_count, 0);
	assert_nothing_is_taken(world);
}

/* No other way leads past people. */
static void no_other_move_lets_it_through(void **state)
{
	static const enum operation_event events[] = {EVENT_APPROVED, EVENT_DENIED, EVENT_PICKED_UP,
						      EVENT_ASKED_AGAIN};
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *pick_up;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct store_command *move = world_command(world, STORE_MOVE);

		move->operation.id = operation.id;
		move->any_epoch = true;
		move->event = events[i];
		assert_int_equal(world_do(world, move), STORE_LOST);
	}
	pick_up = ruled_claim(world, "t1");
	pick_up->may_pick_up = true;
	assert_int_equal(world_do(world, pick_up), STORE_EXISTS);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), 0);
	pick_up = ruled_claim(world, "t1");
	pick_up->may_pick_up = true;
	assert_int_equal(world_do(world, pick_up), STORE_EXISTS);
	assert_int_equal(ruled_taken(world, 8)->errand_count, 1);
}

/* While it waits it has its identity and its amount; a no gives both back. */
static void no_gives_back_what_it_had(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim;
	struct store_operation first;

	ruled_open_budget(world, "p1", 'b', 100);
	claim = ruled_budget(ruled_unique(ruled_asking(ruled_claim(world, "t1"), 1), 'u'), 'b', 70);
	first = ruled_done(world, claim);
	claim = ruled_unique(ruled_asking(ruled_claim(world, "t2"), 1), 'u');
	assert_int_equal(world_do(world, claim), STORE_REUSED);
	assert_int_equal(claim->approval.stand, APPROVAL_WAITS);
	claim = ruled_budget(ruled_asking(ruled_claim(world, "t3"), 1), 'b', 70);
	assert_int_equal(world_do(world, claim), STORE_OVER_BUDGET);
	assert_int_equal(answered(world, STORE_DENY, &first, "alice"), 0);
	assert_int_equal(ruled_found(world, &first)->request.method.len, 0);
	claim = ruled_budget(ruled_unique(ruled_asking(ruled_claim(world, "t4"), 1), 'u'), 'b',
			     100);
	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_AWAITING_APPROVAL);
}

/* It holds no lock while it waits; agreed to, it waits for its turn. */
static void lock_is_for_who_is_agreed_to(void **state)
{
	struct world *world = world_of(state);
	struct store_operation waits, holder;
	struct store_command *take, *other;

	waits = ruled_done(world, ruled_lock(ruled_asking(ruled_claim(world, "t1"), 1), 'x'));
	holder = ruled_done(world, ruled_lock(ruled_claim(world, "t2"), 'x'));
	assert_int_equal(answered(world, STORE_APPROVE, &waits, "alice"), 0);
	assert_nothing_is_taken(world);
	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	other = ruled_lock(ruled_claim(world, "t3"), 'x');
	assert_int_equal(world_do(world, other), STORE_LOCKED);
	take = ruled_taken(world, 8);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &waits.id);
	assert_int_equal(take->errands[0].fence, 2);
}

static void version_that_moved_meanwhile(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_lock(ruled_asking(ruled_claim(world, "t1"), 1), 'x'),
			     *take;
	struct store_operation waits = ruled_done(world, ruled_version(claim, 0)), holder;

	holder = ruled_done(world, ruled_lock(ruled_claim(world, "t2"), 'x'));
	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	assert_int_equal(answered(world, STORE_APPROVE, &waits, "alice"), 0);
	take = ruled_taken(world, 8);
	assert_int_equal(take->errand_count, 0);
	assert_int_equal(take->cancelled_count, 1);
	assert_int_equal(ruled_found(world, &waits)->operation.state, STATE_CANCELLED);
	assert_int_equal(ruled_found(world, &waits)->approval.stand, APPROVAL_GIVEN);
}

static struct store_command *first_use(struct store_command *claim)
{
	claim->approval.unless_known = true;
	return claim;
}

static void first_use_asks_until_somebody_agreed(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first, second;
	struct store_command *claim;

	first = ruled_done(world, first_use(ruled_asking(ruled_claim(world, "t1"), 1)));
	second = ruled_done(world, first_use(ruled_asking(ruled_claim(world, "t2"), 1)));
	assert_int_equal(first.state, STATE_AWAITING_APPROVAL);
	assert_int_equal(answered(world, STORE_DENY, &first, "alice"), 0);
	claim = first_use(ruled_asking(ruled_claim(world, "t3"), 1));
	assert_int_equal(ruled_done(world, claim).state, STATE_AWAITING_APPROVAL);
	assert_int_equal(answered(world, STORE_APPROVE, &second, "alice"), 0);
	claim = first_use(ruled_asking(ruled_claim(world, "t4"), 1));
	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_RUNNING);
	assert_false(claim->operation.is_asked || claim->operation.is_dispatched);
	assert_int_equal(claim->approval.needed, 0);
	claim = first_use(ruled_asking(ruled_claim(world, "t5"), 1));
	claim->approval.agent_hash = ruled_hash('k', 'o'); /* another agent */
	assert_int_equal(ruled_done(world, claim).state, STATE_AWAITING_APPROVAL);
	claim = ruled_asking(ruled_claim(world, "t6"), 1); /* asked for another reason */
	assert_int_equal(ruled_done(world, claim).state, STATE_AWAITING_APPROVAL);
}

static struct store_command *asking_again(struct world *world,
					  const struct store_operation *operation, unsigned needed)
{
	struct store_command *again = world_command(world, STORE_ASK_AGAIN);

	again->operation.id = operation->id;
	again->operation.epoch = operation->epoch;
	again->approval = (struct store_approval){.needed = needed,
						  .for_ms = 2 * RULED_OPEN_MS,
						  .policy = ruled_hash('p', 'q'),
						  .shown = STR("{\"summary\":\"Pay more\"}")};
	return again;
}

/* By somebody who has seen what asking_again() asks. */
static int agreed_anew(struct world *world, const struct store_operation *operation, const char *by)
{
	struct store_command *answer = ruled_answering(world, STORE_APPROVE, operation, by);

	answer->consent.policy = ruled_hash('p', 'q');
	return world_do(world, answer);
}

/* Another declaration: the answers so far were to another question. */
static void asked_again_all_answers_are_void(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 2);
	struct store_command *again;

	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), 0);
	world->now_ms += 5;
	again = asking_again(world, &operation, 2);
	assert_int_equal(world_do(world, again), 0);
	assert_int_equal(again->approval.given, 0);
	assert_str(again->approval.answers, "[]");
	assert_str(again->approval.asked_by, "key_agent");
	assert_int_equal(again->approval.expires_ms, world->now_ms + 2 * RULED_OPEN_MS);
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), STORE_OTHER);
	assert_int_equal(agreed_anew(world, &operation, "alice"), 0);
	assert_int_equal(agreed_anew(world, &operation, "bob"), 0);
	assert_int_equal(world_do(world, asking_again(world, &operation, 1)), 0); /* queued */
	assert_nothing_is_taken(world);
	assert_int_equal(agreed_anew(world, &operation, "bob"), 0);
	assert_int_equal(ruled_taken(world, 8)->errand_count, 1);
}

/* The dispatcher has it in hand, has sent nothing, and sees that the question is another now. */
static void asked_again_when_it_was_taken(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_lock(ruled_asking(ruled_claim(world, "t1"), 1), 'x');
	struct store_operation operation = ruled_done(world, claim);
	struct store_command *take, *again;

	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), 0);
	take = ruled_taken(world, 8);
	assert_int_equal(take->errand_count, 1);
	again = asking_again(world, &operation, 1); /* not of its epoch */
	assert_int_equal(world_do(world, again), STORE_LOST);
	again = asking_again(world, &take->errands[0].operation, 1);
	again->attempt_number = take->errands[0].attempt_number;
	assert_int_equal(world_do(world, again), 0);
	assert_int_equal(again->operation.state, STATE_AWAITING_APPROVAL);
	ruled_done(world, ruled_lock(ruled_claim(world, "t2"), 'x')); /* its lock is free */
}

/* An agent that asks with large commands hides nobody else's question. */
static void a_page_ends_where_it_is_full(void **state)
{
	static char large[STORE_SHOWN_MAX / 2 + 64];
	struct world *world = world_of(state);
	struct store_command *claim, *page = world_command(world, STORE_APPROVALS);
	char token[8];

	memset(large, ' ', sizeof(large));
	large[0] = '{';
	large[sizeof(large) - 1] = '}';
	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		claim = ruled_asking(ruled_claim(world, token), 1);
		claim->approval.shown = str_of(large, sizeof(large));
		ruled_done(world, claim);
	}
	for (size_t seen = 0; seen < 4; seen += 2) {
		page->limit = 8;
		assert_int_equal(world_do(world, page), 0);
		assert_int_equal(page->found_count, 2);
		assert_true(page->has_more);
		page->before = page->next_before;
	}
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 1);
	assert_false(page->has_more);
}

static void pages_have_those_that_wait_first(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operations[4];
	struct store_command *page;
	char token[8];

	for (int i = 0; i < 4; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		operations[i] = asked(world, token, 1);
	}
	ruled_done(world, ruled_claim(world, "plain"));
	assert_int_equal(answered(world, STORE_DENY, &operations[3], "alice"), 0);
	assert_int_equal(answered(world, STORE_APPROVE, &operations[1], "alice"), 0);
	page = world_command(world, STORE_APPROVALS);
	page->limit = 3;
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 3);
	assert_same_id(&page->found[0].id, &operations[2].id);
	assert_same_id(&page->found[1].id, &operations[0].id);
	assert_same_id(&page->found[2].id, &operations[3].id);
	assert_int_equal(page->approvals[2].stand, APPROVAL_DENIED);
	assert_str(page->approvals[0].shown, "{\"summary\":\"Pay\"}");
	assert_true(page->has_more && page->is_past);
	page->before = page->next_before;
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 1);
	assert_same_id(&page->found[0].id, &operations[1].id);
	assert_false(page->has_more);
	page = world_command(world, STORE_APPROVALS);
	page->limit = 8;
	page->filter_state = STATE_AWAITING_APPROVAL;
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 2);
	page->filter_account = STR("other");
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 0);
}

static void equal_questions_know_of_each_other(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = asked(world, "t1", 1), second = asked(world, "t2", 1), other;
	struct store_command *claim = ruled_asking(ruled_claim(world, "t3"), 1), *find, *take;

	claim->approval.alike = ruled_hash('s', 'o');
	other = ruled_done(world, claim);
	find = ruled_found(world, &first);
	assert_int_equal(find->alike_count, 1);
	assert_same_id(&find->alike[0], &second.id);
	assert_same_id(&find->previous, &nobody);
	assert_int_equal(answered(world, STORE_APPROVE, &second, "alice"), 0);
	take = ruled_taken(world, 8);
	ruled_settled(world, &take->errands[0].operation, EVENT_SUCCEEDED);
	find = ruled_found(world, &other);
	assert_int_equal(find->alike_count, 0);
	assert_same_id(&find->previous, &second.id);
	assert_str(find->previous_shown, "{\"summary\":\"Pay\"}");
}

/* An agent cannot pile up questions without end. */
static void so_many_may_wait_for_people(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim;
	struct store_operation first = asked(world, "t1", 1);

	asked(world, "t2", 1);
	claim = ruled_asking(ruled_claim(world, "t3"), 1);
	claim->waiting_max = 2;
	assert_int_equal(world_do(world, claim), STORE_FULL);
	assert_int_equal(answered(world, STORE_DENY, &first, "alice"), 0);
	claim = ruled_asking(ruled_claim(world, "t3"), 1);
	claim->waiting_max = 2;
	assert_int_equal(world_do(world, claim), 0);
}

/* Not sent, certainly: it is tried again, and was agreed to. */
static void is_asked_once_for_all_its_sendings(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *take;

	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), 0);
	take = ruled_taken(world, 8);
	ruled_settled(world, &take->errands[0].operation, EVENT_NOT_SENT);
	assert_int_equal(ruled_taken(world, 8)->errand_count, 1);
}

static void is_forgotten_with_its_operation(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *purge = world_command(world, STORE_PURGE), *page;

	asked(world, "t2", 1);
	assert_int_equal(answered(world, STORE_DENY, &operation, "alice"), 0);
	world->now_ms += 400 * (int64_t)DAY_MS;
	assert_int_equal(world_do(world, purge), 0);
	assert_int_equal(purge->purged, 1);
	page = world_command(world, STORE_APPROVALS);
	page->limit = 8;
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 1);
}

/* Nobody knows whether the answer was recorded: a second look says. */
static void uncertain_answer_is_looked_at_again(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	bool was_kept;

	if (!world->script.transactions)
		return; /* the script is the twin's */
	for (int i = 0; i < 2; i++) {
		enum store_mem_fault_kind kind =
			i ? STORE_MEM_UNCERTAIN_APPLIED : STORE_MEM_UNCERTAIN_LOST;

		world->script.faults[0].kind = kind;
		world->script.faults[0].transaction = world->script.transactions + 1;
		world->script.fault_count = 1;
		assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"),
				 FAIL_UNCERTAIN);
		was_kept = ruled_found(world, &operation)->operation.state == STATE_QUEUED;
		assert_int_equal(was_kept, i);
	}
	assert_int_equal(answered(world, STORE_APPROVE, &operation, "alice"), STORE_LOST);
	assert_int_equal(ruled_taken(world, 8)->errand_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(is_sent_when_it_is_agreed_to),
		WORLD_BOTH(retry_meets_the_question),
		WORLD_BOTH(two_have_to_agree_and_no_one_twice),
		WORLD_BOTH(requester_does_not_agree_to_itself),
		WORLD_BOTH(what_is_agreed_to_is_this_very_command),
		WORLD_BOTH(one_of_two_at_the_same_time),
		WORLD_BOTH(both_of_two_at_the_same_time),
		WORLD_BOTH(late_answer_finds_it_over),
		WORLD_BOTH(nobody_answers),
		WORLD_BOTH(clock_that_is_set_back_opens_nothing_longer),
		WORLD_BOTH(withdrawn_before_it_is_answered),
		WORLD_BOTH(oldest_is_the_one_that_waits_longest),
		WORLD_BOTH(each_end_is_counted_once),
		WORLD_BOTH(no_other_move_lets_it_through),
		WORLD_BOTH(no_gives_back_what_it_had),
		WORLD_BOTH(lock_is_for_who_is_agreed_to),
		WORLD_BOTH(version_that_moved_meanwhile),
		WORLD_BOTH(first_use_asks_until_somebody_agreed),
		WORLD_BOTH(asked_again_all_answers_are_void),
		WORLD_BOTH(asked_again_when_it_was_taken),
		WORLD_BOTH(a_page_ends_where_it_is_full),
		WORLD_BOTH(pages_have_those_that_wait_first),
		WORLD_BOTH(equal_questions_know_of_each_other),
		WORLD_BOTH(so_many_may_wait_for_people),
		WORLD_BOTH(is_asked_once_for_all_its_sendings),
		WORLD_BOTH(is_forgotten_with_its_operation),
		WORLD_BOTH(uncertain_answer_is_looked_at_again),
	};

	return cmocka_run_group_tests_name("store approvals", tests, NULL, NULL);
}
