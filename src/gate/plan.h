/*
 * What the gate does by itself with an operation, and when: decisions without I/O.
 *
 * Two questions, asked over and over: may it be sent again without a second effect, and when is
 * the next time to look? Doubt always means to leave things as they are.
 */
#ifndef GATE_PLAN_H
#define GATE_PLAN_H

#include "gate/policy.h"
#include "store/record.h"

enum {
	PLAN_PAUSE_MAX_MS = 10 * 60 * 1000,    /* between two tries to find out */
	PLAN_RESEND_MS = 5000,		       /* the first pause, where no probe says another */
	PLAN_GIVE_UP_MS = 24 * 60 * 60 * 1000, /* and after that it is a person's */
	PLAN_STRANDED_MS = 10 * 60 * 1000,     /* until the configuration is looked at again */
	PLAN_UNSET_MS = 5000, /* until the service's credential is looked for again */
};

/* One operation and what is in force for it. All borrowed. */
struct plan_facts {
	const struct policy *policy;
	const struct store_operation *operation;
	const struct store_request *request; /* what is kept of it */
	int64_t now_ms;			     /* Unix time */
	int64_t gained_ms; /* of that, what the clock was set forward by since the operation became
			      unknown: time that has not passed */
	int64_t lost_ms;   /* what it was set back by since the operation was first sent: time that
			      has   passed although the clock does not show it */
	bool is_wished;	   /* its caller asks for it now */
};

enum plan_step {
	PLAN_ASK,     /* its probe */
	PLAN_RESEND,  /* the same effect, whether it happened or not */
	PLAN_NOTHING, /* only a person can say */
};

/* How to find out about one that is unknown. */
enum plan_step plan_first(const struct plan_facts *facts);

/*
 * May it be sent once more while it is unknown? Only where the service makes one effect of both:
 * it is naturally idempotent, or the service will still know the downstream key when this
 * sending has ended; never anywhere else than where it was sent before. What is naturally
 * idempotent is sent again only where its caller wishes it: a later write to the same resource, of
 * whoever's, would be undone by the gate's own doing. Whether it still has its lock is for the
 * store to say, in the same move.
 */
bool plan_may_resend(const struct plan_facts *facts);

/*
 * Does an absence count that was seen by a question begun at `asked_ms`? Only so long after the
 * operation has become unknown as its probe's `settle` says; *out_from_ms is when that is.
 */
bool plan_absence_counts(const struct plan_facts *facts, int64_t asked_ms, int64_t *out_from_ms);

/* When to try next after one that was in vain (Unix time); INT64_MAX: no more by itself. */
int64_t plan_next_ms(const struct plan_facts *facts, uint32_t random);

/*
 * What the end of a second sending is for its operation. That it did not arrive says nothing of the
 * first one; nor does a refusal that may have nothing to do with the operation (credentials
 * that have run out, a proxy that is confused, a first sending that still runs).
 */
enum operation_event plan_resent(const struct policy *policy, enum operation_event event,
				 int status);

/* Has the dispatcher tried often enough? `tries` with the one that has just ended. */
bool plan_gives_up(const struct settings *settings, uint32_t tries);

/* The reason of what is given up after them; the last one failed as `why` says (NULL: by status).
 */
struct str plan_given_up_text(uint32_t tries, const char *why, struct arena *mem);

/* When the dispatcher sends it next (Unix time); the service asked for `retry_after_s`, or -1. */
int64_t plan_retry_ms(const struct settings *settings, uint32_t tries, int retry_after_s,
		      int64_t now_ms, uint32_t random);

#endif
