/*
 * Shows that a store remembers what the gate has to see to by itself, as store/store.h says: what
 * the dispatcher has to send, with its request, what the reconciler has to find out about, and
 * when; and that it tells who did what. On disk and in memory.
 */
#include "ruled.h"

#include <stdio.h>

static void assert_request(const struct store_request *request)
{
	assert_str(request->method, "POST");
	assert_str(request->target, "/v1/tickets?dry=no");
	assert_str(request->headers, "Content-Type: text/plain\r\n");
	assert_str(request->body, "hello");
	assert_true(request->has_body);
	assert_str(request->lookup, "/v1/tickets?title=hello");
	assert_str(request->key_place, "header X-Key");
}

/* Queued in one transaction with its request, and due at once; taken, it is running. */
static void outbox_is_taken_with_its_request(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_outbox(ruled_claim(world, "t1")), *take;
	const struct store_errand *errand;

	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_QUEUED);
	assert_int_equal(claim->operation.epoch, 0);
	assert_int_equal(claim->operation.tries, 0);
	assert_int_equal(claim->operation.sent_ms, 0);
	assert_int_equal(claim->operation.due_ms, world->now_ms);
	assert_true(claim->operation.is_dispatched);
	assert_true(claim->makes_due);
	world->now_ms += 7;
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_int_equal(take->due_ms, 0);
	errand = &take->errands[0];
	assert_same_id(&errand->operation.id, &claim->operation.id);
	assert_str(errand->operation.account, "acme");
	assert_str(errand->operation.action, "tickets.create");
	assert_int_equal(errand->operation.state, STATE_RUNNING);
	assert_int_equal(errand->operation.epoch, 1);
	assert_int_equal(errand->operation.tries, 1);
	assert_int_equal(errand->operation.sent_ms, world->now_ms);
	assert_int_equal(errand->operation.due_ms, 0);
	assert_int_equal(errand->fence, 0);
	assert_request(&errand->request);
	assert_int_equal(ruled_found(world, &claim->operation)->operation.state, STATE_RUNNING);
}

/* What is taken begins an attempt of the dispatcher's, and that attempt is ended by its number. */
static void each_taking_is_an_attempt(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	struct store_command *take = ruled_taken(world, 10), *settle, *find;

	assert_int_equal(take->errand_count, 1);
	assert_int_equal(take->errands[0].attempt_number, 2);
	find = ruled_found(world, &first);
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[0].by, ACTOR_CALLER);
	assert_int_equal(find->attempts[0].outcome, OUTCOME_QUEUED);
	assert_int_equal(find->attempts[1].by, ACTOR_DISPATCHER);
	assert_str(find->attempts[1].note, "its turn");
	assert_int_equal(find->attempts[1].outcome, 0);
	settle = world_settle(world, &take->errands[0].operation, EVENT_SUCCEEDED);
	settle->attempt_number = take->errands[0].attempt_number;
	assert_int_equal(world_do(world, settle), 0);
	find = ruled_found(world, &first);
	assert_int_equal(find->attempts[1].outcome, OUTCOME_CREATED);
}

static void nothing_is_taken_twice(void **state)
{
	struct world *world = world_of(state);
	struct store_command *takes[2];

	ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	world_hold(world);
	for (int i = 0; i < 2; i++) {
		takes[i] = world_command(world, STORE_TAKE);
		takes[i]->operation.upstream = STR("default");
		takes[i]->limit = 10;
		world_submit(world, takes[i]);
	}
	world_release(world);
	world_wait(world, 2);
	assert_int_equal(takes[0]->errand_count + takes[1]->errand_count, 1);
}

static void errands_are_their_upstreams(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_outbox(ruled_claim(world, "t1")), *take;

	claim->operation.upstream = STR("billing");
	ruled_done(world, claim);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 0);
	assert_int_equal(take->due_ms, 0);
	take = world_command(world, STORE_TAKE);
	take->operation.upstream = STR("billing");
	take->limit = 10;
	assert_int_equal(world_do(world, take), 0);
	assert_int_equal(take->errand_count, 1);
}

