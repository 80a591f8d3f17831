/*
 * What an answer means for the step that was sent.
 *
 * Pure decisions. A gate says what it did (Operation-Outcome, or a problem of its own with its
 * advice); of everybody else there is the status alone, read by the gate's own defaults.
 */
#ifndef CLIENT_CLASSIFY_H
#define CLIENT_CLASSIFY_H

#include "base/arena.h"
#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum meaning {
	MEANS_DONE,	  /* it happened, and this is the answer */
	MEANS_FAILED,	  /* it certainly did not, and never will under this token */
	MEANS_OPEN,	  /* a gate has it: wait, or ask */
	MEANS_UNCERTAIN,  /* nobody knows: ask, before anything is sent */
	MEANS_NOT_YET,	  /* it certainly did not happen: the same again, later */
	MEANS_UNRECORDED, /* refused, and nothing was kept: the token is free for a mended request
			   */
	MEANS_CONFLICT,	  /* the token stands for another request there; nothing happened */
	MEANS_LOST	  /* it was too long ago: its record is gone, and what became of it */
};

/* An answer to the write, as far as it counts. Texts are borrowed. */
struct answer_facts {
	int status;
	struct str outcome;   /* Operation-Outcome */
	struct str operation; /* Operation-Id */
	struct str state;     /* Operation-State */
	bool is_problem;      /* a gate's own: urn:counterfoil:problem:… */
	struct str slug;      /* of it */
	struct str detail;    /* its sentence */
	struct str advice;    /* of it, or of a 202: retry.advice */
	int64_t after_s;      /* retry.after, else Retry-After in seconds; 0: none */
	struct str status_url;
};

/*
 * Read them from an answer; what needs memory lives in `mem`. Whatever cannot be read is not there.
 * `headers` are "Name: value\n" lines.
 */
void answer_facts_read(int status, struct str headers, struct str body, struct arena *mem,
		       struct answer_facts *out_facts);

/* Seconds that were asked for, within what anybody may ask for: a day. */
int64_t answer_after(int64_t after_s);

/* The text at a pointer of what a gate said; empty where there is none. */
struct str answer_text(const struct json_value *json, struct str pointer);

/* Did a gate say this? */
bool answer_is_gate(const struct answer_facts *facts);

/*
 * Did the write go past every gate, to a service that no record protects? Said by whoever is no
 * gate, and by one that passed it on: that such a gate knows of no operation proves nothing.
 */
bool answer_is_past_gate(const struct answer_facts *facts);

/*
 * `honours_key`: the API is known to give the same answer to the same Idempotency-Key, so a 409
 * or 425 of it says that the first request is still under way.
 */
enum meaning answer_meaning(const struct answer_facts *facts, bool honours_key);

/* The outcome that is told of it: the gate's word, else "created", "failed", "unknown", "not_sent",
 * "running". A constant text, or the fact's own. */
struct str answer_outcome(const struct answer_facts *facts, enum meaning meaning);

/* The advice that goes with it where no gate has given one. A constant text. */
const char *meaning_advice(enum meaning meaning);

#endif
