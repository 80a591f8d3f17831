/*
 * Queued: the operation is durable, and the dispatcher sends it when its turn comes.
 *
 * Its caller gets 202 with the operation as the status resource shows it; or, where it wishes to
 * wait, its end. Whoever made it is told how it was made, however fast the dispatcher is meanwhile;
 * others how it stands, and where it has ended by the time we look, that end.
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

enum step request_look(struct request *request)
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

enum step step_queued_start(struct request *request)
{
	return request_look(request);
}

/*
 * How it was made: with one attempt, ours, and not sent. One that waited for its end in vain is
 * told how it stands instead.
 */
static void show_as_made(struct request *request)
{
	struct store_command *found = &request->command;
	bool has_moved = found->operation.epoch != request->made.epoch;

	found->operation = request->made;
	if (found->attempt_count > 1)
		found->attempt_count = 1;
	if (!has_moved)
		return;
	found->view.waits_for_lock = found->view.has_lock;
	found->view.holds_lock = false;
	found->view.fence = 0;
}

/* The lines of the 202; {NULL, 0} without memory. */
static struct str report_lines(struct request *request, enum problem problem)
{
	char id[OPERATION_ID_TEXT + 1];

	operation_id_write(&request->id, id);
	return arena_printf(&request->exchange->mem,
			    "Content-Type: application/json\r\n"
			    "Cache-Control: no-store\r\n"
			    "Link: </.counterfoil/help>; rel=\"describedby\"\r\n"
			    "Location: /.counterfoil/operations/%s\r\n"
			    "Retry-After: %d\r\n",
			    id, problem_kind(problem)->after_s);
}

/* False: there is no memory for it. */
static bool write_report(struct request *request, enum problem problem)
{
	struct json_writer json;

	buf_init(&request->report, REPORT_MAX);
	json_writer_init(&json, &request->report);
	operation_found_json(&json, &request->command, request->generation->settings, true);
	request->headers = report_lines(request, problem);
	request->body = buf_str(&request->report);
	return !request->report.is_spoiled && request->headers.at;
}

/* Without memory: a problem with the same status tells no less that matters. */
enum step request_report(struct request *request, enum problem problem)
{
	request->state = request->command.operation.state;
	request->expires_ms = request->command.operation.expires_ms;
	if (!write_report(request, problem))
		return request_problem(request, problem, NULL);
	request->is_report = true;
	request->status = 202;
	return STEP_ANSWER;
}

enum step step_queued_finish(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;

	if (request->command.result != 0)
		return request_problem(request, PROBLEM_OPERATION_QUEUED, NULL);
	if (request->made.state && !request->has_waited)
		show_as_made(request);
	if (operation_is_terminal(operation->state) && !request->has_reported) {
		request->has_reported = true; /* ended states are never left: once is enough */
		return STEP_CLAIM;
	}
	return request_report(request, PROBLEM_OPERATION_QUEUED);
}
