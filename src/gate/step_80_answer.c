/*
 * Answer: tell the caller, with the operation's headers on top.
 *
 * Four kinds: a problem of the gate's own, its report of an operation, an answer that is whole (the
 * upstream's first or its replay), and the end of one that was piped. The answer is over when the
 * client's socket has taken it all, or the client has gone.
 */
#include "gate/headers.h"
#include "gate/request.h"

static void operation_headers(const struct request *request, struct buf *out)
{
	char text[OPERATION_ID_TEXT + 1];

	if (request->has_operation) {
		operation_id_write(&request->id, text);
		http_write_field(out, STR("Operation-Id"), str_from(text));
		http_write_field(out, STR("Operation-State"),
				 str_from(operation_state_name(request->state)));
	}
	if (request->outcome)
		http_write_field(out, STR("Operation-Outcome"),
				 str_from(outcome_name(request->outcome)));
	if (request->has_operation) {
		time_format(request->expires_ms, text);
		http_write_field(out, STR("Operation-Expires"), str_from(text));
	}
	if (request->is_replay)
		buf_append_str(out, STR("Idempotent-Replayed: true\r\n"));
	http_write_field(out, STR("X-Request-Id"), request->request_id);
}

/* The first caller gets all that the service said; a replay what was kept of it. */
void answer_headers(const struct request *request, struct buf *out)
{
	buf_append_str(out, request->headers);
	if (request->is_claimed)
		buf_append_str(out, buf_str(&request->forward.first_headers));
	buf_append_str(out, STR("Via: 1.1 counterfoil\r\n"));
	headers_expose(request->headers, out);
	operation_headers(request, out);
}

/* The Location of an answer that is not kept leads to what it made. */
static void kept_location(struct str lines, struct buf *out)
{
	struct http_field field;

	while (http_next_line(&lines, &field)) {
		if (str_equal_nocase(field.name, STR("Location")))
			http_write_field(out, field.name, field.value);
	}
}

static void answer_problem(struct request *request)
{
	struct buf lines;

	buf_init(&lines, ANSWER_HEAD_MAX);
	if (request->has_operation) {
		request->problem.id = &request->id;
		request->problem.state = request->state;
	}
	if (request->problem.problem == PROBLEM_RESPONSE_NOT_RETAINED)
		kept_location(request->headers, &lines);
	operation_headers(request, &lines);
	problem_answer(request->exchange, &request->problem, buf_str(&lines),
		       &request->worker->metrics);
	buf_fini(&lines);
}

static void answer_whole(struct request *request)
{
	struct buf headers;

	buf_init(&headers, ANSWER_HEAD_MAX);
	if (request->is_report) {
		buf_append_str(&headers, request->headers);
		operation_headers(request, &headers);
	} else {
		answer_headers(request, &headers);
	}
	if (headers.is_spoiled)
		exchange_abort(request->exchange);
	else
		exchange_answer(request->exchange, request->status, buf_str(&headers),
				request->body);
	buf_fini(&headers);
}

/* What was held back of a piped answer goes out only when the operation has been settled. */
static void end_piped(struct request *request)
{
	struct exchange *exchange = request->exchange;

	if (exchange->is_ended)
		return;
	if (request->problem.problem || !exchange->is_started) {
		exchange_abort(exchange);
		return;
	}
	exchange_write(exchange, buf_str(&request->forward.answer_body));
	exchange_end(exchange);
}

static enum step after(const struct request *request)
{
	return request->must_settle ? STEP_PAUSE : STEP_FINISH;
}

enum step step_answer_start(struct request *request)
{
	if (request->is_answered)
		return after(request);
	if (request->is_piped)
		end_piped(request);
	else if (request->problem.problem)
		answer_problem(request);
	else
		answer_whole(request);
	return FLOW_WAITS;
}

enum step step_answer_finish(struct request *request)
{
	return after(request);
}
