/*
 * Shows what only the ledger on disk can: it survives its process at any moment, it is
 * used by one gate at a time, and a disk that fails or is full never makes it tell a lie.
 */
#include "world.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];

static int set_up(void **state)
{
	world_directory(directory);
	return 0;
}

static int tear_down(void **state)
{
	world_remove(directory);
	return 0;
}

static void execute(const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static struct store_command *find(struct world *world, const char *token)
{
	return world_find_token(world, "acme", token);
}

static void open_again_has_everything(void **state)
{
	static struct world world;
	struct store_operation first, second;

	assert_int_equal(world_open(&world, directory), 0);
	first = world_completed(&world, "acme", "t1");
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t2", 'a')), 0);
	world_close(&world);

	world.now_ms -= 60000; /* the clock of the next run is behind */
	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(world.interrupted, 1);
	assert_int_equal(find(&world, "t2")->operation.state, STATE_UNKNOWN);
	assert_int_equal(find(&world, "t2")->operation.reason.len,
			 strlen("the gate stopped while this was running"));
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t1", 'a')), STORE_EXISTS);
	second = world_completed(&world, "acme", "t3");
	assert_true(memcmp(second.id.bytes, first.id.bytes, 8) > 0);
	world_close(&world);

	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(world.interrupted, 0);
	world_close(&world);
}

/* A decision that was sent upon is not what made it unknown again. */
static void an_interruption_is_nobodys_decision(void **state)
{
	static struct world world;
	struct store_command *claim, *move;

	assert_int_equal(world_open(&world, directory), 0);
	claim = world_claim(&world, "acme", "t1", 'a');
	world_do(&world, claim);
	world_do(&world, world_settle(&world, &claim->operation, EVENT_LOST_SIGHT));
	move = world_command(&world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->operation.decided_by = STR("olga");
	move->event = EVENT_FOUND_NOT_DONE;
	move->any_epoch = true;
	assert_int_equal(world_do(&world, move), 0);
	claim = world_claim(&world, "acme", "t1", 'a');
	claim->may_pick_up = true;
	assert_int_equal(world_do(&world, claim), 0);
	world_close(&world);

	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(world.interrupted, 1);
	assert_str(find(&world, "t1")->operation.decided_by, "");
	world_close(&world);
}

/* What was under way ends with the sweep; what had ended before is as it was. */
static void interrupted_attempts_are_unknown(void **state)
{
	static struct world world;
	struct store_command *sent, *queued, *settle, *again, *page;

	assert_int_equal(world_open(&world, directory), 0);
	world_completed(&world, "acme", "t1");
	queued = world_claim(&world, "acme", "t2", 'a');
	assert_int_equal(world_do(&world, queued), 0);
	settle = world_settle(&world, &queued->operation, EVENT_NOT_SENT);
	settle->attempt.outcome = OUTCOME_NOT_SENT;
	assert_int_equal(world_do(&world, settle), 0);
	again = world_claim(&world, "acme", "t2", 'a');
	again->may_pick_up = true;
	assert_int_equal(world_do(&world, again), 0);
	sent = world_claim(&world, "acme", "t3", 'a');
	sent->attempt.task = STR("nightly");
	assert_int_equal(world_do(&world, sent), 0);
	world_close(&world);

	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(world.interrupted, 2);
	assert_int_equal(find(&world, "t1")->attempts[0].outcome, OUTCOME_CREATED);
	assert_int_equal(find(&world, "t2")->attempts[0].outcome, OUTCOME_NOT_SENT);
	assert_int_equal(find(&world, "t2")->attempts[1].outcome, OUTCOME_UNKNOWN);
	page = world_command(&world, STORE_LIST);
	page->filter_task = STR("nightly");
	assert_int_equal(world_do(&world, page), 0);
	assert_int_equal(page->found_count, 1);
	assert_int_equal(page->found[0].state, STATE_UNKNOWN);
	assert_int_equal(find(&world, "t3")->attempt_count, 1);
	assert_int_equal(find(&world, "t3")->attempts[0].outcome, OUTCOME_UNKNOWN);
	world_close(&world);
}

/* Forgetting an operation leaves its token to the newer one that has it, in the index on disk
 * too, where a whole run of tokens has to gather before that is written: it is made here. */
static void purge_leaves_the_token_of_a_newer_claim(void **state)
{
	static struct world world;
	struct store_command *newer, *command;
	struct operation_id id;

	assert_int_equal(world_open(&world, directory), 0);
	world_completed(&world, "acme", "t1");
	world.now_ms += DAY_MS;
	newer = world_claim(&world, "acme", "t1", 'b');
	newer->tombstone_ms = 0;
	assert_int_equal(world_do(&world, newer), 0);
	id = newer->operation.id;
	world_close(&world);
	execute("INSERT INTO token SELECT hash, max(op) FROM operation GROUP BY hash;"
		"UPDATE counter SET value = (SELECT max(op) FROM operation) WHERE id = 8");

	assert_int_equal(world_open(&world, directory), 0);
	command = world_command(&world, STORE_PURGE);
	command->tombstone_ms = 0;
	assert_int_equal(world_do(&world, command), 0);
	assert_int_equal(command->purged, 1);
	command = world_claim(&world, "acme", "t1", 'b');
	assert_int_equal(world_do(&world, command), STORE_EXISTS);
	assert_memory_equal(&command->operation.id, &id, OPERATION_ID_SIZE);
	world_close(&world);
}

static void files_are_private(void **state)
{
	static struct world world;
	static const char *const names[] = {"lock", "counterfoil.db", "counterfoil.db-wal"};
	char path[128], inner[64];
	struct stat facts;
	mode_t before = umask(0);

	snprintf(inner, sizeof(inner), "%.40s/data", directory);
	assert_int_equal(world_open(&world, inner), 0);
	umask(before);
	world_completed(&world, "acme", "t1");
	assert_int_equal(stat(inner, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0700);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", inner, names[i]);
		assert_int_equal(stat(path, &facts), 0);
		assert_int_equal(facts.st_mode & 0777, 0600);
	}
	world_close(&world);
	world_remove(inner);
}

static void second_gate_is_told_who_has_it(void **state)
{
	static struct world world, second;
	char pid[24];

	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(world_open(&second, directory), FAIL_STORE);
	snprintf(pid, sizeof(pid), "pid %ld", (long)getpid());
	assert_non_null(strstr(second.why, pid));
	assert_non_null(strstr(second.why, directory));
	world_close(&world);
	assert_int_equal(world_open(&second, directory), 0);
	world_close(&second);
}

static void newer_schema_is_refused(void **state)
{
	static struct world world;

	assert_int_equal(world_open(&world, directory), 0);
	world_close(&world);
	execute("PRAGMA user_version = 999");
	assert_int_equal(world_open(&world, directory), FAIL_STORE);
	assert_non_null(strstr(world.why, "999"));
	assert_non_null(strstr(world.why, "newer"));
}

/* Without a vault, which would be the first to refuse the place. */
static void place_that_cannot_be_written_is_explained(void **state)
{
	static struct world world;

	world_is_in_clear = true;
	assert_int_equal(world_open(&world, "/proc/nothing/here"), FAIL_STORE);
	assert_non_null(strstr(world.why, "/proc/nothing/here"));
	assert_int_equal(world_open(&world, "/dev/null"), FAIL_STORE);
	assert_non_null(strstr(world.why, "/dev/null"));
	world_is_in_clear = false;
}

static void file_that_is_no_database_is_explained(void **state)
{
	static struct world world;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	file = fopen(path, "w");
	for (int i = 0; i < 1000; i++)
		fputs("this is not what you are looking for\n", file);
	fclose(file);
	assert_int_equal(world_open(&world, directory), FAIL_STORE);
	assert_non_null(strstr(world.why, "counterfoil.db"));
}

/* The child writes what it was answered into a pipe, until somebody kills it. */
enum { ACKNOWLEDGED_CLAIM = 'c', ACKNOWLEDGED_SETTLEMENT = 's' };
struct acknowledged {
	char what;
	char token[31];
};

static void acknowledge(int fd, char what, struct str token)
{
	struct acknowledged line = {.what = what};

	memcpy(line.token, token.at, token.len);
	if (write(fd, &line, sizeof(line)) != (ssize_t)sizeof(line))
		_exit(3);
}

static void child(int fd, int round)
{
	static struct world world;
	struct store_command *claims[8], *settles[8];
	char token[32];

	if (world_open(&world, directory) != 0)
		_exit(4);
	for (int batch = 0; batch < 100000; batch++) {
		for (int i = 0; i < 8; i++) {
			snprintf(token, sizeof(token), "r%d-b%d-%d", round, batch, i);
			claims[i] = world_claim(&world, "acme", token, 'a');
			world_submit(&world, claims[i]);
		}
		world_wait(&world, 8);
		for (int i = 0; i < 8; i++)
			acknowledge(fd, ACKNOWLEDGED_CLAIM, claims[i]->operation.token);
		for (int i = 0; i < 4; i++) {
			settles[i] = world_settle(&world, &claims[i]->operation, EVENT_SUCCEEDED);
			world_submit(&world, settles[i]);
		}
		world_wait(&world, 4);
		for (int i = 0; i < 4; i++)
			acknowledge(fd, ACKNOWLEDGED_SETTLEMENT, claims[i]->operation.token);
	}
	_exit(5);
}

/* Everything that was acknowledged is there. Returns how much that was. */
static int check_acknowledged(int fd)
{
	static struct world world;
	struct acknowledged line;
	struct store_command *command;
	int count = 0;

	assert_int_equal(world_open(&world, directory), 0);
	while (read(fd, &line, sizeof(line)) == (ssize_t)sizeof(line)) {
		command = find(&world, line.token);
		assert_int_equal(command->result, 0);
		assert_int_not_equal(command->operation.state, STATE_RUNNING);
		if (line.what == ACKNOWLEDGED_SETTLEMENT) {
			assert_int_equal(command->operation.state, STATE_COMPLETED);
			assert_int_equal(command->operation.answer.body.len, 8);
			assert_int_equal(command->attempts[0].outcome, OUTCOME_CREATED);
		}
		assert_int_equal(command->attempt_count, 1);
		assert_int_not_equal(command->attempts[0].outcome, 0);
		assert_int_equal(world_do(&world, world_claim(&world, "acme", line.token, 'a')),
				 STORE_EXISTS);
		count++;
	}
	world_close(&world);
	return count;
}

/* However slow the machine is: no child is killed before it has done something. */
static void wait_for_work(int fd)
{
	struct pollfd pipe = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&pipe, 1, 30000), 1);
}

