/*
 * Shows that an epoch of the audit log ends as it should, by itself where its time has come, and
 * whatever moment a gate dies at.
 */
#include "audit/keys.h"
#include "audit/verify.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct world world;
static struct verify_report report;
static size_t types[ENTRY_TYPES];

static int set_up(void **state)
{
	world_audit = NULL;
	world_directory(directory);
	return 0;
}

static int tear_down(void **state)
{
	world_remove(directory);
	return 0;
}

static void open_world(void)
{
	if (world_open(&world, directory) != 0)
		print_error("%s\n", world.why);
	assert_non_null(world.store);
}

static int count(void *state, uint64_t index, struct str bytes, const struct entry *entry)
{
	assert_non_null(entry);
	types[entry->type]++;
	return 0;
}

/* Verify with the first epoch's key. */
static void verify(void)
{
	struct verify_order order = {.on_entry = count};
	struct note_verifier verifier;
	struct log_folder folder;
	char path[128];

	memset(types, 0, sizeof(types));
	snprintf(path, sizeof(path), "%s/keys", directory);
	assert_true(audit_vkey_read(path, 0, &verifier));
	snprintf(path, sizeof(path), "%s/audit", directory);
	assert_int_equal(log_folder_open(&folder, path), 0);
	order.log = &folder.reader;
	order.key = &verifier;
	assert_int_equal(verify_log(&order, &report), 0);
	log_folder_close(&folder);
	if (report.result != VERIFY_OK)
		fail_msg("%s: %s", verify_result_text(report.result), report.why);
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/keys/%s", directory, name);
	return access(path, F_OK) == 0;
}

static int rotate(void)
{
	struct store_command *command = world_command(&world, STORE_ROTATE);
	int r;

	/* The last one may not be published yet. */
	for (int i = 0; i < 1000 && (r = world_do(&world, command)) == STORE_LOST; i++) {
		usleep(10000);
		command = world_command(&world, STORE_ROTATE);
	}
	return r;
}

static int erase(uint32_t epoch)
{
	struct store_command *command = world_command(&world, STORE_ERASE);

	command->log_epoch = epoch;
	return world_do(&world, command);
}

static void each_epoch_has_one_seal(void **state)
{
	open_world();
	world_completed(&world, "acme", "t1");
	assert_int_equal(rotate(), 0);
	assert_int_equal(rotate(), 0);
	world_completed(&world, "acme", "t2");
	world_close(&world);
	verify();
	assert_int_equal(report.epochs, 3);
	assert_int_equal(types[ENTRY_SEAL], 2);
	assert_int_equal(types[ENTRY_CERTIFICATE], 2);
	assert_int_equal(types[ENTRY_ADMINISTRATION], 2);
	assert_false(is_there("audit.key"));
	assert_false(is_there("audit.1.key"));
	assert_true(is_there("audit.2.key"));
	assert_true(is_there("audit-data.key"));
}

/* In a process that dies at once; what it had begun is ended at the next start. */
static void a_crash_ends_in_one_epoch_or_the_next(void **state)
{
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			open_world();
			(void)world_do(&world, world_command(&world, STORE_ROTATE));
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		open_world();
		world_close(&world);
		verify();
		assert_int_equal(report.seals, i + 1);
		assert_int_equal(types[ENTRY_SEAL], i + 1);
	}
	assert_false(is_there("audit.4.key"));
}

static void only_what_has_ended_is_erased(void **state)
{
	open_world();
	assert_int_equal(erase(0), STORE_LOST);
	assert_int_equal(rotate(), 0);
	assert_int_equal(erase(0), 0);
	assert_false(is_there("audit-data.key"));
	assert_int_equal(erase(0), STORE_EXISTS);
	assert_int_equal(erase(1), STORE_LOST);
	world_close(&world);
	open_world();
	assert_int_equal(erase(0), STORE_EXISTS);
	world_close(&world);
	verify();
	assert_int_equal(types[ENTRY_KEY_ERASED], 1);
}

static void time_ends_epochs_and_what_they_kept(void **state)
{
	static const struct store_audit daily = {.rotate_ms = DAY_MS, .keep_ms = 3 * DAY_MS};
	int64_t began_ms;

	world_audit = &daily;
	open_world();
	began_ms = world.now_ms;
	world_completed(&world, "acme", "t0");
	/* A write a day; what has come due is done after it, at the latest before it is closed. */
	for (int day = 1; day <= 5; day++) {
		char token[8], key[32];

		world.now_ms = began_ms + day * (int64_t)(DAY_MS + 1000);
		snprintf(token, sizeof(token), "t%d", day);
		world_completed(&world, "acme", token);
		snprintf(key, sizeof(key), "audit-data.%d.key", day);
		for (int i = 0; i < 1000 && !is_there(key); i++)
			usleep(10000);
	}
	for (int i = 0; i < 1000 && is_there("audit-data.key"); i++)
		usleep(10000);
	world_close(&world);
	world_audit = NULL;
	verify();
	assert_int_equal(report.seals, 5);
	assert_true(report.erased >= 1);
	assert_false(is_there("audit-data.key"));
	assert_true(is_there("audit-data.4.key"));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(each_epoch_has_one_seal),
		ROW(a_crash_ends_in_one_epoch_or_the_next),
		ROW(only_what_has_ended_is_erased),
		ROW(time_ends_epochs_and_what_they_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
