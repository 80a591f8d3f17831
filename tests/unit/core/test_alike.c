/* What some service takes for one text is alike; what none does is not. */
#include "core/alike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct arena mem;

static bool are_alike(const char *a, const char *b)
{
	bool are = false;

	assert_int_equal(alike_ask(str_from(a), str_from(b), &mem, &are), 0);
	return are;
}

static void test_alike(void **state)
{
	static const char *const rows[][2] = {
		{"production", "Production"},
		{"production", " production\t"},
		{"", " "},
		{"groß", "GROSS"},
		{"ｅｕ", "EU"},
		{"é", "e\xcc\x81"},
		{"\xff", "\xff"},
		{"a\xff", "A\xff"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!are_alike(rows[i][0], rows[i][1]) || !are_alike(rows[i][1], rows[i][0]))
			fail_msg("%s, %s", rows[i][0], rows[i][1]);
	}
}

static void test_not_alike(void **state)
{
	static const char *const rows[][2] = {
		{"production", "productions"},
		{"production", "pro duction"},
		{"", "a"},
		{"é", "e"},
		{"a", "\xff"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (are_alike(rows[i][0], rows[i][1]) || are_alike(rows[i][1], rows[i][0]))
			fail_msg("%s, %s", rows[i][0], rows[i][1]);
	}
}

static void test_behind_a_nul(void **state)
{
	bool are = false;

	assert_int_equal(alike_ask(str_of("eu\0x", 4), STR("EU"), &mem, &are), 0);
	assert_true(are);
}

/* Nothing of the length of a body is folded to be held against a word. */
static void test_much_longer(void **state)
{
	static char text[1 << 20];
	struct arena none;
	bool are = true;

	memset(text, '\xc3', sizeof(text));
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = '\xa9';
	arena_init(&none, 4096);
	assert_int_equal(alike_ask(str_of(text, sizeof(text)), STR("eu"), &none, &are), 0);
	assert_false(are);
	arena_fini(&none);
}

static int prepare(void **state)
{
	arena_init(&mem, 1 << 20);
	return 0;
}

static int clean(void **state)
{
	arena_fini(&mem);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_not_alike),
		cmocka_unit_test(test_behind_a_nul),
		cmocka_unit_test(test_much_longer),
	};

	return cmocka_run_group_tests(tests, prepare, clean);
}
