/*
 * Asking a service whether something is there: for probes and for look-ups.
 *
 * A GET with the caller's own credentials (the lines of the kept request, without what belongs to
 * its body, its conditions and its token), or with the gate's own for that service, read up to
 * ASK_ANSWER_MAX, judged by core/inquiry.h. Asking changes nothing and may be done as often as one
 * likes.
 */
#ifndef GATE_ASK_H
#define GATE_ASK_H

#include "core/inquiry.h"
#include "core/response.h"
#include "gate/credential.h"
#include "gate/policy.h"
#include "store/store.h"

enum { ASK_ANSWER_MAX = 1024 * 1024 };

/* The reason of an operation that a look-up found done. */
#define ASK_THERE_ALREADY "it was there already (lookup)"

struct ask {
	/* the owner's to fill; borrowed until `done` */
	const struct rule_inquiry *inquiry;
	const struct policy *policy; /* of the action that the inquiry is of */
	struct str target;	     /* template_finish()ed */
	struct str headers;	     /* of the request that it is about */
	struct arena *mem;	     /* for what is found */
	void *owner;
	void (*done)(struct ask *ask); /* once, never inside ask_start() */

	/* out */
	enum inquiry_verdict verdict;
	struct store_answer answer;  /* with INQUIRY_FOUND: what replays will say; in `mem` */
	struct str found_body;	     /* its body, also where that is too large to be kept */
	struct response_facts facts; /* what it says */
	const char *why;	     /* a sentence for the history; as long as `mem` */

	struct list link; /* the owner's: among those that it may break off */

	/* its own */
	bool is_broken_off;
	bool is_asked_again; /* with a new access token: once */
	struct generation *generation;
	struct credential_use credential;
	struct call call;
	struct buf call_headers, body;
};

/* To the upstream of its policy; `generation` is held by the owner until `done`. */
void ask_start(struct generation *generation, struct ask *ask);

/* Nobody wants to know any more: `done` comes soon, in doubt unless the answer was there already.
 */
void ask_break_off(struct ask *ask);

/* Does its doubt say no more than that it was broken off? After `done`. */
bool ask_was_broken_off(const struct ask *ask);

/*
 * With INQUIRY_FOUND: fill what was found into a settle or move command: answer, reference,
 * resource, opens. Whether it is a success is in ask->facts; the rest is its owner's.
 */
void ask_settlement(const struct ask *ask, struct str account, struct store_command *command);

/*
 * The lines of a question, from those of the write that it is about: without what belongs to its
 * body, its conditions, its ranges, its preferences and its keys, and without any word that
 * could make the service take it for another method's. Appended to `out`.
 */
void ask_headers(struct str lines, const struct policy *policy, struct buf *out);

/* After `done`. Fine for a zeroed one. */
void ask_fini(struct ask *ask);

#endif
