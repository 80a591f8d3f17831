/*
 * The store: batches of commands in, answers out.
 *
 * Picture a clerk with one ledger. Loops put commands into the clerk's tray
 * (store_submit) and go on; the clerk takes everything that waits, writes it into the
 * ledger as one transaction, makes it durable once, and sends each loop its answers
 * (through the command's `done`, on the loop's own thread). Many claims share one fsync.
 *
 * Always true:
 *   - an answer that reports a change is given only after the change is durable;
 *   - an answer that reports what exists reports only what is durable;
 *   - a command that fails changes nothing, and harms none of its neighbours;
 *   - two operations never share (account, token); the first claim wins;
 *   - a move that core/operation.h does not have is refused (STORE_LOST).
 * Can fail: the disk is full or broken (FAIL_STORE: nothing changed); the commit was asked
 * for and no answer came (FAIL_UNCERTAIN: look again before deciding anything; a claim's id
 * and epoch are what they are if it was committed, and nobody else's if it was not); the tray
 * is full (FAIL_LIMIT: nothing was tried).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/log.h"
#include "core/operation.h"
#include "core/outcome.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	STORE_QUEUE_MAX = 65536, /* commands waiting; one more gets FAIL_LIMIT */
	STORE_BATCH_MAX = 512,	 /* commands in one transaction */
	STORE_HISTORY_MAX = 64,	 /* attempts kept an operation: the first one and the newest */
	STORE_NOTE_MAX = 4096,	 /* notes that may wait; then they are written at once */
	STORE_LIST_MAX = 200,	 /* operations in one page */
	STORE_SCAN_MAX = 8192,	 /* operations looked at for one page */
	STORE_PURGE_MAX = 256,	 /* records, and tombstones, forgotten by one command */
};

/* Outcomes of commands. 0 is done; negative is a failure of base/err.h. */
enum {
	STORE_EXISTS = 1,  /* claim: the token is taken; `operation` (and `answer`) are filled */
	STORE_EXPIRED = 2, /* claim: the token's record is gone, its tombstone is not */
	STORE_ABSENT = 3,  /* find, move, settle: no such operation (of this account) */
	STORE_LOST = 4,	   /* settle, move: not in the state and epoch the command names;
			      `operation` says where it is */
	STORE_RETRY_REFUSED = 5, /* claim: retry_of names no failed or cancelled operation of this
				    account; `operation` is the one named, its state 0 if none */
};

/* The upstream's answer, as it is replayed. */
struct store_answer {
	int status;	    /* 0: none was recorded */
	bool is_kept;	    /* headers and body are whole; else only what follows is */
	struct str headers; /* "Name: value\r\n" lines, end-to-end ones only */
	struct str body;
	uint64_t length;    /* of the body, also when it is not kept */
	struct hash digest; /* SHA-256 of the body */
};

/* One operation as the ledger has it. */
struct store_operation {
	struct operation_id id;
	struct str account;
	struct str token;
	struct hash fingerprint;
	struct str method;
	struct str path;     /* without the query */
	struct str action;   /* declared action; empty: none */
	struct str upstream; /* its name in the configuration */
	struct str retry_of; /* id text of the failed one that this retries; or empty */
	enum operation_state state;
	uint32_t epoch;	    /* grows each time it is picked up for sending; see claim_epoch() */
	uint32_t attempts;  /* recorded so far, also those no longer kept */
	int64_t created_ms; /* Unix time */
	int64_t updated_ms;
	int64_t expires_ms;    /* a terminal one may be forgotten from then on */
	struct str reference;  /* what the service calls the effect; or empty */
	struct str reason;     /* why it was resolved, cancelled or failed by the gate; or empty */
	struct str decided_by; /* who resolved or cancelled it; or empty */
	struct store_answer answer;
};

/* One request that carried the token, or one thing an operator did. */
struct store_attempt {
	int64_t at_ms;	      /* never before the operation's creation: the store sees to it */
	enum outcome outcome; /* 0: under way */
	struct str agent;     /* who, inside the account; or empty */
	struct str task;      /* the workflow's own ids; or empty */
	struct str step;
	struct str request_id;
	int delivered; /* 1 the answer got out whole, 0 it did not, -1 not known to have failed */
};

/* What is learned about an attempt when it has its number already. */
struct store_amendment {
	struct operation_id id;
	uint32_t attempt_number;
	int delivered; /* 0 or 1 */
};

enum store_kind {
	STORE_CLAIM,  /* take the token and begin an attempt, or say who has it */
	STORE_SETTLE, /* the end of one sending: event, answer, and how the attempt ended */
	STORE_MOVE,   /* an event from a person or the gate: cancel, resolve */
	STORE_NOTE,   /* record an attempt of operation.id; lazy: durable with a later batch or
			 within a second. See store_note() */
	STORE_AMEND,  /* whether an attempt's answer was delivered; lazy. See store_amend() */
	STORE_FIND,   /* one operation, by id or by account and token, with answer and attempts */
	STORE_LIST,   /* a page, newest first */
	STORE_PURGE,  /* forget what has expired, a bounded number at a time */
	STORE_COUNT_STATES,
};

struct store_command;
typedef void (*store_done)(struct store_command *command);

/*
 * A command: filled by the caller, owned by the store from store_submit() until `done`
 * runs, and then the caller's again. Strings are borrowed for that time. Result strings
 * live in `mem`, which the caller does not touch meanwhile.
 */
struct store_command {
	enum store_kind kind;
	struct arena *mem;	  /* for results; a ceiling that is reached is FAIL_MEMORY */
	struct store_inbox *home; /* whose loop gets the answer */
	store_done done;
	void *owner; /* the caller's */

