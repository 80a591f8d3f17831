/*
 * Any bytes as the head of an upstream's answer, line by line.
 *
 * A head that is whole has a status that ends an answer, fields within their bounds that read the
 * same when they are read again, and one framing. What is passed on of it has none of the gate's
 * own names and nothing of the connection.
 */
#include "base/err.h"
#include "gate/headers.h"
#include "http/answer.h"
#include "http/http.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LINES_MAX = 256 * 1024 };

static size_t count_named(struct str lines, struct str name)
{
	struct http_field field;
	size_t count = 0;

	while (http_next_line(&lines, &field))
		count += str_equal_nocase(field.name, name);
	return count;
}

static void check_fields(const struct http_answer *answer)
{
	struct str lines = buf_str(&answer->fields);
	struct http_field field;
	struct buf again;
	size_t count = 0;

	buf_init(&again, LINES_MAX);
	for (struct str rest = lines; http_next_line(&rest, &field); count++)
		http_write_field(&again, field.name, field.value);
	require(count == answer->field_count && count <= HTTP_ANSWER_FIELDS_MAX);
	require(!again.is_spoiled && str_equal(buf_str(&again), lines));
	require((count_named(lines, STR("Content-Length")) > 0) == (answer->length >= 0));
	require(answer->length < 0 || !count_named(lines, STR("Transfer-Encoding")));
	buf_fini(&again);
}

static void check_passed_on(const struct http_answer *answer)
{
	struct buf kept, first;
	struct str rest;
	struct http_field field;

	buf_init(&kept, LINES_MAX);
	buf_init(&first, LINES_MAX);
	headers_from_upstream(buf_str(&answer->fields), &kept, &first);
	require(!kept.is_spoiled && !first.is_spoiled);
	require(kept.len + first.len <= answer->fields.len);
	rest = buf_str(&kept);
	while (http_next_line(&rest, &field)) {
		require(!str_starts_with_nocase(field.name, STR("Operation-")));
		require(!str_equal_nocase(field.name, STR("Set-Cookie")));
		require(!http_is_hop_by_hop(NULL, 0, field.name));
	}
	buf_fini(&kept);
	buf_fini(&first);
}

/* A copy of its own, so that the sanitizer sees one byte too far. */
static int give_line(struct http_answer *answer, struct str line)
{
	char *copy = malloc(line.len ? line.len : 1);
	int r;

	require(copy != NULL);
	if (line.len)
		memcpy(copy, line.at, line.len);
	r = http_answer_line(answer, str_of(copy, line.len));
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str rest = str_of((const char *)bytes, size);
	struct http_answer answer;
	int wholes = 0;

	http_answer_init(&answer);
	while (rest.len) {
		size_t end = str_find(rest, '\n');
		bool was_whole = answer.is_whole, was_refused = answer.is_refused;
		int r = give_line(&answer, str_of(rest.at, end < rest.len ? end + 1 : end));

		require(r == 0 || r == HTTP_ANSWER_WHOLE || r == HTTP_REFUSED);
		require((r == HTTP_REFUSED) == answer.is_refused);
		require(!was_refused || answer.is_refused);
		require(!was_whole || (answer.is_whole && r == 0));
		wholes += r == HTTP_ANSWER_WHOLE;
		rest = str_from_index(rest, end + 1);
	}
	require(wholes == answer.is_whole);
	if (answer.is_whole) {
		require(answer.status >= 200 && answer.status <= 999);
		check_fields(&answer);
		check_passed_on(&answer);
	}
	http_answer_fini(&answer);
	return 0;
}
