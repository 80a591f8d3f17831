/*
 * What the parts of the in-memory store share: its rows, and how a transaction takes back what it
 * did to them.
 *
 * Rows stay where they are until the store is closed (or until the transaction that added them is
 * rolled back), so they point at each other. A function that fails may leave rows half changed:
 * whoever applies the command goes back to the mark it has set before.
 */
#ifndef STORE_MEM_INTERNAL_H
#define STORE_MEM_INTERNAL_H

#include "store/committer.h"
#include "store/rules.h"
#include "store/store_mem.h"

struct record {
	struct store_operation operation;
	struct store_attempt attempts[STORE_HISTORY_MAX];
	size_t attempt_count;
	struct rule_facts rules; /* as its claim said them */
	int64_t identity_until_ms;
	int64_t plain_retention_ms;
	struct store_request request;
	bool keeps_request;	    /* one came with its claim */
	struct budget *spends_from; /* where its amount is reserved; NULL: nowhere */
	uint64_t fence;		    /* of its last sending */
	struct store_approval approval;
	struct hash agreed; /* the fingerprint that was agreed to */
	struct store_notice notices[STORE_NOTICES_OF_ONE_MAX];
	size_t notice_count;
	bool is_forgotten; /* only its tombstone is left */
	bool is_gone;	   /* not even that */
	int64_t until_ms;  /* of the tombstone */
	struct arena *mem;
};

struct lock {
	struct hash hash;
	struct str account, name;
	uint64_t version, fence;
	struct record *holder; /* or NULL */
	int64_t since_ms;
};

struct budget {
	struct hash hash;
	struct budget_facts facts;
	int64_t until_ms;
	const struct record *opener;
};

struct document {
	struct store_document kept;
	bool is_gone;
};

/* Rows of one size, oldest first. */
struct table {
	void **rows;
	size_t count, room;
};

enum mem_table {
	TABLE_RECORDS,
	TABLE_LOCKS,
	TABLE_BUDGETS,
	TABLE_KNOWN,
	TABLE_DOCUMENTS,
	TABLE_COUNT
};

/* A row as it was before it was touched. */
struct saved {
	void *row;
	size_t size;
	struct saved *next;
	_Alignas(max_align_t) char was[];
};

/* A moment in a transaction. */
struct mark {
	struct saved *newest;
	size_t counts[TABLE_COUNT];
};

struct memory {
	struct engine engine;
	const struct env *env;
	struct store_mem_script *script; /* or NULL */
	struct table tables[TABLE_COUNT];
	struct arena lock_texts, document_texts;
	struct saved *saved; /* newest first */
	struct mark begin;   /* of the transaction */
	uint64_t last_op;
	uint64_t transaction;
	struct lapse lapse;
	uint32_t doubts; /* transactions that were uncertain */
};

/* mem_rows.c: NULL, or FAIL_UNPLANNED: without memory for the store itself. */
void *mem_add(struct memory *memory, enum mem_table table, size_t size);
int mem_touch(struct memory *memory, void *row, size_t size);
struct mark mem_mark(const struct memory *memory);
void mem_back_to(struct memory *memory, const struct mark *mark);
void mem_forget_saved(struct memory *memory);
void mem_free_rows(struct memory *memory);

size_t record_count(const struct memory *memory);
struct record *record_at(const struct memory *memory, size_t i);
struct lock *lock_at(const struct memory *memory, size_t i);
struct record *record_add(struct memory *memory);
int record_touch(struct memory *memory, struct record *record);
bool record_is_there(const struct record *record);
/* The newest record of a token, forgotten or not. */
struct record *record_by_token(const struct memory *memory, struct str account, struct str token);
struct record *record_by_id(const struct memory *memory, const struct operation_id *id,
			    struct str account);
int record_add_attempt(struct record *record, const struct store_attempt *attempt);
/* An attempt by its number, while it is kept. */
struct store_attempt *record_attempt(struct record *record, uint32_t n);

/* Let the texts live in `mem`; false where it has no room. */
bool take_text(struct arena *mem, struct str *text);
bool take_operation(struct arena *mem, struct store_operation *operation);
bool take_request(struct arena *mem, struct store_request *request);
bool take_attempt(struct arena *mem, struct store_attempt *attempt);
/* What the caller gets: a copy in its arena. 0, FAIL_MEMORY. */
int mem_give(struct store_command *command, const struct store_operation *operation);

/* mem_rules.c: identities, locks and budgets. */
struct record *identity_owner(const struct memory *memory, const struct hash *unique,
			      int64_t lapse_ms);
