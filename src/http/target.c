/*
 * The request target, and the authorities in it and in Host.
 *
 *   origin form     /path[?query]                   most requests
 *   absolute form   http://authority[/path][?query] as to a proxy; Host must say the same
 *   asterisk form   *                               OPTIONS alone
 *   authority form  host:port                       CONNECT alone: a gate is no tunnel, 501
 *
 * Which bytes: visible ASCII except `"`, `<`, `>` and `#`. A fragment is never sent, and a
 * service that cut it off would act on another target than the gate saw. RFC 3986 forbids
 * `\`, `^`, backquote, `{`, `|`, `}` as well, and `[` `]` outside a host; programs send them
 * in queries all the same and no reader gives them a meaning, so they pass. A `\` in the
 * path does not: some services read it as `/`. Nor does a broken percent escape there, or one
 * of NUL: some services keep it, some drop it, some end the path at it. Nor do dot segments
 * that lead above the root, where the service may have a base path. Others are the business
 * of the path rules for protected requests; here the path stays as sent.
 *
 * Hosts are read more narrowly than RFC 3986 has them: no user, no percent escapes, none of
 * the sub-delimiters, no empty label, no empty port.
 */
#include "base/err.h"
#include "http/reader.h"

#include <arpa/inet.h>

enum {
	HOST_MAX = 255, /* RFC 1035 § 2.3.4 */
	PORT_MAX = 65535,
	PORT_DIGITS_MAX = 5,
	IPV6_TEXT_MAX = 45, /* with an IPv4 tail */
};

static int read_absolute(struct str text, struct arena *mem, struct http_request *request,
			 struct http_refusal *out_refusal);
static int read_origin(struct str text, struct http_request *request,
		       struct http_refusal *out_refusal);
static size_t scheme_len(struct str text);

int http_target_read(struct str text, struct arena *mem, struct http_request *request,
		     struct http_refusal *out_refusal)
{
	bool is_options = str_equal(request->method, STR("OPTIONS"));

	if (str_equal(request->method, STR("CONNECT")))
		return http_refuse(out_refusal, 501, "CONNECT is not offered: this is no tunnel.");
	if (str_equal(request->method, STR("TRACE")))
		return http_refuse(out_refusal, 501,
				   "TRACE is not offered: it would echo secrets.");
	if (text.at[0] == '/')
		return read_origin(text, request, out_refusal);
	if (str_equal(text, STR("*")) && is_options)
		return read_origin(text, request, out_refusal);
	if (scheme_len(text) > 0)
		return read_absolute(text, mem, request, out_refusal);
	return http_refuse(out_refusal, 400,
			   "The request target must be a path, or an http or https URL.");
}

static bool has_sound_escapes(struct str path)
{
	for (size_t i = str_find(path, '%'); i < path.len; i++) {
		int high, low;

		if (path.at[i] != '%')
			continue;
		if (path.len - i < 3)
			return false;
		high = hex_digit(path.at[i + 1]);
		low = hex_digit(path.at[i + 2]);
		if (high < 0 || low < 0 || high + low == 0)
			return false;
	}
	return true;
}

/* The byte at path.at[*i], unescaped; *i stays on its last one. */
static int byte_at(struct str path, size_t *i)
{
	if (path.at[*i] != '%')
		return (unsigned char)path.at[*i];
	*i += 2;
	return hex_digit(path.at[*i - 1]) * 16 + hex_digit(path.at[*i]);
}

/* As a service reads it that unescapes first, and resolves dot segments then. */
static bool leads_above_root(struct str path)
{
	size_t depth = 0, len = 0, dots = 0;

	for (size_t i = 0; i <= path.len; i++) {
		int c = i < path.len ? byte_at(path, &i) : '/';

		if (c != '/') {
			len++;
			dots += c == '.';
			continue;
		}
		if (len == 2 && dots == 2 && depth-- == 0)
			return true;
		if (len > 0 && (dots < len || len > 2))
			depth++;
		len = dots = 0;
	}
	return false;
}

static int read_origin(struct str text, struct http_request *request,
		       struct http_refusal *out_refusal)
{
	size_t mark = str_find(text, '?');

	if (!has_sound_escapes(str_of(text.at, mark)))
		return http_refuse(out_refusal, 400,
				   "The path has a broken percent escape, or one of NUL.");
	if (leads_above_root(str_of(text.at, mark)))
		return http_refuse(out_refusal, 400, "The path leads above its root.");
	if (memchr(text.at, '\\', mark))
		return http_refuse(out_refusal, 400, "The path has a backslash.");
	request->target = text;
	request->parts.path = str_of(text.at, mark);
	request->parts.has_query = mark < text.len;
	request->parts.query = str_from_index(text, mark + 1);
	return 0;
}

/*
 * An absent path is "/", and for OPTIONS "*" (RFC 9112 § 3.2.4). "http://host?query" has
 * no bytes that could stand for its origin form; it is written anew.
 */
static int read_absolute(struct str text, struct arena *mem, struct http_request *request,
			 struct http_refusal *out_refusal)
{
	struct str rest = str_from_index(text, scheme_len(text));
	size_t end = 0;

	while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?')
		end++;
	request->parts.authority = str_of(rest.at, end);
	if (!http_is_authority(request->parts.authority))
		return http_refuse(out_refusal, 400, "The host in the request target is no host.");
	rest = str_from_index(rest, end);
	if (rest.len == 0) {
		bool is_options = str_equal(request->method, STR("OPTIONS"));

		rest = is_options ? STR("*") : STR("/");
	} else if (rest.at[0] == '?') {
		rest = arena_printf(mem, "/%.*s", STR_ARG(rest));
		if (!rest.at)
			return FAIL_MEMORY;
	}
	return read_origin(rest, request, out_refusal);
}

/* Length of "http://" or "https://" at the start; 0: neither. */
static size_t scheme_len(struct str text)
{
	if (str_starts_with_nocase(text, STR("http://")))
		return sizeof("http://") - 1;
	if (str_starts_with_nocase(text, STR("https://")))
		return sizeof("https://") - 1;
	return 0;
}

static bool is_port(struct str text)
{
	uint64_t port;

	return text.len <= PORT_DIGITS_MAX && str_to_u64(text, PORT_MAX, &port);
}

static bool is_ipv6(struct str text)
{
	char copy[IPV6_TEXT_MAX + 1];
	struct in6_addr address;

	if (text.len == 0 || text.len > IPV6_TEXT_MAX || memchr(text.at, '\0', text.len))
		return false;
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	return inet_pton(AF_INET6, copy, &address) == 1;
}

/* Labels of a name, or an IPv4 address; the last label may be empty ("example.com."). */
static bool is_host_name(struct str text)
{
	if (text.len == 0 || text.len > HOST_MAX || text.at[0] == '.')
		return false;
	for (size_t i = 1; i < text.len; i++) {
		if (text.at[i] == '.' && text.at[i - 1] == '.')
			return false;
	}
	return http_all_in(text, CLASS_HOST);
}

bool http_is_authority(struct str text)
{
	size_t end;

	if (text.len > 0 && text.at[0] == '[') {
		end = str_find(text, ']');
		if (end == text.len || !is_ipv6(str_of(text.at + 1, end - 1)))
			return false;
		end++;
	} else {
		end = str_find(text, ':');
		if (!is_host_name(str_of(text.at, end)))
			return false;
	}
	return end == text.len || (text.at[end] == ':' && is_port(str_from_index(text, end + 1)));
}
