/*
 * A path has one spelling; what a service might resolve to another place is refused.
 */
#include "base/err.h"
#undef fail /* cmocka has one too */
#include "core/fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check(struct str path, const char *expected)
{
	struct fingerprint_error error = {""};
	struct arena mem;
	struct str normal = {0};
	int r;

	arena_init(&mem, 4096);
	r = path_normalise(path, &mem, &normal, &error);
	if (!expected) {
		if (r != FINGERPRINT_REFUSED || error.detail[0] == '\0')
			fail_msg("not refused: %.*s", STR_ARG(path));
	} else if (r != 0) {
		fail_msg("%.*s is refused: %s", STR_ARG(path), error.detail);
	} else if (!str_equal(normal, str_from(expected))) {
		fail_msg("%.*s became %.*s", STR_ARG(path), STR_ARG(normal));
	}
	arena_fini(&mem);
}

static void test_one_spelling(void **state)
{
	check(STR("/"), "/");
	check(STR("/v1/things"), "/v1/things");
	check(STR("/v1/things/"), "/v1/things/");
	check(STR("//a"), "//a");
	check(STR("/%7Eu"), "/~u");
	check(STR("/%7eu"), "/~u");
	check(STR("/%41%5f%2d%2E%30"), "/A_-.0");
	check(STR("/a%2fb"), "/a%2Fb");
	check(STR("/a%2Fb"), "/a%2Fb");
	check(STR("/%c3%a9"), "/%C3%A9");
	check(STR("/%20%25%3f"), "/%20%25%3F");
	check(STR("/%252e%252e/"), "/%252e%252e/"); /* decoded once, never twice */
	check(STR("/a:b@c!$&'()*+,;=d"), "/a:b@c!$&'()*+,;=d");
}

static void test_dots_that_are_names(void **state)
{
	check(STR("/..."), "/...");
	check(STR("/.well-known"), "/.well-known");
	check(STR("/a.b/..c/d.."), "/a.b/..c/d..");
	check(STR("/a;.."), "/a;..");
	check(STR("/.%2e."), "/...");
}

static void test_dot_segments(void **state)
{
	check(STR("/."), NULL);
	check(STR("/.."), NULL);
	check(STR("/./a"), NULL);
	check(STR("/a/../b"), NULL);
	check(STR("/a/.."), NULL);
	check(STR("/%2e%2E/b"), NULL);
	check(STR("/.%2e/b"), NULL);
	check(STR("/a%2F..%2Fb"), NULL);
	check(STR("/a%2f.."), NULL);
	check(STR("/..%2Fb"), NULL);
	check(STR("/a%5C..%5cb"), NULL);
	check(STR("/..;x=1/b"), NULL);
	check(STR("/..%3Bx/b"), NULL);
}

static void test_bytes_that_no_path_has(void **state)
{
	for (int c = 0; c < 256; c++) {
		char path[3] = {'/', (char)c, 'x'};
		char escaped[5] = {'/', '%', 0, 0, 'x'};
		bool is_refused = c <= 0x20 || c == 0x7f || c == '\\' || c == '?' || c == '#' ||
				  c == '%'; /* %x is a broken escape */
		uint8_t byte = (uint8_t)c;
		struct fingerprint_error error;
		struct arena mem;
		struct str normal;

		hex_write(&byte, 1, escaped + 2);
		arena_init(&mem, 4096);
		assert_int_equal(path_normalise(str_of(path, 3), &mem, &normal, &error),
				 is_refused ? FINGERPRINT_REFUSED : 0);
		assert_int_equal(path_normalise(str_of(escaped, 5), &mem, &normal, &error),
				 c < 0x20 || c == 0x7f ? FINGERPRINT_REFUSED : 0);
		arena_fini(&mem);
	}
}

static void test_broken(void **state)
{
	check(STR(""), NULL);
	check(STR("a"), NULL);
	check(STR("*"), NULL);
	check(STR("http://a/"), NULL);
	check(STR("/%"), NULL);
	check(STR("/%4"), NULL);
	check(STR("/%4g"), NULL);
	check(STR("/%g4"), NULL);
	check(STR("/%%41"), NULL);
	check(str_of("/%41", 3), NULL); /* the escape ends behind the path */
}

static void test_no_memory(void **state)
{
	struct fingerprint_error error;
	struct arena mem;
	struct str normal;

	arena_init(&mem, 8);
	assert_int_equal(path_normalise(STR("/a-long-path"), &mem, &normal, &error), FAIL_MEMORY);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_spelling), cmocka_unit_test(test_dots_that_are_names),
		cmocka_unit_test(test_dot_segments), cmocka_unit_test(test_bytes_that_no_path_has),
		cmocka_unit_test(test_broken),	     cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