struct lock *lock_by_hash(const struct memory *memory, const struct hash *hash);
/* 0: free, and of the version that is expected. STORE_LOCKED and *out_before is in the way;
 * STORE_VERSION. `self` is the operation that asks, where it has a place in the line; or NULL. */
int lock_judge(const struct memory *memory, const struct rule_facts *rules,
	       const struct record *self, struct record **out_before);
uint64_t lock_version(const struct memory *memory, const struct hash *hash);
bool lock_is_waited_for_by(const struct record *record);
/* Make sure that there is a row for it. */
int lock_note(struct memory *memory, const struct record *record);
int lock_take(struct memory *memory, struct record *record, int64_t now_ms);
/* `record` holds it no longer, if it did; its success counts even then. */
int lock_free(struct memory *memory, struct lock *lock, const struct record *record,
	      bool has_succeeded);
/* Whose turn is it? Sets *out_makes_due where somebody's has come. */
int lock_line(struct memory *memory, const struct hash *hash, int64_t now_ms, bool *out_makes_due);
/* 0, STORE_OVER_BUDGET, STORE_NO_BUDGET, STORE_OTHER_CURRENCY. */
int budget_judge(const struct memory *memory, const struct rule_facts *rules, int64_t lapse_ms);
int budget_reserve(struct memory *memory, struct record *record, int64_t lapse_ms);
int budget_give_back(struct memory *memory, struct record *record);
int budget_open(struct memory *memory, const struct record *record, const struct hash *hash,
		int64_t now_ms, int64_t lapse_ms);
/* `record` may be NULL: then of a command that is none yet. 0, FAIL_MEMORY. */
int rules_view(const struct memory *memory, const struct rule_facts *rules,
	       const struct record *record, int64_t lapse_ms, struct arena *mem,
	       struct store_rule_view *out_view);

/* mem_claim.c. Only looks: 0 where it would change something, and *out_changes says so. */
int mem_claim(struct memory *memory, struct store_command *command, bool only_look,
	      bool *out_changes);

/* mem_change.c: what moves operations that are there, or adds to their history. */
int mem_change(struct memory *memory, struct store_command *command); /* settle, move */
int mem_postpone(struct memory *memory, struct store_command *command);
int mem_release(struct memory *memory, struct store_command *command);
int mem_note(struct memory *memory, struct store_command *command);
int mem_amend(struct memory *memory, struct store_command *command);
int mem_purge(struct memory *memory, struct store_command *command);
/* A queued one is sent: its row has been touched, its lock is free. 0, FAIL_UNPLANNED. */
int mem_send(struct memory *memory, struct record *record, int64_t now_ms);
/* The rest of a change of state of `record`, whose row has been touched: its lock, its budget, its
 * request, and who is next. */
int record_follow(struct memory *memory, struct record *record, int64_t now_ms,
		  bool *out_makes_due);

/* mem_approval.c */
bool take_approval(struct arena *mem, struct store_approval *approval);
/* Does this claim's operation wait for people? */
bool approval_asks(const struct memory *memory, const struct store_command *command);
int approval_begin(const struct store_command *command, struct record *record);
/* The question of `record` (NULL: none) for the caller. 0, FAIL_MEMORY. */
int mem_give_approval(struct store_command *command, const struct record *record);
int mem_answer(struct memory *memory, struct store_command *command);
int mem_ask_again(struct memory *memory, struct store_command *command);
int mem_lapse(struct memory *memory, struct store_command *command);
bool mem_has_lapsed(struct memory *memory, struct store_command *command);
int mem_find_approval(const struct memory *memory, struct store_command *command,
		      const struct record *record);
int mem_approvals(const struct memory *memory, struct store_command *command);

/* mem_notice.c */
void notices_begin(const struct store_command *command, struct record *record);
void notices_add(struct record *record, enum notice_event event, int64_t now_ms);
int mem_notices(const struct memory *memory, struct store_command *command);
int mem_noticed(struct memory *memory, struct store_command *command);

/* mem_document.c */
int mem_keep(struct memory *memory, struct store_command *command);
int mem_drop(struct memory *memory, struct store_command *command);
int mem_kept(const struct memory *memory, struct store_command *command);

/* mem_errand.c */
int mem_take(struct memory *memory, struct store_command *command);
int mem_due(struct memory *memory, struct store_command *command);
bool mem_has_errand(const struct memory *memory, const struct store_command *command);

/* mem_find.c */
int mem_find(struct memory *memory, struct store_command *command);
int mem_list(struct memory *memory, struct store_command *command);
int mem_locks(struct memory *memory, struct store_command *command);
int mem_budgets(struct memory *memory, struct store_command *command);

#endif
