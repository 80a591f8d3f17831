/*
 * Steps and their tokens.
 *
 * The spelling of a URL is deliberately plain: what a person would call the same address is the
 * same, and nothing is decoded or put in order, so that every language spells it alike.
 *
 * Always true: a step that was read spells to itself again. Can fail: what was written is no
 * step, with a sentence that says how to mend it.
 */
#include "client/identity.h"

#include "base/base32.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/token.h"
#include "json/json.h"

enum { TOKEN_BYTES = 20, METHOD_MAX = 32, DEL = 0x7f, BLANK = ' ' };

static const char token_prefix[] = "cf-";

static const char *name_fault(struct str name, bool is_task);
static int read_method(struct str text, struct arena *mem, struct str *out, const char **out_why);
static int read_token(struct str text, struct arena *mem, struct str *out, const char **out_why);

static int refuse(const char **out_why, const char *why)
{
	*out_why = why;
	return IDENTITY_REFUSED;
}

int step_read(const struct step *wish, struct arena *mem, struct step *out_step,
	      const char **out_why)
{
	struct step step = {.task = wish->task, .step = wish->step};
	bool is_named = wish->task.len || wish->step.len;
	const char *fault;
	int r;

	if (is_named && wish->token.len)
		return refuse(out_why,
			      "a step has a token of its own: give a task and a step, or a token");
	if (is_named) {
		fault = name_fault(wish->task, true);
		if (!fault)
			fault = name_fault(wish->step, false);
		if (fault)
			return refuse(out_why, fault);
	} else {
		r = read_token(wish->token, mem, &step.token, out_why);
		if (r)
			return r;
	}
	r = read_method(wish->method, mem, &step.method, out_why);
	if (!r)
		r = url_spell(wish->url, mem, &step.url, out_why);
	if (!r)
		*out_step = step;
	return r;
}

static bool has_controls(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.at[i] < BLANK || text.at[i] == DEL)
			return true;
	return false;
}

static const char *name_fault(struct str name, bool is_task)
{
	if (!name.len)
		return is_task ? "the task is missing: name the workflow that this step belongs to"
			       : "the step is missing: name what is done in this task";
	if (name.len > STEP_NAME_MAX)
		return is_task ? "the task's name is longer than 255 bytes"
			       : "the step's name is longer than 255 bytes";
	if (has_controls(name) || !json_is_utf8(name))
		return is_task ? "the task's name is not plain text (UTF-8 without control "
				 "characters)"
			       : "the step's name is not plain text (UTF-8 without control "
				 "characters)";
	return NULL;
}

static int read_method(struct str text, struct arena *mem, struct str *out, const char **out_why)
{
	char *at;

	if (!text.len || text.len > METHOD_MAX)
		return refuse(
			out_why,
			"the method is missing or too long: POST, PUT, PATCH and DELETE are some");
	at = arena_alloc(mem, text.len);
	if (!at)
		return FAIL_MEMORY;
	for (size_t i = 0; i < text.len; i++) {
		at[i] = ascii_lower(text.at[i]);
		if (at[i] < 'a' || at[i] > 'z')
			return refuse(out_why, "the method is not made of letters: POST, PUT, "
					       "PATCH and DELETE are some");
		at[i] = (char)(at[i] - 'a' + 'A');
	}
	*out = str_of(at, text.len);
	return 0;
}

static int read_token(struct str text, struct arena *mem, struct str *out, const char **out_why)
{
	const char *detail;
	int r;

	if (!text.len)
		return refuse(
			out_why,
			"nothing says which action this is: give a task and a step, or a token");
	r = token_read(text, mem, out, &detail);
	return r == TOKEN_MALFORMED ? refuse(out_why, detail) : r;
}

/* A URL taken apart; all of it points into the text. */
struct url_parts {
	bool is_tls;
	struct str host; /* with its brackets, where it has some */
	struct str port; /* digits; empty: the scheme's own */
	struct str rest; /* path and query, without the fragment */
};