/* The oldest come first, no more than asked for, and the next take is announced. */
static void taking_is_bounded_and_in_order(void **state)
{
	struct world *world = world_of(state);
	struct store_operation queued[5];
	int64_t began_ms = world->now_ms;
	struct store_command *take;
	char token[8];

	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		queued[i] = ruled_done(world, ruled_outbox(ruled_claim(world, token)));
		world->now_ms += 10;
	}
	take = ruled_taken(world, 3);
	assert_int_equal(take->errand_count, 3);
	for (int i = 0; i < 3; i++)
		assert_same_id(&take->errands[i].operation.id, &queued[i].id);
	assert_int_equal(take->due_ms, began_ms + 30);
	take = ruled_taken(world, 3);
	assert_int_equal(take->errand_count, 2);
	assert_same_id(&take->errands[1].operation.id, &queued[4].id);
	assert_int_equal(take->due_ms, 0);
}

/* Could not be sent: it comes again, when the gate has said, and is counted. */
static void not_sent_is_due_again(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	struct store_command *take;

	for (uint32_t tries = 1; tries < 4; tries++) {
		take = ruled_taken(world, 10);
		assert_int_equal(take->errand_count, 1);
		assert_int_equal(take->errands[0].operation.tries, tries);
		assert_int_equal(take->errands[0].operation.epoch, tries);
		assert_request(&take->errands[0].request);
		assert_true(
			ruled_settled_until(world, &take->errands[0].operation, EVENT_NOT_SENT, 500)
				->makes_due);
		assert_int_equal(ruled_found(world, &first)->operation.tries, tries);
		world->now_ms += 499;
		take = ruled_taken(world, 10);
		assert_int_equal(take->errand_count, 0);
		assert_int_equal(take->due_ms, world->now_ms + 1);
		world->now_ms += 1;
	}
}

/* A turn that came while the clock was ahead is still there when it has been set right. */
static void a_turn_outlives_a_wrong_clock(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));

	ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	world->now_ms += DAY_MS;
	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	world->now_ms -= DAY_MS;
	assert_int_equal(ruled_taken(world, 10)->errand_count, 1);
}

/* Put back before anything was sent, a pick-up is no try; in doubt or not, and on top of
 * real ones.
 */
static void what_was_never_sent_is_no_try(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	struct store_operation taken = ruled_taken(world, 10)->errands[0].operation;
	struct store_command *back;

	ruled_settled(world, &taken, EVENT_NOT_SENT);
	for (int i = 0; i < 3; i++) {
		taken = ruled_taken(world, 10)->errands[0].operation;
		assert_int_equal(taken.tries, 2);
		back = world_settle(world, &taken, EVENT_NOT_SENT);
		back->is_untried = true;
		back->next_ms = world->now_ms;
		assert_int_equal(world_do(world, back), 0);
		assert_int_equal(ruled_found(world, &first)->operation.tries, 1);
	}
}

/* Told by a clock that was set back before it was recorded, no pause lasts as long as the step. */
static void a_pause_of_a_wrong_clock_is_none(void **state)
{
	struct world *world = world_of(state);
	struct store_operation sent;

	ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	sent = ruled_taken(world, 10)->errands[0].operation;
	ruled_settled_until(world, &sent, EVENT_NOT_SENT, 365 * (int64_t)DAY_MS);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 1);
}

/* Set back, the clock holds up nobody: what was to be due by the wrong one is due now. */
static void a_clock_that_is_set_back(void **state)
{
	struct world *world = world_of(state);
	struct store_operation sent;
	struct store_command *take;

	ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	sent = ruled_taken(world, 10)->errands[0].operation;
	ruled_settled_until(world, &sent, EVENT_NOT_SENT, 500);
	world->now_ms -= 1000;
	assert_int_equal(ruled_taken(world, 10)->errand_count, 0);
	world->now_ms -= 365 * (int64_t)DAY_MS;
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &sent.id);
	ruled_settled_until(world, &take->errands[0].operation, EVENT_NOT_SENT, 500);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 0);
	assert_int_equal(ruled_taken(world, 10)->due_ms, world->now_ms + 500);
}

/* A caller's own one that was not sent is not the gate's to see to, whatever the time it
 * says. */
static void callers_own_is_never_due(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));

	assert_false(ruled_settled(world, &first, EVENT_NOT_SENT)->makes_due);
	assert_int_equal(ruled_found(world, &first)->operation.due_ms, 0);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 0);
}

/* A retry does not send what the dispatcher sends. */
static void nobody_picks_up_the_dispatchers(void **state)
{
	struct world *world = world_of(state);
	struct store_command *again;

	ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	again = ruled_claim(world, "t1");
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), STORE_EXISTS);
	assert_false(again->did_pick_up);
	assert_int_equal(again->operation.state, STATE_QUEUED);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 1);
}

