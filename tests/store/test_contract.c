/*
 * Shows that a store keeps the contract of store/store.h, whatever it is made of: every
 * test here runs against the ledger on disk and against its twin in memory.
 */
#include "world.h"

#include <stdio.h>

static struct store_command *purge(struct world *world, int64_t tombstone_ms)
{
	struct store_command *command = world_command(world, STORE_PURGE);

	command->tombstone_ms = tombstone_ms;
	assert_int_equal(world_do(world, command), 0);
	return command;
}

static void claim_is_running(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a');
	struct store_command *find;

	assert_int_equal(world_do(world, claim), 0);
	assert_int_equal(claim->operation.state, STATE_RUNNING);
	assert_int_equal(claim->operation.epoch, 1);
	assert_int_equal(claim->operation.created_ms, world->now_ms);
	assert_int_equal(claim->operation.expires_ms, world->now_ms + DAY_MS);
	assert_false(claim->did_pick_up);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->result, 0);
	assert_memory_equal(&find->operation.id, &claim->operation.id, OPERATION_ID_SIZE);
	assert_str(find->operation.method, "POST");
	assert_str(find->operation.path, "/v1/tickets");
	assert_str(find->operation.action, "tickets.create");
	assert_str(find->operation.upstream, "default");
	assert_int_equal(find->operation.state, STATE_RUNNING);
}

static void claim_may_begin_queued(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a');

	claim->operation.state = STATE_AWAITING_APPROVAL;
	assert_int_equal(world_do(world, claim), 0);
	assert_int_equal(claim->operation.state, STATE_AWAITING_APPROVAL);
	assert_int_equal(claim->operation.epoch, 0);
}

static void second_claim_exists(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_command *again = world_claim(world, "acme", "t1", 'a');

	assert_int_equal(world_do(world, again), STORE_EXISTS);
	assert_memory_equal(&again->operation.id, &first.id, OPERATION_ID_SIZE);
	assert_int_equal(again->operation.state, STATE_COMPLETED);
	assert_int_equal(again->operation.attempts, 1);
	assert_int_equal(again->operation.answer.status, 201);
	assert_true(again->operation.answer.is_kept);
	assert_str(again->operation.answer.headers, "Location: /v1/tickets/7\r\n");
	assert_str(again->operation.answer.body, "{\"id\":7}");
	assert_int_equal(again->operation.answer.digest.bytes[31], 9);
}

static void conflict_tells_nothing_of_the_answer(void **state)
{
	struct world *world = world_of(state);
	struct store_command *again;

	world_completed(world, "acme", "t1");
	again = world_claim(world, "acme", "t1", 'b');
	assert_int_equal(world_do(world, again), STORE_EXISTS);
	assert_int_equal(again->operation.fingerprint.bytes[0], 'a');
	assert_int_equal(again->operation.answer.status, 0);
	assert_int_equal(again->operation.answer.body.len, 0);
}

static void accounts_do_not_share_tokens(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_command *other = world_claim(world, "globex", "t1", 'a');

	assert_int_equal(world_do(world, other), 0);
	assert_memory_not_equal(&other->operation.id, &first.id, OPERATION_ID_SIZE);
	assert_int_equal(world_find_id(world, &first.id, "globex")->result, STORE_ABSENT);
	assert_int_equal(world_find_id(world, &first.id, "acme")->result, 0);
	assert_int_equal(world_find_id(world, &first.id, "")->result, 0);
	assert_int_equal(world_find_token(world, "initech", "t1")->result, STORE_ABSENT);
}

static void account_and_token_do_not_run_together(void **state)
{
	struct world *world = world_of(state);

	assert_int_equal(world_do(world, world_claim(world, "ab", "c", 'a')), 0);
	assert_int_equal(world_do(world, world_claim(world, "a", "bc", 'a')), 0);
}

static void one_batch_has_one_winner(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claims[5];

	world_hold(world);
	for (int i = 0; i < 5; i++)
		world_submit(world, claims[i] = world_claim(world, "acme", "same", 'a'));
	world_release(world);
	world_wait(world, 5);
	assert_int_equal(claims[0]->result, 0);
	for (int i = 1; i < 5; i++) {
		assert_int_equal(claims[i]->result, STORE_EXISTS);
		assert_memory_equal(&claims[i]->operation.id, &claims[0]->operation.id,
				    OPERATION_ID_SIZE);
		assert_int_equal(claims[i]->operation.state, STATE_RUNNING);
	}
}

