/*
 * What a claim and an event mean for a record, the same for every ledger. Pure.
 */
#ifndef STORE_RULES_H
#define STORE_RULES_H

#include "store/store.h"

enum claim_way {
	CLAIM_IS_NEW,	  /* nobody has the token: make an operation, if its rules let it */
	CLAIM_IS_TAKEN,	  /* STORE_EXISTS */
	CLAIM_IS_EXPIRED, /* STORE_EXPIRED */
	CLAIM_PICKS_UP,	  /* it was queued, for whoever sends it, and is now ours */
};

/* What `claim` meets in the record of its token, as of `now_ms`. */
enum claim_way claim_way(const struct store_command *claim, const struct store_operation *record,
			 int64_t now_ms);

/* The same where only the tombstone, good until `until_ms`, is left. */
enum claim_way claim_way_tombstone(const struct store_command *claim, int64_t until_ms,
				   int64_t now_ms);

/* May a business retry name this record? Only one that ended without an effect. */
bool claim_may_retry(const struct store_operation *record);

/*
 * Move `record` by a settle or move command: state, epoch, times, and what the command
 * says about it. Its identity is taken until `taken_until_ms` (0: it has none). 0, or STORE_LOST
 * and `record` is as it was.
 */
int record_move(struct store_operation *record, const struct store_command *command,
		int64_t taken_until_ms, int64_t now_ms);

/*
 * The epoch of the next pick-up of `record`. `doubts` is how many commits of this process have
 * been uncertain: a pick-up that may have been lost that way never has the epoch of a later one,
 * so that whoever settles what is in doubt cannot settle somebody else's sending.
 */
uint32_t claim_epoch(const struct store_operation *record, uint32_t doubts);

/*
 * The time by which something may be forgotten: the wall clock's, but a step forward is believed
 * only when it has lasted. A clock that was wrong for a minute would have forgotten every token
 * for good; being late costs nothing but room.
 */
enum {
	LAPSE_STEP_MS = 60 * 1000,	    /* a clock that gains less is only being set right */
	LAPSE_BELIEVED_MS = 60 * 60 * 1000, /* how long a step has to last */
};
struct lapse {
	int64_t now_ms;	    /* as it was last told; 0: never yet */
	int64_t told_ms;    /* when that was (monotonic) */
	int64_t doubted_ms; /* since when the wall clock has been ahead (monotonic); 0: it is not */
};
int64_t lapse_now(struct lapse *lapse, const struct env *env);

/* May another operation not have the identity of this one, which it has until `until_ms`? */
bool identity_is_taken(const struct store_operation *record, int64_t until_ms, int64_t now_ms);

/* Is `expected` the version of a lock that has seen `version` successes? Can it still be? */
bool version_is(int64_t expected, uint64_t version);
bool version_may_come(int64_t expected, uint64_t version);

/* A budget, as far as a claim is judged by it. */
struct budget_facts {
	char currency[4];
	int64_t total, used; /* minor units; used is never less than nothing, or more than total */
};
/*
 * May `spends` come from it? 0; STORE_OTHER_CURRENCY; STORE_OVER_BUDGET, as for less than nothing:
 * given back it would make room that nobody opened.
 */
int budget_judge_spending(const struct budget_facts *budget, const struct money *spends);

/* The attempt of a claim, as it is recorded: one that does not send is not under way. */
struct store_attempt attempt_of_claim(const struct store_command *claim,
				      enum operation_state state);

/* When the gate sees to a record next, once it is in `next`; see store_command.next_ms. */
int64_t record_due(bool is_dispatched, enum operation_state next, int64_t next_ms);

/*
 * When a queued one is due that was last changed at `changed_ms`. Where that is yet to come, the
 * clock has been set back: when it was to be due says nothing, and it is now. The same where it is
 * to wait longer than any does, twice the longest outbox.max_pause or Retry-After: it was told the
 * time before the clock was set back, and recorded after.
 */
enum { CLOCK_SLACK_MS = 1000 };
#define QUEUED_WAIT_MAX_MS INT64_C(172800000)
int64_t queued_due(int64_t due_ms, int64_t changed_ms, int64_t now_ms);

/*
 * How long a record is kept that ends in `state`: as `command` says, and a success at least as long
 * as its claim has taken the identity for, whatever the settings are by now.
 */
int64_t record_expiry(const struct store_command *command, enum operation_state state,
		      int64_t taken_until_ms, int64_t now_ms);

/* Do its tries begin to count anew where `command` leads to `next`? They go on while it is sent
 * again and again, and while the reconciler asks and sends in turns. */
bool record_tries_anew(const struct store_command *command, enum operation_state next);

/* Was the pick-up that `command` ends by leading to `next` no try, since nothing left? */
bool record_was_untried(const struct store_command *command, enum operation_state next);

/* Is the reason of one that `command` leads to `next`, and who decided, what the command says and
 * nothing else? So where a sending has come to something: what was known before it is over then. */
bool record_says_anew(const struct store_command *command, enum operation_state next);

/* Picked up for sending: state, epoch, tries and times. `doubts` as for claim_epoch(). */
void record_send(struct store_operation *record, uint32_t doubts, int64_t now_ms);

/* The state, epoch and times of a new operation. */
void record_start(struct store_operation *record, int64_t now_ms, int64_t retention_ms);

/* When an attempt was: as it says, but not before its operation was. */
int64_t attempt_time(const struct store_attempt *attempt, int64_t created_ms);

/*
 * When one is due whose turn in a line has come: at once. Said with the time of its own claim where
 * that has passed, as in SQL_OPERATION_WAKE: the clock may be wrong now, and set back tomorrow.
 */
int64_t turn_due(const struct store_operation *record, int64_t now_ms);

/*
 * When the gate asks after an unknown `record` next, and that it has tried. STORE_LOST: somebody
 * has decided about it in the meantime, and it is no longer the epoch's to postpone.
 */
int record_postpone(struct store_operation *record, const struct store_command *command);

/* Is `wanted` what the service calls the effect, or the key under which the gate sends it there?
 * Nothing wanted is true of any. */
bool is_referred_to(const struct operation_id *id, struct str reference, struct str wanted);

/* Has it a name, and are name and value no longer than they may be? */
bool document_fits(const struct store_document *document);

#endif
