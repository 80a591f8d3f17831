/*
 * The ledger on disk: one SQLite file, one connection, one thread.
 *
 *   operation   one row an operation, appended: its key is the first half of the id
 *   answer      the upstream's answers, appended
 *   attempt     clustered by operation; outcome 0 is one under way
 *   token       (hash of account and token) → operation; written in sorted runs, see tokens.h
 *   tombstone   tokens whose operation has been forgotten
 *   counter     a few numbers that are true together with the rest of the transaction
 *
 * An id is a 64-bit key (48 bits of milliseconds, 16 of a counter, strictly increasing,
 * whatever the clock does) and 64 random bits, which are compared when it is looked up.
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include "store/committer.h"
#include "store/rules.h"
#include "store/tokens.h"

#include <sqlite3.h>
#include <sys/types.h>

enum ledger_statement {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_OPERATION_INSERT,
	SQL_OPERATION_GET,
	SQL_OPERATION_SETTLE,
	SQL_OPERATION_MOVE,
	SQL_OPERATION_DELETE,
	SQL_OPERATION_EXPIRED,
	SQL_ANSWER_PUT,
	SQL_ANSWER_GET,
	SQL_ANSWER_LENGTH,
	SQL_ANSWER_DELETE,
	SQL_ATTEMPT_LAST,
	SQL_ATTEMPT_INSERT,
	SQL_ATTEMPT_END,
	SQL_ATTEMPT_AMEND,
	SQL_ATTEMPT_TRIM,
	SQL_ATTEMPT_LIST,
	SQL_ATTEMPT_DELETE,
	SQL_TOKEN_GET,
	SQL_TOKEN_PUT,
	SQL_TOKEN_DELETE,
	SQL_TOMBSTONE_GET,
	SQL_TOMBSTONE_PUT,
	SQL_TOMBSTONE_EXPIRED,
	SQL_TOMBSTONE_DELETE,
	SQL_LIST_ALL,
	SQL_LIST_OPEN,
	SQL_LIST_TASK,
	SQL_COUNTER_PUT,
	SQL_STATEMENTS,
};

/* Rows of `counter`. The numbers are stored; 1 to 7 are operations by state. */
enum ledger_counter {
	COUNTER_BATCH = 0,   /* transactions so far */
	COUNTER_INDEXED = 8, /* operations up to this key have their token on disk */
	COUNTER_LAST_OP = 9, /* the largest key that has been purged or given out */
};

enum { RANDOMS = 64 };

struct ledger {
	struct engine engine;
	const struct env *env;
	struct log *log;
	char *path; /* of the database */
	int lock_fd;
	dev_t device;	/* of the database file, once it has been opened */
	ino_t inode;	/* 0: it has not been */
	bool is_missed; /* it was not there when it was last looked for */

	sqlite3 *db; /* NULL after a failure, until it could be opened again */
	sqlite3_stmt *statements[SQL_STATEMENTS];
	uint8_t key[16]; /* of the token hashes */
	int64_t last_op; /* given out */
	int64_t batch;
	int64_t randoms[RANDOMS]; /* drawn together: a system call each would show */
	size_t randoms_left;
	struct lapse lapse; /* for what expires */
	uint32_t doubts;    /* batches of this process of which nobody knows; see claim_epoch() */
	uint64_t counts[STATE_COUNT], counts_before[STATE_COUNT];
	struct tokens tokens;
	size_t added;	 /* tokens in this transaction */
	bool has_thawed; /* the frozen run was finished in this transaction */

	struct token_entry forgotten[2 * STORE_PURGE_MAX]; /* by this transaction's purge */
	size_t forgotten_count;

	int wal_pages;	   /* in the write-ahead log */
	int wal_pages_due; /* checkpoint from here on */
	int64_t revive_ms; /* a broken file is not opened again before (monotonic) */
};

/* ledger_schema.c */
extern const char *const ledger_sql[SQL_STATEMENTS];
/* Bring the schema up to date. 0, or FAIL_STORE and `why`. */
int ledger_migrate(sqlite3 *db, const char *path, char *why, size_t why_size);

/* ledger_open.c */
int ledger_connect(struct ledger *ledger, char *why, size_t why_size);
void ledger_disconnect(struct ledger *ledger);
/* Is the file that was opened still the one under its name? */
bool ledger_is_in_place(const struct ledger *ledger);
void ledger_free(struct ledger *ledger);

/* ledger_row.c: statements and rows */
sqlite3_stmt *ledger_statement(struct ledger *ledger, enum ledger_statement which);
void bind_str(sqlite3_stmt *statement, int column, struct str text);
/* The token's hash in a column. False: what is there is none. */
bool ledger_column_token(sqlite3_stmt *row, int column, struct token_hash *out_hash);
/* Run a statement that returns no row. 0, or see engine_kind.apply. */
int ledger_run(struct ledger *ledger, sqlite3_stmt *statement);
/* 1 and a row is there, to be ended by sqlite3_reset(); 0 none; < 0. */
int ledger_step(struct ledger *ledger, sqlite3_stmt *statement);
/* The one integer of a query's first row, or `absent`. */
int ledger_number(struct ledger *ledger, sqlite3_stmt *statement, int64_t absent, int64_t *out);
void ledger_counter_put(struct ledger *ledger, int counter, int64_t value, int *r);

int64_t id_op(const struct operation_id *id);
int64_t id_random(const struct operation_id *id);
void id_make(int64_t op, int64_t random, struct operation_id *out_id);

/*
 * Read an operation. 0 and *out_record in `mem`; STORE_ABSENT; FAIL_MEMORY (`mem` is full);
 * failures of ledger_step().
 */
int ledger_read(struct ledger *ledger, int64_t op, struct arena *mem,
		struct store_operation **out_record);
/* The same, if it has this very id and, unless it is empty, this account. */
int ledger_read_id(struct ledger *ledger, const struct operation_id *id, struct str account,
		   struct arena *mem, struct store_operation **out_record);
int ledger_read_answer(struct ledger *ledger, struct arena *mem, struct store_operation *record);

/* ledger_claim.c */
int ledger_claim(struct ledger *ledger, struct store_command *command, bool only_look,
		 bool *out_changes);
/* The operation of a token: 0 and *out_op; STORE_ABSENT. */
int ledger_find_token(struct ledger *ledger, const struct token_hash *hash, int64_t *out_op);
int ledger_merge(struct ledger *ledger, size_t entries);

/* ledger_attempt.c */
/* Write attempt `n`, one more than there are. */
int ledger_add_attempt(struct ledger *ledger, int64_t op, uint32_t n, int64_t at_ms,
		       const struct store_attempt *attempt);
/* How attempt `n` ended. None of 0, or of one that is no longer kept, is no failure. */
int ledger_end_attempt(struct ledger *ledger, int64_t op, uint32_t n, enum outcome outcome);
int ledger_count_attempts(struct ledger *ledger, struct store_operation *record);
int ledger_note(struct ledger *ledger, struct store_command *command);
int ledger_amend(struct ledger *ledger, struct store_command *command);

/* ledger_change.c */
int ledger_settle(struct ledger *ledger, struct store_command *command);
int ledger_move(struct ledger *ledger, struct store_command *command);
/* Write what record_move() made of a record. */
int ledger_update(struct ledger *ledger, const struct store_operation *record);

/* ledger_find.c */
int ledger_find(struct ledger *ledger, struct store_command *command);
int ledger_list(struct ledger *ledger, struct store_command *command);

/* ledger_purge.c */
int ledger_purge(struct ledger *ledger, struct store_command *command);

#endif