static void id_must_match_whole(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");

	first.id.bytes[OPERATION_ID_SIZE - 1] ^= 1;
	assert_int_equal(world_find_id(world, &first.id, "acme")->result, STORE_ABSENT);
	first.id.bytes[OPERATION_ID_SIZE - 1] ^= 1;
	first.id.bytes[0] ^= 1;
	assert_int_equal(world_find_id(world, &first.id, "acme")->result, STORE_ABSENT);
}

static void queued_one_is_picked_up_once(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *tries[3], *settle;

	assert_int_equal(world_do(world, claim), 0);
	settle = world_settle(world, &claim->operation, EVENT_NOT_SENT);
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(settle->operation.state, STATE_QUEUED);

	tries[0] = world_claim(world, "acme", "t1", 'a'); /* does not ask */
	assert_int_equal(world_do(world, tries[0]), STORE_EXISTS);
	assert_int_equal(tries[0]->operation.state, STATE_QUEUED);
	tries[0] = world_claim(world, "acme", "t1", 'b'); /* is another command */
	tries[0]->may_pick_up = true;
	assert_int_equal(world_do(world, tries[0]), STORE_EXISTS);

	world_hold(world);
	for (int i = 0; i < 3; i++) {
		tries[i] = world_claim(world, "acme", "t1", 'a');
		tries[i]->may_pick_up = true;
		world_submit(world, tries[i]);
	}
	world_release(world);
	world_wait(world, 3);
	assert_int_equal(tries[0]->result, 0);
	assert_true(tries[0]->did_pick_up);
	assert_int_equal(tries[0]->operation.epoch, 2);
	assert_int_equal(tries[0]->operation.state, STATE_RUNNING);
	assert_memory_equal(&tries[0]->operation.id, &claim->operation.id, OPERATION_ID_SIZE);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(tries[i]->result, STORE_EXISTS);
		assert_false(tries[i]->did_pick_up);
		assert_int_equal(tries[i]->operation.epoch, 2);
	}
}

static void old_epoch_is_lost(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *again, *late;

	world_do(world, claim);
	world_do(world, world_settle(world, &claim->operation, EVENT_NOT_SENT));
	again = world_claim(world, "acme", "t1", 'a');
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), 0);
	late = world_settle(world, &claim->operation, EVENT_SUCCEEDED);
	assert_int_equal(world_do(world, late), STORE_LOST);
	assert_int_equal(late->operation.epoch, 2);
	assert_int_equal(late->operation.state, STATE_RUNNING);
	assert_int_equal(world_do(world, world_settle(world, &again->operation, EVENT_SUCCEEDED)),
			 0);
}

static void settled_stays_settled(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_command *late = world_settle(world, &first, EVENT_REFUSED);

	assert_int_equal(world_do(world, late), STORE_LOST);
	assert_int_equal(late->operation.state, STATE_COMPLETED);
	assert_int_equal(late->operation.answer.status, 201);
	assert_int_equal(world_find_token(world, "acme", "t1")->operation.attempts, 1);
	memset(first.id.bytes + 8, 0, 8);
	assert_int_equal(world_do(world, world_settle(world, &first, EVENT_SUCCEEDED)),
			 STORE_ABSENT);
}

static void event_without_a_move_is_lost(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *settle;

	world_do(world, claim);
	settle = world_settle(world, &claim->operation, EVENT_APPROVED);
	assert_int_equal(world_do(world, settle), STORE_LOST);
	assert_int_equal(world_find_token(world, "acme", "t1")->operation.state, STATE_RUNNING);
}

static void settle_starts_the_retention(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *settle, *find;

	world_do(world, claim);
	world->now_ms += 5000;
	settle = world_settle(world, &claim->operation, EVENT_REFUSED);
	settle->operation.reason = STR("the upstream said no");
	settle->operation.reference = STR("ref-9");
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(settle->operation.expires_ms, world->now_ms + DAY_MS);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->operation.state, STATE_FAILED);
	assert_int_equal(find->operation.updated_ms, world->now_ms);
	assert_int_equal(find->operation.created_ms, world->now_ms - 5000);
	assert_int_equal(find->operation.expires_ms, world->now_ms + DAY_MS);
	assert_str(find->operation.reason, "the upstream said no");
	assert_str(find->operation.reference, "ref-9");
	assert_int_equal(find->attempt_count, 1);
	assert_str(find->attempts[0].agent, "agent-1");
	assert_int_equal(find->attempts[0].outcome, OUTCOME_CREATED);
	assert_int_equal(find->attempts[0].delivered, -1);
}

