/*
 * A head, line by line.
 *
 * The grammar is RFC 9112's with every leniency taken out:
 *
 *   head          [CRLF] request-line *( field CRLF ) CRLF
 *   request-line  method SP target SP "HTTP/1." ("0" | "1") CRLF    one space each
 *   field         name ":" [blanks] value [blanks]                  no blank before ":"
 *
 * A line that starts with a blank is a folded one and refused; so are bare CR and LF and
 * every control but TAB. What the target means is in target.c, what the fields mean
 * together is in head_rules.c.
 *
 * Always true: a head ends with LF and no class of bytes has LF, so that a loop over a class
 * stops inside the head without counting.
 */
#include "base/err.h"
#include "http/reader.h"

/* Narrower than a token: the letters that every registered method is made of. */
static bool is_method(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if ((c < 'A' || c > 'Z') && c != '-' && c != '_')
			return false;
	}
	return true;
}

static int read_request_line(const char **at, const struct http_limits *limits, struct arena *mem,
			     struct http_request *request, struct http_refusal *out_refusal);
static int read_version(const char **at, struct http_request *request,
			struct http_refusal *out_refusal);
static int read_fields(const char **at, struct http_request *request,
		       struct http_refusal *out_refusal);
static int read_field(const char **at, struct http_field *out_field,
		      struct http_refusal *out_refusal);
static const char *explain_name(const char *line, const char *stop);
static size_t count_lines(const char *at, const char *end);
static const char *skip(const char *at, int class);

int http_request_read(struct str head, const struct http_limits *limits, struct arena *mem,
		      struct http_request *out_request, struct http_refusal *out_refusal)
{
	struct http_request request = {0};
	const char *at = head.at;
	const char *end = head.at + head.len;
	int r;

	require(head.len > 4 && memcmp(end - 4, "\r\n\r\n", 4) == 0);
	if (at[0] == '\r' && at[1] == '\n')
		at += 2;
	r = read_request_line(&at, limits, mem, &request, out_refusal);
	if (r != 0)
		return r;
	request.field_count = count_lines(at, end) - 1; /* the empty one */
	if (request.field_count > limits->fields)
		return http_refuse(out_refusal, 431, "The request has too many fields.");
	request.fields = arena_alloc(mem, request.field_count * sizeof(*request.fields));
	if (!request.fields)
		return FAIL_MEMORY;
	r = read_fields(&at, &request, out_refusal);
	if (r != 0)
		return r;
	require(at + 2 == end); /* each field took one line: the empty one is left */
	r = http_rules_apply(&request, out_refusal);
	if (r == 0)
		*out_request = request;
	return r;
}

static int read_request_line(const char **at, const struct http_limits *limits, struct arena *mem,
			     struct http_request *request, struct http_refusal *out_refusal)
{
	const char *method_end = skip(*at, CLASS_TOKEN);
	const char *target_end;
	struct str target;
	int r;

	request->method = str_of(*at, (size_t)(method_end - *at));
	if (request->method.len == 0 || *method_end != ' ')
		return http_refuse(out_refusal, 400,
				   "The request line must be: method, one space, target, one "
				   "space, HTTP/1.1.");
	if (!is_method(request->method))
		return http_refuse(out_refusal, 400,
				   "The method is written in capitals alone: some services would "
				   "take this one for another, others not.");
	if (request->method.len > HTTP_METHOD_MAX)
		return http_refuse(out_refusal, 501, "The method is too long to be one.");
	target_end = skip(method_end + 1, CLASS_TARGET);
	target = str_of(method_end + 1, (size_t)(target_end - method_end) - 1);
	if (target.len == 0 || *target_end != ' ')
		return http_refuse(out_refusal, 400,
				   "The request target is empty, has a byte that must be "
				   "percent-encoded, or is not followed by one space.");
	*at = target_end + 1;
	r = read_version(at, request, out_refusal);
	if (r != 0)
		return r;
	if (target.len > limits->target_bytes)
		return http_refuse(out_refusal, 414, "The request target is too long.");
	return http_target_read(target, mem, request, out_refusal);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Byte by byte: the comparisons stop at the first CR or LF, so they stay inside the head. */
static int read_version(const char **at, struct http_request *request,
			struct http_refusal *out_refusal)
{
	static const char name[] = "HTTP/";
	const char *v = *at;

	for (size_t i = 0; i < sizeof(name) - 1; i++) {
		if (*v++ != name[i])
			return http_refuse(out_refusal, 400,
					   "The request line must end with HTTP/1.1.");
	}
	if (!is_digit(v[0]) || v[1] != '.' || !is_digit(v[2]) || v[3] != '\r' || v[4] != '\n')
		return http_refuse(out_refusal, 400, "The request line must end with HTTP/1.1.");
	if (v[0] != '1' || v[2] > '1')
		return http_refuse(out_refusal, 505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
	request->minor = v[2] - '0';
	*at = v + 5;
	return 0;
}

static int read_fields(const char **at, struct http_request *request,
		       struct http_refusal *out_refusal)
{
	for (size_t i = 0; i < request->field_count; i++) {
		int r = read_field(at, &request->fields[i], out_refusal);

		if (r != 0)
			return r;
	}
	return 0;
}

static int read_field(const char **at, struct http_field *out_field,
		      struct http_refusal *out_refusal)
{
	const char *line = *at;
	const char *name_end = skip(line, CLASS_TOKEN);
	const char *value_end;

	if (name_end == line || *name_end != ':')
		return http_refuse(out_refusal, 400, explain_name(line, name_end));
	value_end = skip(name_end + 1, CLASS_VALUE);
	if (value_end[0] != '\r' || value_end[1] != '\n')
		return http_refuse(out_refusal, 400,
				   "A field value has a control byte or a bare CR or LF.");
	out_field->name = str_of(line, (size_t)(name_end - line));
	out_field->value = str_trim(str_of(name_end + 1, (size_t)(value_end - name_end) - 1));
	*at = value_end + 2;
	return 0;
}

/* Why the line is no field: its name stopped at `stop`. */
static const char *explain_name(const char *line, const char *stop)
{
	bool is_blank = *stop == ' ' || *stop == '\t';

	if (is_blank && stop == line)
		return "A line starts with white space; folded fields are not accepted.";
	if (is_blank)
		return "White space stands before the colon of a field.";
	if (*stop == ':')
		return "A field has no name.";
	return "A field line must be a name (letters, digits, -), a colon and a value.";
}

static size_t count_lines(const char *at, const char *end)
{
	size_t count = 0;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		count++;
		at++;
	}
	return count;
}

static const char *skip(const char *at, int class)
{
	while (http_is_in(*at, class))
		at++;
	return at;
}
