/*
 * Header fields on their way through.
 *
 * What a proxy must drop and add is in RFC 9110 § 7.6; what must not be replayed is in the
 * lists below.
 */
#include "gate/headers.h"

#include "gate/caller_jwt.h"

#include "auth/cookie.h"
#include "auth/session.h"
#include "core/text.h"
#include "gate/credential.h"
#include "http/answer.h"

enum { REQUEST_ID_LONGEST = 128 };

static bool is_among(struct str name, const char *const names[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(name, str_from(names[i])))
			return true;
	}
	return false;
}

/* Said anew here, or meant for this gate's connection only. */
static bool is_rewritten(struct str name, bool asks_identity)
{
	static const char *const names[] = {
		"Host",
		"Expect",
		"X-Forwarded-For",
		"X-Forwarded-Proto",
		"X-Forwarded-Host",
		"X-Request-Id",
		"Via",
	};

	return is_among(name, names, sizeof(names) / sizeof(names[0])) ||
	       (asks_identity && str_equal_nocase(name, STR("Accept-Encoding")));
}

struct str headers_value(const struct http_request *request, struct str name)
{
	const struct http_field *field =
		http_field_find(request->fields, request->field_count, name);

	return field ? field->value : STR("");
}

bool headers_is_override(const struct http_field *field)
{
	return field->value.len > 0 &&
	       (text_names_header(field->name, STR("X-HTTP-Method-Override")) ||
		text_names_header(field->name, STR("X-HTTP-Method")) ||
		text_names_header(field->name, STR("X-Method-Override")));
}

/* The members of a list so far, over all its lines (RFC 9110 § 5.3): each hop adds to the end. */
static void write_list(const struct http_request *request, struct str name, struct buf *out)
{
	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];

		if (!field->value.len || !str_equal_nocase(field->name, name))
			continue;
		buf_append_str(out, field->value);
		buf_append_str(out, STR(", "));
	}
}

static void forwarded_for(const struct exchange *exchange, bool is_trusted, struct buf *out)
{
	buf_append_str(out, STR("X-Forwarded-For: "));
	if (is_trusted)
		write_list(&exchange->request, STR("X-Forwarded-For"), out);
	buf_append_str(out, str_from(exchange->peer));
	buf_append_str(out, STR("\r\n"));
}

static void forwarded(const struct exchange *exchange, const struct settings *settings,
		      struct buf *out)
{
	bool is_trusted =
		settings->trusted_proxies.count && settings_trusts_proxy(settings, exchange->peer);
	struct str proto = headers_value(&exchange->request, STR("X-Forwarded-Proto"));
	struct str host = headers_value(&exchange->request, STR("X-Forwarded-Host"));

	if (!is_trusted || !proto.len)
		proto = exchange->is_tls ? STR("https") : STR("http");
	if (!is_trusted || !host.len)
		host = exchange->request.host;
	forwarded_for(exchange, is_trusted, out);
	http_write_field(out, STR("X-Forwarded-Proto"), proto);
	if (host.len)
		http_write_field(out, STR("X-Forwarded-Host"), host);
}

/* Browsers send cookies to every port of a host: the console's is not the service's to see. */
static void write_cookies(struct str field, struct buf *out)
{
	struct buf rest;

	buf_init(&rest, field.len + 1);
	cookie_append_others(field, STR(SESSION_COOKIE), &rest);
	if (rest.is_spoiled)
		out->is_spoiled = true;
	else if (rest.len)
		http_write_field(out, STR("Cookie"), buf_str(&rest));
	buf_fini(&rest);
}

void headers_to_upstream(const struct exchange *exchange, const struct settings *settings,
			 const struct settings_upstream *upstream, struct str request_id,
			 bool asks_identity, struct buf *out)
{
	const struct http_request *request = &exchange->request;

	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];

		if (is_rewritten(field->name, asks_identity) ||
		    caller_is_own_credential(settings, field) ||
		    caller_is_false_header(settings, exchange, field->name) ||
		    credential_replaces(upstream, field->name) ||
		    http_is_hop_by_hop(request->fields, request->field_count, field->name))
			continue;
		if (str_equal_nocase(field->name, STR("Cookie")))
			write_cookies(field->value, out);
		else
			http_write_field(out, field->name, field->value);
	}
	if (asks_identity)
		buf_append_str(out, STR("Accept-Encoding: identity\r\n"));
	forwarded(exchange, settings, out);
	buf_append_str(out, STR("Via: "));
	write_list(request, STR("Via"), out);
	buf_printf(out, "1.%d counterfoil\r\n", request->minor);
	http_write_field(out, STR("X-Request-Id"), request_id);
}

/* Names by which the gate itself speaks: a service must not be able to. */
static bool is_ours(struct str name)
{
	return str_starts_with_nocase(name, STR("Operation-")) ||
	       str_equal_nocase(name, STR("Idempotent-Replayed"));
}

/* For the first caller only (a session, a challenge, the state of a moment). */
static bool is_of_the_moment(struct str name)
{
	static const char *const names[] = {
		"Set-Cookie", "Set-Cookie2", "WWW-Authenticate", "Date",
		"Age",	      "Retry-After", "X-Request-Id",	 "Authentication-Info"};

	return is_among(name, names, sizeof(names) / sizeof(names[0])) ||
	       str_starts_with_nocase(name, STR("RateLimit")) ||
	       str_starts_with_nocase(name, STR("X-RateLimit")) ||
	       str_starts_with_nocase(name, STR("X-Rate-Limit"));
}

void headers_from_upstream(struct str lines, struct buf *kept, struct buf *first_only)
{
	struct http_field fields[HTTP_ANSWER_FIELDS_MAX];
	size_t count = 0;

	while (count < HTTP_ANSWER_FIELDS_MAX && http_next_line(&lines, &fields[count]))
		count++;
	for (size_t i = 0; i < count; i++) {
		if (http_is_hop_by_hop(fields, count, fields[i].name) || is_ours(fields[i].name))
			continue;
		http_write_field(is_of_the_moment(fields[i].name) ? first_only : kept,
				 fields[i].name, fields[i].value);
	}
}

void headers_expose(struct str lines, struct buf *out)
{
	struct http_field field;

	while (http_next_line(&lines, &field)) {
		if (!str_equal_nocase(field.name, STR("Access-Control-Allow-Origin")))
			continue;
		buf_append_str(out, STR("Access-Control-Expose-Headers: Operation-Id, "
					"Operation-State, Operation-Outcome, Operation-Expires, "
					"Idempotent-Replayed, Retry-After, Link\r\n"));
		return;
	}
}

static bool is_sane(struct str id)
{
	if (id.len == 0 || id.len > REQUEST_ID_LONGEST)
		return false;
	for (size_t i = 0; i < id.len; i++) {
		if (id.at[i] <= 0x20 || id.at[i] >= 0x7f)
			return false;
	}
	return true;
}

struct str headers_request_id(const struct exchange *exchange, const struct env *env,
			      struct arena *mem)
{
	struct str given = headers_value(&exchange->request, STR("X-Request-Id"));
	uint8_t random[16];
	char *text;

	if (is_sane(given))
		return given;
	text = arena_alloc(mem, 2 * sizeof(random));
	if (!text)
		return STR("");
	env_random(env, random, sizeof(random));
	hex_write(random, sizeof(random), text);
	return str_of(text, 2 * sizeof(random));
}