static void killed_gate_keeps_what_it_acknowledged(void **state)
{
	int ends[2], status, total = 0;
	pid_t pid;

	for (int round = 0; round < 20; round++) {
		assert_int_equal(pipe(ends), 0);
		fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			child(ends[1], round);
		close(ends[1]);
		wait_for_work(ends[0]);
		usleep((useconds_t)(round * 7000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		total += check_acknowledged(ends[0]);
		close(ends[0]);
	}
	assert_true(total >= 20);
}

/*
 * A disk that fails: SQLite's own file layer with a counter in front. The n-th write, or
 * sync, fails (once, or from then on), before or after it has been carried out.
 */
enum fault { FAULT_WRITE, FAULT_SYNC, FAULT_FULL };
static struct {
	_Atomic int countdown; /* 0: nothing fails */
	_Atomic int hits;
	enum fault fault;
	bool stays; /* all that follow fail too */
	bool after; /* it is carried out, and then said to have failed */
} disk;

struct shim_file {
	sqlite3_file base;
	sqlite3_file *real;
};
static sqlite3_vfs *real_vfs;
static sqlite3_vfs shim_vfs;
static sqlite3_io_methods shim_methods;

static bool strikes(void)
{
	int left = disk.countdown;

	if (left == 0)
		return false;
	if (left > 1) {
		disk.countdown = left - 1;
		return false;
	}
	disk.hits++;
	if (!disk.stays)
		disk.countdown = 0;
	return true;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct shim_file *)(void *)file)->real;
}

