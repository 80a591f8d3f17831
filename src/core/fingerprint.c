/*
 * Putting a fingerprint together.
 *
 * Each part is brought into its one spelling and hashed with its length before it, so no two
 * different lists of parts give the same bytes. Parts whose length is known at once go
 * straight into the hash; media type and body are spelled in one buffer, one after the other.
 */
#include "core/fingerprint.h"

#include "base/buf.h"
#include "base/err.h"
#include "core/alike.h"
#include "core/coding.h"
#include "core/form.h"
#include "core/media_type.h"
#include "core/multipart.h"
#include "core/text.h"
#include "json/json.h"

#include <stdarg.h>
#include <stdio.h>

enum { FIELD_SHOWN_MAX = 64 };

/* One fingerprint being made. */
struct making {
	const struct fingerprint_request *request;
	struct arena *mem;
	struct hasher hasher;
	struct media_type media_type;
	struct str body; /* without its content coding; may be in `decoded` */
	struct buf decoded;
	struct buf canonical; /* the part being spelled */
	struct fingerprint_command *command;
	struct fingerprint_error *error;
};

static int add_target(struct making *making);
static int add_media_type(struct making *making);
static int add_headers(struct making *making);
static int add_body(struct making *making);

int fingerprint_of(const struct fingerprint_request *request, struct arena *mem,
		   struct hash *out_fingerprint, struct fingerprint_command *out_command,
		   struct fingerprint_error *out_error)
{
	static const char version[] = "counterfoil/fp/1"; /* hashed with its NUL */
	struct making making;
	int r;

	making.request = request;
	making.mem = mem;
	making.error = out_error;
	making.command = out_command;
	hasher_init(&making.hasher);
	buf_init(&making.decoded, 0);
	buf_init(&making.canonical, SIZE_MAX / 4);
	hasher_add(&making.hasher, version, sizeof(version));
	r = add_target(&making);
	if (r == 0)
		r = add_media_type(&making);
	if (r == 0)
		r = add_headers(&making);
	if (r == 0)
		r = add_body(&making);
	if (r == 0)
		hasher_end(&making.hasher, out_fingerprint);
	buf_fini(&making.decoded);
	buf_fini(&making.canonical);
	return r;
}

static void add_length(struct making *making, size_t len)
{
	uint8_t bytes[4];

	require(len <= UINT32_MAX);
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(len >> (24 - 8 * i));
	hasher_add(&making->hasher, bytes, sizeof(bytes));
}

/* The name before what leads into it: place[], place.name. */
static struct str outer_name(struct str name)
{
	for (size_t i = 1; i < name.len; i++) {
		if (name.at[i] == '[' || name.at[i] == '.')
			return str_of(name.at, i);
	}
	return name;
}

/*
 * A service that looks for a field in the query, too, would not do what the command says: which of
 * the two counts there is anybody's guess.
 */
static int check_parameter(struct making *making, struct str pair)
{
	const struct action *action = making->request->action;
	struct str name, outer;
	bool is_whole = false, is_outer = false;
	int r = text_unescape_all(str_of(pair.at, str_find(pair, '=')), making->mem, &name);

	if (r == 0)
		r = alike_plain(name, making->mem, &name);
	outer = outer_name(name);
	for (size_t i = 0; r == 0 && i < action->field_count; i++) {
		struct str field = action->fields[i].name;

		r = alike_ask_plain(name, field, making->mem, &is_whole);
		if (r == 0)
			r = alike_ask_plain(outer, field, making->mem, &is_outer);
		if (r == 0 && (is_whole || is_outer))
			return fingerprint_refuse(making->error,
						  "The query has \"%.*s\", which is a field of the "
						  "command; say it in the body alone.",
						  STR_ARG(str_cut(field, FIELD_SHOWN_MAX)));
	}
	return r;
}

static int check_query(struct making *making)
{
	const struct action *action = making->request->action;
	struct str query = making->request->query, part, pair;
	int r = 0;

	if (!action || !action->has_fields || action->inbox.is_declared)
		return 0;
	while (r == 0 && str_split(&query, '&', &part)) {
		while (r == 0 && str_split(&part, ';', &pair))
			r = check_parameter(making, pair);
	}
	return r;
}

/* Account, method, path and query. */
static int add_target(struct making *making)
{
	const struct fingerprint_request *request = making->request;
	struct str path;
	int r = path_normalise(request->path, making->mem, &path, making->error);

	if (r == 0)
		r = check_query(making);
	if (r != 0)
		return r;
	if (making->command)
		making->command->path = path;
	hasher_add_part(&making->hasher, request->account);
	hasher_add_part(&making->hasher, request->method);
	hasher_add_part(&making->hasher, path);
	if (!request->has_query) {
		add_length(making, 0);
		return 0;
	}
	add_length(making, 1 + request->query.len);
	hasher_add(&making->hasher, "?", 1);
	if (request->query.len)
		hasher_add(&making->hasher, request->query.at, request->query.len);
	return 0;
}

