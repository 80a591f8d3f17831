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
 *   - of the operations with one identity (rule_facts.unique), whose time is not over, at most one
 *     has not failed and is not cancelled; of those with one lock, at most one is running or
 *     unknown, but for one that lost it by force; what is spent of a budget by those that have not
 *     failed is never more than was opened. All three are decided inside the claim's transaction;
 *   - what people are asked about is not sent before all who are needed have agreed to its very
 *     fingerprint, none of them the requester and none twice; the end of a question (agreed,
 * denied, lapsed, withdrawn) is final, whoever answers at the same time;
 *   - a lock is free when its holder has ended or is queued again, and not before, whatever
 *     restarts; those that wait for it get it in the order of their claims;
 *   - a move that core/operation.h does not have is refused (STORE_LOST).
 * Can fail: the disk is full or broken (FAIL_STORE: nothing changed); the commit was asked
 * for and no answer came (FAIL_UNCERTAIN: look again before deciding anything; the id and epoch
 * of a claim, of each errand of a take and of a move by EVENT_RESENT are what they are if it was
 * committed, and nobody else's if it was not: nothing is sent, and each is settled as not sent
 * until that is certain, what was to be sent again as lost sight of, since its first sending may
 * have arrived; STORE_LOST then says that it never began); the tray is full (FAIL_LIMIT: nothing
 * was tried).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "base/env.h"
#include "base/list.h"
#include "base/log.h"
#include "core/rule_facts.h"
#include "store/record.h"
#include "vault/vault.h"

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
	STORE_ERRANDS_MAX = 64,	 /* operations in one take or look */
	STORE_LEASE_MS = 60000,	 /* one that a look has handed out is left alone so long */
	STORE_WAITERS_LISTED = 20,
	STORE_SHOWN_MAX = 1024 * 1024,	  /* bytes of `shown` that end a page of questions */
	STORE_NOTICES_OF_ONE_MAX = 16,	  /* of one question; nobody is told of what follows */
	STORE_NOTICES_COUNTED = 10000,	  /* of all that wait; what is more is not counted */
	STORE_DOCUMENTS_MAX = 4096,	  /* of one kind */
	STORE_DOCUMENT_NAME_MAX = 255,	  /* bytes */
	STORE_DOCUMENT_VALUE_MAX = 65536, /* bytes */
	STORE_EPOCHS_MAX = 4096,	  /* of one audit log */
};

/* Outcomes of commands. 0 is done; negative is a failure of base/err.h. */
enum {
	STORE_EXISTS = 1,  /* claim: the token is taken; `operation` (and `answer`) are filled.
			      keep: there is one of that name, and it must_be_new */
	STORE_EXPIRED = 2, /* claim: the token's record is gone, its tombstone is not */
	STORE_ABSENT = 3,  /* find, move, settle: no such operation (of this account). drop: no such
			      document */
	STORE_LOST = 4,	   /* settle, move: not in the state and epoch the command names;
			      `operation` says where it is */
	STORE_RETRY_REFUSED = 5, /* claim: retry_of names no failed or cancelled operation of this
				    account; `operation` is the one named, its state 0 if none */

	/* claim, by the rules of its action: nothing was recorded, the token is still free; but for
	 * a queued operation that was to be picked up, which stays as it is. */
	STORE_REUSED = 6,      /* another operation has its identity; `operation` and its answer */
	STORE_LOCKED = 7,      /* `operation` is who holds, or is before us; `view` the lock.
				* A move that sends again (EVENT_RESENT) what has lost its lock by
				* force: somebody else has it, or had; `operation` is unmoved */
	STORE_VERSION = 8,     /* the lock's version is another: `view.lock_version` */
	STORE_OVER_BUDGET = 9, /* `view` says what there is and what is used */
	STORE_NO_BUDGET = 10,  /* nobody opened it */
	STORE_OTHER_CURRENCY = 11, /* `view.currency` is its own */
	STORE_FULL = 12, /* claim: waiting_max operations wait to be sent, or for people, already.
			    keep: there are STORE_DOCUMENTS_MAX of the kind */

