/*
 * What the fields of a request say together: where its body ends, whom it is for, whether
 * the connection stays.
 *
 * Each rule here answers an attack in which two readers of one message disagree:
 *
 *   body     Transfer-Encoding alone, or one Content-Length of plain digits alone. Both, two
 *            lines, a list, a sign: refused, even where the values agree (RFC 9112 § 6.3).
 *   coding   exactly "chunked", and HTTP/1.1. Others are not known: 501.
 *   single   Host, Authorization and Content-Type stand once: one reader takes the first
 *            line, another the last.
 *   tab      none beside the value of Host, Content-Length and Transfer-Encoding: one reader
 *            strips it (RFC 9110 § 5.5), another has it in the value.
 *   spelling gateways that turn names into variables read "Content_Length" as the real one;
 *            a name of the table below with "_" for "-" is refused.
 *   Connection  may name fields that end here, but none the service needs to see the same
 *            request as the gate (see http_is_hop_by_hop()).
 *   Expect   100-continue is the only expectation there is; others get 417.
 */
#include "http/reader.h"

enum {
	KNOWN_HOST,
	KNOWN_EXPECT,
	KNOWN_CONNECTION,
	KNOWN_CONTENT_LENGTH,
	KNOWN_TRANSFER_ENCODING,
	KNOWN_AUTHORIZATION,
	KNOWN_CONTENT_TYPE,
	KNOWN_CONTENT_ENCODING,
	KNOWN_COOKIE,
	KNOWN_IDEMPOTENCY_KEY,
	KNOWN_COUNT,
};

struct known_field {
	struct str name;   /* lower case */
	bool is_single;	   /* a second line is refused */
	bool is_essential; /* Connection must not name it */
	bool is_bare;	   /* no tab beside its value */
};

static const struct known_field known_fields[KNOWN_COUNT] = {
	[KNOWN_HOST] = {{"host", 4}, true, true, true},
	[KNOWN_EXPECT] = {{"expect", 6}, false, false, false},
	[KNOWN_CONNECTION] = {{"connection", 10}, false, false, false},
	[KNOWN_CONTENT_LENGTH] = {{"content-length", 14}, true, true, true},
	[KNOWN_TRANSFER_ENCODING] = {{"transfer-encoding", 17}, true, true, true},
	[KNOWN_AUTHORIZATION] = {{"authorization", 13}, true, true, false},
	[KNOWN_CONTENT_TYPE] = {{"content-type", 12}, true, true, false},
	[KNOWN_CONTENT_ENCODING] = {{"content-encoding", 16}, false, true, false},
	[KNOWN_COOKIE] = {{"cookie", 6}, false, true, false},
	[KNOWN_IDEMPOTENCY_KEY] = {{"idempotency-key", 15}, false, true, false},
};

/* The first field of each known name; NULL: none. */
struct known {
	const struct http_field *field[KNOWN_COUNT];
};

static int collect(const struct http_request *request, struct known *out_known,
		   struct http_refusal *out_refusal);
static int read_framing(struct http_request *request, const struct known *known,
			struct http_refusal *out_refusal);
static int read_host(struct http_request *request, const struct known *known,
		     struct http_refusal *out_refusal);
static int read_connection(struct http_request *request, const struct known *known,
			   struct http_refusal *out_refusal);
static int read_expect(struct http_request *request, const struct known *known,
		       struct http_refusal *out_refusal);

int http_rules_apply(struct http_request *request, struct http_refusal *out_refusal)
{
	struct known known = {0};
	int r;

	r = collect(request, &known, out_refusal);
	if (r == 0)
		r = read_framing(request, &known, out_refusal);
	if (r == 0)
		r = read_host(request, &known, out_refusal);
	if (r == 0)
		r = read_connection(request, &known, out_refusal);
	if (r == 0)
		r = read_expect(request, &known, out_refusal);
	return r;
}

/* Equal without case, "_" and "-" being one. `known` is in lower case and has no "_". */
static bool reads_as(struct str name, struct str known)
{
	if (name.len != known.len)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i] == '_' ? '-' : ascii_lower(name.at[i]);

		if (c != known.at[i])
			return false;
	}
	return true;
}

/* Its index in known_fields; KNOWN_COUNT: not there. */
static size_t recognise(struct str name)
{
	size_t i = 0;

	while (i < KNOWN_COUNT && !reads_as(name, known_fields[i].name))
		i++;
	return i;
}

/* `field` is where it was read: its line goes on to a CR. */
static bool has_tab_beside_value(const struct http_field *field)
{
	const char *at = field->name.at + field->name.len + 1;

	for (; at < field->value.at; at++) {
		if (*at == '\t')
			return true;
	}
	for (at = field->value.at + field->value.len; *at != '\r'; at++) {
		if (*at == '\t')
			return true;
	}
	return false;
}

