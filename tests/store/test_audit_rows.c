/*
 * Shows how entries of the audit log stand in the database, when they leave it, and that what only
 * bundles keep is found again after a crash, or missed.
 */
#include "logged.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nothing is published by itself. */
static const struct store_audit never = {.checkpoint_entries = 1 << 20,
					 .checkpoint_interval_ms = 1 << 30};

static int count_rows(void)
{
	return number_of("SELECT count(*) FROM audit");
}

static void log_goes_on_over_many_tiles(void **state)
{
	char token[16];

	for (int i = 0; i < 700; i++) {
		if (i % 100 == 0)
			open_world();
		snprintf(token, sizeof(token), "t%d", i);
		world_completed(&world, "acme", token);
		if (i % 100 == 99)
			world_close(&world);
	}
	assert_true(is_there("audit/tile/0/004"));
	assert_true(is_there("audit/tile/1/000.p/5"));
	assert_false(is_there("audit/tile/0/004.p"));
	assert_true(count_rows() < 700); /* whole bundles are in files alone */
	assert_true(count_rows() >= 1400 % 256);
}

/* One transaction of so many claims, each with a path of `length` bytes. */
static void claim_together(int count, size_t length)
{
	char *path = calloc(1, length + 1), token[32];
	static int number;

	assert_non_null(path);
	memset(path, 'p', length);
	world_hold(&world);
	for (int i = 0; i < count; i++) {
		struct store_command *claim;

		snprintf(token, sizeof(token), "together-%d", number++);
		claim = world_claim(&world, "acme", token, 'a');
		claim->operation.path = str_of(path, length);
		world_submit(&world, claim);
	}
	world_release(&world);
	world_wait(&world, count);
	free(path);
}

static void transaction_of_many_entries_is_one_row(void **state)
{
	open_world();
	world_completed(&world, "acme", "alone");
	claim_together(100, 20);
	close_and_count(102);
	assert_int_equal(count_rows(), 3);
	open_world(); /* all of them were running, which is one transaction more */
	close_and_count(202);
	assert_int_equal(count_rows(), 4);
}

/* More than a row holds, and more than is kept in memory for the sealer. */
static void transaction_of_very_many_entries_is_several_rows(void **state)
{
	open_world();
	claim_together(80, 30000);
	world_completed(&world, "acme", "after");
	close_and_count(82);
	assert_int_equal(count_rows(), 5);
}

/* While the sealer has other things to do, more is committed than memory keeps for it. */
static void rows_are_read_where_memory_does_not_reach(void **state)
{
	world_audit = &never;
	open_world();
	for (int i = 0; i < 16; i++)
		claim_together(50, 4000);
	assert_comes("audit/tile/entries/001.new"); /* though memory holds no bundle of these */
	assert_false(is_there("audit/checkpoint"));
	close_and_count(800);
}

/* -- rows go ------------------------------------------------------------------------ */

enum { CLAIMS = 4000, TOGETHER = 200, MORE = 5, ENTRIES = CLAIMS + 2 * MORE };

/* Claims whose first entries leave the database though nothing is published: later transactions
 * know that eight bundles last, and drop what they keep. */
static void claim_until_rows_go(void)
{
	char token[32];

	for (int i = 0; i < CLAIMS; i += TOGETHER)
		claim_together(TOGETHER, 20);
	assert_comes("audit/tile/entries/007");
	for (int i = 0; i < MORE; i++) {
		snprintf(token, sizeof(token), "more-%d", i);
		world_completed(&world, "acme", token);
	}
	assert_false(is_there("audit/checkpoint"));
}

static void assert_rows_are_gone(void)
{
	assert_int_equal(number_of("SELECT min(seq) FROM audit"), 2000);
}

static void rows_go_once_whole_bundles_keep_all_of_them(void **state)
{
	world_audit = &never;
	open_world();
	claim_until_rows_go();
	close_and_count(ENTRIES);
	assert_rows_are_gone();
}

static void complete_two(void)
{
	world_completed(&world, "acme", "t1");
	world_completed(&world, "acme", "t2");
}

