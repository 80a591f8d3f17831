/*
 * Shows that a store keeps the history that store/store.h speaks of: an attempt begins with its
 * claim, ends with its settlement, and is amended; notes stand beside it. On disk and in memory.
 */
#include "world.h"

#include <time.h>

/* What has begun is there before it ends: whose it is, and that it is under way. */
static void attempt_begins_with_its_claim(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a');
	struct store_command *page = world_command(world, STORE_LIST), *find;

	claim->attempt.credential = STR("key_1");
	assert_int_equal(world_do(world, claim), 0);
	assert_int_equal(claim->attempt_number, 1);
	assert_int_equal(claim->operation.attempts, 1);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->operation.attempts, 1);
	assert_int_equal(find->attempt_count, 1);
	assert_int_equal(find->attempts[0].outcome, 0);
	assert_str(find->attempts[0].agent, "agent-1");
	assert_str(find->attempts[0].credential, "key_1");
	assert_str(find->attempts[0].task, "task-1");
	assert_str(find->attempts[0].step, "step-1");
	assert_str(find->attempts[0].request_id, "request-1");
	assert_int_equal(find->attempts[0].delivered, -1);
	page->filter_task = STR("task-1");
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 1);
	assert_memory_equal(&page->found[0].id, &claim->operation.id, OPERATION_ID_SIZE);
}

static void attempt_ends_with_its_settlement(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *settle, *find;

	world_do(world, claim);
	world->now_ms += 5000;
	settle = world_settle(world, &claim->operation, EVENT_LOST_SIGHT);
	settle->attempt.outcome = OUTCOME_UNKNOWN;
	assert_int_equal(world_do(world, settle), 0);
	settle = world_settle(world, &claim->operation, EVENT_SUCCEEDED); /* comes again, late */
	assert_int_equal(world_do(world, settle), STORE_LOST);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->operation.attempts, 1);
	assert_int_equal(find->attempt_count, 1);
	assert_int_equal(find->attempts[0].outcome, OUTCOME_UNKNOWN);
	assert_int_equal(find->attempts[0].at_ms, world->now_ms - 5000);
	assert_str(find->attempts[0].agent, "agent-1");
	assert_str(find->attempts[0].request_id, "request-1");
}

/* A claim that is none begins nothing; one that picks up begins the next attempt. */
static void each_sending_has_its_attempt(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *again, *settle, *find;

	world_do(world, claim);
	settle = world_settle(world, &claim->operation, EVENT_NOT_SENT);
	settle->attempt.outcome = OUTCOME_NOT_SENT;
	world_do(world, settle);
	again = world_claim(world, "acme", "t1", 'a');
	assert_int_equal(world_do(world, again), STORE_EXISTS);
	assert_int_equal(again->attempt_number, 0);
	assert_int_equal(again->operation.attempts, 1);
	again = world_claim(world, "acme", "t1", 'a');
	again->may_pick_up = true;
	again->attempt.agent = STR("agent-2");
	assert_int_equal(world_do(world, again), 0);
	assert_int_equal(again->attempt_number, 2);
	assert_int_equal(again->operation.attempts, 2);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[0].outcome, OUTCOME_NOT_SENT);
	assert_int_equal(find->attempts[1].outcome, 0);
	assert_str(find->attempts[1].agent, "agent-2");
	world_do(world, world_settle(world, &again->operation, EVENT_SUCCEEDED));
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[0].outcome, OUTCOME_NOT_SENT);
	assert_int_equal(find->attempts[1].outcome, OUTCOME_CREATED);
}

static void settlement_without_a_number_ends_no_attempt(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *settle, *find;

	world_do(world, claim);
	settle = world_settle(world, &claim->operation, EVENT_SUCCEEDED);
	settle->attempt_number = 0;
	assert_int_equal(world_do(world, settle), 0);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->operation.state, STATE_COMPLETED);
	assert_int_equal(find->attempt_count, 1);
	assert_int_equal(find->attempts[0].outcome, 0);
}

static struct store_command *note(struct world *world, const struct operation_id *id, int number)
{
	struct store_command *command = world_command(world, STORE_NOTE);

	command->operation.id = *id;
	command->attempt.at_ms = world->now_ms + number;
	command->attempt.outcome = OUTCOME_REPLAYED;
	command->attempt.delivered = 1;
	return command;
}

static void history_is_bounded(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_command *find;
	enum { NOTES = 100 };

	for (int i = 2; i <= NOTES; i++)
		world_submit(world, note(world, &first.id, i));
	world_submit(world, world_claim(world, "acme", "t2", 'a')); /* takes them along */
	world_wait(world, NOTES);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->operation.attempts, NOTES);
	assert_int_equal(find->attempt_count, STORE_HISTORY_MAX);
	assert_int_equal(find->attempts[0].outcome, OUTCOME_CREATED);
	assert_int_equal(find->attempts[1].at_ms, world->now_ms + NOTES - STORE_HISTORY_MAX + 2);
	assert_int_equal(find->attempts[STORE_HISTORY_MAX - 1].at_ms, world->now_ms + NOTES);
}

