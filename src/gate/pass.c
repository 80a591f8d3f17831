/*
 * Passing a request on, streamed.
 *
 * Four speeds meet here: the client's upload, the service's reading, the service's answer,
 * the client's download. Each pair shares one bounded buffer; the faster side is paused when
 * it is full and resumed when it has room. Nothing is kept, and nothing is promised.
 *
 * It ends when both sides have: the call is done and the exchange is finished.
 */
#include "gate/pass.h"

#include "gate/caller.h"
#include "gate/credential.h"
#include "gate/headers.h"
#include "gate/policy.h"
#include "gate/problem.h"
#include "gate/query.h"
#include "gate/request_line.h"

enum {
	PASS_UPLOAD_MAX = 256 * 1024,  /* bytes from the client that wait for the service */
	PASS_UPLOAD_HIGH = 128 * 1024, /* over it, the client is paused */
	PASS_LINES_MAX = 256 * 1024,
};

struct pass {
	struct worker *worker;
	struct generation *generation;
	struct policy policy;
	struct exchange *exchange;
	struct str request_id;
	struct call call;
	struct credential_use credential;
	struct buf call_headers;
	struct buf upload;
	bool is_upload_over, is_upload_broken, is_full, is_call_open, is_finished;
	enum delivery delivery;
};

static void log_pass(const struct pass *pass)
{
	const struct gate *gate = pass->worker->gate;
	struct log_line line;

	if (!pass->generation->settings->log.requests)
		return;
	request_line_begin(&line, gate, pass->exchange);
	log_bool(&line, "protected", false);
	request_line_traffic(&line, gate, pass->exchange, pass->request_id);
	log_bool(&line, "delivered", pass->delivery == DELIVERY_DONE);
	log_end(&line);
}

static void end_if_over(struct pass *pass)
{
	struct generation *generation = pass->generation;
	struct metrics *metrics = &pass->worker->metrics;
	int class = pass->exchange->status / 100; /* 0: none was sent */

	if (pass->is_call_open || !pass->is_finished)
		return;
	metrics_add(&metrics->passed[class < METRICS_CLASSES ? class : 0], 1);
	if (pass->delivery == DELIVERY_FAILED)
		metrics_add(&metrics->passed_broken, 1);
	log_pass(pass);
	call_fini(&pass->call);
	buf_fini_wiped(&pass->call_headers);
	buf_fini(&pass->upload);
	exchange_release(pass->exchange);
	generation_drop(generation);
}

static void answer_problem(struct pass *pass, enum problem problem, const char *detail)
{
	const struct problem_facts facts = {.problem = problem, .detail = detail, .after_s = -1};
	struct buf lines;

	buf_init(&lines, PASS_LINES_MAX);
	http_write_field(&lines, STR("X-Request-Id"), pass->request_id);
	problem_answer(pass->exchange, &facts, buf_str(&lines), &pass->worker->metrics);
	buf_fini(&lines);
}

/* The client's side. */

static void upload_data(struct exchange *exchange, struct str piece)
{
	struct pass *pass = exchange->owner;

	if (buf_append_str(&pass->upload, piece) != 0)
		pass->is_upload_broken = true;
	if (pass->upload.len > PASS_UPLOAD_HIGH)
		exchange_pause(exchange);
	call_resume(&pass->call);
}

static void upload_end(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct pass *pass = exchange->owner;

	pass->is_upload_over = true;
	if (refusal)
		pass->is_upload_broken = true;
	if (pass->is_call_open)
		call_resume(&pass->call);
}

static void download_drained(struct exchange *exchange)
{
	struct pass *pass = exchange->owner;

	pass->is_full = false;
	if (pass->is_call_open)
		call_resume(&pass->call);
}

static void client_gone(struct exchange *exchange)
{
	struct pass *pass = exchange->owner;

	if (pass->is_call_open)
		call_cancel(&pass->call);
	else if (!exchange->is_ended)
		exchange_abort(exchange);
}

static void finished(struct exchange *exchange, enum delivery delivery)
{
	struct pass *pass = exchange->owner;

	pass->is_finished = true;
	pass->delivery = delivery;
	if (pass->is_call_open)
		call_cancel(&pass->call);
	end_if_over(pass);
}

static const struct exchange_events exchange_events = {
	.data = upload_data,
	.data_end = upload_end,
	.drained = download_drained,
	.gone = client_gone,
	.finished = finished,
};

/* The service's side. */

static void call_head(struct call *call)
{
	struct pass *pass = call->owner;
	struct buf lines;

	if (pass->exchange->is_ended)
		return;
	buf_init(&lines, PASS_LINES_MAX);
	headers_from_upstream(buf_str(&call->answer.fields), &lines, &lines);
	buf_append_str(&lines, STR("Via: 1.1 counterfoil\r\n"));
	http_write_field(&lines, STR("X-Request-Id"), pass->request_id);
	headers_expose(buf_str(&lines), &lines);
	if (lines.is_spoiled)
		exchange_abort(pass->exchange);
	else
		exchange_start(pass->exchange, call->answer.status, buf_str(&lines),
			       call->answer.length);
	buf_fini(&lines);
}

static bool call_data(struct call *call, struct str piece)
{
	struct pass *pass = call->owner;

	if (pass->is_full)
		return false;
	if (!pass->exchange->is_ended)
		pass->is_full = !exchange_write(pass->exchange, piece);
	return true;
}