static int shim_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	bool fails = disk.fault != FAULT_SYNC && strikes();

	if (fails && disk.fault == FAULT_FULL)
		return SQLITE_FULL;
	if (fails && !disk.after)
		return SQLITE_IOERR_WRITE;
	if (real_of(file)->pMethods->xWrite(real_of(file), bytes, len, at) != SQLITE_OK)
		return SQLITE_IOERR_WRITE;
	return fails ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int shim_sync(sqlite3_file *file, int flags)
{
	bool fails = disk.fault == FAULT_SYNC && strikes();

	return fails ? SQLITE_IOERR_FSYNC : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int shim_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}
static int shim_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at)
{
	return real_of(file)->pMethods->xRead(real_of(file), bytes, len, at);
}
static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return real_of(file)->pMethods->xTruncate(real_of(file), size);
}
static int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
static int shim_lock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xLock(real_of(file), level);
}
static int shim_unlock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
static int shim_reserved(sqlite3_file *file, int *out)
{
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}
static int shim_control(sqlite3_file *file, int op, void *argument)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}
static int shim_sector(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}
static int shim_device(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *out_flags)
{
	struct shim_file *shim = (struct shim_file *)(void *)file;

	shim->base.pMethods = NULL;
	shim->real = (sqlite3_file *)(void *)(shim + 1);
	if (real_vfs->xOpen(real_vfs, name, shim->real, flags, out_flags) != SQLITE_OK)
		return SQLITE_CANTOPEN;
	shim->base.pMethods = &shim_methods;
	return SQLITE_OK;
}