	/* approve, deny: what stands in the way. Nothing was recorded, but by STORE_LAPSED. */
	STORE_OWN = 14,	   /* approve: the requester's own credential, or the same agent */
	STORE_AGAIN = 15,  /* approve: that credential, or the same agent, has agreed already */
	STORE_OTHER = 16,  /* the fingerprint is not the operation's */
	STORE_LAPSED = 17, /* its time is over; the operation is cancelled now */
};

enum store_kind {
	STORE_CLAIM,	/* take the token and begin an attempt, or say who has it */
	STORE_SETTLE,	/* the end of one sending: event, answer, and how the attempt ended */
	STORE_MOVE,	/* an event from a person or the gate: cancel, resolve */
	STORE_NOTE,	/* record an attempt of operation.id; lazy: durable with a later batch or
			   within a second. See store_note() */
	STORE_TELL,	/* see store_tell(); lazy */
	STORE_AMEND,	/* whether an attempt's answer was delivered; lazy. See store_amend() */
	STORE_TAKE,	/* pick up queued operations that are due, for the dispatcher */
	STORE_DUE,	/* hand out unknown operations that are due, to the reconciler; they stay
			   unknown, and are due again after STORE_LEASE_MS */
	STORE_POSTPONE, /* when the gate asks after an unknown one of that epoch again, and what
			   it learned just now */
	STORE_RELEASE,	/* take the lock away from an operation by force */
	STORE_LOCKS,	/* a page of locks that are held or waited for, in the order of their parts
			 */
	STORE_BUDGETS,	/* a page of budgets that are open, newest first; of one account only those
			   whose opener is still known */
	STORE_FIND,	/* one operation, by id or by account and token, with answer, attempts, view
			   and whoever retried it */
	STORE_LIST,	/* a page, newest first */
	STORE_APPROVE,	/* one person agrees */
	STORE_DENY,	/* one person says no, and that is its end */
	STORE_ASK_AGAIN, /* another question in place of the one that stands, whose answers are void
			  */
	STORE_LAPSE,	 /* cancel what nobody has agreed to in time, a bounded number at a time */
	STORE_APPROVALS, /* a page of questions, those that wait first, each of both newest first */
	STORE_NOTICES,	 /* what is to be told of questions, and due; see `notices` */
	STORE_NOTICED,	 /* it has been told, or is to be told again then */
	STORE_PURGE,	 /* forget what has expired, a bounded number at a time */
	STORE_COUNT_STATES,
	STORE_KEEP,   /* keep `document`, in place of the one that had its kind and name */
	STORE_DROP,   /* forget the document of that kind and name */
	STORE_KEPT,   /* all documents of a kind */
	STORE_ROTATE, /* end the audit log's epoch: new keys. STORE_LOST: the last end is not
			 published yet; STORE_FULL: STORE_EPOCHS_MAX; STORE_ABSENT: the keys cannot
			 be made, logged */
	STORE_ERASE,  /* erase the data key of an epoch that has ended. STORE_LOST: it has not;
			 STORE_EXISTS: it is erased; STORE_ABSENT: there is no such epoch */
};

