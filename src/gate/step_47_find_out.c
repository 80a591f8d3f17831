/*
 * Find out: what became of an operation of which nobody knows, before its caller is told so.
 *
 * The reconciler asks the service, or sends again where the service knows the operation by its key,
 * and calls the waiting room when that try has ended, whatever came of it. The request sits there
 * meanwhile, for as long as that can take or its caller wishes to wait, and looks again. Once for
 * each attempt: what is unknown after that is told as it is.
 */
#include "gate/background.h"
#include "gate/request.h"

enum { FIND_OUT_SPARE_MS = 1000 }; /* for the store's part of it */

/* A question and a sending, one after the other. */
static int64_t longest_ms(const struct request *request)
{
	const struct action *action = request->policy.action;

	return policy_timeout_ms(&request->policy) + (action ? action->probe.timeout_ms : 0) +
	       FIND_OUT_SPARE_MS;
}

static enum step ask_and_sit(struct request *request)
{
	int64_t wished_ms = request->wait_until_ms - request->exchange->loop->now_ms;
	int64_t longest = longest_ms(request);

	request->has_looked = true;
	if (!step_wait_enter(request))
		return STEP_CLAIM;
	if (!background_find_out(request->worker->gate, &request->id))
		return step_wait_leave(request);
	waiting_sit(&request->waiter, wished_ms > longest ? wished_ms : longest);
	return FLOW_WAITS;
}

/* One that waited for its end before it was unknown leaves the room first: that call is spent. */
enum step step_find_out_start(struct request *request)
{
	return request->has_waiter ? step_wait_leave(request) : ask_and_sit(request);
}

enum step step_find_out_finish(struct request *request)
{
	if (request->has_waiter)
		return step_wait_leave(request);
	return request->has_looked ? STEP_CLAIM : ask_and_sit(request);
}
