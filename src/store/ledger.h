/*
 * The ledger on disk: one SQLite file, one connection, one thread.
 *
 *   operation   one row an operation, appended: its key is the first half of the id
 *   answer      the upstream's answers, appended
 *   attempt     clustered by operation; outcome 0 is one under way
 *   token       hash → key: a token's operation, an identity's newest one, a lock, a budget;
 *               written in sorted runs, see tokens.h
 *   tombstone   tokens whose operation has been forgotten
 *   audit       the entries of the audit log, see ledger_audit.h
 *   counter     a few numbers that are true together with the rest of the transaction
 *   rule        what the rules of its action say of an operation; appended, for those only whose
 *               key is odd: all others cost nothing for it
 *   lock        appended when it is first asked for, and kept for ever: its version and its fence
 *               only grow
 *   line        (lock, operation): who waits for it
 *   budget      appended when it is opened
 *   approval    of operations that people are asked about: the question and its answers
 *   notice      (operation, n): what somebody outside is to be told of a question
 *   known       agents whose use of an action somebody has agreed to
 *   request     of operations that the gate may have to send by itself, until they have ended
 *   document    (kind, name): keys, secrets and other small records
 *
 * An id is a 64-bit key (48 bits of milliseconds, 16 of a counter, strictly increasing,
 * whatever the clock does) and 64 random bits, which are compared when it is looked up. The
 * counter's last bit says whether there is a row of `rule`.
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include "core/money.h"
#include "store/committer.h"
#include "store/ledger_audit.h"
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
	SQL_OPERATION_DUE_GET,
	SQL_OPERATION_DUE_PUT,
	SQL_OPERATION_WAIT,
	SQL_OPERATION_WAKE,
	SQL_OPERATION_TRIES_ANEW,
	SQL_OPERATION_TRIES_LESS,
	SQL_QUEUED_DUE,
	SQL_UNKNOWN_DUE,
	SQL_QUEUED_NEXT,
	SQL_UNKNOWN_NEXT,
	SQL_OPERATION_RETRIES,
	SQL_RULE_PUT,
	SQL_RULE_GET,
	SQL_RULE_PART,
	SQL_RULE_SENT,
	SQL_RULE_DELETE,
	SQL_LOCK_PUT,
	SQL_LOCK_GET,
	SQL_LOCK_NAME,
	SQL_LOCK_TAKE,
	SQL_LOCK_FREE,
	SQL_LOCKS_HELD,
	SQL_LOCKS_AWAITED,
	SQL_LINE_PUT,
	SQL_LINE_DELETE,
	SQL_LINE_LIST,
	SQL_LINE_COUNT,
	SQL_BUDGET_PUT,
	SQL_BUDGET_GET,
	SQL_BUDGET_USE,
	SQL_BUDGET_EXPIRED,
	SQL_BUDGET_LIST,
	SQL_BUDGET_DELETE,
	SQL_REQUEST_PUT,
	SQL_REQUEST_GET,
	SQL_REQUEST_DELETE,
	SQL_ANSWER_PUT,
	SQL_ANSWER_GET,
	SQL_ANSWER_LENGTH,
	SQL_ANSWER_DELETE,
	SQL_ATTEMPT_LAST,
	SQL_ATTEMPT_INSERT,
	SQL_ATTEMPT_REMARK,
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
	SQL_APPROVAL_PUT,
	SQL_APPROVAL_GET,
	SQL_APPROVAL_ANSWER,
	SQL_APPROVAL_WITHDRAW,
	SQL_APPROVAL_DONE,
	SQL_APPROVAL_DELETE,
	SQL_APPROVAL_OVER,
	SQL_APPROVAL_AHEAD,
	SQL_APPROVAL_NEXT,
	SQL_APPROVAL_OLDEST,
	SQL_APPROVAL_ALIKE,
	SQL_APPROVAL_PREVIOUS,
	SQL_APPROVALS_WAITING,
	SQL_APPROVALS_PAST,
	SQL_KNOWN_PUT,
	SQL_KNOWN_GET,
	SQL_NOTICE_PUT,
	SQL_NOTICE_ADD,
	SQL_NOTICE_DUE,
	SQL_NOTICE_NEXT,
	SQL_NOTICE_COUNT,
	SQL_NOTICE_DONE,
	SQL_NOTICE_DELETE,
	SQL_COUNTER_PUT,
	SQL_AUDIT_PUT,
	SQL_AUDIT_TIP_PUT,
	SQL_AUDIT_SUBJECT,
	SQL_AUDIT_RUNNING,
	SQL_AUDIT_FROM,
	SQL_AUDIT_DROP,
	SQL_VAULT_GET,
	SQL_VAULT_PUT,
	SQL_DOCUMENT_IS,
	SQL_DOCUMENT_COUNT,
	SQL_DOCUMENT_PUT,
	SQL_DOCUMENT_DELETE,
	SQL_DOCUMENT_LIST,
	SQL_STATEMENTS,
};

/* Rows of `counter`. The numbers are stored; 1 to 7 are operations by state. */
enum ledger_counter {
	COUNTER_BATCH = 0,    /* transactions so far */
	COUNTER_INDEXED = 8,  /* operations up to this key have their token on disk */
	COUNTER_LAST_OP = 9,  /* the largest key that has been purged or given out */
	COUNTER_WAITING = 10, /* operations that are queued and the dispatcher's */
	COUNTER_SEALED = 11,  /* entries of the audit log that are known to be published */
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
	uint64_t waiting, waiting_before; /* queued and the dispatcher's */
	struct tokens tokens;
	size_t added;	 /* tokens in this transaction */
	bool has_thawed; /* the frozen run was finished in this transaction */

