/*
 * Shows what a store does when it does not know: whether a commit was one, and whether the
 * clock is right.
 */
#include "ruled.h"

#include <stdio.h>

/* Pick `t1` up in a transaction that ends as `fault` says. */
static struct store_command *pick_up_in_doubt(struct world *world, enum store_mem_fault_kind fault)
{
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *doubt;

	world->script.faults[0] = (struct store_mem_fault){3, fault};
	world->script.fault_count = 1;
	assert_int_equal(world_do(world, claim), 0);
	assert_int_equal(world_do(world, world_settle(world, &claim->operation, EVENT_NOT_SENT)),
			 0);
	doubt = world_claim(world, "acme", "t1", 'a');
	doubt->may_pick_up = true;
	assert_int_equal(world_do(world, doubt), FAIL_UNCERTAIN);
	assert_memory_equal(&doubt->operation.id, &claim->operation.id, OPERATION_ID_SIZE);
	return doubt;
}

static void pick_up_in_doubt_can_be_settled(void **state)
{
	struct world *world = world_of(state);
	struct store_command *doubt, *settle, *find;

	doubt = pick_up_in_doubt(world, STORE_MEM_UNCERTAIN_APPLIED);
	settle = world_settle(world, &doubt->operation, EVENT_NOT_SENT);
	settle->attempt_number = doubt->attempt_number;
	settle->attempt.outcome = OUTCOME_NOT_SENT;
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(settle->operation.state, STATE_QUEUED);
	find = world_find_token(world, "acme", "t1");
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[1].outcome, OUTCOME_NOT_SENT);
}

static void pick_up_in_doubt_settles_nobody_elses(void **state)
{
	struct world *world = world_of(state);
	struct store_command *doubt, *next;

	doubt = pick_up_in_doubt(world, STORE_MEM_UNCERTAIN_LOST);
	next = world_claim(world, "acme", "t1", 'a');
	next->may_pick_up = true;
	assert_int_equal(world_do(world, next), 0);
	assert_int_equal(world_do(world, world_settle(world, &doubt->operation, EVENT_NOT_SENT)),
			 STORE_LOST);
	assert_int_equal(world_find_token(world, "acme", "t1")->attempts[1].outcome, 0);
	assert_int_equal(world_do(world, world_settle(world, &next->operation, EVENT_SUCCEEDED)),
			 0);
}

/* What the next transaction is to suffer. */
static void doubt_the_next(struct world *world, enum store_mem_fault_kind fault)
{
	world->script.faults[0] = (struct store_mem_fault){world->script.transactions + 1, fault};
	world->script.fault_count = 1;
}

/* Take the one operation of an outbox in a transaction that ends as `fault` says. */
static struct store_errand take_in_doubt(struct world *world, enum store_mem_fault_kind fault)
{
	struct store_command *take = world_command(world, STORE_TAKE);

	ruled_done(world, ruled_lock(ruled_outbox(ruled_claim(world, "t1")), 'x'));
	take->operation.upstream = STR("default");
	take->limit = 10;
	doubt_the_next(world, fault);
	assert_int_equal(world_do(world, take), FAIL_UNCERTAIN);
	assert_int_equal(take->errand_count, 1);
	assert_int_equal(take->errands[0].operation.state, STATE_RUNNING);
	return take->errands[0];
}

/* Taken, perhaps: whoever took it can end that sending, and it is due again. */
static void take_in_doubt_can_be_settled(void **state)
{
	struct world *world = world_of(state);
	struct store_errand errand = take_in_doubt(world, STORE_MEM_UNCERTAIN_APPLIED);
	struct store_command *take;

	ruled_settled(world, &errand.operation, EVENT_NOT_SENT);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_int_equal(take->errands[0].fence, errand.fence + 1);
}

/* It was not taken after all: who took it next is not ended by who takes back the first taking. */
static void take_in_doubt_settles_nobody_elses(void **state)
{
	struct world *world = world_of(state);
	struct store_errand errand = take_in_doubt(world, STORE_MEM_UNCERTAIN_LOST);
	struct store_command *take = ruled_taken(world, 10);

	assert_int_equal(take->errand_count, 1);
	assert_true(take->errands[0].operation.epoch > errand.operation.epoch);
	assert_int_equal(world_do(world, world_settle(world, &errand.operation, EVENT_NOT_SENT)),
			 STORE_LOST);
	ruled_settled(world, &take->errands[0].operation, EVENT_SUCCEEDED);
}

