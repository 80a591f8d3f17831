/*
 * Shows that questions outlive the process that asked them, and that a row which was changed behind
 * the gate's back sends nothing.
 */
#include "ruled.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct world world;

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

static struct store_operation asked(const char *token, unsigned needed)
{
	return ruled_done(&world, ruled_asking(ruled_claim(&world, token), needed));
}

static int approved(const struct store_operation *operation, const char *by)
{
	return world_do(&world, ruled_answering(&world, STORE_APPROVE, operation, by));
}

/* While no gate has the file. */
static void execute(const char *sql)
{
	char path[128];
	sqlite3 *db;

	world_close(&world);
	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(world_open(&world, directory), 0);
}

static void waits_on_after_a_restart(void **state)
{
	struct store_operation operation = asked("t1", 2);
	struct store_command *find, *take;

	restart();
	assert_int_equal(world.interrupted, 0);
	assert_int_equal(approved(&operation, "alice"), 0);
	restart();
	find = ruled_found(&world, &operation);
	assert_int_equal(find->operation.state, STATE_AWAITING_APPROVAL);
	assert_int_equal(find->approval.given, 1);
	assert_int_equal(approved(&operation, "alice"), STORE_AGAIN);
	assert_int_equal(approved(&operation, "bob"), 0);
	restart();
	take = ruled_taken(&world, 8);
	assert_int_equal(take->errand_count, 1);
	assert_str(take->errands[0].request.body, "{\"amount\":1}");
}

static void lapses_after_a_restart(void **state)
{
	struct store_operation operation = asked("t1", 1);
	struct store_command *lapse;

	world_close(&world);
	world.now_ms += RULED_OPEN_MS;
	assert_int_equal(world_open(&world, directory), 0);
	lapse = world_command(&world, STORE_LAPSE);
	lapse->limit = 8;
	assert_int_equal(world_do(&world, lapse), 0);
	assert_int_equal(lapse->cancelled_count, 1);
	assert_same_id(&lapse->cancelled[0], &operation.id);
}

static void known_agents_are_known_after_a_restart(void **state)
{
	struct store_operation operation = asked("t1", 1);
	struct store_command *claim;

	assert_int_equal(approved(&operation, "alice"), 0);
	restart();
	claim = ruled_asking(ruled_claim(&world, "t2"), 1);
	claim->approval.unless_known = true;
	assert_int_equal(ruled_done(&world, claim).state, STATE_RUNNING);
}

/* Killed once the answer was given: it counts, once. */
static void killed_after_the_answer(void **state)
{
	struct store_operation operation = asked("t1", 1);
	int status;
	pid_t child;

	world_close(&world);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool is_done =
			world_open(&world, directory) == 0 && approved(&operation, "alice") == 0;

		kill(getpid(), is_done ? SIGKILL : SIGTERM);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(approved(&operation, "bob"), STORE_LOST);
	assert_int_equal(ruled_taken(&world, 8)->errand_count, 1);
}

/* Queued by other hands than a person's: not sent, not ended, and seen by whoever looks. */
static void rows_that_were_changed_send_nothing(void **state)
{
	static const char *const changes[] = {
		"UPDATE operation SET state = 2, due = 1",
		"UPDATE operation SET state = 2, due = 1; UPDATE approval SET given = 1, stand = 2",
		"UPDATE operation SET state = 2, due = 1; DELETE FROM approval",
		("UPDATE operation SET state = 2, due = 1; UPDATE approval SET given = 1, stand = "
		 "2,"
		 " agreed = randomblob(32)"),
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char token[8];

		snprintf(token, sizeof(token), "t%zu", i);
		asked(token, 1);
		execute(changes[i]);
		assert_int_equal(ruled_taken(&world, 8)->errand_count, 0);
	}
}

/* What was agreed to was another command. */
static void another_fingerprint_is_not_sent(void **state)
{
	struct store_operation operation = asked("t1", 1);

	assert_int_equal(approved(&operation, "alice"), 0);
	execute("UPDATE operation SET fingerprint = randomblob(32)");
	assert_int_equal(ruled_taken(&world, 8)->errand_count, 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(waits_on_after_a_restart),
		ROW(lapses_after_a_restart),
		ROW(known_agents_are_known_after_a_restart),
		ROW(killed_after_the_answer),
		ROW(rows_that_were_changed_send_nothing),
		ROW(another_fingerprint_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
