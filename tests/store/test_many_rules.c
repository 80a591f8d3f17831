/*
 * Shows that identities are known by the tens of thousands: more of them, with their tokens, than
 * one run of the index in memory holds, replaced again and again, over restarts and forgetting.
 */
#include "world.h"

#include "store/tokens.h"

#include <stdio.h>

enum {
	IDENTITIES = 17000,
	ROUNDS = 4,    /* each identity fails in all but the last of them */
	AT_ONCE = 250, /* commands submitted together */
	CHECKED = 37,  /* every so many-th is looked at in the end */
};
_Static_assert(2 * IDENTITIES * ROUNDS > TOKENS_RUN + TOKENS_UNDO_MAX, "more than one run");

static char directory[64];
static struct world world;
static struct operation_id newest[IDENTITIES];

static int set_up(void **state)
{
	world_directory(directory);
	return world_open(&world, directory);
}

static int tear_down(void **state)
{
	world_close(&world);
	world_remove(directory);
	return 0;
}

static void restart(void)
{
	world_close(&world);
	assert_int_equal(world_open(&world, directory), 0);
}

static struct store_command *claim(int round, int identity)
{
	char token[32];
	struct store_command *command;

	snprintf(token, sizeof(token), "t-%d-%d", round, identity);
	command = world_claim(&world, "acme", token, 'a');
	command->rules.has_unique = true;
	memcpy(command->rules.unique.bytes, &identity, sizeof(identity));
	command->rules.unique_ms = DAY_MS;
	command->retention_ms = 2 * (int64_t)DAY_MS;
	return command;
}

/* Claimed and ended, a few hundred in one go. */
static void some(int round, int from)
{
	enum operation_event event = round == ROUNDS - 1 ? EVENT_SUCCEEDED : EVENT_REFUSED;
	struct store_command *claims[AT_ONCE], *settle;

	for (int i = 0; i < AT_ONCE; i++) {
		claims[i] = claim(round, from + i);
		world_submit(&world, claims[i]);
	}
	world_wait(&world, AT_ONCE);
	for (int i = 0; i < AT_ONCE; i++) {
		assert_int_equal(claims[i]->result, 0);
		newest[from + i] = claims[i]->operation.id;
		settle = world_settle(&world, &claims[i]->operation, event);
		settle->attempt_number = claims[i]->attempt_number;
		settle->retention_ms = 2 * (int64_t)DAY_MS;
		settle->plain_retention_ms = 1000;
		world_submit(&world, settle);
	}
	world_wait(&world, AT_ONCE);
}

/* Each identity leads to the newest of its operations, and each token to its own. */
static void assert_known(bool are_failures_kept)
{
	struct store_command *again;

	for (int i = 0; i < IDENTITIES; i += CHECKED) {
		again = claim(ROUNDS, i);
		assert_int_equal(world_do(&world, again), STORE_REUSED);
		assert_memory_equal(&again->operation.id, &newest[i], OPERATION_ID_SIZE);
		again = claim(ROUNDS - 1, i);
		assert_int_equal(world_do(&world, again), STORE_EXISTS);
		assert_memory_equal(&again->operation.id, &newest[i], OPERATION_ID_SIZE);
		again = claim(i % (ROUNDS - 1), i);
		assert_int_equal(world_do(&world, again),
				 are_failures_kept ? STORE_EXISTS : STORE_EXPIRED);
	}
}

static void forget_failures(void)
{
	struct store_command *purge;
	uint64_t purged = 0;

	world.now_ms += 2000;
	do {
		purge = world_command(&world, STORE_PURGE);
		assert_int_equal(world_do(&world, purge), 0);
		purged += purge->purged;
	} while (purge->has_more);
	assert_int_equal(purged, IDENTITIES * (ROUNDS - 1));
}

static void many_identities_over_restarts(void **state)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int from = 0; from < IDENTITIES; from += AT_ONCE)
			some(round, from);
		if (round != 1)
			restart(); /* but once, so that a run fills in one process too */
	}
	assert_known(true);
	restart();
	assert_known(true);
	forget_failures();
	assert_known(false);
	restart();
	assert_known(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_identities_over_restarts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