/* A name without a colon, or an address in brackets; then the end, or a colon and a port. */
static int authority_parts(struct str authority, struct url_parts *out, const char **out_why)
{
	bool is_bracketed = authority.len && authority.at[0] == '[';
	size_t end = is_bracketed ? str_find(authority, ']') + 1 : str_find(authority, ':');

	if (end > authority.len || (end < authority.len && authority.at[end] != ':'))
		return refuse(out_why, "the URL's host is not well made: an IPv6 address is in "
				       "brackets, and only a port follows them");
	out->host = str_of(authority.at, end);
	out->port = STR("");
	if (end < authority.len)
		out->port = str_from_index(authority, end + 1);
	return end > (is_bracketed ? 2 : 0) ? 0 : refuse(out_why, "the URL names no host");
}

static int url_parts(struct str url, struct url_parts *out, const char **out_why)
{
	struct str authority, http = STR("http://"), https = STR("https://");

	out->is_tls = str_starts_with_nocase(url, https);
	if (!out->is_tls && !str_starts_with_nocase(url, http))
		return refuse(out_why, "the URL does not begin with http:// or https://");
	url = str_from_index(url, out->is_tls ? https.len : http.len);
	url.len = str_find(url, '#');
	authority = url;
	for (size_t i = 0; i < url.len && authority.len == url.len; i++)
		if (url.at[i] == '/' || url.at[i] == '?')
			authority.len = i;
	out->rest = str_from_index(url, authority.len);
	if (str_find(authority, '@') < authority.len)
		return refuse(out_why, "the URL has a user in it: credentials go into a header");
	return authority_parts(authority, out, out_why);
}

/* Is it left out: the scheme's own, or nothing behind the colon? */
static bool is_default_port(bool is_tls, struct str port)
{
	return !port.len || str_equal(port, is_tls ? STR("443") : STR("80"));
}

int url_spell(struct str url, struct arena *mem, struct str *out_url, const char **out_why)
{
	struct url_parts parts;
	struct str spelled;
	uint64_t port;
	char *at;
	int r;

	if (url.len > STEP_URL_MAX)
		return refuse(out_why, "the URL is longer than 8192 bytes");
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.at[i] <= BLANK || (unsigned char)url.at[i] >= DEL)
			return refuse(out_why, "the URL has blanks, control characters or bytes "
					       "beyond ASCII: percent-encode them");
	r = url_parts(url, &parts, out_why);
	if (r)
		return r;
	if (parts.port.len && !str_to_u64(parts.port, UINT16_MAX, &port))
		return refuse(out_why, "the URL's port is no number up to 65535");
	spelled = arena_printf(
		mem, "http%s://%.*s%s%.*s%s%.*s", parts.is_tls ? "s" : "", STR_ARG(parts.host),
		is_default_port(parts.is_tls, parts.port) ? "" : ":",
		is_default_port(parts.is_tls, parts.port) ? 0 : (int)parts.port.len,
		parts.port.len ? parts.port.at : "",
		parts.rest.len && parts.rest.at[0] == '/' ? "" : "/", STR_ARG(parts.rest));
	if (!spelled.at)
		return FAIL_MEMORY;
	at = (char *)(uintptr_t)spelled.at;
	for (size_t i = 0; i < url_origin(spelled).len; i++)
		at[i] = ascii_lower(at[i]);
	*out_url = spelled;
	return 0;
}

struct str url_origin(struct str url)
{
	size_t host = str_find(url, '/') + 2;

	return str_of(url.at, host + str_find(str_from_index(url, host), '/'));
}

static void write_token(const uint8_t bytes[TOKEN_BYTES], char out[STEP_TOKEN_TEXT + 1])
{
	size_t len = sizeof(token_prefix) - 1;

	memcpy(out, token_prefix, len);
	base32_write(bytes, TOKEN_BYTES, out + len);
}

void token_derive(const struct step *step, char out[STEP_TOKEN_TEXT + 1])
{
	static const char tag[] = "counterfoil/call/1"; /* hashed with its NUL */
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add(&hasher, tag, sizeof(tag));
	hasher_add_part(&hasher, step->task);
	hasher_add_part(&hasher, step->step);
	hasher_add_part(&hasher, step->method);
	hasher_add_part(&hasher, step->url);
	hasher_end(&hasher, &hash);
	write_token(hash.bytes, out);
}

void token_draw(const struct env *env, char out[STEP_TOKEN_TEXT + 1])
{
	uint8_t bytes[TOKEN_BYTES];

	env_random(env, bytes, sizeof(bytes));
	write_token(bytes, out);
}
