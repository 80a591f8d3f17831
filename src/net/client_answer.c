/*
 * What comes back from an upstream, as libcurl hands it out: the head line by line, then the body.
 *
 * libcurl takes more for an answer than this gate may: a head that could be read in two ways
 * (two lengths, or a length beside another framing), or with more fields than are looked at, ends
 * the call. Its answer then is none.
 */
#include "net/client_internal.h"

#include "http/http.h"

/* Two lengths that differ, or one that is none: nobody knows where the answer ends. */
static void take_length(struct call *call, struct str value)
{
	uint64_t length;

	if (!str_to_u64(value, INT64_MAX, &length) ||
	    (call->answer_length >= 0 && call->answer_length != (int64_t)length)) {
		call->is_ambiguous = true;
		return;
	}
	call->answer_length = (int64_t)length;
}

/* A line that could be read differently by somebody else is dropped, not passed on. */
static void take_field(struct call *call, struct str line)
{
	size_t colon = str_find(line, ':');
	struct str name = str_of(line.at, colon);
	struct str value = str_trim(str_from_index(line, colon + 1));

	if (colon == line.len || !http_is_token(name) || !http_is_field_value(value))
		return;
	call->is_ambiguous |= ++call->field_count > CALL_FIELDS_MAX;
	if (str_equal_nocase(name, STR("Content-Length")))
		take_length(call, value);
	call->has_coding |= str_equal_nocase(name, STR("Transfer-Encoding"));
	http_write_field(&call->answer_headers, name, value);
}

static void begin_head(struct call *call, struct str status_line)
{
	size_t space = str_find(status_line, ' ');
	struct str rest = str_from_index(status_line, space + 1);
	uint64_t status = 0;

	str_to_u64(str_of(rest.at, rest.len < 3 ? rest.len : 3), 999, &status);
	call->status = (int)status;
	call->answer_length = -1;
	call->is_in_head = true;
	call->has_coding = false;
	call->field_count = 0;
	buf_clear(&call->answer_headers);
}

/* Both framings: one reader takes the one, another the other (RFC 9112 § 6.3). */
static bool is_sound(const struct call *call)
{
	bool has_both = call->has_coding && call->answer_length >= 0;

	return !call->is_ambiguous && !has_both && !call->answer_headers.is_spoiled;
}

static void end_head(struct call *call)
{
	call->is_in_head = false;
	if (call->status < 200)
		return; /* interim: the next line begins another head */
	call->has_head = true;
	if (is_sound(call))
		call->events->head(call);
}

/* A head begins with its status line; a later line that looks like one is a field, and bad. */
size_t call_take_line(char *bytes, size_t size, size_t count, void *owner)
{
	struct call *call = owner;
	struct str line = str_of(bytes, size * count);

	if (call->has_head)
		return line.len; /* trailers: dropped */
	while (line.len && (line.at[line.len - 1] == '\r' || line.at[line.len - 1] == '\n'))
		line.len--;
	if (!call->is_in_head)
		begin_head(call, line);
	else if (line.len)
		take_field(call, line);
	else
		end_head(call);
	return call->has_head && !is_sound(call) ? 0 : size * count;
}

size_t call_take_piece(char *bytes, size_t size, size_t count, void *owner)
{
	struct call *call = owner;

	if (!call->events->data(call, str_of(bytes, size * count))) {
		call->is_paused_in = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	return size * count;
}
