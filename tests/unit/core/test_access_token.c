/* Shows what a token endpoint is asked, and what of its answers is taken for a token. */
#include "core/access_token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMORY_MAX = 1 << 20 };

static void assert_buf(const struct buf *got, const char *expected)
{
	struct str text = buf_str(got);

	assert_false(got->is_spoiled);
	if (!str_equal(text, str_from(expected)))
		fail_msg("got %.*s", STR_ARG(text));
}

static void test_question_by_header(void **state)
{
	const struct access_token_question question = {
		.client_id = STR("a:b"), .secret = STR("c/d"), .scope = STR("x y")};
	struct buf line, body;

	buf_init(&line, 4096);
	buf_init(&body, 4096);
	access_token_line(&question, &line);
	access_token_body(&question, &body);
	/* a%3Ab:c%2Fd, computed by another program */
	assert_buf(&line, "Authorization: Basic YSUzQWI6YyUyRmQ=\r\n");
	assert_buf(&body, "grant_type=client_credentials&scope=x%20y");
	buf_fini(&line);
	buf_fini(&body);
}

static void test_question_by_body(void **state)
{
	const struct access_token_question question = {.client_id = STR("me&"),
						       .secret = STR("s+ =%"),
						       .audience = STR("https://a/"),
						       .is_in_body = true};
	struct buf line, body;

	buf_init(&line, 4096);
	buf_init(&body, 4096);
	access_token_line(&question, &line);
	access_token_body(&question, &body);
	assert_buf(&line, "");
	assert_buf(&body, "grant_type=client_credentials&audience=https%3A%2F%2Fa%2F"
			  "&client_id=me%26&client_secret=s%2B%20%3D%25");
	buf_fini(&body);
}

static void check(const char *body, int result, const char *text, int64_t life_s)
{
	struct access_token token = {0};
	const char *why = NULL;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	assert_int_equal(access_token_read(str_from(body), &mem, &token, &why), result);
	if (result == 0) {
		assert_true(str_equal(token.text, str_from(text)));
		assert_int_equal(token.life_s, life_s);
	} else {
		assert_non_null(why);
	}
	arena_fini(&mem);
}

static void test_answers(void **state)
{
	check("{\"access_token\":\"abc\",\"token_type\":\"Bearer\",\"expires_in\":3600}", 0, "abc",
	      3600);
	check("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":\"60\"}", 0,
	      "abc", 60);
	check("{\"access_token\":\"abc\",\"token_type\":\"BEARER\"}", 0, "abc",
	      ACCESS_TOKEN_LIFE_S);
	check("{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":-5}", 0, "a", 0);
	check("{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":1e18}", 0, "a",
	      ACCESS_TOKEN_LIFE_MAX_S);
	check("{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":true}", 0, "a",
	      ACCESS_TOKEN_LIFE_S);
}

static void test_what_is_no_token(void **state)
{
	static const char *const bodies[] = {
		"",
		"[]",
		"<html>",
		"{\"token_type\":\"Bearer\"}",
		"{\"access_token\":\"\",\"token_type\":\"Bearer\"}",
		"{\"access_token\":\"a b\",\"token_type\":\"Bearer\"}",
		"{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"Bearer\"}",
		"{\"access_token\":\"\xc3\xa9\",\"token_type\":\"Bearer\"}",
		"{\"access_token\":1,\"token_type\":\"Bearer\"}",
		"{\"access_token\":\"a\"}",
		"{\"access_token\":\"a\",\"token_type\":\"mac\"}",
		"{\"access_token\":\"a\",\"access_token\":\"b\",\"token_type\":\"Bearer\"}",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		check(bodies[i], ACCESS_TOKEN_MALFORMED, NULL, 0);
}

static void check_error(const char *body, const char *expected)
{
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	assert_true(str_equal(access_token_error(str_from(body), &mem), str_from(expected)));
	arena_fini(&mem);
}

static void test_errors(void **state)
{
	check_error("{\"error\":\"invalid_client\"}", "invalid_client");
	check_error("{\"error\":\"two words\"}", "");
	check_error("{\"error\":{}}", "");
	check_error("nothing", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question_by_header),
		cmocka_unit_test(test_question_by_body),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_what_is_no_token),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