/* Only so many may wait, by lock or by outbox; who is sent at once is not one of them. */
static void waiting_is_bounded(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim;

	ruled_done(world, ruled_outbox(ruled_claim(world, "o1")));
	ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	claim = ruled_queue(ruled_claim(world, "w1"), 'x');
	claim->waiting_max = 2;
	ruled_done(world, claim);
	claim = ruled_queue(ruled_claim(world, "w2"), 'x');
	claim->waiting_max = 2;
	assert_int_equal(world_do(world, claim), STORE_FULL);
	claim = ruled_outbox(ruled_claim(world, "o2"));
	claim->waiting_max = 2;
	assert_int_equal(world_do(world, claim), STORE_FULL);
	assert_int_equal(world_find_token(world, "acme", "o2")->result, STORE_ABSENT);
	claim = ruled_queue(ruled_claim(world, "now"), 'y');
	claim->waiting_max = 2;
	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_RUNNING);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 1);
	claim = ruled_outbox(ruled_claim(world, "o2"));
	claim->waiting_max = 2;
	ruled_done(world, claim);
}

/* A request is there as long as it may have to be sent, and not a moment longer. */
static void requests_are_kept_until_the_end(void **state)
{
	struct world *world = world_of(state);
	static const enum operation_event ends[] = {EVENT_SUCCEEDED, EVENT_REFUSED,
						    EVENT_LOST_SIGHT, EVENT_NOT_SENT};
	char token[8];

	for (size_t i = 0; i < 4; i++) {
		struct store_operation operation;
		struct store_command *take;

		snprintf(token, sizeof(token), "t%zu", i);
		operation = ruled_done(world, ruled_outbox(ruled_claim(world, token)));
		assert_request(&ruled_found(world, &operation)->request);
		take = ruled_taken(world, 10);
		assert_int_equal(take->errand_count, 1);
		assert_request(&ruled_found(world, &operation)->request);
		ruled_settled_until(world, &take->errands[0].operation, ends[i], DAY_MS);
		if (i < 2) {
			assert_int_equal(ruled_found(world, &operation)->request.method.len, 0);
			continue;
		}
		assert_request(&ruled_found(world, &operation)->request);
		ruled_moved(world, &operation, i == 2 ? EVENT_FOUND_FAILED : EVENT_CANCELLED);
		assert_int_equal(ruled_found(world, &operation)->request.method.len, 0);
	}
}

/* A request of no body is not one of an empty body, and a plain claim keeps none. */
static void requests_are_kept_as_they_came(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_outbox(ruled_claim(world, "t1")), *find;

	claim->request = (struct store_request){.method = STR("DELETE"), .target = STR("/v1/x")};
	ruled_done(world, claim);
	find = ruled_found(world, &claim->operation);
	assert_str(find->request.method, "DELETE");
	assert_false(find->request.has_body);
	assert_int_equal(find->request.lookup.len, 0);
	claim = ruled_claim(world, "t2");
	ruled_done(world, claim);
	assert_int_equal(ruled_found(world, &claim->operation)->request.method.len, 0);
}

/* What is kept is what is sent: who picks it up may bring the same command in other bytes.
 */
static void a_request_is_kept_as_it_is_sent(void **state)
{
	struct world *world = world_of(state);
	struct store_command *first = ruled_claim(world, "t1"), *again;

	first->request = (struct store_request){.method = STR("POST"),
						.target = STR("/v1/x"),
						.body = STR("one"),
						.has_body = true,
						.key_place = STR("header A")};
	ruled_done(world, first);
	ruled_settled(world, &first->operation, EVENT_NOT_SENT);
	again = ruled_claim(world, "t1");
	again->may_pick_up = true;
	again->request = first->request;
	again->request.body = STR("two");
	again->request.key_place = STR("field b");
	assert_int_equal(world_do(world, again), 0);
	assert_true(again->did_pick_up);
	assert_str(ruled_found(world, &first->operation)->request.body, "two");
	assert_str(ruled_found(world, &first->operation)->request.key_place, "field b");
	ruled_settled(world, &again->operation, EVENT_NOT_SENT);
	again = ruled_claim(world, "t1");
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), 0);
	assert_int_equal(ruled_found(world, &first->operation)->request.method.len, 0);
}

/* An unknown one that is due is handed out, stays unknown, and is due when that has been
 * said. */
