/*
 * Replace: an operation that has our identity, was not sent, and is its own caller's to send.
 *
 * Its caller may be gone, and our command is another: who has the identity would be told to wait
 * for what nobody does. It is certain that it was not sent, so it is cancelled, as its caller
 * could, and we claim again. If its caller came back at this very moment, and sends it, we find
 * that.
 *
 * The same becomes of one of our own token that was let in before its action had people asked:
 * what they have not agreed to is not sent, and it has no question. It is told as cancelled; asked
 * for with a new token, it is one.
 */
#include "gate/request.h"

#include "base/err.h"

static void moved(struct store_command *command)
{
	flow_wake(command->owner);
}

static enum step cancel(struct request *request)
{
	const struct store_operation there = request->command.operation;

	request->command = (struct store_command){
		.kind = STORE_MOVE,
		.mem = &request->exchange->mem,
		.done = moved,
		.owner = request,
		.event = EVENT_CANCELLED,
		.retention_ms = request->policy.retention_ms,
		.plain_retention_ms = request->policy.plain_retention_ms,
		.operation =
			{
				.id = there.id,
				.epoch = there.epoch,
				.account = request->account,
				.reason =
					request->is_reuse
						? STR("it had not been sent when another command "
						      "with its identity came")
						: STR("it had not been sent when people came to be "
						      "asked first"),
				.decided_by = STR("gate"),
			},
	};
	gate_ask(&request->worker->station, &request->command);
	return FLOW_WAITS;
}

/* One that waited for its end leaves the room first: it will have another to wait for. */
enum step step_replace_start(struct request *request)
{
	return request->has_waiter ? step_wait_leave(request) : cancel(request);
}

enum step step_replace_finish(struct request *request)
{
	if (request->command.kind != STORE_MOVE)
		return cancel(request);
	request->has_operation = false;
	if (request->command.result < 0)
		return request_problem(request, PROBLEM_STORE_UNAVAILABLE, NULL);
	waiting_call(&request->worker->gate->waiting, &request->id);
	return STEP_CLAIM;
}
