/*
 * Wait: for the end of the operation that another attempt runs (Prefer: wait=N).
 *
 * The request enters the room, looks at the store once more, and only then sits down: an end
 * that came in between is not missed. It is woken by the end or by its time, and looks again;
 * what it then finds is its answer. One that never sits down leaves the room as it finishes.
 */
#include "gate/request.h"

static void woken(struct waiter *waiter)
{
	flow_wake(list_entry(waiter, struct request, waiter));
}

static void left(struct waiter *waiter)
{
	struct request *request = list_entry(waiter, struct request, waiter);

	request->has_waiter = false;
	flow_wake(request);
}

static enum step leave(struct request *request)
{
	waiting_leave(&request->worker->gate->waiting, &request->waiter);
	request->is_leaving = true;
	return FLOW_WAITS;
}

enum step step_wait_start(struct request *request)
{
	struct waiting_room *room = &request->worker->gate->waiting;
	struct loop *loop = request->exchange->loop;

	if (request->has_waiter) {
		waiting_sit(&request->waiter, request->wait_until_ms - loop->now_ms);
		return FLOW_WAITS;
	}
	request->waiter.woken = woken;
	request->waiter.left = left;
	if (!waiting_enter(room, &request->waiter, loop, &request->id,
			   request->generation->settings->tokens.max_waiters)) {
		metrics_add(&request->worker->metrics.waiters_refused, 1);
		request->wait_until_ms = 0;
	} else {
		request->has_waiter = true;
	}
	return STEP_CLAIM;
}

/* Woken once to leave the room, and once again when it has left. */
enum step step_wait_finish(struct request *request)
{
	request->wait_until_ms = 0;
	if (request->has_waiter)
		return leave(request);
	return STEP_CLAIM;
}

/* Nobody is left to be told: end the wait now. */
void step_wait_gone(struct request *request)
{
	if (request->is_leaving)
		return;
	request->is_waiting = false;
	request->is_waiting = step_wait_finish(request) == FLOW_WAITS;
}