static void unknown_is_due_as_it_was_said(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_outbox(ruled_claim(world, "t1")), *look, *later;
	struct store_operation unknown;

	claim->operation.state = 0;
	claim->operation.probe = STR("/v1/tickets?reference=7");
	ruled_done(world, claim);
	assert_true(
		ruled_settled_until(world, &claim->operation, EVENT_LOST_SIGHT, 1000)->makes_due);
	look = ruled_looked(world, 10);
	assert_int_equal(look->errand_count, 0);
	assert_int_equal(look->due_ms, world->now_ms + 1000);
	world->now_ms += 1000;
	look = ruled_looked(world, 10);
	assert_int_equal(look->errand_count, 1);
	unknown = look->errands[0].operation;
	assert_same_id(&unknown.id, &claim->operation.id);
	assert_int_equal(unknown.state, STATE_UNKNOWN);
	assert_int_equal(unknown.epoch, 1);
	assert_int_equal(unknown.tries, 0);
	assert_str(unknown.probe, "/v1/tickets?reference=7");
	assert_int_equal(look->errands[0].attempt_number, 0);
	assert_request(&look->errands[0].request);
	later = world_command(world, STORE_POSTPONE);
	later->operation.id = unknown.id;
	later->operation.epoch = unknown.epoch;
	later->next_ms = world->now_ms + 50;
	assert_int_equal(world_do(world, later), 0);
	look = ruled_looked(world, 10);
	assert_int_equal(look->errand_count, 0);
	assert_int_equal(look->due_ms, world->now_ms + 50);
	assert_int_equal(ruled_found(world, &unknown)->operation.tries, 1);
	assert_int_equal(ruled_found(world, &unknown)->operation.attempts, 1);
}

/* Whoever it was handed out to may have died with it: it is due again by itself. */
static void what_is_handed_out_is_leased(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));
	struct store_command *look;

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(ruled_looked(world, 10)->errand_count, 1);
	look = ruled_looked(world, 10);
	assert_int_equal(look->errand_count, 0);
	assert_int_equal(look->due_ms, world->now_ms + STORE_LEASE_MS);
	world->now_ms += STORE_LEASE_MS;
	look = ruled_looked(world, 10);
	assert_int_equal(look->errand_count, 1);
	assert_int_equal(look->errands[0].operation.tries, 0);
}

static struct store_command *postpone(struct world *world, const struct store_operation *operation,
				      int64_t next_ms)
{
	struct store_command *later = world_command(world, STORE_POSTPONE);

	later->operation.id = operation->id;
	later->operation.epoch = operation->epoch;
	later->next_ms = next_ms;
	later->attempt = (struct store_attempt){.at_ms = world->now_ms,
						.outcome = OUTCOME_UNKNOWN,
						.by = ACTOR_RECONCILER,
						.note = STR("the service answered 503"),
						.delivered = -1};
	world_do(world, later);
	return later;
}

/* What was learned stands in the history; given up, it is nobody's but a person's. */
static void given_up_is_never_due(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));
	struct store_command *find;

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(postpone(world, &first, INT64_MAX)->result, 0);
	find = ruled_found(world, &first);
	assert_int_equal(find->operation.due_ms, INT64_MAX);
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[1].by, ACTOR_RECONCILER);
	assert_str(find->attempts[1].note, "the service answered 503");
	assert_int_equal(ruled_looked(world, 10)->errand_count, 0);
	assert_int_equal(ruled_looked(world, 10)->due_ms, 0);
	ruled_moved(world, &first, EVENT_FOUND_DONE);
	assert_int_equal(ruled_found(world, &first)->operation.due_ms, 0);
}

/* What is known is not postponed, nor what somebody has picked up since: that could bury
 * it. */
static void only_its_own_is_postponed(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));
	struct store_operation other = first, done = world_completed(world, "acme", "t2"), waits;

	assert_int_equal(postpone(world, &first, world->now_ms)->result, STORE_LOST);
	assert_int_equal(postpone(world, &done, world->now_ms)->result, STORE_LOST);
	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	other.epoch++;
	assert_int_equal(postpone(world, &other, world->now_ms)->result, STORE_LOST);
	waits = ruled_done(world, ruled_outbox(ruled_claim(world, "o")));
	assert_int_equal(postpone(world, &waits, INT64_MAX)->result, STORE_LOST);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 1);
	ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	waits = ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	assert_int_equal(postpone(world, &waits, world->now_ms)->result, STORE_LOST);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 0);
	other.id.bytes[OPERATION_ID_SIZE - 1] ^= 1;
	assert_int_equal(postpone(world, &other, world->now_ms)->result, STORE_ABSENT);
	assert_int_equal(ruled_found(world, &first)->operation.attempts, 1);
	assert_int_equal(ruled_found(world, &done)->operation.due_ms, 0);
}