static int collect(const struct http_request *request, struct known *out_known,
		   struct http_refusal *out_refusal)
{
	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];
		size_t which = recognise(field->name);

		if (which == KNOWN_COUNT)
			continue;
		if (memchr(field->name.at, '_', field->name.len))
			return http_refuse(out_refusal, 400,
					   "A field name has _ where a known one has -.");
		if (known_fields[which].is_bare && has_tab_beside_value(field))
			return http_refuse(
				out_refusal, 400,
				"A tab stands beside the value of Host, Content-Length or "
				"Transfer-Encoding; use a space.");
		if (!out_known->field[which])
			out_known->field[which] = field;
		else if (known_fields[which].is_single)
			return http_refuse(out_refusal, 400,
					   "A field that may stand once (Host, Content-Length, "
					   "Transfer-Encoding, Authorization, Content-Type) "
					   "stands twice.");
	}
	return 0;
}

/* 0 when the value is `chunked` and nothing else. */
static int check_codings(struct str value, struct http_refusal *out_refusal)
{
	bool is_chunked = false;
	bool has_other = false;
	struct str coding;

	while (str_split(&value, ',', &coding)) {
		coding = str_trim(coding);
		if (is_chunked)
			return http_refuse(out_refusal, 400,
					   "The chunked coding must be the last one, once.");
		if (!http_is_token(coding))
			return http_refuse(out_refusal, 400, "Transfer-Encoding must be: chunked.");
		is_chunked = str_equal_nocase(coding, STR("chunked"));
		has_other = has_other || !is_chunked;
	}
	if (has_other)
		return http_refuse(out_refusal, 501,
				   "No transfer coding but chunked is known here.");
	return 0;
}

static int read_framing(struct http_request *request, const struct known *known,
			struct http_refusal *out_refusal)
{
	const struct http_field *length = known->field[KNOWN_CONTENT_LENGTH];
	const struct http_field *coding = known->field[KNOWN_TRANSFER_ENCODING];

	if (coding && length)
		return http_refuse(out_refusal, 400,
				   "Transfer-Encoding and Content-Length exclude each other.");
	if (coding && request->minor == 0)
		return http_refuse(out_refusal, 400, "HTTP/1.0 has no Transfer-Encoding.");
	if (coding && check_codings(coding->value, out_refusal) != 0)
		return HTTP_REFUSED;
	if (length && !str_to_u64(length->value, INT64_MAX, &request->length))
		return http_refuse(out_refusal, 400,
				   "Content-Length must be one number in plain digits.");
	if (coding)
		request->framing = HTTP_CHUNKED;
	else if (length)
		request->framing = HTTP_LENGTH;
	else
		request->framing = HTTP_NO_BODY;
	return 0;
}

/* RFC 9112 § 3.2. The authority of the target counts, and Host must not say another. */
static int read_host(struct http_request *request, const struct known *known,
		     struct http_refusal *out_refusal)
{
	const struct http_field *host = known->field[KNOWN_HOST];
	struct str authority = request->parts.authority;

	if (!host && request->minor > 0)
		return http_refuse(out_refusal, 400, "An HTTP/1.1 request must have a Host field.");
	if (host && !http_is_authority(host->value))
		return http_refuse(out_refusal, 400, "Host must be a host and maybe a port.");
	if (host && authority.len > 0 && !str_equal_nocase(host->value, authority))
		return http_refuse(out_refusal, 400,
				   "Host and the request target name different hosts.");
	if (authority.len > 0)
		request->host = authority;
	else if (host)
		request->host = host->value;
	return 0;
}

static int check_option(struct str option, struct http_refusal *out_refusal)
{
	size_t which = recognise(option);

	if (!http_is_token(option))
		return http_refuse(out_refusal, 400, "Connection must be a list of names.");
	if (which < KNOWN_COUNT && known_fields[which].is_essential)
		return http_refuse(out_refusal, 400,
				   "Connection names a field that must reach the service.");
	return 0;
}

static int read_connection(struct http_request *request, const struct known *known,
			   struct http_refusal *out_refusal)
{
	bool is_close = false;
	bool is_keep_alive = false;

	for (size_t i = 0; known->field[KNOWN_CONNECTION] && i < request->field_count; i++) {
		struct str rest = request->fields[i].value;
		struct str option;

		if (!str_equal_nocase(request->fields[i].name, STR("connection")))
			continue;
		while (http_next_member(&rest, &option)) {
			if (check_option(option, out_refusal) != 0)
				return HTTP_REFUSED;
			is_close = is_close || str_equal_nocase(option, STR("close"));
			is_keep_alive =
				is_keep_alive || str_equal_nocase(option, STR("keep-alive"));
		}
	}
	request->is_persistent = !is_close && (request->minor > 0 || is_keep_alive);
	return 0;
}

/* RFC 9110 § 10.1.1: an HTTP/1.0 client does not know it, and without a body there is no wait. */
static int read_expect(struct http_request *request, const struct known *known,
		       struct http_refusal *out_refusal)
{
	bool has_body = request->framing == HTTP_CHUNKED || request->length > 0;

	if (!known->field[KNOWN_EXPECT])
		return 0;
	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];

		if (str_equal_nocase(field->name, STR("expect")) &&
		    !str_equal_nocase(field->value, STR("100-continue")))
			return http_refuse(out_refusal, 417,
					   "No expectation but 100-continue can be met.");
	}
	request->expects_continue = request->minor > 0 && has_body;
	return 0;
}
