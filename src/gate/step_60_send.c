/*
 * Send: the one sending of a claimed request, and the reading of its answer.
 *
 * The answer is collected up to limits.max_response while its digest grows. A larger one is
 * passed on in pieces instead of being kept: the call is paused, what is known is settled,
 * and step_80_answer lets the rest through. Answers that decide nothing (a status declared
 * not_sent or unknown) are not collected at all.
 */
#include "gate/headers.h"
#include "gate/request.h"

#include "base/err.h"

static void call_head(struct call *call);
static bool call_data(struct call *call, struct str piece);
static void call_done(struct call *call, enum sending sending);

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

enum { CALL_LINES_MAX = 128 * 1024 };

enum step step_send_start(struct request *request)
{
	const struct settings *settings = request->generation->settings;
	const struct exchange *exchange = request->exchange;

	buf_init(&request->call_headers, CALL_LINES_MAX);
	buf_init(&request->answer_headers, CALL_LINES_MAX);
	buf_init(&request->first_headers, CALL_LINES_MAX);
	buf_init(&request->answer_body, settings->limits.max_response);
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
		.is_once = true,
	};
	call_start(request->generation->clients[0], &request->call);
	request->is_call_open = true;
	return FLOW_WAITS;
}

static void call_head(struct call *call)
{
	struct request *request = call->owner;

	request->event = outcome_of_sending(&request->generation->settings->statuses,
					    SENDING_ANSWERED, call->status);
	headers_from_upstream(buf_str(&call->answer_headers), &request->answer_headers,
			      &request->first_headers);
}

static bool is_final(const struct request *request)
{
	return request->event == EVENT_SUCCEEDED || request->event == EVENT_REFUSED;
}

/* Over the limit: settle what is known, then let it through. */
static bool begin_streaming(struct request *request)
{
	if (!request->is_streaming) {
		request->is_streaming = true;
		request->status = request->call.status;
		flow_wake_soon(request);
	}
	return false;
}

static bool call_data(struct call *call, struct str piece)
{
	struct request *request = call->owner;

	if (!is_final(request))
		return true;
	if (request->is_streaming)
		return step_answer_data(request, piece);
	if (piece.len > request->answer_body.max - request->answer_body.len)
		return begin_streaming(request);
	hasher_add(&request->digest, piece.at, piece.len);
	return buf_append_str(&request->answer_body, piece) == 0;
}

static void call_done(struct call *call, enum sending sending)
{
	struct request *request = call->owner;

	request->is_call_open = false;
	request->sending = sending;
	histogram_add(&request->worker->metrics.upstream, call->duration_us);
	if (request->step == STEP_SEND || request->step == STEP_FINISH)
		flow_wake(request);
	else
		step_answer_data_end(request, sending);
}

enum step step_send_finish(struct request *request)
{
	const struct status_classes *classes = &request->generation->settings->statuses;

	if (!request->is_streaming)
		request->event =
			outcome_of_sending(classes, request->sending, request->call.status);
	request->status = request->call.status;
	return STEP_SETTLE;
}