/* Sent again, perhaps: the same holds for it. */
static void resending_in_doubt_settles_nobody_elses(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_claim(world, "t1"));
	struct store_command *moves[2];

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	for (int i = 0; i < 2; i++) {
		moves[i] = world_command(world, STORE_MOVE);
		moves[i]->operation.id = first.id;
		moves[i]->any_epoch = true;
		moves[i]->event = EVENT_RESENT;
		if (i == 0)
			doubt_the_next(world, STORE_MEM_UNCERTAIN_LOST);
		assert_int_equal(world_do(world, moves[i]), i ? 0 : FAIL_UNCERTAIN);
	}
	assert_true(moves[1]->operation.epoch > moves[0]->operation.epoch);
	assert_int_equal(
		world_do(world, world_settle(world, &moves[0]->operation, EVENT_LOST_SIGHT)),
		STORE_LOST);
}

/* A claim in doubt holds its lock exactly if it was made. */
static void claim_in_doubt_holds_what_it_got(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_lock(ruled_claim(world, "t1"), 'x');

	doubt_the_next(world, STORE_MEM_UNCERTAIN_LOST);
	assert_int_equal(world_do(world, claim), FAIL_UNCERTAIN);
	claim = ruled_lock(ruled_claim(world, "t2"), 'x');
	doubt_the_next(world, STORE_MEM_UNCERTAIN_APPLIED);
	assert_int_equal(world_do(world, claim), FAIL_UNCERTAIN);
	assert_int_equal(claim->fence, 1);
	assert_int_equal(world_do(world, ruled_lock(ruled_claim(world, "t3"), 'x')), STORE_LOCKED);
	assert_true(ruled_found(world, &claim->operation)->view.holds_lock);
}

static void ids_grow_when_the_clock_steps_back(void **state)
{
	struct world *world = world_of(state);
	struct store_operation last = world_completed(world, "acme", "t0"), next;
	char token[8];

	for (int i = 1; i < 10; i++) {
		world->now_ms -= 1000;
		snprintf(token, sizeof(token), "t%d", i);
		next = world_completed(world, "acme", token);
		assert_true(memcmp(next.id.bytes, last.id.bytes, 8) > 0);
		last = next;
	}
}

static void a_clock_that_is_wrong_for_a_while_forgets_nothing(void **state)
{
	struct world *world = world_of(state);
	struct store_command *purge;

	world_completed(world, "acme", "t1");
	world->wrong_ms = 1000 * (int64_t)DAY_MS;
	world->now_ms += 1000 * (int64_t)DAY_MS;
	purge = world_command(world, STORE_PURGE);
	assert_int_equal(world_do(world, purge), 0);
	assert_int_equal(purge->purged, 0);
	assert_int_equal(world_do(world, world_claim(world, "acme", "t1", 'a')), STORE_EXISTS);

	world->now_ms += 61 * 60 * 1000; /* it has lasted */
	assert_int_equal(world_do(world, world_claim(world, "acme", "t2", 'a')), 0);
	purge = world_command(world, STORE_PURGE);
	assert_int_equal(world_do(world, purge), 0);
	assert_int_equal(purge->purged, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_ROW(pick_up_in_doubt_can_be_settled, world_in_memory),
		WORLD_ROW(pick_up_in_doubt_settles_nobody_elses, world_in_memory),
		WORLD_ROW(take_in_doubt_can_be_settled, world_in_memory),
		WORLD_ROW(take_in_doubt_settles_nobody_elses, world_in_memory),
		WORLD_ROW(resending_in_doubt_settles_nobody_elses, world_in_memory),
		WORLD_ROW(claim_in_doubt_holds_what_it_got, world_in_memory),
		WORLD_BOTH(ids_grow_when_the_clock_steps_back),
		WORLD_BOTH(a_clock_that_is_wrong_for_a_while_forgets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
