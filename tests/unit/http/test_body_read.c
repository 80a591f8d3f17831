/*
 * Shows that bodies end exactly where their framing says, however they are cut, and that
 * malformed chunking is refused.
 */
#include "base/buf.h"
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DATA_MAX = 1 << 20 };

struct outcome {
	int r; /* 0 when the bytes ran out first */
	int status;
	size_t used;
	uint64_t seen;
	struct buf data;
};

/* Read `bytes` in pieces of `step`, each in its own malloc. Ends with an answer or the bytes. */
static struct outcome read_in_steps(enum http_framing framing, uint64_t length, struct str bytes,
				    size_t step)
{
	struct outcome outcome = {0};
	struct http_refusal refusal = {0};
	struct http_body body;

	buf_init(&outcome.data, DATA_MAX);
	http_body_init(&body, framing, length);
	do {
		size_t left = bytes.len - outcome.used;
		size_t len = left < step ? left : step;
		char *piece = malloc(len + 1);
		struct str data;
		size_t used;

		memcpy(piece + 1, bytes.at + outcome.used, len);
		outcome.r = http_body_read(&body, str_of(piece + 1, len), &used, &data, &refusal);
		if (outcome.r == HTTP_REFUSED) {
			outcome.status = refusal.status;
			free(piece);
			break;
		}
		assert_true(used <= len);
		assert_true(used > 0 || len == 0 || outcome.r == HTTP_BODY_END);
		assert_int_equal(buf_append_str(&outcome.data, data), 0);
		outcome.used += used;
		free(piece);
	} while (outcome.r == 0 && outcome.used < bytes.len);
	outcome.seen = body.seen;
	return outcome;
}

struct body_case {
	int status; /* 0: complete; 1: not complete */
	struct str bytes;
	const char *data; /* what comes out */
	size_t rest;	  /* bytes after the end */
};
#define B(status, bytes, data, rest)                                                               \
	{                                                                                          \
		status, {bytes, sizeof(bytes) - 1}, data, rest                                     \
	}

