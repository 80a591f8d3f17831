/*
 * Shows what the committer makes of transactions that go wrong: who is told what, who is
 * tried again, and when the store counts as healthy.
 */
#include "world.h"

#include <stdio.h>
#include <time.h>

static struct world world;

static int set_up(void **state)
{
	return world_open(&world, NULL);
}

static int tear_down(void **state)
{
	world_close(&world);
	return 0;
}

static void fault(uint64_t transaction, enum store_mem_fault_kind kind)
{
	world.script.faults[world.script.fault_count++] =
		(struct store_mem_fault){transaction, kind};
}

static int find(const char *token)
{
	struct store_command *command = world_command(&world, STORE_FIND);

	command->operation.account = STR("acme");
	command->operation.token = str_from(token);
	return world_do(&world, command);
}

/* Three claims in one batch. */
static void claim_three(struct store_command *claims[3])
{
	static const char *const tokens[] = {"t0", "t1", "t2"};

	world_hold(&world);
	for (int i = 0; i < 3; i++)
		world_submit(&world, claims[i] = world_claim(&world, "acme", tokens[i], 'a'));
	world_release(&world);
	world_wait(&world, 3);
}

static void refused_batch_changes_nothing(void **state)
{
	struct store_command *claims[3];

	fault(1, STORE_MEM_REFUSED);
	claim_three(claims);
	for (int i = 0; i < 3; i++)
		assert_int_equal(claims[i]->result, FAIL_STORE);
	assert_false(store_is_healthy(world.store));
	assert_int_equal(find("t1"), STORE_ABSENT);
	claim_three(claims);
	for (int i = 0; i < 3; i++)
		assert_int_equal(claims[i]->result, 0);
	assert_true(store_is_healthy(world.store));
}

static void doubt_is_passed_on(void **state)
{
	struct store_command *claims[3];
	struct store_stats stats;

	fault(1, STORE_MEM_UNCERTAIN_LOST);
	fault(2, STORE_MEM_UNCERTAIN_APPLIED);
	claim_three(claims);
	for (int i = 0; i < 3; i++)
		assert_int_equal(claims[i]->result, FAIL_UNCERTAIN);
	assert_int_equal(find("t0"), STORE_ABSENT);
	claim_three(claims);
	for (int i = 0; i < 3; i++)
		assert_int_equal(claims[i]->result, FAIL_UNCERTAIN);
	assert_int_equal(find("t0"), 0);
	assert_int_equal(claims[0]->attempt_number, 1); /* its settlement can end it */
	store_stats_read(world.store, &stats);
	assert_int_equal(stats.uncertain, 2);
	assert_int_equal(stats.failures, 2);
}

static void neighbours_of_a_poisonous_command_go_on(void **state)
{
	struct store_command *claims[3];

	world.script.poison = "t1";
	claim_three(claims);
	assert_int_equal(claims[0]->result, 0);
	assert_int_equal(claims[1]->result, FAIL_STORE);
	assert_int_equal(claims[2]->result, 0);
	assert_int_equal(find("t0"), 0);
	assert_int_equal(find("t1"), STORE_ABSENT);
	assert_int_equal(find("t2"), 0);
	assert_int_equal(world.script.transactions, 4);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t1", 'a')), FAIL_STORE);
	assert_true(store_is_healthy(world.store)); /* the disk is well */
}

static void full_disk_refuses_new_ones_only(void **state)
{
	struct store_command *claim = world_claim(&world, "acme", "t0", 'a');

	world.script.full_after = 1;
	assert_int_equal(world_do(&world, claim), 0);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t1", 'a')), FAIL_STORE);
	assert_int_equal(world_do(&world, world_settle(&world, &claim->operation, EVENT_SUCCEEDED)),
			 0);
}

static void answers_of_what_is_durable_do_not_wait(void **state)
{
	struct store_command *slow, *replay;

	world_completed(&world, "acme", "old");
	world.script.is_held = true;
	world_hold(&world);
	world_submit(&world, slow = world_claim(&world, "acme", "new", 'a'));
	world_submit(&world, replay = world_claim(&world, "acme", "old", 'a'));
	world_release(&world);
	world_wait(&world, 1); /* though the transaction is held */
	assert_int_equal(replay->result, STORE_EXISTS);
	world.script.is_held = false;
	world_wait(&world, 1);
	assert_int_equal(slow->result, 0);
}

static void one_wake_a_batch(void **state)
{
	struct store_command *claims[3];

	world.wakes = 0;
	world_hold(&world);
	for (int i = 0; i < 3; i++) {
		claims[i] = world_claim(&world, "acme", i == 0 ? "a" : i == 1 ? "b" : "c", 'a');
		world_submit(&world, claims[i]);
	}
	world_release(&world);
	store_close(world.store);
	world.store = NULL;
	assert_int_equal(world.wakes, 1);
	world_wait(&world, 3);
}

static void notes_wait_for_others_or_a_second(void **state)
{
	struct store_operation first = world_completed(&world, "acme", "t1");
	struct store_attempt attempt = {.outcome = OUTCOME_REPLAYED};
	uint64_t before = world.script.transactions;
	struct timespec nap = {.tv_nsec = 20000000};
	int64_t started_ms = env_monotonic_ms(&env_machine);

	for (int i = 0; i < 5; i++)
		store_note(world.store, &first.id, &attempt);
	while (world.script.transactions == before &&
	       env_monotonic_ms(&env_machine) < started_ms + 5000)
		nanosleep(&nap, NULL);
	assert_int_equal(world.script.transactions, before + 1); /* one for all five */
	assert_true(env_monotonic_ms(&env_machine) >= started_ms + 900);
	for (int i = 0; i < STORE_NOTE_MAX; i++)
		store_note(world.store, &first.id, &attempt);
	started_ms = env_monotonic_ms(&env_machine);
	while (world.script.transactions == before + 1 &&
	       env_monotonic_ms(&env_machine) < started_ms + 5000)
		nanosleep(&nap, NULL);
	assert_true(env_monotonic_ms(&env_machine) < started_ms + 900); /* enough of them */
}

static void lost_notes_trouble_nobody(void **state)
{
	struct store_operation first = world_completed(&world, "acme", "t1");
	struct store_attempt attempt = {.outcome = OUTCOME_REPLAYED};

	fault(3, STORE_MEM_REFUSED);
	store_note(world.store, &first.id, &attempt);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t2", 'a')), FAIL_STORE);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t2", 'a')), 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(refused_batch_changes_nothing),	      ROW(doubt_is_passed_on),
		ROW(neighbours_of_a_poisonous_command_go_on), ROW(full_disk_refuses_new_ones_only),
		ROW(answers_of_what_is_durable_do_not_wait),  ROW(one_wake_a_batch),
		ROW(notes_wait_for_others_or_a_second),	      ROW(lost_notes_trouble_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