/* Where a lock is in the list of them. */
enum store_lock_part {
	LOCKS_RUNNING, /* its holder runs */
	LOCKS_UNKNOWN, /* its holder is unknown */
	LOCKS_AWAITED, /* nobody holds it, somebody waits for it */
	LOCKS_PARTS,
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
	 * reference, resource, reason, decided_by, each only where it is given, but for a
	 * settlement that does not put it back into the queue: it says anew what reason and
	 * decided_by are, mostly none; an account that is not empty must be the right one; of a
	 * settlement what the claim had too, which spares the audit log to read it),
	 * find (id, or account and token).
	 * out: claim and settle done: id, state, epoch, times; STORE_EXISTS, STORE_LOST, a claim
	 * that picked up, a move, find: all of it. The answer comes with a find, and with
	 * STORE_EXISTS where the fingerprint is the claim's. A claim that ends FAIL_UNCERTAIN
	 * has the id and an epoch above 0 if it would be the caller's. */
	struct store_operation operation;
	bool by_id;	  /* find: by operation.id; operation.account limits it unless empty */
	bool may_pick_up; /* claim: a queued one with this fingerprint becomes running */
	bool did_pick_up; /* out, claim done: it was there before, and is now ours */

	/*
	 * in: claim: what its rules say; `request` if it is to be kept; operation.is_dispatched,
	 * and operation.state QUEUED where nothing but the dispatcher sends it (due at once).
	 * A claim whose lock is taken and that queues for it is done (0) with the state queued, due
	 * when its turn comes; operation.is_dispatched must be set for it. retention_ms is at least
	 * rules.unique_ms where it has an identity, and only a failure's is plain_retention_ms.
	 * out: claim done, or a move that sends again: fence, if it holds a lock.
	 */
	struct rule_facts rules;
	struct store_request request; /* in: claim; out: a find by id, where one is kept */
	uint64_t fence;
	size_t waiting_max;	    /* claim: queued operations of the dispatcher's; 0: no limit */
	int64_t plain_retention_ms; /* claim, settle, move: of a failed or cancelled one; 0: as any
				     */

	/*
	 * in: settle, move, postpone: when the gate sees to it next if it then is unknown, or
	 * queued and the dispatcher's (Unix time; 0: never by itself). INT64_MAX in a postpone:
	 * given up. A postpone of an unknown one counts as one of its tries. What is lost sight of
	 * begins to count anew, but for a sending of the reconciler's (settle: attempt.by). in:
	 * settle, move: `opens` is whose budget a success opens (all zero: none), with the amount
	 * that its claim recorded. The first that opens one wins. out: settle, move, release,
	 * claim: some operation has become due, now or later, or a question was withdrawn: the
	 * dispatcher, the reconciler, or whoever tells of it looks again.
	 */
	int64_t next_ms;
	struct hash opens;
	bool makes_due;

	/*
	 * take: operation.upstream (its name), `limit` (to STORE_ERRANDS_MAX), attempt (as it is
	 * recorded for each). Those whose turn has come and whose lock is free and, where they
	 * expect one, of their version; each is running then, epoch and attempt its own. One whose
	 * version has moved is cancelled by the way, with a reason. One whose last change is in the
	 * future is due whatever it says: the clock has been set back. due: operation.upstream,
	 * limit. out: `errands`, with requests; due_ms: when the next one is (0: none is known). A
	 * take that ends FAIL_UNCERTAIN has the errands, and a move that sends again the operation,
	 * that would be the caller's: not to be sent, but to be settled.
	 */
	struct store_errand *errands;
	size_t errand_count;
	int64_t due_ms;
	struct operation_id *cancelled; /* out, take: whose version had moved; when there are many,
					   the others of them are due still. lapse */
	size_t cancelled_count;

	/*
	 * in: claim: the question, where there is one: needed, for_ms, policy, alike, shown,
	 * asked_by, asked_agent, unless_known, agent_hash. The operation's state and is_dispatched
	 * are given as they would be without it; where a person has to be asked the store makes it
	 * awaiting_approval and the dispatcher's, else it ends `approval.needed` 0. It is judged by
	 * its identity and its budget then, and has them while it waits; by its lock only when its
	 * turn comes, in whose line it stands as soon as it is agreed to. A request must come with
	 * it. waiting_max counts those that wait for people, apart from the queued ones.
	 * out: claim (done, STORE_EXISTS, STORE_REUSED), find, approve, deny, ask again, move.
	 *
	 * approve, deny: operation.id (and account, if not any), consent; deny also by the
	 * requester and by who has agreed. out: `operation`: queued and due when all have agreed,
	 * else as it was (approval.given says how many have); cancelled. STORE_LOST: it does not
	 * wait for approval (any more). Judged in this order: lost, lapsed, other, own, again.
	 *
	 * ask again: operation.id, approval (needed, for_ms, policy, alike, shown), attempt (as in
	 * a move). From awaiting; from queued; and from running, of operation.epoch and
	 * attempt_number, by the dispatcher that has just taken it and sent nothing. STORE_LOST.
	 *
	 * lapse: `limit` (to STORE_ERRANDS_MAX). out: `cancelled`; has_more; due_ms: when the next
	 * one lapses (0: none waits); oldest_ms: when the oldest of those that wait was asked
	 * (0: none). A question that was asked in the future lapses at once: the
	 * clock has been set back, and it would be open for longer than was said.
	 */
	struct store_approval approval;
	struct store_consent consent;
	int64_t oldest_ms;
	/* out: approvals, list: one for each of `found`; of a list without `shown` */
	struct store_approval *approvals;
	/* approvals: filter_account, filter_state (STATE_AWAITING_APPROVAL: those that wait alone),
	 * before, limit. in and out: the page begins, the next page would begin, among those that
	 * wait no longer. */
	bool is_past;
	/* out, find, of one that was asked: others that wait with an equal `alike`; and the newest
	 * completed one of the same account and action that was asked too, and what was shown then
	 * (zero, empty: none). */
	struct operation_id *alike; /* STORE_WAITERS_LISTED at most */
	size_t alike_count;
	struct operation_id previous;
	int64_t previous_ms;
	struct str previous_shown;

	/*
	 * Of a question whose claim said approval.is_told there is a notice when it is asked,
	 * answered, over or withdrawn, in the same transaction. notices: in: `limit` (to
	 * STORE_ERRANDS_MAX). out: those that are due, longest first; due_ms: when the next one is
	 * (0: none); notices_waiting: how many there are still to tell, STORE_NOTICES_COUNTED at
	 * most. noticed: in: notice.id and .number; next_ms: 0: it has been told. One that is
	 * not there is done (0).
	 */
	struct store_notice *notices;
	size_t notice_count, notices_waiting;
	struct store_notice notice;

	/* locks, budgets: filter_account, before (the end of the last page), limit. Locks: in and
	 * out: the page begins, the next page would begin, in this part. out: so many, `limit` at
	 * most. */
	enum store_lock_part lock_part;
	struct store_lock *locks;
	size_t lock_count;
	struct store_budget *budgets;
	size_t budget_count;
	struct store_rule_view view;  /* out: find; claims that the rules refused; release */
	struct operation_id *retries; /* out, find: operations that name this one as retry_of */
	size_t retry_count;	      /* STORE_WAITERS_LISTED at most */
	enum operation_event event;   /* settle, move */
	bool any_epoch;		      /* move: whatever the epoch */
	bool is_untried; /* settle by EVENT_NOT_SENT: nothing was even tried to be sent, so that
			    its pick-up counts as none of its tries */
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

	/* rotate: out: the new epoch. erase: in: which. Both: operation.decided_by (empty: the
	 * gate) and operation.reason say who and why. */
	uint32_t log_epoch;
	bool prunes; /* erase: its entries are taken away too, where nothing needs them */

	/* list: filters (empty or 0: any), and the page */
	struct str filter_account, filter_token, filter_task, filter_action;
	struct str filter_reference; /* what the service calls the effect, or its downstream key */
	enum operation_state filter_state;
	struct operation_id before; /* older than this one; all zero: from the newest */
	size_t limit;		    /* operations wanted, 1 to STORE_LIST_MAX */

	/* in: keep, drop (kind, name) and kept (kind). A name or value that is too long, or no
	 * name, is FAIL_LIMIT. Each change has its entry in the audit log, in the same transaction,
	 * with what `administration` says of it. out: keep: updated_ms. */
	struct store_document document;
	struct store_administration administration;
	bool must_be_new;		  /* keep: else nothing is changed (STORE_EXISTS) */
	struct store_document *documents; /* out, kept: `document_count`, by name */
	size_t document_count;

	/* out */
	int result;
	struct store_operation *found; /* list: `found_count` of them, without answers */
	size_t found_count;
	bool has_more; /* a list of any kind: others may match. purge: more have expired */
	struct operation_id next_before; /* has_more: `before` of the next page. A page of a filter
					    that matches little may hold none and go on. Of locks
					    and budgets it names a place, and no operation */
	struct store_attempt *attempts;	 /* find: `attempt_count`, oldest first */
	size_t attempt_count;
	uint64_t purged, tombstones;  /* purge: records forgotten, tombstones dropped */
	uint64_t counts[STATE_COUNT]; /* count states */

	struct store_operation *record;	 /* the store's: what becomes `operation` */
	struct store_approval *question; /* and what becomes `approval` */
	struct store_command *next;	 /* the store's */
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
	uint64_t changes;		     /* commands that may have changed what somebody sees */
	uint64_t queue_depth;		     /* now */
	uint64_t batch_sizes[STORE_BUCKETS]; /* bucket i: up to 2^i commands */
	uint64_t commit_us[STORE_BUCKETS];   /* bucket i: up to 2^i × 10 µs */
	uint64_t commit_us_sum;
	uint64_t open[STATE_COUNT];	     /* operations by open state, now */
	uint64_t questions[APPROVAL_STANDS]; /* to people, by how they ended */

	/* The audit log, now. */
	uint64_t log_entries;	/* since it began */
	uint64_t log_published; /* of them, by signed checkpoints */
	bool log_is_stopped; /* nothing is published: its files fail, or are not what was signed */
	size_t log_anchors_failing;   /* do not have the last checkpoint offered to them */
	size_t log_witnesses_failing; /* have not cosigned theirs */
};