static const struct body_case chunked[] = {
	B(0, "0\r\n\r\n", "", 0),
	B(0, "0\r\n\r\nGET", "", 3),
	B(0, "000\r\n\r\n", "", 0),
	B(0, "3\r\nabc\r\n0\r\n\r\n", "abc", 0),
	B(0,
	  "3\r\nabc\r\n00000000000000aA\r\n"
	  "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "\r\n0\r\n\r\nX",
	  "abc"
	  "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345",
	  1),
	B(0, "2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0),
	B(0, "1;a;b=c;d=\"e;\\\"f\\\\\";g=\"\"\r\nx\r\n0;last\r\n\r\n", "x", 0),
	B(0, "1\r\nx\r\n0\r\nA: b\r\nC:\r\nD: \t\xff \r\n\r\nrest", "x", 4),
	B(1, "", "", 0),
	B(1, "3\r\nab", "ab", 0),
	B(1, "3\r\nabc\r\n", "abc", 0),
	B(1, "0\r\n\r", "", 0),
	B(400, "\r\n", "", 0),
	B(400, "g\r\n", "", 0),
	B(400, ";a\r\n", "", 0),
	B(400, " 3\r\nabc\r\n", "", 0),
	B(400, "3 \r\nabc\r\n", "", 0),
	B(400, "3\t\r\nabc\r\n", "", 0),
	B(400, "+3\r\nabc\r\n", "", 0),
	B(400, "-1\r\n", "", 0),
	B(400, "0x3\r\nabc\r\n", "", 0),
	B(400, "3\nabc\r\n", "", 0),
	B(400, "3\rabc\r\n", "", 0),
	B(400, "3\r\r\nabc\r\n", "", 0),
	B(400, "00000000000000003\r\nabc\r\n", "", 0),
	B(400, "10000000000000000\r\n", "", 0),
	B(400, "3\0\r\n", "", 0),
	B(400, "3\r\nabcd\r\n", "abc", 0),
	B(400, "3\r\nabc\n", "abc", 0),
	B(400, "3\r\nabc\r0", "abc", 0),
	B(400, "3\r\nabc0\r\n\r\n", "abc", 0),
	B(400, "3\r\nabc\r\n\r\n", "abc", 0),
	B(400, "1;\r\nx\r\n", "", 0),
	B(400, "1; a\r\nx\r\n", "", 0),
	B(400, "1 ;a\r\nx\r\n", "", 0),
	B(400, "1;a =b\r\nx\r\n", "", 0),
	B(400, "1;=b\r\nx\r\n", "", 0),
	B(400, "1;a=\r\nx\r\n", "", 0),
	B(400, "1;a=b=c\r\nx\r\n", "", 0),
	B(400, "1;a=\"b\r\nx\r\n", "", 0),
	B(400, "1;a=\"b\\\r\nx\r\n", "", 0),
	B(400, "1;a=\"b\"c\r\nx\r\n", "", 0),
	B(400, "1;a\nx\r\n", "", 0),
	B(400, "0\r\nA : b\r\n\r\n", "", 0),
	B(400, "0\r\n: b\r\n\r\n", "", 0),
	B(400, "0\r\nA\r\n\r\n", "", 0),
	B(400, "0\r\n A: b\r\n\r\n", "", 0),
	B(400, "0\r\nA: b\r\n c\r\n\r\n", "", 0),
	B(400, "0\r\nA: b\n\r\n", "", 0),
	B(400, "0\r\nA: b\rc\r\n\r\n", "", 0),
	B(400, "0\r\nA: \0\r\n\r\n", "", 0),
	B(400, "0\r\n\n", "", 0),
	B(400, "0\r\n\rX", "", 0),
};

static void assert_outcome(struct outcome *outcome, const struct body_case *expected, size_t step)
{
	int r = expected->status == 0 ? HTTP_BODY_END : expected->status == 1 ? 0 : HTTP_REFUSED;

	if (outcome->r != r)
		fail_msg("%d instead of %d in steps of %zu for: %.*s", outcome->r, r, step,
			 STR_ARG(expected->bytes));
	if (r == HTTP_REFUSED)
		assert_int_equal(outcome->status, expected->status);
	if (r == HTTP_BODY_END)
		assert_int_equal(expected->bytes.len - outcome->used, expected->rest);
	assert_true(str_equal(buf_str(&outcome->data), str_from(expected->data)));
	assert_int_equal(outcome->seen, strlen(expected->data));
	buf_fini(&outcome->data);
}

static void chunked_bodies_end_where_they_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(chunked) / sizeof(chunked[0]); i++) {
		for (size_t step = 1; step <= chunked[i].bytes.len + 1; step++) {
			struct outcome outcome =
				read_in_steps(HTTP_CHUNKED, 0, chunked[i].bytes, step);

			assert_outcome(&outcome, &chunked[i], step);
		}
	}
}

static void lengths_are_exact(void **state)
{
	struct body_case cases[] = {
		B(0, "", "", 0),	   B(0, "next", "", 4),
		B(0, "hello", "hello", 0), B(0, "hellonext", "hello", 4),
		B(1, "hell", "hell", 0),
	};
	static const uint64_t lengths[] = {0, 0, 5, 5, 5};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t step = 1; step <= cases[i].bytes.len + 1; step++) {
			struct outcome outcome =
				read_in_steps(HTTP_LENGTH, lengths[i], cases[i].bytes, step);

			assert_outcome(&outcome, &cases[i], step);
		}
	}
}

static void no_body_ends_at_once(void **state)
{
	struct outcome outcome = read_in_steps(HTTP_NO_BODY, 0, STR("GET"), 3);

	(void)state;
	assert_int_equal(outcome.r, HTTP_BODY_END);
	assert_int_equal(outcome.used, 0);
	assert_int_equal(outcome.data.len, 0);
	buf_fini(&outcome.data);
}

