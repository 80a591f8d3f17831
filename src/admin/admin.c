/*
 * The admin listener itself, and the two files by which a command line finds it.
 */
#include "admin/admin.h"

#include "admin/files.h"
#include "audit/verification.h"
#include "auth/session.h"
#include "base/err.h"
#include "gate/policy.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	ADMIN_CONNECTIONS = 256,
	ADMIN_MEMORY = 8 * 1024 * 1024,
	FINDS_MAX = 3, /* of one decision: two finds with the request that is kept, one reading */
};

void admin_answer_text(struct exchange *exchange, int status, struct str text)
{
	exchange_answer(exchange, status,
			STR("Content-Type: text/plain; charset=utf-8\r\n"
			    "Cache-Control: no-store\r\n" ADMIN_GUARDS),
			text);
}

void admin_answer_problem(struct exchange *exchange, enum problem problem, const char *detail)
{
	const struct problem_facts facts = {.problem = problem, .detail = detail, .after_s = -1};

	problem_answer(exchange, &facts, STR(ADMIN_GUARDS), NULL);
}

static void begin(struct service *service, struct exchange *exchange)
{
	admin_api(list_entry(service, struct admin, service), exchange);
}

static void refuse(struct service *service, const struct http_refusal *refusal, struct buf *headers,
		   struct buf *body)
{
	const struct problem_facts facts = problem_of_refusal(refusal);

	problem_headers(headers, &facts);
	buf_append_str(headers, STR(ADMIN_GUARDS));
	problem_write(body, &facts);
}

/* The next connections get the new certificate. */
static void take_settings(void *owner)
{
	struct admin *admin = owner;

	admin->server.tls = admin->gate->hold->admin_tls;
}

/* Where this machine's own programs reach a listener on every address. */
static void take_loopback(struct sockaddr_storage *address)
{
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_ANY))
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (address->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
		six->sin6_addr = in6addr_loopback;
}

static void write_urls(struct admin *admin, const struct sockaddr_storage *bound)
{
	const char *scheme = admin->server.tls ? "https" : "http";
	struct sockaddr_storage near = *bound;
	char near_text[64];

	address_format((const struct sockaddr *)bound, admin->address_text);
	snprintf(admin->url, sizeof(admin->url), "%s://%s", scheme, admin->address_text);
	take_loopback(&near);
	address_format((struct sockaddr *)&near, near_text);
	snprintf(admin->near_url, sizeof(admin->near_url), "%s://%s", scheme, near_text);
}

static int listen_on(struct admin *admin, char *why, size_t why_size)
{
	const struct settings *settings = gate_settings(admin->gate);
	const struct server_limits limits = {
		.head = http_limits_default,
		.connections = ADMIN_CONNECTIONS,
		.exchange_memory = ADMIN_MEMORY + FINDS_MAX * settings->limits.request_memory +
				   policy_largest_response(settings),
		.head_timeout_ms = settings->limits.head_timeout_ms,
		.idle_timeout_ms = settings->limits.idle_timeout_ms,
		.body_timeout_ms = settings->limits.body_timeout_ms,
	};
	struct sockaddr_storage address;
	const char *reason = "it is no address";

	if (!address_parse(settings->admin.text, &address) ||
	    server_listen(&admin->server, &admin->gate->control.loop, &admin->service, &limits,
			  admin->gate->hold->admin_tls, &address, false, &reason) != 0) {
		snprintf(why, why_size, "cannot listen on %.*s: %s", STR_ARG(settings->admin.text),
			 reason);
		return FAIL_IO;
	}
	write_urls(admin, &address);
	return 0;
}

/* 0, FAIL_MEMORY, FAIL_LIMIT. What has been made is admin_stop()'s to free. */
static int make_parts(struct admin *admin)
{
	admin->sessions = calloc(1, sizeof(*admin->sessions));
	if (!admin->sessions)
		return fail(FAIL_MEMORY);
	sessions_init(admin->sessions, admin->gate->env);
	admin->listeners = listeners_new(admin);
	admin->outcomes = outcomes_new(admin);
	if (!admin->listeners || !admin->outcomes)
		return fail(FAIL_MEMORY);
	return admin_verification_new(admin);
}

static void free_parts(struct admin *admin)
{
	if (admin->sessions)
		sessions_fini(admin->sessions);
	free(admin->sessions);
	listeners_free(admin->listeners);
	outcomes_free(admin->outcomes);
	admin_verification_free(admin);
	admin->sessions = NULL;
	admin->listeners = NULL;
	admin->outcomes = NULL;
}

void admin_console_link(struct admin *admin, char out[ADMIN_LINK_SIZE])
{
	char text[SESSION_TEXT + 1];

	session_link_make(admin->sessions, text);
	snprintf(out, ADMIN_LINK_SIZE, "%s/#/link/%s", admin->near_url, text);
}

int admin_start(struct admin *admin, struct gate *gate, char *why, size_t why_size)
{
	const char *directory = gate_settings(gate)->data.at;
	int r;

	*admin = (struct admin){.gate = gate, .service = {.begin = begin, .refuse = refuse}};
	r = make_parts(admin);
	if (r == 0)
		r = admin_token_file(directory, gate->env, admin->token, why, why_size);
	if (r == 0)
		r = listen_on(admin, why, why_size);
	if (r != 0)
		return r;
	gate->control_server = &admin->server;
	gate->on_reload = take_settings;
	gate->reload_owner = admin;
	return admin_write_gate_file(directory, gate->listen_text, admin->near_url, why, why_size);
}

void admin_stop(struct admin *admin)
{
	if (!admin->gate)
		return;
	if (admin->server.loop) {
		server_close(&admin->server);
		admin_remove_gate_file(gate_settings(admin->gate)->data.at);
	}
	free_parts(admin);
}