	struct token_entry forgotten[4 * STORE_PURGE_MAX]; /* by this transaction's purge */
	size_t forgotten_count;

	struct ledger_audit audit;

	struct vault *vault; /* NULL: everything is in clear */
	struct buf sealed;   /* what ledger_seal() made last */

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
void bind_hash(sqlite3_stmt *statement, int column, const struct hash *hash);
/* A column's bytes, as long as the row lasts. */
struct str column_bytes(sqlite3_stmt *row, int column);
/* A column's bytes, copied. Sets *is_full where `mem` has no room. */
struct str column_str(sqlite3_stmt *row, int column, struct arena *mem, bool *is_full);
void column_hash(sqlite3_stmt *row, int column, struct hash *out_hash);
void column_currency(sqlite3_stmt *row, int column, char out[4]);
/* The token's hash in a column. False: what is there is none. */
bool ledger_column_token(sqlite3_stmt *row, int column, struct token_hash *out_hash);
/* Run a statement that returns no row. 0, or see engine_kind.apply. */
int ledger_run(struct ledger *ledger, sqlite3_stmt *statement);
/* 1 and a row is there, to be ended by sqlite3_reset(); 0 none; < 0. */
int ledger_step(struct ledger *ledger, sqlite3_stmt *statement);
/* The one integer of a query's first row, or `absent`. */
int ledger_number(struct ledger *ledger, sqlite3_stmt *statement, int64_t absent, int64_t *out);
/* Run a statement whose one parameter is a key. */
int ledger_run_on(struct ledger *ledger, enum ledger_statement which, int64_t op);
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
/* The whole id of a key. 0, STORE_ABSENT. */
int ledger_id_of(struct ledger *ledger, int64_t op, struct operation_id *out_id);
/* The same, if it has this very id and, unless it is empty, this account. */
int ledger_read_id(struct ledger *ledger, const struct operation_id *id, struct str account,
		   struct arena *mem, struct store_operation **out_record);
int ledger_read_answer(struct ledger *ledger, struct arena *mem, struct store_operation *record);

/* What the row of `rule` has. */
enum rule_flag {
	RULE_IDENTITY = 1,
	RULE_LOCK = 2,
	RULE_VERSION = 4,
	RULE_BUDGET = 8, /* also where nobody has opened it, and it was let through */
	RULE_OPENS = 16,
	RULE_DISPATCHED = 32,
	RULE_REQUEST = 64, /* one was kept */
	RULE_APPROVAL = 128,
};

/* A row of `rule`. */
struct ledger_rule {
	unsigned flags;
	int64_t plain_ms; /* how long it is kept if the gate cancels it */
	struct hash identity;
	int64_t until_ms; /* its identity is taken */
	int64_t lock;	  /* key of the lock */
	uint64_t fence;	  /* of its last sending */
	int64_t version;  /* expected */
	int64_t budget;	  /* key of the one it spends from; 0: none */
	struct money spends, opens;
	int64_t budget_ms;
	int64_t sent_ms; /* first; 0: never */
};

/* A row of `lock`; key 0: there is none yet. */
struct ledger_lock {
	int64_t key;
	uint64_t version, fence;
	int64_t holder; /* key of the operation; 0: nobody */
	int64_t since_ms;
};

/* A row of `budget`; key 0: there is none, or its time is over. */
struct ledger_budget {
	int64_t key;
	struct budget_facts facts;
};

/* What a claim was judged by, for carrying it out. */
struct ledger_plan {
	bool asks;	/* people, before anything else */
	bool must_wait; /* for its lock */
	struct ledger_lock lock;
	struct ledger_budget budget;
	struct token_hash identity_hash, lock_hash;
};

/* From one state to another. */
struct ledger_step {
	int64_t op;
	enum operation_state before, next;
	int64_t now_ms;
};

/* ledger_rules.c: identities, and all rules together */
bool op_has_rule(int64_t op);
bool claim_has_rule(const struct store_command *command);
/* 0; STORE_ABSENT and *out_rule is zeroed, for one without. */
int ledger_read_rule(struct ledger *ledger, int64_t op, struct ledger_rule *out_rule);
/* May this claim make an operation? 0, or the outcome that refuses it. Changes nothing. */
int ledger_judge(struct ledger *ledger, struct store_command *command,
		 struct ledger_plan *out_plan);
/* The first part of that: 0, or STORE_REUSED with the operation that has its identity. */
int ledger_judge_identity(struct ledger *ledger, struct store_command *command,
			  struct ledger_plan *plan);
/* What its rule knows of a sending that begins. Nothing for one without. */
int ledger_put_sending(struct ledger *ledger, int64_t op, uint64_t fence, int64_t sent_ms);
/* Carry out what ledger_judge() let through, for the operation that has been inserted. */
int ledger_begin_rules(struct ledger *ledger, struct store_command *command,
		       const struct ledger_plan *plan);
/* All that goes with a change of state: lock and line, budget, request, counts. Whose turn has
 * come is told by command->makes_due. */
int ledger_follow(struct ledger *ledger, const struct ledger_rule *rule,
		  const struct ledger_step *step, struct store_command *command);
/* The rules of an operation that is there, as command->view. */
int ledger_view(struct ledger *ledger, const struct store_operation *record,
		const struct ledger_rule *rule, struct store_command *command);

/* ledger_lock.c */
int ledger_read_lock(struct ledger *ledger, int64_t key, struct ledger_lock *out_lock);
int ledger_find_lock(struct ledger *ledger, const struct hash *hash, struct token_hash *out_index,
		     struct ledger_lock *out_lock);
/* Who holds it, or else is first in line, as *out_op; 0: nobody. */
int ledger_lock_before(struct ledger *ledger, const struct ledger_lock *lock, int64_t *out_op);
/* A row for it, under the key of the operation that first asks for it. */
int ledger_add_lock(struct ledger *ledger, const struct store_command *command,
		    const struct ledger_plan *plan, int64_t op, int64_t since_ms);
/* It is `op`'s from now on; *out_fence is the new number, which its rule has yet to learn. */
int ledger_take_lock(struct ledger *ledger, const struct ledger_lock *lock, int64_t op,
		     int64_t now_ms, uint64_t *out_fence);
int ledger_free_lock(struct ledger *ledger, int64_t key, int64_t op, bool has_succeeded);
int ledger_join_line(struct ledger *ledger, int64_t key, int64_t op);
int ledger_leave_line(struct ledger *ledger, int64_t key, int64_t op);
/*
 * Only the first in line is due, and only while nobody holds the lock. `joined` is who has just
 * come in with a due time of its own; 0: nobody. *out_makes_due where somebody's turn has come.
 */
int ledger_order_line(struct ledger *ledger, int64_t key, int64_t joined, int64_t now_ms,
		      bool *out_makes_due);
int ledger_release(struct ledger *ledger, struct store_command *command);
int ledger_locks(struct ledger *ledger, struct store_command *command);

/* ledger_budget.c */
/* 0, and out_budget->key is 0 where there is none. */
int ledger_find_budget(struct ledger *ledger, const struct hash *hash, int64_t now_ms,
		       struct token_hash *out_index, struct ledger_budget *out_budget);
int ledger_read_budget(struct ledger *ledger, int64_t key, struct ledger_budget *out_budget);
/* A negative amount gives back. */
int ledger_use_budget(struct ledger *ledger, int64_t key, int64_t amount);
/* By the step that completes its opener. Does nothing where it is open already. */
int ledger_open_budget(struct ledger *ledger, const struct hash *hash,
		       const struct ledger_rule *rule, const struct ledger_step *step);
int ledger_budgets(struct ledger *ledger, struct store_command *command);

/* ledger_errand.c */
int ledger_take(struct ledger *ledger, struct store_command *command);
int ledger_due(struct ledger *ledger, struct store_command *command);
int ledger_postpone(struct ledger *ledger, struct store_command *command);
/* Is anything due for this take or look? Sets command->due_ms. 1 yes, 0 no, < 0. */
int ledger_has_errand(struct ledger *ledger, struct store_command *command);
/*
 * When the gate sees to it next. The column is below 0 for an unknown one, so that the one index of
 * what is due keeps the dispatcher's and the reconciler's apart without having the state in it: a
 * settlement, which changes the state of every operation, does not touch this index.
 */
int64_t due_column(enum operation_state state, int64_t due_ms);
int ledger_put_due(struct ledger *ledger, int64_t op, enum operation_state state, int64_t due_ms);
int ledger_put_request(struct ledger *ledger, int64_t op, const struct store_request *request);
int ledger_read_request(struct ledger *ledger, int64_t op, struct arena *mem,
			struct store_request *out_request);

/* ledger_approval.c */
/* 0; STORE_ABSENT. *out_agreed is the fingerprint that was agreed to. */
int ledger_read_approval(struct ledger *ledger, int64_t op, struct arena *mem, bool with_shown,
			 struct store_approval *out_approval, struct hash *out_agreed);
/* The question of `record`, as command->question; all zero where it has none and the command could
 * be taken to. */
int ledger_tell_approval(struct ledger *ledger, const struct store_operation *record,
			 struct store_command *command);
/* plan->asks: does this claim's operation wait for people? command->question is it. */
int ledger_judge_asking(struct ledger *ledger, struct store_command *command,
			struct ledger_plan *plan);
int ledger_begin_approval(struct ledger *ledger, struct store_command *command);
/* What a change of state does to a question that was not answered by it. */
int ledger_follow_approval(struct ledger *ledger, const struct ledger_step *step);
int ledger_answer(struct ledger *ledger, struct store_command *command); /* approve, deny */
int ledger_ask_again(struct ledger *ledger, struct store_command *command);
int ledger_lapse(struct ledger *ledger, struct store_command *command);
/* Is anything over? Sets command->due_ms. 1 yes, 0 no, < 0. */
int ledger_has_lapsed(struct ledger *ledger, struct store_command *command);
/* What a find tells of a question. */
int ledger_find_approval(struct ledger *ledger, struct store_command *command,
			 const struct store_operation *record);
int ledger_approvals(struct ledger *ledger, struct store_command *command);

/* ledger_notice.c: a claim whose question is told of; what has come about with it since. */
int ledger_begin_notices(struct ledger *ledger, const struct store_command *command);
int ledger_add_notice(struct ledger *ledger, int64_t op, enum notice_event event, int64_t now_ms);
int ledger_notices(struct ledger *ledger, struct store_command *command);
int ledger_noticed(struct ledger *ledger, struct store_command *command);

/* ledger_claim.c */
int ledger_claim(struct ledger *ledger, struct store_command *command, bool only_look,
		 bool *out_changes);
/* The next key, odd for an operation with rules. */
int64_t ledger_next_op(struct ledger *ledger, int64_t now_ms, bool has_rule);
/* What a token stands for: 0 and *out_op; STORE_ABSENT. */
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
/* The operation that is named, as it stands, with its answer. */
int ledger_read_whole(struct ledger *ledger, const struct store_command *command,
		      struct store_operation **out_record);
/* Record an attempt if there is one, as the newest. */
int ledger_record_attempt(struct ledger *ledger, struct store_operation *record,
			  const struct store_attempt *attempt);
int ledger_settle(struct ledger *ledger, struct store_command *command);
int ledger_move(struct ledger *ledger, struct store_command *command);
/* Write what record_move() made of a record. */
int ledger_update(struct ledger *ledger, const struct store_operation *record);

/* ledger_find.c */
int ledger_find(struct ledger *ledger, struct store_command *command);
int ledger_list(struct ledger *ledger, struct store_command *command);

/*
 * ledger_seal.c: columns that are sealed by the vault. A sealed text is a BLOB, one in clear a
 * TEXT: so what an earlier version has written is told apart row by row.
 */
enum { SEALED_TEXTS_MAX = 4 };
/* Is the vault the one that this file was sealed with? Marks a new one. 0; FAIL_STORE and `why`. */
int ledger_check_vault(struct ledger *ledger, char *why, size_t why_size);
/* Seal so many texts as one. 0, and *out_sealed lasts until the next; FAIL_UNPLANNED. */
int ledger_seal(struct ledger *ledger, struct vault_place place, const struct str *texts,
		size_t count, struct str *out_sealed);
/* 0 and so many texts in `mem`; FAIL_MEMORY; FAIL_UNPLANNED: it is not what was sealed there. */
int ledger_unseal(struct ledger *ledger, struct vault_place place, struct str sealed,
		  struct arena *mem, struct str *out_texts, size_t count);
/* One text in a column of its own, and one such column a statement at most. */
int ledger_bind_sealed(struct ledger *ledger, sqlite3_stmt *statement, int column,
		       struct vault_place place, struct str text);
int ledger_column_unsealed(struct ledger *ledger, sqlite3_stmt *row, int column,
			   struct vault_place place, struct arena *mem, struct str *out_text);
bool column_is_sealed(sqlite3_stmt *row, int column);
void bind_blob(sqlite3_stmt *statement, int column, struct str bytes);

/* ledger_document.c */
int ledger_keep(struct ledger *ledger, struct store_command *command);
int ledger_drop(struct ledger *ledger, const struct store_command *command);
int ledger_kept(struct ledger *ledger, struct store_command *command);

/* ledger_purge.c */
int ledger_purge(struct ledger *ledger, struct store_command *command);

#endif
