/*
 * Delivering a step: one effect, however often it is tried and whatever is lost on the way.
 *
 * What has a token in the journal is claimed, sent, and followed up until its end is certain or the
 * time is over. After anything uncertain the gate is asked before a byte is sent again; where there
 * is no gate, the same request is sent again only under the promise that the API honours the key.
 *
 * Always true: what is sent was claimed on disk before; nothing is sent under a token whose
 * payload has changed; what is done or has failed is told from the journal and never sent again.
 * Can fail: the journal cannot be used. Nothing was sent then, or what was sent is on record as
 * uncertain.
 *
 * Blocks. Any thread, each with a journal of its own.
 */
#ifndef CLIENT_DELIVERY_H
#define CLIENT_DELIVERY_H

#include "client/journal.h"
#include "client/web.h"

enum {
	DELIVERY_WAIT_MS = 30000,		/* how long it is followed up, where nobody says */
	DELIVERY_REQUEST_MS = 60000,		/* one request, where nobody says */
	DELIVERY_MEMORY_MAX = 512 * 1024 * 1024 /* room for answers: a good ceiling for `mem` */
};
enum { DELIVERY_REFUSED = 16, DELIVERY_UNKEPT = 17 }; /* beside the outcomes of a journal */

struct delivery_request {
	struct step step;   /* in its one spelling (step_read()) */
	bool is_new;	    /* a deliberate new action */
	struct str headers; /* "Name: value\r\n" lines; no Idempotency-Key, Host or framing */
	struct str body;
	bool has_body;
	int64_t wait_ms; /* how long an open or uncertain outcome is followed up; 0: not at all */
	int64_t request_ms; /* of one request; 0: DELIVERY_REQUEST_MS */
	bool honours_key;   /* the API gives the same answer to the same Idempotency-Key */
	bool same_account;  /* another credential than before, but of the same account */
	const char *output; /* the body goes into this file; NULL: into the result */
	struct web_options web;
};

/* What is known, once no more is done. Texts live in the arena; empty: there is none. */
struct delivery_result {
	struct str outcome; /* contract's word, or "failed" */
	struct step step;   /* with the token in any case */
	enum entry_state state;
	struct str operation;
	bool is_gate;
	struct kept_answer answer; /* body_file: where the body went, if it did */
	int64_t attempts;
	const char *source;    /* "answer", "journal", "status" */
	bool is_local;	       /* decided here, before anything was sent */
	struct str difference; /* of a payload that has changed */
	struct str advice;
	int64_t after_s;
	struct str reason; /* a sentence, or empty */
};

/*
 * Deliver.
 *   0                 *out_result says how far it came
 *   DELIVERY_REFUSED  the request cannot be made (a header that is ours, an output that cannot be
 *                     written): *err; nothing was sent
 *   DELIVERY_UNKEPT   it came to an end that the journal could not keep: *err, and *out_result as
 *                     with 0; a later delivery asks, as after an answer that was lost
 *   JOURNAL_REFUSED, JOURNAL_BUSY (`is_new` beside somebody who is at it), FAIL_STORE, FAIL_MEMORY
 */
int delivery_send(struct journal *journal, const struct delivery_request *request,
		  struct arena *mem, struct delivery_result *out_result, struct journal_error *err);

/*
 * Find out what became of a step without sending it: `request` as for delivery_send(), its body
 * and payload do not count. JOURNAL_NONE: the journal knows no such step, or nothing was sent.
 */
int delivery_resolve(struct journal *journal, const struct delivery_request *request,
		     struct arena *mem, struct delivery_result *out_result,
		     struct journal_error *err);

#endif
