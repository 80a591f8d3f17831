/*
 * What a claim and an event mean for a record, the same for every ledger. Pure.
 */
#ifndef STORE_RULES_H
#define STORE_RULES_H

#include "store/store.h"

enum claim_way {
	CLAIM_IS_NEW,	  /* nobody has the token: make an operation */
	CLAIM_IS_TAKEN,	  /* STORE_EXISTS */
	CLAIM_IS_EXPIRED, /* STORE_EXPIRED */
	CLAIM_PICKS_UP,	  /* it was queued, and is now ours */
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
 * says about it. 0, or STORE_LOST and `record` is as it was.
 */
int record_move(struct store_operation *record, const struct store_command *command,
		int64_t now_ms);

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

/* The state and epoch of a new operation. */
void record_start(struct store_operation *record, int64_t now_ms, int64_t retention_ms);

/* When an attempt was: as it says, but not before its operation was. */
int64_t attempt_time(const struct store_attempt *attempt, int64_t created_ms);

/* a + b, without running over. */
int64_t time_add(int64_t a_ms, int64_t b_ms);

#endif
