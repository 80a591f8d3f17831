/*
 * The embedded store: the ledger as the committer's engine.
 *
 * What makes it fast, as first measured here with bare statements, 32 claims and 32
 * settlements a transaction, CPU per operation (claim, settlement, answer, attempt), 8 MiB
 * of cache, pages of 4 KiB:
 *
 *                                                   empty    a million stored
 *   token index written at every claim              16 µs    over 22 µs (300,000 stored)
 *   index written in runs of 65,536                 11 µs    18 µs
 *   the same, and a filter that knows new tokens    11 µs    14 µs
 *
 * Pages of 8 KiB cost the same CPU and a third more time; checkpoints every 4,000 pages
 * instead of 1,000 change nothing; each index on `operation` costs about 1 µs.
 *
 * The whole, with the queue and the loop that feeds it (tests/store/bench_store, 64 in
 * flight, about 50 commands a batch): 15 µs of CPU and 21 µs of time empty, 18 and 25 with
 * 1.2 million stored, 21 MiB resident, opened again in 0.2 to 0.4 s. Forgetting one costs
 * 11 µs where it leaves a tombstone, 25 where its token goes at once (a random page each).
 *
 * Rules (the same bench, `rules`): an identity, a lock and a spending make a first write a third
 * dearer at the store, about 5 µs: two appended rows, two updates and three looks. What is looked
 * for by a hash is found through the index of the tokens; an index of locks by their hashes would
 * cost a page of log for each. An operation without rules pays for four more columns and for an
 * index that leaves it out, 6 % more instructions.
 *
 * How a commit can fail, and what is said then:
 *   the disk is full             nothing was changed; the next commit may succeed
 *   a write or an fsync failed   the file is closed and opened again. SQLite recovers what
 *                                reached the log, a checkpoint makes that durable, and the
 *                                number of the batch says whether ours is in it
 *   it cannot be opened again    uncertain; opening is tried again before later batches
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/protection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CHECKPOINT_PAGES = 1000, /* of the write-ahead log, 4 MiB */
	REVIVE_MS = 100,	 /* between two tries to open a broken file again */
};

static const char stopped_reason[] = "the gate stopped while this was running";

static bool engine_look(struct engine *engine, struct store_command *command);
static int engine_begin(struct engine *engine);
static int engine_apply(struct engine *engine, struct store_command *command);
static int engine_commit(struct engine *engine);
static void engine_rollback(struct engine *engine);
static void engine_tidy(struct engine *engine);
static int64_t engine_tidy_due_ms(struct engine *engine);
static void engine_count(struct engine *engine, uint64_t out_counts[STATE_COUNT]);
static void engine_close(struct engine *engine);

static const struct engine_kind sqlite_kind = {
	.look = engine_look,
	.begin = engine_begin,
	.apply = engine_apply,
	.commit = engine_commit,
	.rollback = engine_rollback,
	.tidy = engine_tidy,
	.tidy_due_ms = engine_tidy_due_ms,
	.count = engine_count,
	.close = engine_close,
};

static int take_directory(struct ledger *ledger, const char *path, char *why, size_t why_size);
static int secure(struct ledger *ledger);
static int sweep(struct ledger *ledger, uint64_t *out_interrupted);
static int look_again(struct ledger *ledger, int64_t wanted_batch);
static void close_as_it_is(struct ledger *ledger);

static struct ledger *ledger_of(struct engine *engine)
{
	return (struct ledger *)(void *)((char *)engine - offsetof(struct ledger, engine));
}

static struct ledger *ledger_new(const char *path, const struct env *env, struct log *log)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (!ledger)
		return NULL;
	ledger->engine.kind = &sqlite_kind;
	ledger->env = env;
	ledger->log = log;
	ledger->lock_fd = -1;
	lapse_now(&ledger->lapse, env);
	buf_init(&ledger->sealed, INT32_MAX);
	ledger->wal_pages_due = CHECKPOINT_PAGES;
	if (asprintf(&ledger->path, "%s/counterfoil.db", path) < 0)
		ledger->path = NULL;
	if (ledger->path && tokens_init(&ledger->tokens) == 0)
		return ledger;
	free(ledger->path);
	free(ledger);
	return NULL;
}