/* A gate that died in the middle of these things. */
static void leave_behind(void (*things)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (world_open(&world, directory) != 0)
			_exit(1);
		things();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void what_only_bundles_keep_is_found_after_a_crash(void **state)
{
	world_audit = &never;
	leave_behind(claim_until_rows_go);
	assert_false(is_there("audit/checkpoint"));
	assert_rows_are_gone();
	open_world(); /* what ran is unknown, and says so */
	close_and_count(ENTRIES + CLAIMS);
}

static void complete_more(void)
{
	char token[32];

	assert_comes("audit/tile/entries/023");
	for (int i = 0; i < MORE; i++) {
		snprintf(token, sizeof(token), "after-%d", i);
		world_completed(&world, "acme", token);
	}
	assert_false(is_there("audit/checkpoint"));
}

/* Rows that a crash left behind leave the database as others do. */
static void rows_go_after_a_crash_as_well(void **state)
{
	world_audit = &never;
	leave_behind(claim_until_rows_go);
	leave_behind(complete_more);
	assert_int_equal(number_of("SELECT min(seq) FROM audit"), ENTRIES);
	open_world();
	close_and_count(ENTRIES + CLAIMS + 2 * MORE);
}

/* As after a power cut: of tiles that did not last yet, some have no bytes or no names. */
static void what_did_not_last_is_written_again(void **state)
{
	static const char *const changes[] = {
		"for f in 013 014; do mv $E/$f $E/$f.new; truncate -s 0 $E/$f.new; done",
		"rm $D/audit/tile/0/012 $E/014; printf x > $E/014.new",
	};

	world_audit = &never;
	leave_behind(claim_until_rows_go);
	assert_rows_are_gone();
	open_world();
	world_close(&world); /* everything is published: now as if it had not been */
	shell("rm -r $D/audit/checkpoint $D/audit/checkpoints $D/audit/tile/*/*.p");
	execute("UPDATE counter SET value = 0 WHERE id = 11");
	shell("cp -a $D $D-whole");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char script[256];

		shell("rm -r $D && cp -a $D-whole $D");
		snprintf(script, sizeof(script), "E=$D/audit/tile/entries; %s", changes[i]);
		shell(script);
		open_world();
		close_and_count(ENTRIES + CLAIMS);
	}
	shell("rm -r $D-whole");
}

static void what_only_bundles_kept_is_missed(void **state)
{
	static const char *const changes[] = {
		"rm $B",
		"truncate -s 5000 $B",
		"printf x | dd of=$B bs=1 seek=30000 conv=notrunc 2>/dev/null",
		"cp $D/audit/tile/entries/002 $B",
	};

	world_audit = &never;
	leave_behind(claim_until_rows_go);
	shell("cp -a $D/audit $D/whole");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char script[256];

		snprintf(script, sizeof(script), "B=$D/audit/tile/entries/003; %s", changes[i]);
		shell(script);
		assert_refused("the bundle that kept it is not in");
		assert_false(is_there("audit/checkpoint"));
		shell("rm -r $D/audit && cp -a $D/whole $D/audit");
	}
	open_world();
	world_close(&world);
	assert_true(is_there("audit/checkpoint"));
}

/* Files cannot be written for a while: the log is taken up again from what bundles keep. */
static void log_goes_on_from_bundles_after_a_failure(void **state)
{
	static const struct store_audit later = {.checkpoint_entries = CLAIMS + CLAIMS / 2,
						 .checkpoint_interval_ms = 1 << 30};

	world_audit = &later;
	open_world();
	claim_until_rows_go();
	shell("mkdir $D/audit/tile/entries/024.new");
	for (int i = 0; i < CLAIMS; i += TOGETHER)
		claim_together(TOGETHER, 20);
	shell("sleep 0.3; rmdir $D/audit/tile/entries/024.new");
	assert_comes("audit/tile/entries/024");
	close_and_count(ENTRIES + CLAIMS);
}

/* As after a crash: only the beginning of a row was published. */
static void published_log_may_end_within_a_row(void **state)
{
	open_world();
	world_completed(&world, "acme", "t0");
	world_close(&world);
	leave_behind(complete_two);
	assert_false(is_there("audit/checkpoints/6"));
	execute("UPDATE audit SET entry = CAST("
		"(SELECT entry FROM audit WHERE seq = 1) || (SELECT entry FROM audit WHERE seq = 2)"
		" || (SELECT entry FROM audit WHERE seq = 3) AS BLOB) WHERE seq = 1");
	execute("DELETE FROM audit WHERE seq IN (2, 3)");
	open_world();
	close_and_count(6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOGGED_ROW(log_goes_on_over_many_tiles),
		LOGGED_ROW(transaction_of_many_entries_is_one_row),
		LOGGED_ROW(transaction_of_very_many_entries_is_several_rows),
		LOGGED_ROW(rows_are_read_where_memory_does_not_reach),
		LOGGED_ROW(rows_go_once_whole_bundles_keep_all_of_them),
		LOGGED_ROW(what_only_bundles_keep_is_found_after_a_crash),
		LOGGED_ROW(rows_go_after_a_crash_as_well),
		LOGGED_ROW(what_did_not_last_is_written_again),
		LOGGED_ROW(what_only_bundles_kept_is_missed),
		LOGGED_ROW(log_goes_on_from_bundles_after_a_failure),
		LOGGED_ROW(published_log_may_end_within_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