static void note_needs_nobody(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct store_attempt attempt = {.at_ms = 3,
					.outcome = OUTCOME_REPLAYED,
					.agent = STR("agent-2"),
					.task = STR("task-2"),
					.step = STR("step-2"),
					.credential = STR("key_2"),
					.request_id = STR("request-2"),
					.delivered = 0};
	struct store_command *find;
	struct timespec nap = {.tv_nsec = 100000000};

	store_note(world->store, &first.id, &attempt);
	for (int i = 0; i < 50; i++) { /* it is written by itself, within a second or so */
		find = world_find_token(world, "acme", "t1");
		if (find->attempt_count == 2)
			break;
		nanosleep(&nap, NULL);
	}
	assert_int_equal(find->attempt_count, 2);
	assert_str(find->attempts[1].agent, "agent-2");
	assert_str(find->attempts[1].task, "task-2");
	assert_str(find->attempts[1].step, "step-2");
	assert_str(find->attempts[1].request_id, "request-2");
	assert_str(find->attempts[1].credential, "key_2");
	assert_int_equal(find->attempts[1].delivered, 0);
}

static void note_of_nothing_is_absent(void **state)
{
	struct world *world = world_of(state);
	struct operation_id id = {.bytes = {1, 2, 3}};
	struct store_command *lost = note(world, &id, 1);

	world_submit(world, lost);
	world_submit(world, world_claim(world, "acme", "t2", 'a'));
	world_wait(world, 2);
	assert_int_equal(lost->result, STORE_ABSENT);
}

static struct store_command *amendment(struct world *world, const struct operation_id *id,
				       uint32_t number)
{
	struct store_command *command = world_command(world, STORE_AMEND);

	command->operation.id = *id;
	command->attempt_number = number;
	command->attempt.delivered = 0;
	return command;
}

/* Lazy ones are written with the next change. Returns the result of `lazy`. */
static int do_lazily(struct world *world, struct store_command *lazy, const char *fresh_token)
{
	world_submit(world, lazy);
	world_submit(world, world_claim(world, "other", fresh_token, 'a'));
	world_wait(world, 2);
	return lazy->result;
}

static void amendment_says_what_became_of_the_answer(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	struct operation_id guessed = first.id;
	struct store_command *find;

	assert_int_equal(do_lazily(world, note(world, &first.id, 2), "n1"), 0);
	assert_int_equal(do_lazily(world, amendment(world, &first.id, 1), "n2"), 0);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[0].delivered, 0);
	assert_int_equal(find->attempts[0].outcome, OUTCOME_CREATED);
	assert_int_equal(find->attempts[1].delivered, 1);

	assert_int_equal(do_lazily(world, amendment(world, &first.id, 0), "n3"), STORE_ABSENT);
	assert_int_equal(do_lazily(world, amendment(world, &first.id, 3), "n4"), STORE_ABSENT);
	guessed.bytes[OPERATION_ID_SIZE - 1] ^= 1;
	assert_int_equal(do_lazily(world, amendment(world, &guessed, 2), "n5"), STORE_ABSENT);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->attempts[1].delivered, 1);
}

static void amendment_needs_nobody(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = world_completed(world, "acme", "t1");
	const struct store_amendment sent = {.id = first.id, .attempt_number = 1, .delivered = 0};

	store_amend(world->store, &sent);
	assert_int_equal(do_lazily(world, note(world, &first.id, 2), "n1"), 0);
	assert_int_equal(world_find_token(world, "acme", "t1")->attempts[0].delivered, 0);
}

/* One that many others have pushed out of the history ends all the same. */
static void attempt_that_is_no_longer_kept_ends_quietly(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *again, *find;
	enum { NOTES = 70 };

	world_do(world, claim);
	world_do(world, world_settle(world, &claim->operation, EVENT_NOT_SENT));
	again = world_claim(world, "acme", "t1", 'a');
	again->may_pick_up = true;
	world_do(world, again);
	for (int i = 0; i < NOTES; i++)
		world_submit(world, note(world, &claim->operation.id, i));
	world_submit(world, world_claim(world, "acme", "t2", 'a'));
	world_wait(world, NOTES + 1);
	assert_int_equal(world_do(world, world_settle(world, &again->operation, EVENT_LOST_SIGHT)),
			 0);
	assert_int_equal(do_lazily(world, amendment(world, &claim->operation.id, 2), "n1"),
			 STORE_ABSENT);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->operation.attempts, NOTES + 2);
	assert_int_equal(find->attempt_count, STORE_HISTORY_MAX);
	for (int i = 1; i < STORE_HISTORY_MAX; i++) {
		assert_int_equal(find->attempts[i].outcome, OUTCOME_REPLAYED);
		assert_int_equal(find->attempts[i].delivered, 1);
	}
}

static void attempt_is_not_before_its_operation(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *find;

	claim->attempt.at_ms = world->now_ms - 5000; /* when the request came */
	assert_int_equal(world_do(world, claim), 0);
	assert_int_equal(do_lazily(world, note(world, &claim->operation.id, -7), "n1"), 0);
	assert_int_equal(do_lazily(world, note(world, &claim->operation.id, 7), "n2"), 0);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->attempt_count, 3);
	assert_int_equal(find->attempts[0].at_ms, find->operation.created_ms);
	assert_int_equal(find->attempts[1].at_ms, find->operation.created_ms);
	assert_int_equal(find->attempts[2].at_ms, find->operation.created_ms + 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(attempt_begins_with_its_claim),
		WORLD_BOTH(attempt_ends_with_its_settlement),
		WORLD_BOTH(each_sending_has_its_attempt),
		WORLD_BOTH(settlement_without_a_number_ends_no_attempt),
		WORLD_BOTH(history_is_bounded),
		WORLD_BOTH(note_needs_nobody),
		WORLD_BOTH(note_of_nothing_is_absent),
		WORLD_BOTH(amendment_says_what_became_of_the_answer),
		WORLD_BOTH(amendment_needs_nobody),
		WORLD_BOTH(attempt_that_is_no_longer_kept_ends_quietly),
		WORLD_BOTH(attempt_is_not_before_its_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
