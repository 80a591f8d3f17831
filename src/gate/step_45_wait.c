/*
 * Wait: for the end of the operation that another attempt runs (Prefer: wait=N).
 *
 * The request enters the room, looks at the store once more, and only then sits down: an end
 * that came in between is not missed. It is woken by the end or by its time, and looks again;
 * what it then finds is its answer. Where that is found by the look before it sits down, it
 * is still in the room while it is answered, and leaves in step_90_finish.
 */
#include "gate/request.h"

static void woken(struct waiter *waiter)
{
	flow_wake(list_entry(waiter, struct request, waiter));
}

static void left(struct waiter *waiter)
{
	struct request *request = list_entry(waiter, struct request, waiter);

	request->has_waiter = request->is_leaving = false;
	flow_wake(request);
}

bool step_wait_is_wished(const struct request *request)
{
	return request->wait_until_ms > request->exchange->loop->now_ms &&
	       !request->exchange->is_gone;
}

bool step_wait_enter(struct request *request)
{
	request->waiter.credential = request->caller.credential;
	request->waiter.woken = woken;
	request->waiter.left = left;
	request->has_waiter = waiting_enter(&request->worker->gate->waiting, &request->waiter,
					    request->exchange->loop, &request->id,
					    request->generation->settings->tokens.max_waiters);
	if (!request->has_waiter)
		metrics_add(&request->worker->metrics.waiters_refused, 1);
	return request->has_waiter;
}

enum step step_wait_leave(struct request *request)
{
	waiting_leave(&request->worker->gate->waiting, &request->waiter);
	request->is_leaving = true;
	return FLOW_WAITS;
}

enum step step_wait_start(struct request *request)
{
	request->has_waited = true;
	if (request->has_waiter) {
		waiting_sit(&request->waiter,
			    request->wait_until_ms - request->exchange->loop->now_ms);
		return FLOW_WAITS;
	}
	if (!step_wait_enter(request))
		request->wait_until_ms = 0;
	return STEP_CLAIM;
}

/*
 * Woken once to leave the room, and once again when it has left. What moved may go on, and whoever
 * has time left waits on; one whose time is up is told what is there.
 */
enum step step_wait_finish(struct request *request)
{
	request->has_checked = false; /* a credential may have ended meanwhile */
	return request->has_waiter ? step_wait_leave(request) : STEP_CLAIM;
}

/* Nobody is left to be told: end the wait now. */
void step_wait_gone(struct request *request)
{
	if (request->is_leaving)
		return;
	request->wait_until_ms = 0;
	request->is_waiting = false;
	request->is_waiting = step_wait_finish(request) == FLOW_WAITS;
}
