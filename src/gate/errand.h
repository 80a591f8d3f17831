/*
 * One errand: a sending by the gate itself, from the moment the operation is ours to the moment
 * its settlement is certain.
 *
 *   (look-up) ─► forward ─► settle ─► ended
 *                             ▲ └─ pause ─┐
 *                             └───────────┘
 *
 * Always true: the operation is running in an epoch that is ours alone; nothing is sent more than
 * once; an errand ends only when the store has said what became of it, so that no operation is
 * left running while this process lives.
 */
#ifndef GATE_ERRAND_H
#define GATE_ERRAND_H

#include "gate/ask.h"
#include "gate/background_internal.h"
#include "gate/forward.h"

#define ERRAND_STOPPING "the gate was about to stop"

struct errand {
	/* the owner's to fill; borrowed until it has ended */
	struct lane *lane;
	struct generation *generation; /* held by the errand */
	struct policy policy;
	const struct store_operation *operation;
	const struct store_request *request;
	uint32_t epoch;
	uint32_t attempt_number; /* of its attempt that is under way; 0: there is none */
	uint64_t fence;
	bool is_resend; /* the operation was unknown: a sending before this one may have acted */
	void *owner;
	void (*ended)(struct errand *errand); /* once, never inside a call of the owner's */

	/* out */
	bool is_settled; /* else somebody else had settled it, or it had never been ours */
	enum outcome outcome;
	enum operation_state state;
	struct str reason; /* why it is no final answer; or empty */
	int64_t upstream_us;

	/* its own */
	struct ask ask;
	struct forward forward;
	bool is_forwarded;
	struct arena mem; /* what is found and learned */
	enum operation_event event;
	bool is_found;	 /* its look-up found it: nothing is sent */
	bool is_untried; /* it is put back: nothing was even tried to be sent */
	int64_t next_ms; /* when the gate sees to it next, should that be needed */
	struct store_command command;
	struct arena command_mem;
	int64_t pause_ms;
	struct loop_timer pause;
	bool is_repeated; /* a settlement was tried before */
};

/* Send it, after its look-up if it has one. */
void errand_start(struct errand *errand);

/* Send nothing: back to the queue, due at `next_ms`, which is none of its tries. `reason` is a
 * constant text. */
void errand_put_back(struct errand *errand, int64_t next_ms, const char *reason);

/* Send nothing: it is as unknown as it was, due at `next_ms`. `reason` is a constant text. */
void errand_lose(struct errand *errand, int64_t next_ms, const char *reason);

/* After it has ended: its texts go, `reason` among them. Fine for a zeroed one. */
void errand_fini(struct errand *errand);

#endif
