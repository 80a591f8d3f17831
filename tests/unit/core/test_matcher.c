/*
 * Texts of strangers cannot make a pattern take unbounded time or memory; what matches is what
 * the expression says.
 */
#include "core/matcher.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void begin(struct matcher *matcher, const char *pattern)
{
	assert_int_equal(matcher_init(matcher, pattern), 0);
}

static void expect(struct matcher *matcher, const char *text, bool does)
{
	bool is_match = !does;

	assert_int_equal(matcher_ask(matcher, str_from(text), &is_match), 0);
	assert_int_equal(is_match, does);
}

/* A text is part of something longer: a path, a body. */
static void test_nothing_behind_it(void **state)
{
	struct matcher matcher;
	bool does;

	(void)state;
	begin(&matcher, "^a+$");
	assert_int_equal(matcher_ask(&matcher, str_of("aa\"}", 2), &does), 0);
	assert_true(does);
	assert_int_equal(matcher_ask(&matcher, str_of("aab", 3), &does), 0);
	assert_false(does);
	assert_int_equal(matcher_ask(&matcher, STR(""), &does), 0);
	assert_false(does);
	matcher_fini(&matcher);
}

static void test_cost(void **state)
{
	static const struct {
		const char *pattern;
		bool is_anchored;
	} cases[] = {
		{"^[a-z]+$", true},	  {"^(a|b)$", true},  {"^[|]x", true},
		{"^\\|", true},		  {"[a-z]+$", false}, {"^a|b", false},
		{"^(a)|b", false},	  {"^[(]a|b", false}, {"^\\(a|b", false},
		{"^[^](]a|b[)]", false},  {"", false},	      {"^[[:alpha:](]|b", false},
		{"^[[:alpha:]]+$", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct matcher matcher;

		begin(&matcher, cases[i].pattern);
		if (matcher_cost(&matcher, 100) != (cases[i].is_anchored ? 100 : 10000))
			fail_msg("%s: %zu", cases[i].pattern, matcher_cost(&matcher, 100));
		matcher_fini(&matcher);
	}
}

/* A pattern that remembers which of the last 20 letters were an a: a new state at each byte. */
static void test_forgets(void **state)
{
	static char text[4096 + 1];
	struct matcher matcher;
	unsigned random = 1;

	(void)state;
	begin(&matcher, "^[ab]*a[ab]{20}c$");
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			random = random * 1103515245U + 12345U;
			text[i] = random >> 16 & 1 ? 'a' : 'b';
		}
		expect(&matcher, text, false);
		assert_true(matcher.seen <= 16384);
	}
	expect(&matcher, "aaaaaaaaaaaaaaaaaaaaabc", true);
	expect(&matcher, "abc", false);
	matcher_fini(&matcher);
}

static void test_wrong_pattern(void **state)
{
	struct matcher matcher;

	(void)state;
	assert_int_not_equal(matcher_init(&matcher, "(a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_behind_it),
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_wrong_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