static void looks_are_bounded_and_in_order(void **state)
{
	struct world *world = world_of(state);
	struct store_operation unknown[3];
	struct store_command *look;
	int64_t now_ms = world->now_ms;
	char token[8];

	for (int i = 0; i < 3; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		unknown[i] = ruled_done(world, ruled_claim(world, token));
		ruled_settled_until(world, &unknown[i], EVENT_LOST_SIGHT, 30 - 10 * i);
	}
	world->now_ms += 100;
	look = ruled_looked(world, 2);
	assert_int_equal(look->errand_count, 2);
	assert_same_id(&look->errands[0].operation.id, &unknown[2].id);
	assert_same_id(&look->errands[1].operation.id, &unknown[1].id);
	assert_int_equal(look->due_ms, now_ms + 30);
}

/* It was never done: the dispatcher's is sent anew by itself, and its tries begin anew. */
static void found_not_done_is_sent_anew(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	struct store_command *take = ruled_taken(world, 10);

	ruled_settled(world, &take->errands[0].operation, EVENT_LOST_SIGHT);
	assert_int_equal(postpone(world, &take->errands[0].operation, world->now_ms)->result, 0);
	assert_true(ruled_moved(world, &first, EVENT_FOUND_NOT_DONE)->makes_due);
	assert_int_equal(ruled_looked(world, 10)->errand_count, 0);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_int_equal(take->errands[0].operation.tries, 1);
	assert_int_equal(take->errands[0].operation.epoch, 2);
	assert_request(&take->errands[0].request);
}

/* Sent again under its key: the count of tries goes on, and the first sending is
 * remembered. */
static void sent_again_remembers_its_first_sending(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));
	struct store_operation found;
	int64_t sent_ms = world->now_ms;

	assert_int_equal(first.tries, 1);
	assert_int_equal(first.sent_ms, sent_ms);
	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(postpone(world, &first, world->now_ms)->result, 0);
	world->now_ms += 1000;
	ruled_moved(world, &first, EVENT_RESENT);
	found = ruled_found(world, &first)->operation;
	assert_int_equal(found.state, STATE_RUNNING);
	assert_int_equal(found.tries, 2);
	assert_int_equal(found.sent_ms, sent_ms);
	assert_int_equal(found.due_ms, 0);
	assert_int_equal(ruled_looked(world, 10)->errand_count, 0);
}

/* What the service called its effect, and where it is, stays with the operation. */
static void reference_and_resource_are_kept(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1")), found;
	struct store_command *settle = world_settle(world, &first, EVENT_SUCCEEDED);

	settle->operation.reference = STR("T-7");
	settle->operation.resource = STR("/v1/tickets/7");
	assert_int_equal(world_do(world, settle), 0);
	found = ruled_found(world, &first)->operation;
	assert_str(found.reference, "T-7");
	assert_str(found.resource, "/v1/tickets/7");
}

/* A failed one tells who tried again in its place. */
static void retries_are_listed(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1")), retries[2];
	struct store_command *claim, *find;
	char id[OPERATION_ID_TEXT + 1];

	ruled_settled(world, &first, EVENT_REFUSED);
	assert_int_equal(ruled_found(world, &first)->retry_count, 0);
	operation_id_write(&first.id, id);
	for (int i = 0; i < 2; i++) {
		claim = ruled_claim(world, i ? "t3" : "t2");
		claim->operation.retry_of = str_from(id);
		retries[i] = ruled_done(world, claim);
	}
	find = ruled_found(world, &first);
	assert_int_equal(find->retry_count, 2);
	assert_same_id(&find->retries[0], &retries[0].id);
	assert_same_id(&find->retries[1], &retries[1].id);
	assert_int_equal(ruled_found(world, &retries[0])->retry_count, 0);
}

