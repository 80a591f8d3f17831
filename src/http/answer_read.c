/*
 * Reading the head of an upstream's answer.
 *
 * A head begins with a status line, then come its fields, then an empty line. Interim heads
 * (1xx, but 101) may come before the final one; what they say is forgotten when the next begins.
 *
 * Always true: the fields of a whole head are at most HTTP_ANSWER_FIELDS_MAX, each can be
 * written again without harm, and at most one framing is among them.
 */
#include "http/answer.h"

#include "http/http.h"

static bool begin_head(struct http_answer *answer, struct str line);
static void take_field(struct http_answer *answer, struct str line);
static bool is_sound(const struct http_answer *answer);

static struct str without_end(struct str line)
{
	while (line.len && (line.at[line.len - 1] == '\r' || line.at[line.len - 1] == '\n'))
		line.len--;
	return line;
}

static int end_head(struct http_answer *answer)
{
	answer->is_in_head = false;
	if (answer->status < 200)
		return 0; /* interim: the next line begins another head */
	answer->is_whole = is_sound(answer);
	answer->is_refused = !answer->is_whole;
	return answer->is_whole ? HTTP_ANSWER_WHOLE : HTTP_REFUSED;
}

int http_answer_line(struct http_answer *answer, struct str line)
{
	line = without_end(line);
	if (answer->is_refused)
		return HTTP_REFUSED;
	if (answer->is_whole)
		return 0; /* a trailer */
	if (answer->is_in_head && !line.len)
		return end_head(answer);
	if (answer->is_in_head)
		take_field(answer, line);
	else
		answer->is_refused = !begin_head(answer, line);
	return answer->is_refused ? HTTP_REFUSED : 0;
}

/*
 * "HTTP/1.1 200", and a reason after a space. False: no status line, or a status that does not
 * say where the answer ends.
 */
static bool begin_head(struct http_answer *answer, struct str line)
{
	struct str rest = str_from_index(line, sizeof("HTTP/1.x ") - 1);
	uint64_t status;

	if (!str_starts_with(line, STR("HTTP/1.0 ")) && !str_starts_with(line, STR("HTTP/1.1 ")))
		return false;
	if (rest.len < 3 || !str_to_u64(str_of(rest.at, 3), 999, &status))
		return false;
	if ((rest.len > 3 && rest.at[3] != ' ') || status < 100 || status == 101)
		return false;
	answer->status = (int)status;
	answer->length = -1;
	answer->is_in_head = true;
	answer->has_coding = false;
	answer->field_count = 0;
	buf_clear(&answer->fields);
	return true;
}

/* Two lengths that differ, or one that is none: nobody knows where the answer ends. */
static void take_length(struct http_answer *answer, struct str value)
{
	uint64_t length;

	if (!str_to_u64(value, INT64_MAX, &length) ||
	    (answer->length >= 0 && answer->length != (int64_t)length)) {
		answer->is_refused = true;
		return;
	}
	answer->length = (int64_t)length;
}

/*
 * Chunks are undone on the way; another coding would not be, and whoever reads after us would take
 * it for the content. Nobody asked for one (RFC 9112 § 6.1). "identity" is an old word for none.
 */
static void take_coding(struct http_answer *answer, struct str value)
{
	answer->is_refused |= answer->has_coding || (!str_equal_nocase(value, STR("chunked")) &&
						     !str_equal_nocase(value, STR("identity")));
	answer->has_coding = true;
}

/* A line that could be read differently by somebody else is dropped, not passed on. */
static void take_field(struct http_answer *answer, struct str line)
{
	size_t colon = str_find(line, ':');
	struct str name = str_of(line.at, colon);
	struct str value = str_trim(str_from_index(line, colon + 1));

	if (colon == line.len || !http_is_token(name) || !http_is_field_value(value))
		return;
	answer->is_refused |= ++answer->field_count > HTTP_ANSWER_FIELDS_MAX;
	if (str_equal_nocase(name, STR("Content-Length")))
		take_length(answer, value);
	else if (str_equal_nocase(name, STR("Transfer-Encoding")))
		take_coding(answer, value);
	http_write_field(&answer->fields, name, value);
}

/* Both framings: one reader takes the one, another the other (RFC 9112 § 6.3). */
static bool is_sound(const struct http_answer *answer)
{
	bool has_both = answer->has_coding && answer->length >= 0;

	return !has_both && !answer->fields.is_spoiled;
}

void http_answer_init(struct http_answer *answer)
{
	*answer = (struct http_answer){.length = -1};
	buf_init(&answer->fields, HTTP_ANSWER_HEAD_MAX);
}

void http_answer_fini(struct http_answer *answer)
{
	buf_fini(&answer->fields);
}