int store_open_sqlite(const char *path, const struct store_options *options, const struct env *env,
		      struct log *log, struct store **out_store, uint64_t *out_interrupted,
		      char *why, size_t why_size)
{
	static const struct store_options none;
	struct ledger *ledger;
	int r;

	/* One thread has the connection. Refused, harmlessly, where SQLite is in use already. */
	sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	ledger = ledger_new(path, env, log);
	if (!ledger) {
		snprintf(why, why_size, "there is no memory to open %s", path);
		return fail(FAIL_MEMORY);
	}
	options = options ? options : &none;
	ledger->vault = store_is_protected() ? options->vault : NULL;
	r = take_directory(ledger, path, why, why_size);
	if (r == 0)
		r = ledger_connect(ledger, why, why_size);
	if (r == 0)
		r = ledger_check_vault(ledger, why, why_size);
	if (r == 0)
		r = ledger_audit_open(ledger, options->audit, path, why, why_size);
	if (r == 0) {
		r = secure(ledger);
		if (r == 0)
			r = sweep(ledger, out_interrupted);
		if (r == 0)
			r = ledger_audit_start(ledger);
		if (r < 0)
			snprintf(why, why_size, "%s cannot be written", ledger->path);
	}
	if (r < 0) {
		ledger_free(ledger);
		return r == FAIL_MEMORY ? r : FAIL_STORE;
	}
	r = committer_start(&ledger->engine, env, log, out_store);
	if (r < 0)
		snprintf(why, why_size, "there is no memory to open %s", path);
	return r;
}

/* Write into `why` what stands in the way of `path`. */
static int refuse(char *why, size_t why_size, const char *path, int error_number)
{
	const char *mend = "let the user that runs counterfoil write there";

	if (error_number == ENOENT)
		mend = "make the directory it is to be in";
	if (error_number == EROFS)
		mend = "make its file system writable";
	snprintf(why, why_size, "%s cannot be used: %s; %s, or name another directory", path,
		 strerror(error_number), mend);
	return FAIL_CONFIG;
}

static int lock_is_taken(int fd, const char *path, char *why, size_t why_size)
{
	char pid[24] = "";
	ssize_t len = pread(fd, pid, sizeof(pid) - 1, 0);

	if (len > 0)
		pid[strcspn(pid, "\n")] = '\0';
	snprintf(why, why_size,
		 "%s is in use by another counterfoil (pid %s): stop that one, or name another "
		 "directory",
		 path, len > 0 ? pid : "unknown");
	return FAIL_CONFIG;
}