static void install_shim(void)
{
	if (real_vfs)
		return;
	real_vfs = sqlite3_vfs_find(NULL);
	shim_vfs = *real_vfs;
	shim_vfs.zName = "faulty";
	shim_vfs.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
	shim_vfs.xOpen = shim_open;
	shim_methods = (sqlite3_io_methods){
		.iVersion = 1, /* no shared memory: the index of the log is in the process */
		.xClose = shim_close,
		.xRead = shim_read,
		.xWrite = shim_write,
		.xTruncate = shim_truncate,
		.xSync = shim_sync,
		.xFileSize = shim_size,
		.xLock = shim_lock,
		.xUnlock = shim_unlock,
		.xCheckReservedLock = shim_reserved,
		.xFileControl = shim_control,
		.xSectorSize = shim_sector,
		.xDeviceCharacteristics = shim_device,
	};
	assert_int_equal(sqlite3_vfs_register(&shim_vfs, 1), SQLITE_OK);
}

enum { SWEEP_OPS = 6 };

/* What became of one token in a run. */
struct fate {
	int claimed, settled; /* results; 1000: not tried */
	struct store_operation operation;
};

/* Claims and settles SWEEP_OPS tokens one after the other, retrying nothing. */
static void run_under_fault(struct world *world, struct fate fates[SWEEP_OPS])
{
	struct store_command *command;
	char token[16];

	for (int i = 0; i < SWEEP_OPS; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		fates[i].settled = 1000;
		command = world_claim(world, "acme", token, 'a');
		fates[i].claimed = world_do(world, command);
		fates[i].operation = command->operation;
		if (fates[i].claimed != 0)
			continue;
		command = world_settle(world, &fates[i].operation, EVENT_SUCCEEDED);
		fates[i].settled = world_do(world, command);
	}
}

/* An operation that is there has its one attempt, which ended if it did. */
static void check_attempt(const struct store_command *found)
{
	if (found->result != 0)
		return;
	assert_int_equal(found->attempt_count, 1);
	if (found->operation.state == STATE_RUNNING)
		assert_int_equal(found->attempts[0].outcome, 0);
	else if (found->operation.state == STATE_UNKNOWN)
		assert_int_equal(found->attempts[0].outcome, OUTCOME_UNKNOWN);
	else
		assert_int_equal(found->attempts[0].outcome, OUTCOME_CREATED);
}

/* What the ledger says agrees with every answer that it gave. */
static void check_fate(struct world *world, const struct fate *fate, const char *token)
{
	struct store_command *command = find(world, token);

	check_attempt(command);
	if (fate->claimed == 0) {
		assert_int_equal(command->result, 0);
		assert_memory_equal(&command->operation.id, &fate->operation.id, OPERATION_ID_SIZE);
	} else if (fate->claimed == FAIL_STORE) {
		assert_int_equal(command->result, STORE_ABSENT);
	} else {
		assert_int_equal(fate->claimed, FAIL_UNCERTAIN);
	}
	if (fate->settled == 0) {
		assert_int_equal(command->operation.state, STATE_COMPLETED);
		assert_int_equal(command->operation.answer.status, 201);
	} else if (fate->settled == FAIL_STORE) {
		assert_true(command->operation.state == STATE_RUNNING ||
			    command->operation.state == STATE_UNKNOWN);
	} else if (fate->settled != 1000) {
		assert_int_equal(fate->settled, FAIL_UNCERTAIN);
	}
}

static void check_fates(struct world *world, const struct fate fates[SWEEP_OPS])
{
	char token[16];

	for (int i = 0; i < SWEEP_OPS; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		check_fate(world, &fates[i], token);
	}
}

