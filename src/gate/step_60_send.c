/*
 * Send: the one sending of a claimed request, by its caller's own attempt.
 *
 * How that is done and what its answer means is in forward.c. An answer over
 * limits.max_response goes on in step_65_pipe.
 */
#include "gate/headers.h"
#include "gate/request.h"

enum { REQUEST_LINES_MAX = 256 * 1024 }; /* the largest head, and what is added to it */

const struct buf *request_lines(struct request *request)
{
	struct buf *lines = &request->lines;

	if (lines->max)
		return lines;
	buf_init(lines, REQUEST_LINES_MAX);
	headers_to_upstream(request->exchange, request->generation->settings,
			    policy_upstream(&request->policy), request->request_id, true, lines);
	return lines;
}

bool request_has_body(const struct request *request)
{
	const struct http_request *http = &request->exchange->request;

	return request->exchange->body_text.len || http->framing != HTTP_NO_BODY ||
	       str_equal(http->method, STR("POST"));
}

/* The piece comes again when the call is resumed. */
static bool begin_piping(struct request *request)
{
	if (!request->is_piped) {
		request->is_piped = true;
		flow_wake_soon(request);
	}
	return false;
}

static bool overflow(struct forward *forward, struct str piece)
{
	struct request *request = forward->owner;

	return request->step == STEP_PIPE ? step_pipe_data(request, piece) : begin_piping(request);
}

static void forwarded(struct forward *forward)
{
	struct request *request = forward->owner;

	request->is_call_open = false;
	request->event = forward->event;
	histogram_add(&request->worker->metrics.upstream, forward->call.duration_us);
	flow_wake(request);
}

enum step step_send_start(struct request *request)
{
	const struct exchange *exchange = request->exchange;
	const struct buf *lines = request_lines(request);

	request->forward = (struct forward){
		.policy = &request->policy,
		.id = request->id,
		.fence = request->command.fence,
		.method = exchange->request.method,
		.target = exchange->request.target,
		.headers = buf_str(lines),
		.are_headers_spoiled = lines->is_spoiled,
		.body = exchange->body_text,
		.has_body = request_has_body(request),
		.mem = &request->exchange->mem,
		.env = request->worker->gate->env,
		.owner = request,
		.done = forwarded,
		.overflow = overflow,
	};
	forward_start(request->generation, &request->forward);
	request->is_call_open = true;
	return FLOW_WAITS;
}

/* Woken by the end of the call, or by an answer that is over the limit and still comes in. */
enum step step_send_finish(struct request *request)
{
	if (request->is_call_open)
		return STEP_PIPE;
	request->is_piped = false;
	request->is_untried = request->forward.credential.is_unset;
	request->status = request->forward.status;
	return STEP_SETTLE;
}