/* A body with `before`, `count` times `byte`, `after`; the answer to it. */
static struct outcome read_filled(const char *before, char byte, size_t count, const char *after)
{
	struct str bytes = {0};
	struct outcome outcome;
	struct buf buf;

	buf_init(&buf, DATA_MAX);
	buf_append_str(&buf, str_from(before));
	for (size_t i = 0; i < count; i++)
		buf_append_byte(&buf, byte);
	buf_append_str(&buf, str_from(after));
	bytes = buf_str(&buf);
	outcome = read_in_steps(HTTP_CHUNKED, 0, bytes, bytes.len);
	buf_fini(&outcome.data);
	buf_fini(&buf);
	return outcome;
}

static void extensions_and_trailers_are_bounded(void **state)
{
	(void)state;
	/* a size line has 512 bytes, its CR included: "1;" and 509 of a name */
	assert_int_equal(read_filled("1;", 'a', 509, "\r\nx\r\n0\r\n\r\n").r, HTTP_BODY_END);
	assert_int_equal(read_filled("1;", 'a', 510, "\r\nx\r\n0\r\n\r\n").status, 400);
	/* trailers have 8192 bytes: "A:", the value and CRLF */
	assert_int_equal(read_filled("0\r\nA:", 'b', 8192 - 4, "\r\n\r\n").r, HTTP_BODY_END);
	assert_int_equal(read_filled("0\r\nA:", 'b', 8192 - 3, "\r\n\r\n").status, 431);
}

static void all_extensions_of_a_body_are_bounded(void **state)
{
	size_t count = 0;
	struct http_refusal refusal = {0};
	struct str chunk = STR("1;abcdefg\r\nx\r\n");
	struct http_body body;
	int r = 0;

	(void)state;
	http_body_init(&body, HTTP_CHUNKED, 0);
	while (r == 0 && count < 100000) {
		struct str rest = chunk;
		struct str data;
		size_t used;

		while (r == 0 && rest.len > 0) {
			r = http_body_read(&body, rest, &used, &data, &refusal);
			if (r == 0)
				rest = str_from_index(rest, used);
		}
		count++;
	}
	assert_int_equal(r, HTTP_REFUSED);
	assert_int_equal(refusal.status, 400);
	assert_int_equal(count, 64 * 1024 / 8 + 1); /* "abcdefg" and CR count */
}

/* Whatever is written in chunks comes back, whatever the cuts. */
static void written_chunks_are_read_back(void **state)
{
	(void)state;
	srandom(20260101);
	for (int round = 0; round < 200; round++) {
		struct outcome outcome;
		struct buf sent, wire;

		buf_init(&sent, DATA_MAX);
		buf_init(&wire, DATA_MAX);
		for (long chunks = random() % 8; chunks > 0; chunks--) {
			size_t len = (size_t)(random() % 300) + 1;

			http_write_chunk_start(&wire, len);
			for (size_t i = 0; i < len; i++) {
				char byte = (char)random();

				buf_append_byte(&sent, byte);
				buf_append_byte(&wire, byte);
			}
			buf_append_str(&wire, STR("\r\n"));
		}
		http_write_last_chunk(&wire);
		outcome = read_in_steps(HTTP_CHUNKED, 0, buf_str(&wire), (size_t)random() % 97 + 1);
		assert_int_equal(outcome.r, HTTP_BODY_END);
		assert_int_equal(outcome.used, wire.len);
		assert_true(str_equal(buf_str(&outcome.data), buf_str(&sent)));
		buf_fini(&outcome.data);
		buf_fini(&sent);
		buf_fini(&wire);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunked_bodies_end_where_they_say),
		cmocka_unit_test(lengths_are_exact),
		cmocka_unit_test(no_body_ends_at_once),
		cmocka_unit_test(extensions_and_trailers_are_bounded),
		cmocka_unit_test(all_extensions_of_a_body_are_bounded),
		cmocka_unit_test(written_chunks_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
