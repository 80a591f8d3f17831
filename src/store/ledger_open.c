/*
 * Opening the ledger: its directory, its lock, its file, and what memory needs of it.
 *
 * The connection is the only one: SQLite keeps its lock and its index of the write-ahead
 * log in this process (locking_mode EXCLUSIVE), and our own lock file says who has it.
 * Checkpoints are ours too (engine tidy), after answers have been given.
 */
#include "store/ledger.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CACHE_KIB = 8192,
	ENTRIES_MAX = 3, /* of one key in the index: a token, an identity, a lock */
};

static int load(struct ledger *ledger);
static int load_numbers(struct ledger *ledger);
static int load_index(struct ledger *ledger);
static int load_recent(struct ledger *ledger);

static const char pragmas[] = "PRAGMA page_size = 4096;"
			      "PRAGMA locking_mode = EXCLUSIVE;"
			      "PRAGMA journal_mode = WAL;"
			      "PRAGMA synchronous = FULL;"
			      "PRAGMA temp_store = MEMORY;"
			      "PRAGMA journal_size_limit = 16777216;"
			      "PRAGMA secure_delete = FAST;"
			      "PRAGMA trusted_schema = OFF;";

static int see_wal(void *context, sqlite3 *db, const char *name, int pages)
{
	struct ledger *ledger = context;

	ledger->wal_pages = pages;
	return SQLITE_OK;
}