static int add_canonical(struct making *making)
{
	if (making->canonical.is_spoiled || making->canonical.len > UINT32_MAX)
		return FAIL_MEMORY;
	hasher_add_part(&making->hasher, buf_str(&making->canonical));
	buf_clear(&making->canonical);
	return 0;
}

static int add_media_type(struct making *making)
{
	int r = media_type_read(making->request->content_type, "The Content-Type",
				&making->media_type, making->error);

	if (r != 0)
		return r;
	media_type_write(&making->media_type, &making->canonical);
	return add_canonical(making);
}

/* Where each header pair stands once they are ordered by name. */
static void order_headers(const struct fingerprint_request *request, size_t *out_order)
{
	for (size_t i = 0; i < request->header_count; i++) {
		size_t at = i;

		while (at > 0 && text_order_nocase(request->headers[2 * out_order[at - 1]],
						   request->headers[2 * i]) > 0) {
			out_order[at] = out_order[at - 1];
			at--;
		}
		out_order[at] = i;
	}
}

static int add_headers(struct making *making)
{
	const struct fingerprint_request *request = making->request;
	size_t order[FINGERPRINT_HEADERS_MAX];

	if (request->header_count > FINGERPRINT_HEADERS_MAX)
		return fingerprint_refuse(making->error,
					  "The request has more than %d lines of the headers that "
					  "count as part of it.",
					  FINGERPRINT_HEADERS_MAX);
	order_headers(request, order);
	for (size_t i = 0; i < request->header_count; i++) {
		const struct str *pair = &request->headers[2 * order[i]];
		size_t opened = text_open(&making->canonical);

		text_append_lower(&making->canonical, pair[0]);
		text_close(&making->canonical, opened);
		opened = text_open(&making->canonical);
		(void)buf_append_str(&making->canonical, str_trim(pair[1]));
		text_close(&making->canonical, opened);
	}
	return add_canonical(making);
}

static bool has_command(const struct making *making)
{
	return making->request->action && making->request->action->has_fields;
}

static int write_command(struct making *making, const struct json_value *body)
{
	int r;

	r = command_read(making->request->action, body, making->mem, &making->canonical,
			 &making->command->command, &making->command->faults);
	return r == COMMAND_REFUSED ? FINGERPRINT_COMMAND : r;
}

/* A command is JSON: another body could say the same and be compared otherwise. */
static int refuse_no_command(struct making *making)
{
	const struct str name = making->request->action->name;

	if (making->body.len == 0)
		return fingerprint_refuse(making->error,
					  "%.*s takes a JSON object; the body is empty.",
					  STR_ARG(name));
	fingerprint_refuse(making->error, "%.*s takes application/json.", STR_ARG(name));
	return FINGERPRINT_CODING;
}

static int write_json(struct making *making)
{
	struct json_value *value;
	struct json_error error;
	int r = json_read(making->body, &json_limits_default, making->mem, &value, &error);

	if (r == JSON_REFUSED)
		return fingerprint_refuse(making->error,
					  "The JSON body is refused at line %zu, column %zu: %s",
					  error.line, error.column, error.detail);
	if (r != 0)
		return r;
	if (making->command)
		making->command->body = value;
	(void)buf_reserve(&making->canonical, making->body.len); /* it is rarely longer */
	if (has_command(making))
		return write_command(making, value);
	return json_canonical(value, making->mem, &making->canonical);
}

static int write_body(struct making *making)
{
	struct hash digest;

	switch (media_type_kind(&making->media_type)) {
	case BODY_JSON:
		return write_json(making);
	case BODY_FORM:
		return form_canonical(making->body, making->mem, &making->canonical, making->error);
	case BODY_MULTIPART:
		return multipart_canonical(making->body, &making->media_type, &making->canonical,
					   making->error);
	case BODY_OPAQUE:
		hash_bytes(making->body.at, making->body.len, &digest);
		return buf_append(&making->canonical, digest.bytes, HASH_SIZE);
	}
	unreachable("a body is of one of its kinds");
}

/* The tree that the caller is given refers to the text, which must then outlive this call. */
static int keep_decoded(struct making *making)
{
	if (!making->command || making->decoded.len == 0)
		return 0;
	making->body = arena_str(making->mem, making->body);
	return making->body.at ? 0 : FAIL_MEMORY;
}

static int add_body(struct making *making)
{
	const struct fingerprint_request *request = making->request;
	int r = coding_decode(request->content_encoding, request->body, request->max_body,
			      &making->decoded, &making->body, making->error);

	if (r == 0)
		r = keep_decoded(making);
	if (r != 0)
		return r;
	if (has_command(making) &&
	    (making->body.len == 0 || media_type_kind(&making->media_type) != BODY_JSON))
		return refuse_no_command(making);
	if (making->body.len)
		r = write_body(making);
	if (r == FAIL_LIMIT)
		return FAIL_MEMORY;
	return r == 0 ? add_canonical(making) : r;
}

int fingerprint_refuse(struct fingerprint_error *out_error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out_error->detail, sizeof(out_error->detail), format, arguments);
	va_end(arguments);
	return FINGERPRINT_REFUSED;
}
