/*
 * One forwarding of an operation's request to its service, and the reading of the answer.
 *
 * The caller's own attempt (step_60_send), the dispatcher and the reconciler all send through
 * here, so that an answer means the same whoever waits for it. The answer is collected up to the
 * policy's max_response while its digest grows; one that decides nothing (a status declared
 * not_sent or unknown) is not collected at all. A larger one is offered to `overflow`, or is only
 * digested.
 *
 * Fill the first part, zero the rest, forward_start(); `done` comes once, never inside a call of
 * the owner's; then read, settle (forward_settlement()), and forward_fini().
 */
#ifndef GATE_FORWARD_H
#define GATE_FORWARD_H

#include "core/response.h"
#include "gate/credential.h"
#include "gate/policy.h"
#include "store/store.h"

struct forward {
	/* the owner's to fill; borrowed until forward_fini() */
	const struct policy *policy;
	struct operation_id id; /* of the operation: the downstream key comes from it */
	uint64_t fence;		/* of its lock; 0: none */
	struct str method, target;
	struct str headers;	  /* lines, as store_request has them */
	bool are_headers_spoiled; /* they could not be put together: nothing is sent */
	struct str body;
	bool has_body;
	struct arena *mem; /* for the texts of `facts` */
	const struct env *env;
	void *owner;
	void (*done)(struct forward *forward);
	/* The answer does not fit: this piece and what follows comes here, as in call_events.data.
	 * NULL: they are digested and dropped. */
	bool (*overflow)(struct forward *forward, struct str piece);

	/* out: once the head is here; `event` is final only once it is done */
	struct call call;
	struct credential_use credential;
	enum operation_event event;
	struct buf answer_headers; /* end-to-end lines, as they are kept */
	struct buf first_headers;  /* those that only the first caller gets */

	/* out: once it is done */
	enum sending sending;
	int status;		/* 0: no answer */
	struct buf answer_body; /* what was collected of it, at most max_response */
	struct hasher digest;
	uint64_t answer_length;
	bool is_over; /* the answer did not fit */
	struct response_facts facts;
	const char *reason; /* a sentence for the history, where the status does not say it all; or
			       NULL */
	int retry_after_s;  /* as the service asked; -1: it did not */

	struct buf call_headers, call_body; /* its own */
};

/* To the upstream of its policy, with the credential that the gate has for it. */
void forward_start(struct generation *generation, struct forward *forward);

/*
 * Fill a settle command from it: event, answer, reference, resource, reason, opens, retentions. The
 * rest (mem, done, owner, epoch, attempt, next_ms) is its owner's. May be repeated, while the
 * forwarding is not fini()shed.
 */
void forward_settlement(struct forward *forward, struct str account, struct store_command *command);

/* Fine for a zeroed one. Not while it is under way. */
void forward_fini(struct forward *forward);

#endif