/* Whoever may write in a directory may replace the files in it, whatever their modes. */
static int check_mode(const char *path, char *why, size_t why_size)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return refuse(why, why_size, path, errno);
	if (!(facts.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	snprintf(why, why_size, "others can write into %s; make it yours alone: chmod 700 %s", path,
		 path);
	return FAIL_CONFIG;
}

int store_make_directory(const char *path, char *why, size_t why_size)
{
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return refuse(why, why_size, path, errno);
	return check_mode(path, why, why_size);
}

/* The directory, made if it is not there, and its lock. */
static int take_directory(struct ledger *ledger, const char *path, char *why, size_t why_size)
{
	char name[4096], pid[24];
	int len;

	if (store_make_directory(path, why, why_size) != 0)
		return FAIL_CONFIG;
	if (snprintf(name, sizeof(name), "%s/lock", path) >= (int)sizeof(name))
		return refuse(why, why_size, path, ENAMETOOLONG);
	ledger->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (ledger->lock_fd < 0)
		return refuse(why, why_size, path, errno);
	if (flock(ledger->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? lock_is_taken(ledger->lock_fd, path, why, why_size)
					    : refuse(why, why_size, path, errno);
	len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(ledger->lock_fd, 0) != 0 ||
	    pwrite(ledger->lock_fd, pid, (size_t)len, 0) != len)
		return refuse(why, why_size, path, errno);
	return 0;
}

static int sync_log(struct ledger *ledger)
{
	char *name;
	int fd, r;

	if (asprintf(&name, "%s-wal", ledger->path) < 0)
		return fail(FAIL_MEMORY);
	fd = open(name, O_RDWR | O_CLOEXEC);
	free(name);
	if (fd < 0)
		return errno == ENOENT ? 0 : fail_errno(FAIL_STORE, errno);
	r = fsync(fd) == 0 ? 0 : fail_errno(FAIL_STORE, errno);
	close(fd);
	return r;
}

/*
 * The last owner may have died between writing and syncing: what it left in the log is made
 * durable before anything of it is told. Where there is no room for a checkpoint a sync will do.
 */
static int secure(struct ledger *ledger)
{
	int rc =
		sqlite3_wal_checkpoint_v2(ledger->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sync_log(ledger);
}

/* Their attempts under way first, while they are still found as running. */
static int sweep_attempts(struct ledger *ledger)
{
	static const char sql[] = "UPDATE attempt SET outcome = ?1 WHERE outcome = 0 AND op IN"
				  " (SELECT op FROM operation INDEXED BY operation_open"
				  " WHERE state = ?2 AND state < 5)";
	sqlite3_stmt *statement = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	sqlite3_bind_int(statement, 1, OUTCOME_UNKNOWN);
	sqlite3_bind_int(statement, 2, STATE_RUNNING);
	r = ledger_run(ledger, statement);
	sqlite3_finalize(statement);
	return r;
}

static int sweep_operations(struct ledger *ledger, enum operation_state next)
{
	static const char sql[] =
		"UPDATE operation INDEXED BY operation_open SET state = ?1, updated_ms = ?2,"
		" reason = ?3, decided_by = '', tries = 0, due = CASE WHEN EXISTS (SELECT 1 FROM "
		"rule"
		" WHERE rule.op = operation.op AND (probe <> '' OR flags & ?5)) THEN -?2 ELSE 0 END"
		" WHERE state = ?4 AND state < 5";
	sqlite3_stmt *statement = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	sqlite3_bind_int(statement, 1, (int)next);
	sqlite3_bind_int64(statement, 2, env_wall_ms(ledger->env));
	sqlite3_bind_text(statement, 3, stopped_reason, -1, SQLITE_STATIC);
	sqlite3_bind_int(statement, 4, STATE_RUNNING);
	sqlite3_bind_int(statement, 5, RULE_REQUEST);
	r = ledger_run(ledger, statement);
	sqlite3_finalize(statement);
	return r;
}

/* Nobody has in hand what the last owner was about to ask after: it is due at once. */
static int end_leases(struct ledger *ledger)
{
	static const char sql[] = "UPDATE operation INDEXED BY operation_open SET due = -?1"
				  " WHERE state = ?2 AND state < 5 AND due < -?1 AND due > -?3";
	sqlite3_stmt *statement = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	sqlite3_bind_int64(statement, 1, env_wall_ms(ledger->env));
	sqlite3_bind_int(statement, 2, STATE_UNKNOWN);
	sqlite3_bind_int64(statement, 3, INT64_MAX);
	r = ledger_run(ledger, statement);
	sqlite3_finalize(statement);
	return r;
}

/* What was running when the last owner stopped: nobody knows what became of it. */
static int sweep(struct ledger *ledger, uint64_t *out_interrupted)
{
	uint64_t running = ledger->counts[STATE_RUNNING];
	enum operation_state next = STATE_UNKNOWN;
	int r;

	*out_interrupted = running;
	if (!running && !ledger->counts[STATE_UNKNOWN])
		return 0;
	require(operation_move(STATE_RUNNING, EVENT_LOST_SIGHT, &next) == 0);
	r = engine_begin(&ledger->engine);
	if (r < 0)
		return r;
	r = end_leases(ledger);
	if (r == 0)
		r = ledger_say_lost(ledger, stopped_reason);
	if (r == 0)
		r = sweep_attempts(ledger);
	if (r == 0)
		r = sweep_operations(ledger, next);
	ledger->counts[STATE_RUNNING] = 0;
	ledger->counts[next] += running;
	if (r == 0)
		return engine_commit(&ledger->engine);
	engine_rollback(&ledger->engine);
	return r;
}

/* Close without a checkpoint: what is in the log is looked at first. */
static void close_as_it_is(struct ledger *ledger)
{
	sqlite3_db_config(ledger->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	ledger_disconnect(ledger);
}

/*
 * Open a file that had to be closed. What SQLite finds in the log was perhaps never synced (a sync
 * that failed once may pretend to have gone well the next time), so nothing of it is told before
 * a checkpoint has written it anew. True: it is open, and all that it says is durable.
 */
static bool reopen(struct ledger *ledger)
{
	char why[512];

	if (ledger_connect(ledger, why, sizeof(why)) < 0) {
		log_note(ledger->log, LOG_ERROR, "store_not_opened", "why", why);
		return false;
	}
	if (sqlite3_wal_checkpoint_v2(ledger->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
	    SQLITE_OK)
		return true;
	log_note(ledger->log, LOG_ERROR, "store_not_opened", "why", sqlite3_errmsg(ledger->db));
	close_as_it_is(ledger);
	return false;
}

/* Is the file open? One that had to be closed is opened again, not too often. */
static bool is_usable(struct ledger *ledger)
{
	int64_t now_ms;

	if (ledger->db)
		return true;
	now_ms = env_monotonic_ms(ledger->env);
	if (now_ms < ledger->revive_ms)
		return false;
	ledger->revive_ms = now_ms + REVIVE_MS;
	return reopen(ledger);
}

/*
 * Is the file still where the next gate will look for it? What is promised into one that was
 * removed, or moved away, or replaced by another, is lost with this process.
 */
static bool is_in_place(struct ledger *ledger)
{
	bool was_missed = ledger->is_missed;

	ledger->is_missed = !ledger_is_in_place(ledger);
	if (ledger->is_missed && !was_missed)
		log_note(ledger->log, LOG_ERROR, "store_gone", "why",
			 "the database was removed, moved or replaced; put it back, or restart");
	return !ledger->is_missed;
}

static bool engine_look(struct engine *engine, struct store_command *command)
{
	struct ledger *ledger = ledger_of(engine);
	bool changes = false;
	int r = FAIL_STORE;

	switch (command->kind) {
	case STORE_FIND:
		r = is_usable(ledger) ? ledger_find(ledger, command) : FAIL_STORE;
		break;
	case STORE_LIST:
		r = is_usable(ledger) ? ledger_list(ledger, command) : FAIL_STORE;
		break;
	case STORE_LOCKS:
		r = is_usable(ledger) ? ledger_locks(ledger, command) : FAIL_STORE;
		break;
	case STORE_BUDGETS:
		r = is_usable(ledger) ? ledger_budgets(ledger, command) : FAIL_STORE;
		break;
	case STORE_APPROVALS:
		r = is_usable(ledger) ? ledger_approvals(ledger, command) : FAIL_STORE;
		break;
	case STORE_NOTICES:
		r = is_usable(ledger) ? ledger_notices(ledger, command) : FAIL_STORE;
		break;
	case STORE_LAPSE:
		r = is_usable(ledger) ? ledger_has_lapsed(ledger, command) : FAIL_STORE;
		changes = r > 0;
		break;
	case STORE_KEPT:
		r = is_usable(ledger) ? ledger_kept(ledger, command) : FAIL_STORE;
		break;
	case STORE_TAKE:
	case STORE_DUE:
		r = is_usable(ledger) ? ledger_has_errand(ledger, command) : FAIL_STORE;
		changes = r > 0;
		break;
	case STORE_COUNT_STATES:
		memcpy(command->counts, ledger->counts, sizeof(command->counts));
		r = 0;
		break;
	case STORE_CLAIM:
		if (is_usable(ledger))
			r = ledger_claim(ledger, command, true, &changes);
		break;
	default:
		return false;
	}
	command->result = r == FAIL_UNPLANNED ? FAIL_STORE : r;
	return !changes;
}

static int engine_begin(struct engine *engine)
{
	struct ledger *ledger = ledger_of(engine);

	if (!is_usable(ledger) || !is_in_place(ledger))
		return FAIL_STORE;
	tokens_freeze_if_full(&ledger->tokens);
	tokens_begin(&ledger->tokens);
	memcpy(ledger->counts_before, ledger->counts, sizeof(ledger->counts));
	ledger->waiting_before = ledger->waiting;
	ledger_audit_begin(&ledger->audit);
	ledger->added = 0;
	ledger->has_thawed = false;
	ledger->forgotten_count = 0;
	return ledger_run(ledger, ledger_statement(ledger, SQL_BEGIN));
}

static int tell(struct ledger *ledger, const struct store_command *command)
{
	return command->administration.event
		       ? ledger_say_administration(ledger, &command->administration)
		       : ledger_say_noted(ledger, command, &command->operation);
}

static int carry_out(struct ledger *ledger, struct store_command *command)
{
	bool changes;

	switch (command->kind) {
	case STORE_CLAIM:
		return ledger_claim(ledger, command, false, &changes);
	case STORE_SETTLE:
		return ledger_settle(ledger, command);
	case STORE_MOVE:
		return ledger_move(ledger, command);
	case STORE_NOTE:
		return ledger_note(ledger, command);
	case STORE_TELL:
		return tell(ledger, command);
	case STORE_KEEP:
		return ledger_keep(ledger, command);
	case STORE_DROP:
		return ledger_drop(ledger, command);
	case STORE_AMEND:
		return ledger_amend(ledger, command);
	case STORE_TAKE:
		return ledger_take(ledger, command);
	case STORE_DUE:
		return ledger_due(ledger, command);
	case STORE_POSTPONE:
		return ledger_postpone(ledger, command);
	case STORE_RELEASE:
		return ledger_release(ledger, command);
	case STORE_APPROVE:
	case STORE_DENY:
		return ledger_answer(ledger, command);
	case STORE_ASK_AGAIN:
		return ledger_ask_again(ledger, command);
	case STORE_LAPSE:
		return ledger_lapse(ledger, command);
	case STORE_NOTICED:
		return ledger_noticed(ledger, command);
	case STORE_PURGE:
		return ledger_purge(ledger, command);
	case STORE_ROTATE:
	case STORE_ERASE:
		return ledger_change_epoch(ledger, command);
	default:
		unreachable("what changes nothing has been answered by engine_look");
	}
}

static int engine_apply(struct engine *engine, struct store_command *command)
{
	int r = carry_out(ledger_of(engine), command);

	if (r < 0 && r != FAIL_MEMORY && r != FAIL_LIMIT)
		return r;
	command->result = r; /* a full arena, or a limit, shows before the first change */
	return 0;
}

/* The numbers that are true together with the batch, and its share of the index. */
static int write_tail(struct ledger *ledger)
{
	int r = 0;

	if (ledger->added)
		r = ledger_merge(ledger, tokens_share(&ledger->tokens, ledger->added));
	for (int i = 1; i < STATE_COUNT; i++)
		if (ledger->counts[i] != ledger->counts_before[i])
			ledger_counter_put(ledger, i, (int64_t)ledger->counts[i], &r);
	if (ledger->waiting != ledger->waiting_before)
		ledger_counter_put(ledger, COUNTER_WAITING, (int64_t)ledger->waiting, &r);
	ledger_audit_put(ledger, &r);
	ledger_counter_put(ledger, COUNTER_BATCH, ledger->batch + 1, &r);
	return r;
}

static void committed(struct ledger *ledger)
{
	ledger_audit_committed(&ledger->audit);
	ledger_audit_show(ledger);
	ledger_epoch_finish(ledger);
	if (ledger->has_thawed)
		tokens_thaw(&ledger->tokens);
	for (size_t i = 0; i < ledger->forgotten_count; i++)
		tokens_forget(&ledger->tokens, &ledger->forgotten[i].hash, ledger->forgotten[i].op);
}

static int engine_commit(struct engine *engine)
{
	struct ledger *ledger = ledger_of(engine);
	sqlite3_stmt *commit = ledger_statement(ledger, SQL_COMMIT);
	int rc, r = write_tail(ledger);

	if (r < 0) {
		engine_rollback(engine);
		return r;
	}
	rc = sqlite3_step(commit);
	sqlite3_reset(commit);
	if (rc == SQLITE_DONE) {
		ledger->batch++;
		committed(ledger);
		return 0;
	}
	log_note(ledger->log, LOG_ERROR, "store_commit_failed", "why", sqlite3_errmsg(ledger->db));
	if ((rc & 0xff) != SQLITE_FULL)
		return look_again(ledger, ledger->batch + 1);
	engine_rollback(engine); /* the frame that commits is the last one written */
	return fail(FAIL_STORE);
}

/* Did the transaction reach the disk? 0: yes. FAIL_STORE: no. FAIL_UNCERTAIN. */
static int look_again(struct ledger *ledger, int64_t wanted_batch)
{
	close_as_it_is(ledger);
	if (!reopen(ledger)) {
		ledger->doubts++;
		return fail(FAIL_UNCERTAIN);
	}
	return ledger->batch == wanted_batch ? 0 : fail(FAIL_STORE);
}

static void engine_rollback(struct engine *engine)
{
	struct ledger *ledger = ledger_of(engine);

	if (!sqlite3_get_autocommit(ledger->db)) /* SQLite may have done it by itself */
		ledger_run(ledger, ledger_statement(ledger, SQL_ROLLBACK));
	tokens_undo(&ledger->tokens);
	memcpy(ledger->counts, ledger->counts_before, sizeof(ledger->counts));
	ledger->waiting = ledger->waiting_before;
	ledger_audit_undo(&ledger->audit);
	ledger->has_thawed = false;
	ledger->forgotten_count = 0;
}

static void engine_tidy(struct engine *engine)
{
	struct ledger *ledger = ledger_of(engine);
	int rc;

	ledger_audit_tidy(ledger);
	if (!ledger->db || ledger->wal_pages < ledger->wal_pages_due)
		return;
	rc = sqlite3_wal_checkpoint_v2(ledger->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	if (rc == SQLITE_OK) {
		ledger->wal_pages = 0;
		ledger->wal_pages_due = CHECKPOINT_PAGES;
		return;
	}
	ledger->wal_pages_due = ledger->wal_pages + CHECKPOINT_PAGES;
	log_note(ledger->log, LOG_WARNING, "store_checkpoint_failed", "why",
		 sqlite3_errmsg(ledger->db));
}

static int64_t engine_tidy_due_ms(struct engine *engine)
{
	return ledger_audit_due_ms(ledger_of(engine));
}

static void engine_count(struct engine *engine, uint64_t out_counts[STATE_COUNT])
{
	memcpy(out_counts, ledger_of(engine)->counts, sizeof(ledger_of(engine)->counts));
}

static void engine_close(struct engine *engine)
{
	ledger_audit_close(ledger_of(engine));
	ledger_free(ledger_of(engine));
}
