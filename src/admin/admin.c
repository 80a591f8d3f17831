/*
 * The admin listener: routes, and the two files by which a command line finds it.
 */
#include "admin/admin.h"

#include "admin/files.h"
#include "base/err.h"

#include <stdio.h>
#include <unistd.h>

enum { ADMIN_CONNECTIONS = 256, ADMIN_MEMORY = 8 * 1024 * 1024, ANSWER_MAX = 4 * 1024 * 1024 };

void admin_answer_text(struct exchange *exchange, int status, struct str text)
{
	exchange_answer(
		exchange, status,
		STR("Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"),
		text);
}

void admin_answer_problem(struct exchange *exchange, enum problem problem, const char *detail)
{
	const struct problem_facts facts = {.problem = problem, .detail = detail, .after_s = -1};
	struct buf headers, body;

	buf_init(&headers, ANSWER_MAX);
	buf_init(&body, ANSWER_MAX);
	problem_headers(&headers, &facts);
	if (problem == PROBLEM_UNAUTHENTICATED)
		http_write_field(&headers, STR("WWW-Authenticate"), STR("Bearer"));
	problem_write(&body, &facts);
	exchange_answer(exchange, problem_status(&facts), buf_str(&headers), buf_str(&body));
	buf_fini(&headers);
	buf_fini(&body);
}

static void finished(struct exchange *exchange, enum delivery delivery)
{
	exchange_release(exchange);
}

static const struct exchange_events events = {.finished = finished};

static void answer_metrics(struct admin *admin, struct exchange *exchange)
{
	struct buf body;

	buf_init(&body, ANSWER_MAX);
	admin_metrics(admin->gate, &body);
	exchange_answer(exchange, 200,
			STR("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
			buf_str(&body));
	buf_fini(&body);
}

static void answer_ready(struct admin *admin, struct exchange *exchange)
{
	if (atomic_load(&admin->gate->is_draining))
		admin_answer_text(exchange, 503, STR("draining\n"));
	else if (!store_is_healthy(admin->gate->store))
		admin_answer_text(exchange, 503, STR("the store cannot commit\n"));
	else
		admin_answer_text(exchange, 200, STR("ready\n"));
}

static void begin(struct service *service, struct exchange *exchange)
{
	struct admin *admin = list_entry(service, struct admin, service);
	struct str path = exchange->request.parts.path;
	bool is_get = str_equal(exchange->request.method, STR("GET")) ||
		      str_equal(exchange->request.method, STR("HEAD"));

	exchange->events = &events;
	exchange->owner = admin;
	if (str_starts_with(path, STR("/api/")))
		admin_api(admin, exchange);
	else if (!is_get)
		admin_answer_problem(exchange, PROBLEM_METHOD_NOT_ALLOWED, "Use GET.");
	else if (str_equal(path, STR("/healthz")))
		admin_answer_text(exchange, 200, STR("ok\n"));
	else if (str_equal(path, STR("/readyz")))
		answer_ready(admin, exchange);
	else if (str_equal(path, STR("/metrics")))
		answer_metrics(admin, exchange);
	else
		admin_answer_problem(exchange, PROBLEM_NOT_FOUND, NULL);
}

static void refuse(struct service *service, const struct http_refusal *refusal, struct buf *headers,
		   struct buf *body)
{
	const struct problem_facts facts = {
		.problem = problem_of_status(refusal->status),
		.status = refusal->status,
		.detail = refusal->detail,
		.after_s = -1,
	};

	problem_headers(headers, &facts);
	problem_write(body, &facts);
}

static int load_tls(struct admin *admin, char *why, size_t why_size)
{
	const struct settings_tls *tls = &gate_settings(admin->gate)->admin_tls;

	if (!tls->certificate.len)
		return 0;
	return tls_context_new(tls->certificate.at, tls->key.at, &admin->tls, why, why_size);
}

static int listen_on(struct admin *admin, char *why, size_t why_size)
{
	const struct settings *settings = gate_settings(admin->gate);
	const struct server_limits limits = {
		.head = http_limits_default,
		.connections = ADMIN_CONNECTIONS,
		.exchange_memory = ADMIN_MEMORY + settings->limits.max_response,
		.head_timeout_ms = settings->limits.head_timeout_ms,
		.idle_timeout_ms = settings->limits.idle_timeout_ms,
		.body_timeout_ms = settings->limits.body_timeout_ms,
	};
	struct sockaddr_storage address;
	const char *reason = "it is no address";

	if (!address_parse(settings->admin.text, &address) ||
	    server_listen(&admin->server, &admin->gate->control.loop, &admin->service, &limits,
			  admin->tls, &address, false, &reason) != 0) {
		snprintf(why, why_size, "cannot listen on %.*s: %s", STR_ARG(settings->admin.text),
			 reason);
		return FAIL_IO;
	}
	address_format((struct sockaddr *)&address, admin->address_text);
	snprintf(admin->url, sizeof(admin->url), "%s://%s", admin->tls ? "https" : "http",
		 admin->address_text);
	return 0;
}

int admin_start(struct admin *admin, struct gate *gate, char *why, size_t why_size)
{
	const char *directory = gate_settings(gate)->data.at;
	int r;

	*admin = (struct admin){.gate = gate, .service = {.begin = begin, .refuse = refuse}};
	r = load_tls(admin, why, why_size);
	if (r == 0)
		r = admin_token_file(directory, gate->env, admin->token, why, why_size);
	if (r == 0)
		r = listen_on(admin, why, why_size);
	if (r == 0)
		gate->control_server = &admin->server;
	if (r == 0)
		r = admin_write_gate_file(directory, gate->listen_text, admin->url, why, why_size);
	return r;
}

void admin_stop(struct admin *admin)
{
	if (!admin->gate)
		return;
	if (admin->server.loop) {
		server_close(&admin->server);
		admin_remove_gate_file(gate_settings(admin->gate)->data.at);
	}
	tls_context_free(admin->tls);
}