static ssize_t call_body(struct call *call, char *out, size_t max)
{
	struct pass *pass = call->owner;
	size_t len = pass->upload.len < max ? pass->upload.len : max;

	if (pass->is_upload_broken)
		return CALL_BODY_BROKEN;
	if (!len)
		return pass->is_upload_over ? CALL_BODY_END : 0;
	memcpy(out, pass->upload.at, len);
	buf_consume(&pass->upload, len);
	if (pass->upload.len <= PASS_UPLOAD_HIGH / 2)
		exchange_resume(pass->exchange);
	return (ssize_t)len;
}

static enum problem problem_of(const struct pass *pass, enum sending sending)
{
	if (sending == SENDING_NEVER_LEFT)
		return PROBLEM_UPSTREAM_UNREACHABLE;
	return pass->call.is_timed_out ? PROBLEM_UPSTREAM_TIMEOUT : PROBLEM_UPSTREAM_FAILED;
}

static void call_done(struct call *call, enum sending sending)
{
	struct pass *pass = call->owner;
	struct exchange *exchange = pass->exchange;

	credential_end(&pass->credential);
	pass->is_call_open = false;
	if (exchange->is_ended)
		end_if_over(pass);
	else if (sending == SENDING_ANSWERED && exchange->is_started)
		exchange_end(exchange);
	else if (exchange->is_started || exchange->is_gone)
		exchange_abort(exchange);
	else if (pass->is_upload_broken)
		answer_problem(pass, PROBLEM_REQUEST_MALFORMED, exchange->body_refusal.detail);
	else
		answer_problem(pass, problem_of(pass, sending), call->reason);
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.body = call_body,
	.done = call_done,
};

static bool protects_nocase(const struct settings *settings, struct str method)
{
	for (size_t i = 0; i < settings->protect.count; i++) {
		if (str_equal_nocase(settings->protect.methods[i], method))
			return true;
	}
	return false;
}

/* Would the service take this for a protected write, on the word of a header? */
static bool overrides_method(const struct pass *pass)
{
	const struct http_request *request = &pass->exchange->request;

	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];

		if (headers_is_override(field) &&
		    protects_nocase(pass->generation->settings, field->value))
			return true;
	}
	return false;
}

static bool is_safe(struct str method)
{
	return str_equal(method, STR("GET")) || str_equal(method, STR("HEAD")) ||
	       str_equal(method, STR("OPTIONS"));
}

/* Does it read for every service, also for one that lets a request name another method? */
static bool only_reads(const struct pass *pass)
{
	const struct http_request *request = &pass->exchange->request;
	struct str query = request->parts.query, name, method;

	for (size_t i = 0; i < request->field_count; i++) {
		if (headers_is_override(&request->fields[i]) && !is_safe(request->fields[i].value))
			return false;
	}
	while (query_next(&query, &pass->exchange->mem, &name, &method)) {
		if (str_equal_nocase(name, STR("_method")) && method.len && !is_safe(method))
			return false;
	}
	return is_safe(request->method);
}

/*
 * False: its caller is not let in, and has been told so. Patterns of actions limit writes; what
 * only reads is let through.
 */
static bool is_let_in(struct pass *pass, const struct action *action)
{
	bool is_read = !action && only_reads(pass);
	struct caller caller;
	struct problem_facts refusal;
	enum problem problem = caller_identify(pass->worker, pass->exchange, &caller, &refusal);

	if (problem == PROBLEM_NONE && is_read)
		caller.action_count = 0;
	if (problem == PROBLEM_NONE)
		problem = caller_permit(&caller, action ? action->name : STR(""), &refusal);
	if (problem == PROBLEM_NONE)
		return true;
	problem_answer(pass->exchange, &refusal, STR(""), &pass->worker->metrics);
	return false;
}

static void start_call(struct pass *pass)
{
	struct exchange *exchange = pass->exchange;
	const struct http_request *request = &exchange->request;

	headers_to_upstream(exchange, pass->generation->settings, policy_upstream(&pass->policy),
			    pass->request_id, false, &pass->call_headers);
	pass->call = (struct call){
		.events = &call_events,
		.owner = pass,
		.method = request->method,
		.target = request->target,
		.has_body = request->framing == HTTP_LENGTH,
		.is_streamed = exchange_has_body(exchange),
		.body_length = request->framing == HTTP_LENGTH ? (int64_t)request->length : -1,
		.timeout_ms = pass->policy.timeout_ms,
	};
	pass->is_call_open = true;
	credential_start(&pass->credential, pass->generation, pass->policy.upstream, &pass->call,
			 &pass->call_headers);
	if (pass->call.is_streamed)
		exchange_stream(exchange);
}

void pass_begin(struct worker *worker, struct exchange *exchange, const struct action *action)
{
	struct pass *pass = arena_zalloc(&exchange->mem, sizeof(*pass));

	if (!pass) {
		exchange_abort(exchange);
		return;
	}
	pass->worker = worker;
	pass->generation = worker->generation;
	generation_hold(pass->generation);
	pass->policy = policy_of(pass->generation->settings, action);
	pass->exchange = exchange;
	buf_init(&pass->upload, PASS_UPLOAD_MAX);
	buf_init(&pass->call_headers, PASS_LINES_MAX);
	exchange->owner = pass;
	exchange->events = &exchange_events;
	pass->request_id = headers_request_id(exchange, worker->gate->env, &exchange->mem);
	if (!is_let_in(pass, action))
		return;
	if (overrides_method(pass))
		answer_problem(pass, PROBLEM_METHOD_OVERRIDE, NULL);
	else
		start_call(pass);
}