	/* in: claim (account, token, fingerprint, method, path, action, upstream, retry_of, and
	 * `state` if it is not to be running), settle and move (id, epoch; what they set:
	 * reference, reason, decided_by; an account that is not empty must be the right one),
	 * find (id, or account and token).
	 * out: claim and settle done: id, state, epoch, times; STORE_EXISTS, STORE_LOST, a claim
	 * that picked up, a move, find: all of it. The answer comes with a find, and with
	 * STORE_EXISTS where the fingerprint is the claim's. A claim that ends FAIL_UNCERTAIN
	 * has the id and an epoch above 0 if it would be the caller's. */
	struct store_operation operation;
	bool by_id;	  /* find: by operation.id; operation.account limits it unless empty */
	bool may_pick_up; /* claim: a queued one with this fingerprint becomes running */
	bool did_pick_up; /* out, claim done: it was there before, and is now ours */
	enum operation_event event; /* settle, move */
	bool any_epoch;		    /* move: whatever the epoch */
	struct store_answer answer; /* settle, move: what to keep; status 0: nothing */
	/* in: claim: the attempt that begins, outcome 0 (it is recorded where the claim is done).
	 * settle: how attempt `attempt_number` ended: its outcome; the rest has been recorded.
	 * move, note: one to record; outcome 0: none. amend: `delivered`. */
	struct store_attempt attempt;
	uint32_t attempt_number; /* out: claim done, or FAIL_UNCERTAIN with an id. in: settle (0:
				    it ends none), amend */
	int64_t retention_ms;	 /* claim, settle, move: how long a terminal one is kept */
	int64_t tombstone_ms;	 /* claim, purge: how long a forgotten token answers STORE_EXPIRED;
				    0: it does not, and is free again */

	/* list: filters (empty or 0: any), and the page */
	struct str filter_account, filter_token, filter_task;
	enum operation_state filter_state;
	struct operation_id before; /* older than this one; all zero: from the newest */
	size_t limit;		    /* operations wanted, 1 to STORE_LIST_MAX */

	/* out */
	int result;
	struct store_operation *found; /* list: `found_count` of them, without answers */
	size_t found_count;
	bool has_more;			 /* list: older ones may match. purge: more have expired */
	struct operation_id next_before; /* list, has_more: `before` of the next page. A page of a
					    filter that matches little may hold none and go on */
	struct store_attempt *attempts;	 /* find: `attempt_count`, oldest first */
	size_t attempt_count;
	uint64_t purged, tombstones;  /* purge: records forgotten, tombstones dropped */
	uint64_t counts[STATE_COUNT]; /* count states */

	struct store_operation *record; /* the store's: what becomes `operation` */
	struct store_command *next;	/* the store's */
};

/*
 * Where a loop gets its answers. `wake` is called from the store's thread, once for each
 * batch that has answers for this inbox; the loop then calls store_deliver().
 */
struct store_inbox {
	void (*wake)(struct store_inbox *inbox);
	void *owner;
	_Atomic(struct store_command *) answered; /* newest first; the store's */
};

/* Run `done` of every answer that waits. On the inbox's own thread. */
void store_deliver(struct store_inbox *inbox);

struct store;

/* What the committer has seen since it started; copied out whole. */
enum { STORE_BUCKETS = 20 };
struct store_stats {
	uint64_t batches, commands, failures, uncertain;
	uint64_t purged, tombstones_dropped;
	uint64_t queue_depth;		     /* now */
	uint64_t batch_sizes[STORE_BUCKETS]; /* bucket i: up to 2^i commands */
	uint64_t commit_us[STORE_BUCKETS];   /* bucket i: up to 2^i × 10 µs */
	uint64_t commit_us_sum;
	uint64_t open[STATE_COUNT]; /* operations by open state, now */
};

/*
 * Open the embedded store in directory `path` (made, mode 0700, if absent) and start its
 * thread. Takes the directory's lock; what was running when its last owner died becomes
 * unknown. `*out_interrupted` counts those. On failure (FAIL_STORE, FAIL_MEMORY) the reason
 * is written to `why`, a text that names the file and how to mend it.
 */
int store_open_sqlite(const char *path, const struct env *env, struct log *log,
		      struct store **out_store, uint64_t *out_interrupted, char *why,
		      size_t why_size);

/* The in-memory twin; store/store_mem.h scripts its failures. */
struct store_mem_script;
int store_open_memory(struct store_mem_script *script, const struct env *env, struct log *log,
		      struct store **out_store);

/* Any thread. `done` never runs inside this call. */
void store_submit(struct store *store, struct store_command *command);

/*
 * Record an attempt of operation `id`, copied, with nobody waiting for it. What cannot be
 * recorded (no memory, a full tray, a store that fails) is dropped: notes are a courtesy
 * to the reader of a history, never part of a promise. Any thread.
 */
void store_note(struct store *store, const struct operation_id *id,
		const struct store_attempt *attempt);

/*
 * Say what became of an attempt's answer, copied, with nobody waiting for it; dropped like a
 * note, also where the attempt is no longer kept. Any thread.
 */
void store_amend(struct store *store, const struct store_amendment *amendment);

/* False once a batch has failed, true again once one has been committed. Any thread. */
bool store_is_healthy(struct store *store);

void store_stats_read(struct store *store, struct store_stats *out_stats);

/* Finish what waits, stop the thread, close. All answers have been put into their inboxes. */
void store_close(struct store *store);

#endif
