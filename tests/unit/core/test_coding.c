/*
 * A content coding is taken off within the body's limit, whatever the body claims; what is
 * broken, cut off or longer than its end is refused.
 */
#include "base/err.h"
#undef fail /* cmocka has one too */
#include "core/coding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

enum { GZIP = 15 + 16, ZLIB = 15, RAW = -15 };

/* Compress `text` into `out` at its end. */
static void compress_into(struct buf *out, struct str text, int window)
{
	z_stream stream = {0};
	size_t room = text.len + 1024;

	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (z_const Bytef *)text.at;
	stream.avail_in = (uInt)text.len;
	stream.next_out = (Bytef *)buf_reserve(out, room);
	stream.avail_out = (uInt)room;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	buf_commit(out, room - stream.avail_out);
	deflateEnd(&stream);
}

/* The result of decoding; on 0 the text has to be `expected`. */
static int decode(struct str coding, struct str body, size_t max, struct str expected)
{
	struct fingerprint_error error = {""};
	struct str decoded = STR("untouched");
	struct buf room;
	int r;

	buf_init(&room, 0);
	r = coding_decode(coding, body, max, &room, &decoded, &error);
	if (r == 0 && !str_equal(decoded, expected))
		fail_msg("decoded to %zu bytes, expected %zu", decoded.len, expected.len);
	if (r > 0)
		assert_true(error.detail[0] != '\0');
	if (r != 0)
		assert_true(str_equal(decoded, STR("untouched")));
	buf_fini(&room);
	return r;
}

static void test_identity(void **state)
{
	assert_int_equal(decode(STR(""), STR("abc"), 3, STR("abc")), 0);
	assert_int_equal(decode(STR("Identity"), STR("abc"), 3, STR("abc")), 0);
	assert_int_equal(decode(STR(""), STR("abcd"), 3, STR("")), FINGERPRINT_TOO_LARGE);
	assert_int_equal(decode(STR(""), STR(""), 0, STR("")), 0);
}

static void test_gzip_and_deflate(void **state)
{
	struct str text = STR("the same text, the same text, the same text");
	struct buf gzip, zlib;

	buf_init(&gzip, 4096);
	buf_init(&zlib, 4096);
	compress_into(&gzip, text, GZIP);
	compress_into(&zlib, text, ZLIB);
	assert_int_equal(decode(STR("gzip"), buf_str(&gzip), 1000, text), 0);
	assert_int_equal(decode(STR(" X-GZip "), buf_str(&gzip), 1000, text), 0);
	assert_int_equal(decode(STR("deflate"), buf_str(&zlib), 1000, text), 0);
	assert_int_equal(decode(STR("deflate"), buf_str(&gzip), 1000, text), FINGERPRINT_REFUSED);
	assert_int_equal(decode(STR("gzip"), buf_str(&zlib), 1000, text), FINGERPRINT_REFUSED);
	assert_int_equal(decode(STR("gzip"), text, 1000, text), FINGERPRINT_REFUSED);
	buf_clear(&zlib);
	compress_into(&zlib, text, RAW);
	assert_int_equal(decode(STR("deflate"), buf_str(&zlib), 1000, text), FINGERPRINT_REFUSED);
	assert_int_equal(decode(STR("gzip"), STR(""), 1000, STR("")), 0);
	buf_fini(&gzip);
	buf_fini(&zlib);
}

static void test_codings_not_known(void **state)
{
	static const char *const codings[] = {"br",	    "zstd",  "compress",
					      "gzip, gzip", "gzip,", "identity, gzip",
					      "gzip;q=1",   "gzi",   ","};

	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++)
		assert_int_equal(decode(str_from(codings[i]), STR("x"), 10, STR("")),
				 FINGERPRINT_CODING);
	assert_int_equal(decode(STR("br"), STR(""), 10, STR("")), FINGERPRINT_CODING);
}

static void test_cut_off_and_too_long(void **state)
{
	struct str text = STR("some text that is compressed here");
	struct buf body;
	size_t whole;

	buf_init(&body, 4096);
	compress_into(&body, text, GZIP);
	whole = body.len;
	for (size_t len = 1; len < whole; len++)
		assert_int_equal(decode(STR("gzip"), str_of(body.at, len), 1000, text),
				 FINGERPRINT_REFUSED);
	buf_append_byte(&body, '\0');
	assert_int_equal(decode(STR("gzip"), buf_str(&body), 1000, text), FINGERPRINT_REFUSED);
	body.len = whole;
	compress_into(&body, text, GZIP); /* a second member */
	assert_int_equal(decode(STR("gzip"), buf_str(&body), 1000, text), FINGERPRINT_REFUSED);
	body.len = whole;
	body.at[whole - 6] = (char)(body.at[whole - 6] ^ 1); /* the checksum */
	assert_int_equal(decode(STR("gzip"), buf_str(&body), 1000, text), FINGERPRINT_REFUSED);
	buf_fini(&body);
}

static void test_limit_is_exact(void **state)
{
	enum { LARGE = 3 * 16 * 1024 };
	char *large = calloc(1, LARGE);
	struct buf body;

	assert_non_null(large);
	buf_init(&body, 1 << 20);
	compress_into(&body, str_of(large, LARGE), GZIP);
	assert_int_equal(decode(STR("gzip"), buf_str(&body), LARGE, str_of(large, LARGE)), 0);
	assert_int_equal(decode(STR("gzip"), buf_str(&body), LARGE + 1, str_of(large, LARGE)), 0);
	assert_int_equal(decode(STR("gzip"), buf_str(&body), LARGE - 1, STR("")),
			 FINGERPRINT_TOO_LARGE);
	assert_int_equal(decode(STR("gzip"), buf_str(&body), body.len, STR("")),
			 FINGERPRINT_TOO_LARGE);
	assert_int_equal(decode(STR("gzip"), buf_str(&body), body.len - 1, STR("")),
			 FINGERPRINT_TOO_LARGE);
	buf_fini(&body);
	free(large);
}

/* A body that would fill 64 MiB stops at its limit and takes little more than that. */
static void test_a_bomb_costs_its_limit(void **state)
{
	enum { BOMB = 64 << 20, LIMIT = 256 * 1024 };
	struct fingerprint_error error;
	char *zeros = calloc(1, BOMB);
	struct str decoded;
	struct buf body, room;

	assert_non_null(zeros);
	buf_init(&body, BOMB + 4096);
	compress_into(&body, str_of(zeros, BOMB), GZIP);
	free(zeros);
	buf_init(&room, 0);
	assert_true(body.len < LIMIT);
	assert_int_equal(coding_decode(STR("gzip"), buf_str(&body), LIMIT, &room, &decoded, &error),
			 FINGERPRINT_TOO_LARGE);
	assert_true(room.capacity <= 2 * (LIMIT + 1));
	buf_fini(&body);
	buf_fini(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_gzip_and_deflate),
		cmocka_unit_test(test_codings_not_known),
		cmocka_unit_test(test_cut_off_and_too_long),
		cmocka_unit_test(test_limit_is_exact),
		cmocka_unit_test(test_a_bomb_costs_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