/* Try until the store is well again: the disk has been mended. */
static void recover(struct world *world)
{
	struct store_command *claim;
	int r = FAIL_STORE;

	disk.countdown = 0;
	for (int i = 0; i < 100 && r < 0; i++) {
		claim = world_claim(world, "acme", "afterwards", 'a');
		r = world_do(world, claim);
		if (r < 0)
			usleep(20000);
	}
	assert_true(r == 0 || r == STORE_EXISTS);
	claim = world_claim(world, "acme", "afterwards again", 'a');
	assert_int_equal(world_do(world, claim), 0);
	assert_true(store_is_healthy(world->store));
}

/* One sweep: the fault at the first, the second, … place, until there is none to strike. */
static int sweep_faults(enum fault fault, bool stays, bool after)
{
	static struct world world;
	struct fate fates[SWEEP_OPS];
	int n, uncertain = 0;

	install_shim();
	for (n = 1; n < 200; n++) {
		disk.countdown = 0;
		assert_int_equal(world_open(&world, directory), 0);
		disk.fault = fault;
		disk.stays = stays;
		disk.after = after;
		disk.hits = 0;
		disk.countdown = n;
		run_under_fault(&world, fates);
		for (int i = 0; i < SWEEP_OPS; i++)
			uncertain += fates[i].claimed == FAIL_UNCERTAIN ||
				     fates[i].settled == FAIL_UNCERTAIN;
		recover(&world);
		check_fates(&world, fates);
		world_close(&world);
		assert_int_equal(world_open(&world, directory), 0);
		check_fates(&world, fates);
		world_close(&world);
		world_remove(directory);
		assert_int_equal(mkdir(directory, 0700), 0);
		if (!disk.hits)
			break;
	}
	assert_true(n > 3);   /* it did strike */
	assert_true(n < 200); /* and there was an end to it */
	return uncertain;
}

static void failing_write_tells_no_lie(void **state)
{
	sweep_faults(FAULT_WRITE, false, false);
	sweep_faults(FAULT_WRITE, false, true);
}

static void failing_sync_tells_no_lie(void **state)
{
	sweep_faults(FAULT_SYNC, false, false);
}

static void broken_disk_leaves_doubt_only_where_it_must(void **state)
{
	sweep_faults(FAULT_WRITE, true, false);
	assert_true(sweep_faults(FAULT_SYNC, true, false) > 0);
}

static void full_disk_changes_nothing_and_passes(void **state)
{
	assert_int_equal(sweep_faults(FAULT_FULL, false, false), 0);
	assert_int_equal(sweep_faults(FAULT_FULL, true, false), 0);
}

/* A token that would have been taken over keeps its old operation. */
static void failed_claim_leaves_the_old_one(void **state)
{
	static struct world world;
	struct store_operation old;
	struct store_command *claim, *command;

	install_shim();
	disk.countdown = 0;
	assert_int_equal(world_open(&world, directory), 0);
	old = world_completed(&world, "acme", "t1");
	world.now_ms += DAY_MS;
	disk.fault = FAULT_FULL;
	disk.stays = true;
	disk.countdown = 1;
	claim = world_claim(&world, "acme", "t1", 'b');
	claim->tombstone_ms = 0;
	assert_int_equal(world_do(&world, claim), FAIL_STORE);
	command = find(&world, "t1");
	assert_int_equal(command->result, 0);
	assert_memory_equal(&command->operation.id, &old.id, OPERATION_ID_SIZE);
	disk.countdown = 0;
	claim = world_claim(&world, "acme", "t1", 'b');
	claim->tombstone_ms = 0;
	assert_int_equal(world_do(&world, claim), 0);
	world_close(&world);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(open_again_has_everything),
		ROW(an_interruption_is_nobodys_decision),
		ROW(interrupted_attempts_are_unknown),
		ROW(purge_leaves_the_token_of_a_newer_claim),
		ROW(files_are_private),
		ROW(second_gate_is_told_who_has_it),
		ROW(newer_schema_is_refused),
		ROW(place_that_cannot_be_written_is_explained),
		ROW(file_that_is_no_database_is_explained),
		ROW(killed_gate_keeps_what_it_acknowledged),
		ROW(failing_write_tells_no_lie),
		ROW(failing_sync_tells_no_lie),
		ROW(broken_disk_leaves_doubt_only_where_it_must),
		ROW(full_disk_changes_nothing_and_passes),
		ROW(failed_claim_leaves_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