static int prepare_all(struct ledger *ledger)
{
	for (int i = 0; i < SQL_STATEMENTS; i++) {
		int rc =
			sqlite3_prepare_v3(ledger->db, ledger_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
					   &ledger->statements[i], NULL);
		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}

bool ledger_is_in_place(const struct ledger *ledger)
{
	struct stat there;

	return stat(ledger->path, &there) == 0 && there.st_dev == ledger->device &&
	       there.st_ino == ledger->inode;
}

/*
 * Made here, so that it and what SQLite puts beside it are nobody else's to read; and only the
 * first time: an empty one in the place of one that is gone would have forgotten every token.
 */
static int find_file(struct ledger *ledger)
{
	int fd = open(ledger->path, O_RDWR | O_CLOEXEC | (ledger->inode ? 0 : O_CREAT), 0600);
	struct stat opened;
	int r;

	if (fd < 0)
		return SQLITE_CANTOPEN;
	r = fstat(fd, &opened);
	close(fd);
	if (r != 0)
		return SQLITE_CANTOPEN;
	if (!ledger->inode) {
		ledger->device = opened.st_dev;
		ledger->inode = opened.st_ino;
	}
	errno = ESTALE;
	return ledger_is_in_place(ledger) ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int open_file(struct ledger *ledger)
{
	char cache[48];
	int rc = find_file(ledger);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_open_v2(ledger->path, &ledger->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			     NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_extended_result_codes(ledger->db, 1);
	sqlite3_wal_hook(ledger->db, see_wal, ledger);
	snprintf(cache, sizeof(cache), "PRAGMA cache_size = -%d", (int)CACHE_KIB);
	rc = sqlite3_exec(ledger->db, pragmas, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(ledger->db, cache, NULL, NULL, NULL);
	return rc;
}

int ledger_connect(struct ledger *ledger, char *why, size_t why_size)
{
	int rc = open_file(ledger);
	int r = 0;

	if (rc == SQLITE_OK) {
		r = ledger_migrate(ledger->db, ledger->path, why, why_size);
		if (r == 0)
			rc = prepare_all(ledger);
	}
	if (r == 0 && rc == SQLITE_OK && load(ledger) == 0)
		return 0;
	if (r == 0)
		snprintf(why, why_size, "%s cannot be opened: %s", ledger->path,
			 ledger->db ? sqlite3_errmsg(ledger->db) : strerror(errno));
	ledger_disconnect(ledger);
	return FAIL_STORE;
}

void ledger_disconnect(struct ledger *ledger)
{
	for (int i = 0; i < SQL_STATEMENTS; i++) {
		sqlite3_finalize(ledger->statements[i]);
		ledger->statements[i] = NULL;
	}
	if (ledger->db)
		sqlite3_close(ledger->db);
	ledger->db = NULL;
	ledger->wal_pages = 0;
}

void ledger_free(struct ledger *ledger)
{
	ledger_audit_close(ledger);
	ledger_disconnect(ledger);
	tokens_fini(&ledger->tokens);
	buf_fini(&ledger->sealed);
	if (ledger->lock_fd >= 0)
		close(ledger->lock_fd);
	free(ledger->path);
	free(ledger);
}

static int load(struct ledger *ledger)
{
	int r;

	tokens_clear(&ledger->tokens);
	r = load_numbers(ledger);
	if (r == 0)
		r = ledger_audit_load(ledger);
	if (r == 0)
		r = load_index(ledger);
	if (r == 0)
		r = load_recent(ledger);
	return r;
}

/* Prepare a query that is run once; NULL with the failure logged. */
static sqlite3_stmt *query(struct ledger *ledger, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) == SQLITE_OK)
		return statement;
	log_note(ledger->log, LOG_ERROR, "store_query_failed", "why", sqlite3_errmsg(ledger->db));
	return NULL;
}

static int query_number(struct ledger *ledger, const char *sql, int64_t *out)
{
	sqlite3_stmt *statement = query(ledger, sql);
	int r;

	if (!statement)
		return fail(FAIL_STORE);
	r = ledger_number(ledger, statement, 0, out);
	sqlite3_finalize(statement);
	return r;
}

static int load_key(struct ledger *ledger)
{
	sqlite3_stmt *statement =
		query(ledger, "SELECT value FROM secret WHERE name = 'token_key'");
	int r = statement ? ledger_step(ledger, statement) : FAIL_STORE;

	if (r > 0 && sqlite3_column_bytes(statement, 0) == (int)sizeof(ledger->key))
		memcpy(ledger->key, sqlite3_column_blob(statement, 0), sizeof(ledger->key));
	else
		r = fail(FAIL_STORE);
	sqlite3_finalize(statement);
	return r < 0 ? r : 0;
}

static int load_numbers(struct ledger *ledger)
{
	int64_t number = 0, last = 0;
	char sql[80];
	int r = load_key(ledger);

	for (int i = 1; r == 0 && i < STATE_COUNT; i++) {
		snprintf(sql, sizeof(sql), "SELECT value FROM counter WHERE id = %d", i);
		r = query_number(ledger, sql, &number);
		ledger->counts[i] = ledger->counts_before[i] = (uint64_t)number;
	}
	if (r == 0)
		r = query_number(ledger, "SELECT value FROM counter WHERE id = 0", &ledger->batch);
	if (r == 0)
		r = query_number(ledger, "SELECT value FROM counter WHERE id = 10", &number);
	ledger->waiting = ledger->waiting_before = r == 0 ? (uint64_t)number : 0;
	if (r == 0)
		r = query_number(ledger,
				 "SELECT max((SELECT max(value) FROM counter WHERE id IN (8, 9)),"
				 " (SELECT coalesce(max(op), 0) FROM operation),"
				 " (SELECT coalesce(max(op), 0) FROM lock),"
				 " (SELECT coalesce(max(op), 0) FROM budget),"
				 " (SELECT coalesce(max(op), 0) FROM tombstone))",
				 &last);
	if (r == 0 && last > ledger->last_op)
		ledger->last_op = last;
	return r;
}

/* The filter learns what is in the index on disk. */
static int load_index(struct ledger *ledger)
{
	sqlite3_stmt *statement = query(ledger, "SELECT hash FROM token");
	struct token_hash hash;
	int r = statement ? 0 : FAIL_STORE;

	while (r == 0 && (r = ledger_step(ledger, statement)) > 0) {
		if (ledger_column_token(statement, 0, &hash))
			tokens_mark(&ledger->tokens, &hash);
		r = 0;
	}
	sqlite3_finalize(statement);
	return r;
}

/* Make room for what one more key has in the index. Both tables are full only after a crash at its
 * worst. */
static int make_room(struct ledger *ledger)
{
	int r;

	tokens_freeze_if_full(&ledger->tokens);
	tokens_begin(&ledger->tokens);
	if (tokens_has_room(&ledger->tokens, ENTRIES_MAX))
		return 0;
	r = ledger_run(ledger, ledger_statement(ledger, SQL_BEGIN));
	if (r == 0)
		r = ledger_merge(ledger, TOKENS_SLOTS + 1);
	if (r == 0)
		r = ledger_run(ledger, ledger_statement(ledger, SQL_COMMIT));
	if (r < 0)
		return r;
	ledger->has_thawed = false;
	tokens_thaw(&ledger->tokens);
	tokens_freeze_if_full(&ledger->tokens);
	return 0;
}

/* What a key is found by: the hash of a token as it is, other hashes under their kind. */
static bool read_entry(struct ledger *ledger, sqlite3_stmt *row, struct token_hash *out_hash)
{
	int kind = sqlite3_column_int(row, 2);
	struct hash hash;

	if (!kind)
		return ledger_column_token(row, 1, out_hash);
	column_hash(row, 1, &hash);
	tokens_hash_kind(ledger->key, (enum token_kind)kind, &hash, out_hash);
	return true;
}

/*
 * What the index on disk does not have yet, oldest first. The entries of one key are in one run,
 * since a run is known by its newest key.
 */
static int load_recent(struct ledger *ledger)
{
	sqlite3_stmt *statement = query(
		ledger,
		"WITH since(op) AS (SELECT value FROM counter WHERE id = 8)"
		" SELECT op, hash, 0 FROM operation WHERE op > (SELECT op FROM since)"
		" UNION ALL SELECT op, hash, 0 FROM tombstone WHERE op > (SELECT op FROM since)"
		" UNION ALL SELECT op, identity, 1 FROM rule"
		" WHERE op > (SELECT op FROM since) AND length(identity) > 0"
		" UNION ALL SELECT op, hash, 2 FROM lock WHERE op > (SELECT op FROM since)"
		" UNION ALL SELECT op, hash, 3 FROM budget WHERE op > (SELECT op FROM since)"
		" ORDER BY op");
	struct token_hash hash;
	int64_t op, last = 0;
	int r = statement ? 0 : FAIL_STORE;

	ledger->has_thawed = false;
	while (r == 0 && (r = ledger_step(ledger, statement)) > 0) {
		op = sqlite3_column_int64(statement, 0);
		r = op != last ? make_room(ledger) : 0;
		last = op;
		if (r == 0 && read_entry(ledger, statement, &hash))
			tokens_add(&ledger->tokens, &hash, op);
	}
	sqlite3_finalize(statement);
	tokens_begin(&ledger->tokens);
	return r;
}