/* A note is copied whole: whose it was and what it says are there when its owner is not. */
static void notes_say_who_and_what(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));
	char text[] = "asked, and was told nothing";
	struct store_attempt note = {.at_ms = world->now_ms,
				     .outcome = OUTCOME_UNKNOWN,
				     .by = ACTOR_RECONCILER,
				     .note = str_from(text),
				     .delivered = -1};
	struct store_command *find;

	store_note(world->store, &first.id, &note);
	memset(text, 'x', sizeof(text) - 1);
	ruled_done(world, ruled_claim(world, "t2")); /* the note goes along */
	find = ruled_found(world, &first);
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[1].by, ACTOR_RECONCILER);
	assert_str(find->attempts[1].note, "asked, and was told nothing");
}

/* With more and more room: a take without enough of it has taken nothing. */
static void a_full_arena_takes_nothing(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	size_t refusals = 0;
	int r = FAIL_MEMORY;

	for (size_t room = 0; r == FAIL_MEMORY && room < 65536; room += 64) {
		struct store_command *take = world_command(world, STORE_TAKE);
		struct arena mem;

		arena_init(&mem, room);
		take->mem = &mem;
		take->operation.upstream = STR("default");
		take->limit = 2;
		r = world_do(world, take);
		if (r == 0)
			assert_int_equal(take->errand_count, 1);
		arena_fini(&mem);
		refusals += r == FAIL_MEMORY;
		if (r == FAIL_MEMORY) {
			struct store_operation found = ruled_found(world, &first)->operation;

			assert_int_equal(found.state, STATE_QUEUED);
			assert_int_equal(found.attempts, 1);
			assert_int_equal(found.tries, 0);
		}
	}
	assert_int_equal(r, 0);
	assert_true(refusals > 10);
}

/* The process dies: what waited waits, with its request, and what was sent is to be found
 * out. */
static void errands_survive_a_restart(void **state)
{
	struct world *world = world_of(state);
	struct store_operation sent = ruled_done(world, ruled_outbox(ruled_claim(world, "t1")));
	struct store_operation waits;
	struct store_command *take, *look;
	char directory[64];

	assert_int_equal(ruled_taken(world, 10)->errand_count, 1);
	waits = ruled_done(world, ruled_outbox(ruled_claim(world, "t2")));
	memcpy(directory, world->directory, sizeof(directory));
	world_close(world);
	assert_int_equal(world_open(world, directory), 0);
	assert_int_equal(world->interrupted, 1);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &waits.id);
	assert_request(&take->errands[0].request);
	world->now_ms += DAY_MS;
	look = ruled_looked(world, 10);
	assert_int_equal(look->errand_count, 1);
	assert_same_id(&look->errands[0].operation.id, &sent.id);
	assert_request(&look->errands[0].request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(outbox_is_taken_with_its_request),
		WORLD_BOTH(each_taking_is_an_attempt),
		WORLD_BOTH(nothing_is_taken_twice),
		WORLD_BOTH(errands_are_their_upstreams),
		WORLD_BOTH(taking_is_bounded_and_in_order),
		WORLD_BOTH(not_sent_is_due_again),
		WORLD_BOTH(what_was_never_sent_is_no_try),
		WORLD_BOTH(a_clock_that_is_set_back),
		WORLD_BOTH(a_pause_of_a_wrong_clock_is_none),
		WORLD_BOTH(a_turn_outlives_a_wrong_clock),
		WORLD_BOTH(callers_own_is_never_due),
		WORLD_BOTH(nobody_picks_up_the_dispatchers),
		WORLD_BOTH(waiting_is_bounded),
		WORLD_BOTH(requests_are_kept_until_the_end),
		WORLD_BOTH(requests_are_kept_as_they_came),
		WORLD_BOTH(a_request_is_kept_as_it_is_sent),
		WORLD_BOTH(unknown_is_due_as_it_was_said),
		WORLD_BOTH(what_is_handed_out_is_leased),
		WORLD_BOTH(given_up_is_never_due),
		WORLD_BOTH(only_its_own_is_postponed),
		WORLD_BOTH(looks_are_bounded_and_in_order),
		WORLD_BOTH(found_not_done_is_sent_anew),
		WORLD_BOTH(sent_again_remembers_its_first_sending),
		WORLD_BOTH(reference_and_resource_are_kept),
		WORLD_BOTH(retries_are_listed),
		WORLD_BOTH(notes_say_who_and_what),
		WORLD_BOTH(a_full_arena_takes_nothing),
		WORLD_ROW(errands_survive_a_restart, world_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