static void answer_too_large_keeps_its_facts(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *settle, *again;

	world_do(world, claim);
	settle = world_settle(world, &claim->operation, EVENT_SUCCEEDED);
	settle->answer.is_kept = false;
	settle->answer.body = STR("");
	settle->answer.length = 5000000000;
	assert_int_equal(world_do(world, settle), 0);
	again = world_claim(world, "acme", "t1", 'a');
	assert_int_equal(world_do(world, again), STORE_EXISTS);
	assert_false(again->operation.answer.is_kept);
	assert_int_equal(again->operation.answer.status, 201);
	assert_true(again->operation.answer.length == 5000000000);
	assert_str(again->operation.answer.headers, "Location: /v1/tickets/7\r\n");
}

static void moves_by_a_person(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *move;

	world_do(world, claim);
	world_do(world, world_settle(world, &claim->operation, EVENT_LOST_SIGHT));
	move = world_command(world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->operation.account = STR("acme");
	move->event = EVENT_CANCELLED;
	move->any_epoch = true;
	assert_int_equal(world_do(world, move), STORE_LOST);
	assert_int_equal(move->operation.state, STATE_UNKNOWN);

	move = world_command(world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->operation.account = STR("globex");
	move->event = EVENT_FOUND_DONE;
	move->any_epoch = true;
	assert_int_equal(world_do(world, move), STORE_ABSENT);

	move = world_command(world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->event = EVENT_FOUND_DONE;
	move->operation.epoch = 7;
	assert_int_equal(world_do(world, move), STORE_LOST);

	move = world_command(world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->operation.epoch = 1;
	move->operation.reason = STR("seen in the ticket system");
	move->operation.reference = STR("T-7");
	move->operation.decided_by = STR("olga");
	move->event = EVENT_FOUND_DONE;
	assert_int_equal(world_do(world, move), 0);
	assert_int_equal(move->operation.state, STATE_COMPLETED);
	assert_str(move->operation.token, "t1");
	move = world_find_token(world, "acme", "t1");
	assert_str(move->operation.reason, "seen in the ticket system");
	assert_str(move->operation.reference, "T-7");
	assert_str(move->operation.decided_by, "olga");
	assert_int_equal(move->operation.expires_ms, world->now_ms + DAY_MS);
}

/* Settled unknown, and by a person put back into the queue for reasons of its own; then sent. */
static struct store_command *sent_after_all(struct world *world, enum operation_event event,
					    struct str reason)
{
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *move, *settle;

	world_do(world, claim);
	world_do(world, world_settle(world, &claim->operation, EVENT_LOST_SIGHT));
	move = world_command(world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->operation.reference = STR("T-7");
	move->operation.resource = STR("/v1/tickets/7");
	move->operation.reason = STR("not there");
	move->operation.decided_by = STR("olga");
	move->event = EVENT_FOUND_NOT_DONE;
	move->any_epoch = true;
	assert_int_equal(world_do(world, move), 0);
	claim = world_claim(world, "acme", "t1", 'a');
	claim->may_pick_up = true;
	assert_int_equal(world_do(world, claim), 0);
	assert_true(claim->did_pick_up);
	settle = world_settle(world, &claim->operation, event);
	settle->operation.reason = reason;
	assert_int_equal(world_do(world, settle), 0);
	return world_find_token(world, "acme", "t1");
}

/* Why it once was put back, and by whom, is no longer true of one that was sent and answered. */
static void an_answer_says_anew_why_and_by_whom(void **state)
{
	struct store_command *find = sent_after_all(world_of(state), EVENT_SUCCEEDED, STR(""));

	assert_int_equal(find->operation.state, STATE_COMPLETED);
	assert_str(find->operation.reason, "");
	assert_str(find->operation.decided_by, "");
	assert_str(find->operation.reference, "T-7");
	assert_str(find->operation.resource, "/v1/tickets/7");
}

static void lost_sight_says_anew_why_and_by_whom(void **state)
{
	struct store_command *find =
		sent_after_all(world_of(state), EVENT_LOST_SIGHT, STR("no answer in time"));

	assert_int_equal(find->operation.state, STATE_UNKNOWN);
	assert_str(find->operation.reason, "no answer in time");
	assert_str(find->operation.decided_by, "");
}

/* That a sending did not arrive decides nothing: why it is queued is what it was. */
static void what_was_not_sent_keeps_its_reason(void **state)
{
	struct store_command *find = sent_after_all(world_of(state), EVENT_NOT_SENT, STR(""));

	assert_int_equal(find->operation.state, STATE_QUEUED);
	assert_str(find->operation.reason, "not there");
	assert_str(find->operation.decided_by, "olga");
}

static void sent_again_is_a_new_epoch(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *move;

	world_do(world, claim);
	world_do(world, world_settle(world, &claim->operation, EVENT_LOST_SIGHT));
	move = world_command(world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->operation.epoch = 1;
	move->event = EVENT_RESENT;
	assert_int_equal(world_do(world, move), 0);
	assert_int_equal(move->operation.state, STATE_RUNNING);
	assert_int_equal(move->operation.epoch, 2);
}

static void counts_by_state(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "open", 'a'), *count;
	struct store_stats stats;

	world_completed(world, "acme", "t1");
	world_completed(world, "acme", "t2");
	world_do(world, claim);
	count = world_command(world, STORE_COUNT_STATES);
	assert_int_equal(world_do(world, count), 0);
	assert_int_equal(count->counts[STATE_RUNNING], 1);
	assert_int_equal(count->counts[STATE_COMPLETED], 2);
	assert_int_equal(count->counts[STATE_UNKNOWN], 0);
	world_do(world, world_settle(world, &claim->operation, EVENT_LOST_SIGHT));
	store_stats_read(world->store, &stats);
	assert_int_equal(stats.open[STATE_RUNNING], 0);
	assert_int_equal(stats.open[STATE_UNKNOWN], 1);
	assert_int_equal(stats.batches, 6);
	assert_int_equal(stats.commands, 6);
	assert_int_equal(stats.failures, 0);
	assert_int_equal(stats.queue_depth, 0);
	assert_true(store_is_healthy(world->store));
}

static void expired_is_refused_before_and_after_the_purge(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_command *command;

	world->now_ms += DAY_MS - 1;
	assert_int_equal(world_do(world, world_claim(world, "acme", "t1", 'a')), STORE_EXISTS);
	assert_int_equal(purge(world, DAY_MS)->purged, 0);
	world->now_ms += 1;
	assert_int_equal(world_do(world, world_claim(world, "acme", "t1", 'a')), STORE_EXPIRED);
	command = purge(world, 30 * (int64_t)DAY_MS);
	assert_int_equal(command->purged, 1);
	assert_false(command->has_more);
	assert_int_equal(world_do(world, world_claim(world, "acme", "t1", 'a')), STORE_EXPIRED);
	assert_int_equal(world_find_id(world, &first.id, "acme")->result, STORE_ABSENT);
	assert_int_equal(world_find_token(world, "acme", "t1")->result, STORE_ABSENT);
	world->now_ms += 30 * (int64_t)DAY_MS;
	command = purge(world, 30 * (int64_t)DAY_MS);
	assert_int_equal(command->purged, 0);
	assert_int_equal(command->tombstones, 1);
	assert_int_equal(world_do(world, world_claim(world, "acme", "t1", 'a')), 0);
}

static void without_tombstones_the_token_is_free(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_command *claim;

	world->now_ms += DAY_MS;
	claim = world_claim(world, "acme", "t1", 'b'); /* before the purge */
	claim->tombstone_ms = 0;
	assert_int_equal(world_do(world, claim), 0);
	assert_memory_not_equal(&claim->operation.id, &first.id, OPERATION_ID_SIZE);
	assert_int_equal(purge(world, 0)->purged, 1); /* the old one, and not its successor */
	assert_int_equal(world_find_token(world, "acme", "t1")->operation.state, STATE_RUNNING);
	assert_int_equal(world_do(world, world_claim(world, "acme", "t1", 'b')), STORE_EXISTS);

	world_completed(world, "acme", "t2");
	world->now_ms += DAY_MS;
	assert_int_equal(purge(world, 0)->purged, 1);
	assert_int_equal(world_do(world, world_claim(world, "acme", "t2", 'b')), 0);
}

static void open_ones_are_never_purged(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a');

	world_do(world, claim);
	world_do(world, world_settle(world, &claim->operation, EVENT_LOST_SIGHT));
	world->now_ms += 1000 * (int64_t)DAY_MS;
	assert_int_equal(purge(world, 0)->purged, 0);
	claim = world_claim(world, "acme", "t1", 'a');
	claim->tombstone_ms = 0;
	assert_int_equal(world_do(world, claim), STORE_EXISTS);
	assert_int_equal(claim->operation.state, STATE_UNKNOWN);
}

static void purge_is_bounded(void **state)
{
	struct world *world = world_of(state);
	enum { COUNT = STORE_PURGE_MAX + 10 };
	static struct store_command *claims[COUNT];
	struct store_command *command;
	struct store_stats stats;
	char token[16];

	for (int i = 0; i < COUNT; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		world_submit(world, claims[i] = world_claim(world, "acme", token, 'a'));
	}
	world_wait(world, COUNT);
	for (int i = 0; i < COUNT; i++)
		world_submit(world, world_settle(world, &claims[i]->operation, EVENT_SUCCEEDED));
	world_wait(world, COUNT);
	world->now_ms += DAY_MS;
	command = purge(world, DAY_MS);
	assert_int_equal(command->purged, STORE_PURGE_MAX);
	assert_true(command->has_more);
	command = purge(world, DAY_MS);
	assert_int_equal(command->purged, 10);
	assert_false(command->has_more);
	store_stats_read(world->store, &stats);
	assert_int_equal(stats.purged, COUNT);
	assert_int_equal(stats.open[STATE_COMPLETED], 0);
}

static void business_retry_names_a_failed_one(void **state)
{
	struct world *world = world_of(state);
	struct store_operation done = world_completed(world, "acme", "t1");
	struct store_command *failed = world_claim(world, "acme", "t2", 'a'), *retry;
	char text[OPERATION_ID_TEXT + 1];

	world_do(world, failed);
	world_do(world, world_settle(world, &failed->operation, EVENT_REFUSED));

	operation_id_write(&done.id, text);
	retry = world_claim(world, "acme", "t3", 'a');
	retry->operation.retry_of = str_from(text);
	assert_int_equal(world_do(world, retry), STORE_RETRY_REFUSED);
	assert_int_equal(retry->operation.state, STATE_COMPLETED);
	assert_int_equal(world_find_token(world, "acme", "t3")->result, STORE_ABSENT);

	operation_id_write(&failed->operation.id, text);
	retry = world_claim(world, "globex", "t3", 'a'); /* not its own */
	retry->operation.retry_of = str_from(text);
	assert_int_equal(world_do(world, retry), STORE_RETRY_REFUSED);
	assert_int_equal(retry->operation.state, 0);

	retry = world_claim(world, "acme", "t3", 'a');
	retry->operation.retry_of = STR("op_nonsense");
	assert_int_equal(world_do(world, retry), STORE_RETRY_REFUSED);

	retry = world_claim(world, "acme", "t3", 'a');
	retry->operation.retry_of = str_from(text);
	assert_int_equal(world_do(world, retry), 0);
	assert_str(world_find_token(world, "acme", "t3")->operation.retry_of, text);
}

/* The one without room fails; the claims before and after it in its batch do not. */
static void failing_command_harms_nobody(void **state)
{
	struct world *world = world_of(state);
	struct store_command *before, *failing, *after;
	struct arena tiny;
	struct store_operation old = world_completed(world, "acme", "old");

	arena_init(&tiny, 16);
	world_hold(world);
	world_submit(world, before = world_claim(world, "acme", "t1", 'a'));
	failing = world_command(world, STORE_MOVE);
	failing->operation.id = old.id;
	failing->mem = &tiny;
	world_submit(world, failing);
	world_submit(world, after = world_claim(world, "acme", "t2", 'a'));
	world_release(world);
	world_wait(world, 3);
	assert_int_equal(failing->result, FAIL_MEMORY);
	assert_int_equal(before->result, 0);
	assert_int_equal(after->result, 0);
	assert_int_equal(world_find_token(world, "acme", "t1")->result, 0);
	arena_fini(&tiny);
}

/* An operation in the state that `event` leaves it in. */
static struct store_operation left_by(struct world *world, const char *token,
				      enum operation_event event)
{
	struct store_command *claim = world_claim(world, "acme", token, 'a');

	assert_int_equal(world_do(world, claim), 0);
	assert_int_equal(world_do(world, world_settle(world, &claim->operation, event)), 0);
	return world_find_token(world, "acme", token)->operation;
}

static struct store_command *pick_up(struct world *world)
{
	struct store_command *command = world_claim(world, "acme", "queued", 'a');

	command->may_pick_up = true;
	return command;
}

static struct store_command *resolve(struct world *world, const struct operation_id *id)
{
	struct store_command *command = world_command(world, STORE_MOVE);

	command->operation.id = *id;
	command->operation.reason = STR("looked");
	command->event = EVENT_FOUND_FAILED;
	command->any_epoch = true;
	return command;
}

/* With more and more room: each time there is not enough, the operation is as it was. */
static void a_full_arena_changes_nothing(void **state)
{
	struct world *world = world_of(state);
	const struct store_operation before[2] = {left_by(world, "queued", EVENT_NOT_SENT),
						  left_by(world, "unknown", EVENT_LOST_SIGHT)};

	for (int i = 0; i < 2; i++) {
		size_t room = 0, refusals = 0;
		int r = FAIL_MEMORY;

		for (; r == FAIL_MEMORY && room < 16384; room += 8) {
			struct store_command *command =
				i == 0 ? pick_up(world) : resolve(world, &before[i].id);
			const struct store_operation *after;
			struct arena mem;

			arena_init(&mem, room);
			command->mem = &mem;
			r = world_do(world, command);
			arena_fini(&mem);
			after = &world_find_id(world, &before[i].id, "acme")->operation;
			if (r == FAIL_MEMORY) {
				refusals++;
				assert_int_equal(after->state, before[i].state);
				assert_int_equal(after->epoch, before[i].epoch);
				assert_int_equal(after->attempts, before[i].attempts);
			}
		}
		assert_int_equal(r, 0);
		assert_true(refusals > 10);
	}
}

static void queue_is_bounded(void **state)
{
	struct world *world = world_of(state);
	enum { EXTRA = 5 };
	static struct store_command commands[STORE_QUEUE_MAX + EXTRA];
	int refused = 0;

	world_hold(world);
	for (size_t i = 0; i < STORE_QUEUE_MAX + EXTRA; i++) {
		commands[i] = *world_command(world, STORE_COUNT_STATES);
		world_submit(world, &commands[i]);
	}
	world_release(world);
	world_wait(world, STORE_QUEUE_MAX + EXTRA);
	for (size_t i = 0; i < STORE_QUEUE_MAX + EXTRA; i++)
		refused += commands[i].result == FAIL_LIMIT;
	assert_int_equal(refused, EXTRA);
	assert_int_equal(commands[STORE_QUEUE_MAX].result, FAIL_LIMIT);
	assert_int_equal(commands[0].result, 0);
}

static void close_finishes_what_waits(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claims[10];
	char token[16];

	for (int i = 0; i < 10; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		world_submit(world, claims[i] = world_claim(world, "acme", token, 'a'));
	}
	store_close(world->store);
	world->store = NULL;
	world_wait(world, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(claims[i]->result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(claim_is_running),
		WORLD_BOTH(claim_may_begin_queued),
		WORLD_BOTH(second_claim_exists),
		WORLD_BOTH(conflict_tells_nothing_of_the_answer),
		WORLD_BOTH(accounts_do_not_share_tokens),
		WORLD_BOTH(account_and_token_do_not_run_together),
		WORLD_BOTH(one_batch_has_one_winner),
		WORLD_BOTH(id_must_match_whole),
		WORLD_BOTH(queued_one_is_picked_up_once),
		WORLD_BOTH(old_epoch_is_lost),
		WORLD_BOTH(settled_stays_settled),
		WORLD_BOTH(event_without_a_move_is_lost),
		WORLD_BOTH(settle_starts_the_retention),
		WORLD_BOTH(answer_too_large_keeps_its_facts),
		WORLD_BOTH(moves_by_a_person),
		WORLD_BOTH(an_answer_says_anew_why_and_by_whom),
		WORLD_BOTH(lost_sight_says_anew_why_and_by_whom),
		WORLD_BOTH(what_was_not_sent_keeps_its_reason),
		WORLD_BOTH(sent_again_is_a_new_epoch),
		WORLD_BOTH(counts_by_state),
		WORLD_BOTH(expired_is_refused_before_and_after_the_purge),
		WORLD_BOTH(without_tombstones_the_token_is_free),
		WORLD_BOTH(open_ones_are_never_purged),
		WORLD_BOTH(purge_is_bounded),
		WORLD_BOTH(business_retry_names_a_failed_one),
		WORLD_BOTH(failing_command_harms_nobody),
		WORLD_BOTH(a_full_arena_changes_nothing),
		WORLD_BOTH(queue_is_bounded),
		WORLD_BOTH(close_finishes_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
