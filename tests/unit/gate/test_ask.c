/* Shows that a question takes along who asks and nothing of the write that it is about. */
#include "gate_test.h"

#include "gate/ask.h"

static struct settings_upstream upstream;
static struct settings settings = {
	.tokens = {.header = {"X-Token", 7}},
	.upstreams = &upstream,
};
static struct action action = {
	.downstream_key = {.header = {"X-Their-Key", 11}},
	.lock = {.fencing = {"X-Fence", 7}},
};

static void assert_lines(const char *lines, const struct action *declared, const char *expected)
{
	struct policy policy = {.settings = &settings, .action = declared};
	struct buf out;

	buf_init(&out, 4096);
	ask_headers(str_from(lines), &policy, &out);
	assert_text(buf_str(&out), str_from(expected));
	buf_fini(&out);
}

#define IDENTITY "Accept-Encoding: identity\r\n"

static void test_credentials_stay(void **state)
{
	assert_lines("Authorization: Bearer a\r\nCookie: b=c\r\nAccept: text/plain\r\n", &action,
		     "Authorization: Bearer a\r\nCookie: b=c\r\nAccept: text/plain\r\n" IDENTITY);
}

static void test_body_goes(void **state)
{
	assert_lines("Content-Type: application/json\r\ncontent-length: 2\r\nDigest: x\r\n"
		     "Content-MD5: y\r\nExpect: 100-continue\r\n",
		     &action, IDENTITY);
}

static void test_conditions_go(void **state)
{
	assert_lines("If-Match: \"a\"\r\nif-none-match: *\r\nRange: bytes=0-1\r\n"
		     "Prefer: respond-async\r\n",
		     &action, IDENTITY);
}

static void test_keys_go(void **state)
{
	assert_lines("Idempotency-Key: a\r\nx-token: b\r\nX-Their-Key: c\r\nx-fence: 7\r\n",
		     &action, IDENTITY);
}

static void test_undeclared_has_keys_too(void **state)
{
	assert_lines("X-Token: b\r\nX-Fence: 7\r\n", NULL, "X-Fence: 7\r\n" IDENTITY);
}

static void test_never_another_method(void **state)
{
	assert_lines("X-HTTP-Method-Override: POST\r\nX_Method_Override: PUT\r\n"
		     "X-HTTP-Method: PATCH\r\n",
		     &action, IDENTITY);
}

static void test_one_coding(void **state)
{
	assert_lines("Accept-Encoding: gzip\r\nAccept-Encoding: identity\r\n", &action, IDENTITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credentials_stay),
		cmocka_unit_test(test_body_goes),
		cmocka_unit_test(test_conditions_go),
		cmocka_unit_test(test_keys_go),
		cmocka_unit_test(test_undeclared_has_keys_too),
		cmocka_unit_test(test_never_another_method),
		cmocka_unit_test(test_one_coding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
