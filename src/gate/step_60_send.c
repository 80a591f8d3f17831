/*
 * Send: the one sending of a claimed request, and the reading of its answer.
 *
 * The answer is collected up to limits.max_response while its digest grows; a larger one goes
 * on in step_65_pipe. Answers that decide nothing (a status declared not_sent or unknown) are
 * not collected at all.
 */
#include "gate/headers.h"
#include "gate/request.h"

static void call_head(struct call *call);
static bool call_data(struct call *call, struct str piece);
static void call_done(struct call *call, enum sending sending);

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

enum { CALL_LINES_MAX = 256 * 1024 }; /* the largest head, and what is added to it */

enum step step_send_start(struct request *request)
{
	const struct settings *settings = request->generation->settings;
	const struct exchange *exchange = request->exchange;

	buf_init(&request->call_headers, CALL_LINES_MAX);
	buf_init(&request->answer_headers, CALL_LINES_MAX);
	buf_init(&request->first_headers, CALL_LINES_MAX);
	buf_init(&request->answer_body, request->policy.max_response);
	hasher_init(&request->digest);
	headers_to_upstream(exchange, settings, request->request_id, true, &request->call_headers);
	request->call = (struct call){
		.events = &call_events,
		.owner = request,
		.method = exchange->request.method,
		.target = exchange->request.target,
		.headers = buf_str(&request->call_headers),
		.body = exchange->body_text,
		.has_body = exchange->body_text.len || exchange->request.framing != HTTP_NO_BODY ||
			    str_equal(exchange->request.method, STR("POST")),
		.has_total_timeout = true,
		.timeout_ms = request->policy.timeout_ms,
		.is_spoiled = request->call_headers.is_spoiled,
	};
	call_start(request->generation->clients[request->policy.upstream], &request->call);
	request->is_call_open = true;
	return FLOW_WAITS;
}

static void call_head(struct call *call)
{
	struct request *request = call->owner;

	request->event =
		outcome_of_sending(request->policy.statuses, SENDING_ANSWERED, call->answer.status);
	headers_from_upstream(buf_str(&call->answer.fields), &request->answer_headers,
			      &request->first_headers);
}

static bool is_final(const struct request *request)
{
	return request->event == EVENT_SUCCEEDED || request->event == EVENT_REFUSED;
}

/* Over the limit: let it through. This piece comes again when the call is resumed. */
static bool begin_piping(struct request *request)
{
	if (!request->is_piped) {
		request->is_piped = true;
		flow_wake_soon(request);
	}
	return false;
}

static bool call_data(struct call *call, struct str piece)
{
	struct request *request = call->owner;

	if (!is_final(request))
		return true;
	if (request->step == STEP_PIPE)
		return step_pipe_data(request, piece);
	if (request->is_piped || piece.len > request->answer_body.max - request->answer_body.len)
		return begin_piping(request);
	request->answer_length += piece.len;
	hasher_add(&request->digest, piece.at, piece.len);
	return buf_append_str(&request->answer_body, piece) == 0;
}

static void call_done(struct call *call, enum sending sending)
{
	struct request *request = call->owner;

	request->is_call_open = false;
	request->sending = sending;
	histogram_add(&request->worker->metrics.upstream, call->duration_us);
	flow_wake(request);
}

/* Woken by the end of the call, or by an answer that is over the limit and still comes in. */
enum step step_send_finish(struct request *request)
{
	if (request->is_call_open)
		return STEP_PIPE;
	request->is_piped = false;
	request->event = outcome_of_sending(request->policy.statuses, request->sending,
					    request->call.answer.status);
	request->status = request->call.answer.status;
	return STEP_SETTLE;
}
