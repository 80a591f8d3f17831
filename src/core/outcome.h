/*
 * What an attempt is told, and what its caller should do next.
 *
 * Pure decisions: from what the upstream answered to the event it is for the operation,
 * and from what the store holds under a token to the outcome of the attempt.
 */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include "base/hash.h"
#include "core/operation.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbers are stored; they never change. */
enum outcome {
	OUTCOME_CREATED = 1,
	OUTCOME_REPLAYED = 2,
	OUTCOME_REUSED = 3,
	OUTCOME_RUNNING = 4,
	OUTCOME_QUEUED = 5,
	OUTCOME_AWAITING_APPROVAL = 6,
	OUTCOME_CONFLICT = 7,
	OUTCOME_LOCKED = 8,
	OUTCOME_REFUSED = 9,
	OUTCOME_DENIED = 10,
	OUTCOME_UNKNOWN = 11,
	OUTCOME_NOT_SENT = 12,
	OUTCOME_EXPIRED = 13,
	OUTCOME_COUNT = 14,
};
const char *outcome_name(enum outcome outcome);

enum advice {
	ADVICE_WAIT,
	ADVICE_QUERY,
	ADVICE_SAME_KEY,
	ADVICE_NEW_KEY,
	ADVICE_FIX,
	ADVICE_HUMAN,
	ADVICE_STOP
};
const char *advice_name(enum advice advice);

/*
 * Which upstream statuses are neither success nor failure. Bit sets: status 100 is bit 0 of
 * the first word, 599 the last that counts.
 */
enum { STATUS_WORDS = 8 };
struct status_classes {
	uint64_t not_sent[STATUS_WORDS]; /* the upstream did not act: default 429, 503 */
	uint64_t unknown[STATUS_WORDS];	 /* uncertain: default 408, 500, 502, 504 */
};
void status_classes_default(struct status_classes *out_classes);
void status_class_add(uint64_t set[STATUS_WORDS], int status); /* 100–599; others are ignored */
bool status_class_has(const uint64_t set[STATUS_WORDS], int status);

/* How one sending ended, as the client of the upstream saw it. */
enum sending {
	SENDING_NEVER_LEFT, /* certain: no byte of the request left the gate */
	SENDING_UNCLEAR,    /* bytes left, and no whole answer came back */
	SENDING_ANSWERED,   /* a whole answer, with a status */
};

/*
 * The event this sending is for its operation. `status` counts only when answered; one that
 * cannot be final (1xx, or outside 200–599) and one that is in both sets are lost sight of. One of
 * 5xx that no standard has, and that is in neither set, is unknown where 500 is.
 */
enum operation_event outcome_of_sending(const struct status_classes *classes, enum sending sending,
					int status);

/*
 * Does the status send the same request to another place (RFC 9110, 15.4.8 and 15.4.9)? By itself
 * it is a refusal: it was not carried out where it was sent, and nobody here follows.
 */
bool outcome_is_elsewhere(int status);

/* What an attempt meets under its token (the fingerprints have the account in them). */
enum verdict {
	VERDICT_PICK_UP,      /* queued and nothing left yet: this attempt may send it */
	VERDICT_REPLAY,	      /* terminal, the answer is kept */
	VERDICT_NOT_RETAINED, /* terminal, the answer was too large to keep */
	VERDICT_CONFLICT,     /* another request has this token */
	VERDICT_RUNNING,
	VERDICT_QUEUED,
	VERDICT_AWAITING_APPROVAL,
	VERDICT_UNKNOWN,
	VERDICT_CANCELLED, /* terminal without an answer of the upstream */
	VERDICT_RESOLVED,  /* terminal by a probe or a person, without an answer kept */
};
struct verdict_facts {
	const struct hash *stored; /* fingerprint of the operation */
	const struct hash *asked;  /* fingerprint of this attempt */
	enum operation_state state;
	bool may_pick_up;    /* a queued one is sent by the attempt, not by the dispatcher */
	bool has_answer;     /* the upstream's final status was recorded */
	bool is_answer_kept; /* and its body */
};
enum verdict outcome_recognise(const struct verdict_facts *facts);

#endif
