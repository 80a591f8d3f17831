/*
 * Asking a service whether something is there: for probes and for look-ups.
 *
 * A GET with the caller's own credentials (the lines of the kept request, without what belongs to
 * its body, its conditions and its token), read up to ASK_ANSWER_MAX, judged by core/inquiry.h.
 * Asking changes nothing and may be done as often as one likes.
 */
#ifndef GATE_ASK_H
#define GATE_ASK_H

#include "core/inquiry.h"
#include "gate/policy.h"
#include "net/client.h"

enum { ASK_ANSWER_MAX = 1024 * 1024 };

struct ask {
	/* the owner's to fill; borrowed until `done` */
	const struct rule_inquiry *inquiry;
	const struct policy *policy; /* of the action: which headers were the write's own */
	struct str target;	     /* template_finish()ed */
	struct str headers;	     /* of the request that it is about */
	struct arena *mem;	     /* for what is found */
	void *owner;
	void (*done)(struct ask *ask); /* once, never inside ask_start() */

	/* out */
	enum inquiry_verdict verdict;
	const struct json_value *found; /* with INQUIRY_FOUND; NULL where it is no JSON */
	struct str found_body; /* what replays will say; as the service wrote it or canonical */
	struct str found_type; /* its Content-Type; may be empty */
	const char *why;       /* a sentence for the history; as long as `mem` */

	/* its own */
	struct call call;
	struct buf call_headers, body;
};

void ask_start(struct client *client, struct ask *ask);

/*
 * The lines of a question, from those of the write that it is about: without what belongs to its
 * body, its conditions, its ranges, its preferences and its keys, and without any word that
 * could make the service take it for another method's. Appended to `out`.
 */
void ask_headers(struct str lines, const struct policy *policy, struct buf *out);

/* End it early; `done` still comes, with doubt. */
void ask_cancel(struct ask *ask);

/* After `done`. Fine for a zeroed one. */
void ask_fini(struct ask *ask);

#endif
