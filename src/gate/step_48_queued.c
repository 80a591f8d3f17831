/*
 * Queued: the operation is durable, and the dispatcher sends it when its turn comes.
 *
 * Its caller gets 202 with the operation as the status resource shows it; or, where it wishes to
 * wait, its end. Should it have ended by the time we look, that end is told instead.
 */
#include "gate/operation_json.h"
#include "gate/request.h"

#include "base/err.h"

enum { REPORT_MAX = 4 * 1024 * 1024, REPORT_LINES_MAX = 1024 };

enum step step_queued_or_wait(struct request *request)
{
	request->outcome = OUTCOME_QUEUED;
	return step_wait_is_wished(request) ? STEP_WAIT : STEP_QUEUED;
}

static void found(struct store_command *command)
{
	flow_wake(command->owner);
}

enum step step_queued_start(struct request *request)
{
	request->command = (struct store_command){
		.kind = STORE_FIND,
		.mem = &request->exchange->mem,
		.done = found,
		.owner = request,
		.by_id = true,
		.operation = {.id = request->id, .account = request->account},
	};
	gate_ask(&request->worker->station, &request->command);
	return FLOW_WAITS;
}

/* The lines of the 202; {NULL, 0} without memory. */
static struct str report_lines(struct request *request)
{
	char id[OPERATION_ID_TEXT + 1];

	operation_id_write(&request->id, id);
	return arena_printf(&request->exchange->mem,
			    "Content-Type: application/json\r\n"
			    "Cache-Control: no-store\r\n"
			    "Link: </.counterfoil/help>; rel=\"describedby\"\r\n"
			    "Location: /.counterfoil/operations/%s\r\n"
			    "Retry-After: %d\r\n",
			    id, problem_kind(PROBLEM_OPERATION_QUEUED)->after_s);
}

/* False: there is no memory for it. */
static bool write_report(struct request *request)
{
	struct json_writer json;

	buf_init(&request->report, REPORT_MAX);
	json_writer_init(&json, &request->report);
	operation_found_json(&json, &request->command, request->generation->settings, true);
	request->headers = report_lines(request);
	request->body = buf_str(&request->report);
	return !request->report.is_spoiled && request->headers.at;
}

/* It is queued, whatever we can say of it: a problem with the same status tells no less that
 * matters.
 */
static enum step tell_briefly(struct request *request)
{
	return request_problem(request, PROBLEM_OPERATION_QUEUED, NULL);
}

enum step step_queued_finish(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;

	if (request->command.result != 0)
		return tell_briefly(request);
	if (operation_is_terminal(operation->state) && !request->has_reported) {
		request->has_reported = true; /* ended states are never left: once is enough */
		return STEP_CLAIM;
	}
	request->state = operation->state;
	request->expires_ms = operation->expires_ms;
	if (!write_report(request))
		return tell_briefly(request);
	request->is_report = true;
	request->status = 202;
	return STEP_ANSWER;
}