/* How the store keeps its audit log. */
struct store_audit {
	struct str origin;		/* its name; empty: one is drawn for a new directory */
	uint64_t checkpoint_entries;	/* a checkpoint each time so many are new; 0: 1000 */
	int64_t checkpoint_interval_ms; /* and so long after the last one, where any is; 0: 10 s */
	const struct str *anchors;	/* folders and web addresses that get each checkpoint too */
	size_t anchor_count;
	const struct str *witnesses; /* who cosign them, "URL KEY" */
	size_t witness_count;
	int64_t rotate_ms; /* an epoch ends by itself after so long; 0: never */
	int64_t keep_ms;   /* …and its entries go so long after that; 0: never */
};

/*
 * Make the directory `path`, 0700, if it is not there; refuse one that others can write into. For
 * whoever puts something there before the store does. 0; FAIL_CONFIG and `why`.
 */
int store_make_directory(const char *path, char *why, size_t why_size);

/* What the embedded store works with. */
struct store_options {
	const struct store_audit *audit; /* copied; NULL: as if all of it were zero */
	struct vault *vault; /* seals answers, requests, documents and questions; outlives the
				store. NULL: they are in clear, for tests */
};

/*
 * Open the embedded store in directory `path` (made, mode 0700, if absent) and start its
 * thread. Takes the directory's lock; what was running when its last owner died becomes
 * unknown. `*out_interrupted` counts those. Every change has an entry in its audit log, in the same
 * transaction; `options` may be NULL. What an earlier version kept in clear is read. A directory
 * whose log does not fit what has been published of it, or whose keys are gone, is refused, and so
 * is one that was sealed with another vault. On failure (FAIL_STORE, FAIL_MEMORY) the reason is
 * written to `why`, a text that names the file and how to mend it.
 */
int store_open_sqlite(const char *path, const struct store_options *options, const struct env *env,
		      struct log *log, struct store **out_store, uint64_t *out_interrupted,
		      char *why, size_t why_size);

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
 * Record in the audit log an attempt that was refused and left no operation behind; of `operation`
 * what its claim said of it: account, token, fingerprint, action, method, path. Copied, and
 * dropped, like a note. Any thread.
 */
void store_tell(struct store *store, const struct store_operation *operation,
		const struct store_attempt *attempt);

/*
 * Record in the audit log what has no document: a failed attempt to authenticate. Copied, and
 * dropped, like a note. Any thread.
 */
void store_tell_administration(struct store *store,
			       const struct store_administration *administration);

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
