/*
 * A form has one spelling whatever the order of its pairs, unless a list makes the order
 * mean something; what servers read differently is refused.
 */
#include "base/err.h"
#undef fail /* cmocka has one too */
#include "core/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void check(struct str body, const char *expected)
{
	struct fingerprint_error error = {""};
	struct arena mem;
	struct buf out;
	int r;

	arena_init(&mem, 65536);
	buf_init(&out, 65536);
	r = form_canonical(body, &mem, &out, &error);
	if (!expected) {
		if (r != FINGERPRINT_REFUSED || error.detail[0] == '\0')
			fail_msg("not refused: %.*s", STR_ARG(body));
	} else if (r != 0) {
		fail_msg("%.*s is refused: %s", STR_ARG(body), error.detail);
	} else if (!str_equal(buf_str(&out), str_from(expected))) {
		fail_msg("%.*s became %.*s", STR_ARG(body), STR_ARG(buf_str(&out)));
	}
	buf_fini(&out);
	arena_fini(&mem);
}

static void test_one_spelling(void **state)
{
	check(STR("a=1&b=2"), "a=1&b=2");
	check(STR("b=2&a=1"), "a=1&b=2");
	check(STR("a=1+2"), "a=1%202");
	check(STR("a=1%202"), "a=1%202");
	check(STR("a=1%2B2"), "a=1%2B2");
	check(STR("%61=%7e%2d"), "a=~-");
	check(STR("a=%c3%A9"), "a=%C3%A9");
	check(STR("a=\xc3\xa9"), "a=%C3%A9");
	check(STR("a=b=c"), "a=b%3Dc");
	check(STR("a=%26%00"), "a=%26%00");
	check(STR(""), "");
	check(STR("&&a=1&"), "a=1");
}

static void test_empty_is_not_absent(void **state)
{
	check(STR("a="), "a=");
	check(STR("a"), "a");
	check(STR("=1"), "=1");
	check(STR("="), "=");
	check(STR("b&a="), "a=&b");
}

static void test_order_of_names_is_by_bytes(void **state)
{
	check(STR("b=1&B=2&ab=3&a=4&=5&%ff=6"), "=5&B=2&a=4&ab=3&b=1&%FF=6");
}

static void test_lists_keep_their_order(void **state)
{
	check(STR("x[]=2&x[]=1&a=0"), "x%5B%5D=2&x%5B%5D=1&a=0");
	check(STR("x%5B%5D=2&a=0&x[]=1"), "x%5B%5D=2&a=0&x%5B%5D=1");
	check(STR("b=1&a[0]=x&a[1]=y"), "a%5B0%5D=x&a%5B1%5D=y&b=1"); /* not a list by [] */
	check(STR("u[n][]=1&u[n][]=1"), "u%5Bn%5D%5B%5D=1&u%5Bn%5D%5B%5D=1");
}

static void test_a_scalar_twice(void **state)
{
	check(STR("a=1&a=2"), NULL);
	check(STR("a=1&a=1"), NULL);
	check(STR("a=1&b=2&%61=1"), NULL);
	check(STR("a&a"), NULL);
	check(STR("=1&=2"), NULL);
	check(STR("a=1&x[]=1&a=2"), NULL);
	check(STR("a[b]=1&a[b]=2"), NULL);
}

static void test_broken_escapes(void **state)
{
	check(STR("a=%"), NULL);
	check(STR("a=%4"), NULL);
	check(STR("a=%4&1=b"), NULL); /* an escape does not reach over its pair */
	check(STR("%4=1"), NULL);
	check(STR("a=%zz"), NULL);
	check(STR("%u0041=1"), NULL);
}

static void test_number_of_pairs_is_bounded(void **state)
{
	struct fingerprint_error error;
	struct arena mem;
	struct buf body, out;

	buf_init(&body, 1 << 20);
	buf_init(&out, 1 << 22);
	for (int i = 0; i < FORM_PAIRS_MAX; i++)
		buf_printf(&body, "%s%05d=", i ? "&" : "", FORM_PAIRS_MAX - i);
	arena_init(&mem, 1 << 22);
	assert_int_equal(form_canonical(buf_str(&body), &mem, &out, &error), 0);
	assert_int_equal(out.len, body.len);
	assert_memory_equal(out.at, "00001=&00002=&", 14);
	buf_append_str(&body, STR("&one=more"));
	assert_int_equal(form_canonical(buf_str(&body), &mem, &out, &error), FINGERPRINT_REFUSED);
	buf_fini(&body);
	buf_fini(&out);
	arena_fini(&mem);
}

static void test_no_memory(void **state)
{
	struct fingerprint_error error;
	struct arena mem;
	struct buf out;

	buf_init(&out, 4);
	arena_init(&mem, 4096);
	assert_int_equal(form_canonical(STR("abc=def"), &mem, &out, &error), FAIL_MEMORY);
	arena_fini(&mem);
	buf_fini(&out);
	buf_init(&out, 4096);
	arena_init(&mem, 8);
	assert_int_equal(form_canonical(STR("abc=def"), &mem, &out, &error), FAIL_MEMORY);
	arena_fini(&mem);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_spelling),
		cmocka_unit_test(test_empty_is_not_absent),
		cmocka_unit_test(test_order_of_names_is_by_bytes),
		cmocka_unit_test(test_lists_keep_their_order),
		cmocka_unit_test(test_a_scalar_twice),
		cmocka_unit_test(test_broken_escapes),
		cmocka_unit_test(test_number_of_pairs_is_bounded),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
