/* Shows that texts compare, cut and read as numbers by their bytes and length alone. */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct str nothing = {NULL, 0};

static void equality_is_of_bytes_and_length(void **state)
{
	assert_true(str_equal(STR("abc"), STR("abc")));
	assert_false(str_equal(STR("abc"), STR("ab")));
	assert_false(str_equal(STR("abc"), STR("abC")));
	assert_true(str_equal(str_of("a\0b", 3), str_of("a\0b", 3)));
	assert_false(str_equal(str_of("a\0b", 3), str_of("a\0c", 3)));
	assert_true(str_equal(nothing, STR("")));
	assert_true(str_equal(str_from(NULL), nothing));
}

static void case_is_ignored_for_ascii_letters_only(void **state)
{
	assert_true(str_equal_nocase(STR("Content-Type"), STR("cONTENT-tYPE")));
	assert_false(str_equal_nocase(STR("@[`{"), STR("`{@[")));
	assert_false(str_equal_nocase(STR("\xc4"), STR("\xe4")));
	assert_false(str_equal_nocase(STR("abc"), STR("abcd")));
	assert_true(str_equal_nocase(nothing, STR("")));
}

static void a_prefix_may_be_all_or_nothing(void **state)
{
	assert_true(str_starts_with(STR("/v1/tickets"), STR("/v1/")));
	assert_true(str_starts_with(STR("/v1"), STR("/v1")));
	assert_true(str_starts_with(STR("/v1"), STR("")));
	assert_false(str_starts_with(STR("/v"), STR("/v1")));
	assert_false(str_starts_with(STR("/V1"), STR("/v1")));
	assert_true(str_starts_with_nocase(STR("/V1x"), STR("/v1")));
	assert_false(str_starts_with_nocase(nothing, STR("x")));
	assert_true(str_starts_with(nothing, nothing));
}

static void order_is_by_bytes_then_by_length(void **state)
{
	const struct str ascending[] = {nothing,	  STR("A"),	STR("a"),
					str_of("a\0", 2), STR("a\x01"), STR("ab"),
					STR("b"),	  STR("\x7f"),	STR("\xff")};
	const int count = sizeof(ascending) / sizeof(ascending[0]);

	for (int i = 0; i < count; i++) {
		for (int j = 0; j < count; j++) {
			int order = str_compare(ascending[i], ascending[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
}

static void trimming_takes_spaces_and_tabs_alone(void **state)
{
	assert_true(str_equal(str_trim(STR(" \t a b\t ")), STR("a b")));
	assert_true(str_equal(str_trim(STR("\r\na\v")), STR("\r\na\v")));
	assert_true(str_equal(str_trim(STR(" \t ")), STR("")));
	assert_int_equal(str_trim(nothing).len, 0);
}

static void finding_says_where_or_the_length(void **state)
{
	assert_int_equal(str_find(STR("a=b=c"), '='), 1);
	assert_int_equal(str_find(STR("abc"), '='), 3);
	assert_int_equal(str_find(str_of("a\0b", 3), '\0'), 1);
	assert_int_equal(str_find(nothing, 'a'), 0);
	assert_int_equal(str_find(str_of("abc", 2), 'c'), 2);
}

static void the_rest_from_an_index_is_never_past_the_end(void **state)
{
	struct str text = STR("abc");

	assert_true(str_equal(str_from_index(text, 0), text));
	assert_true(str_equal(str_from_index(text, 2), STR("c")));
	assert_int_equal(str_from_index(text, 3).len, 0);
	assert_int_equal(str_from_index(text, SIZE_MAX).len, 0);
	assert_ptr_equal(str_from_index(text, 9).at, text.at + 3);
	assert_null(str_from_index(nothing, 1).at);
}

static void assert_splits_into(struct str text, const char *expected)
{
	char seen[64] = "";
	size_t len = 0;
	struct str part;

	while (str_split(&text, ',', &part) && len < 50)
		len += (size_t)snprintf(seen + len, sizeof(seen) - len, "[%.*s]", STR_ARG(part));
	assert_string_equal(seen, expected);
	assert_null(text.at);
}

static void splitting_sees_every_part_and_the_empty_ones(void **state)
{
	assert_splits_into(STR("a,bc,d"), "[a][bc][d]");
	assert_splits_into(STR("a"), "[a]");
	assert_splits_into(STR(",a,,"), "[][a][][]");
	assert_splits_into(STR(""), "[]");
	assert_splits_into(nothing, "");
	assert_splits_into(str_of("a,b,c", 3), "[a][b]");
}

static void assert_number(struct str text, uint64_t max, uint64_t expected)
{
	uint64_t number = expected + 1;

	assert_true(str_to_u64(text, max, &number));
	assert_true(number == expected);
}

static void assert_no_number(struct str text, uint64_t max)
{
	uint64_t number = 4711;

	assert_false(str_to_u64(text, max, &number));
	assert_true(number == 4711);
}

static void numbers_are_digits_up_to_their_bound(void **state)
{
	assert_number(STR("0"), 0, 0);
	assert_number(STR("007"), 7, 7);
	assert_number(STR("18446744073709551615"), UINT64_MAX, UINT64_MAX);
	assert_number(str_of("123", 2), 100, 12);
	assert_no_number(STR("18446744073709551616"), UINT64_MAX);
	assert_no_number(STR("184467440737095516150"), UINT64_MAX);
	assert_no_number(STR("8"), 7);
	assert_no_number(STR(""), UINT64_MAX);
	assert_no_number(nothing, UINT64_MAX);
	for (int c = 0; c < 256; c++) {
		char text[2] = {'1', (char)c};

		if (c < '0' || c > '9')
			assert_no_number(str_of(text, 2), UINT64_MAX);
	}
}

static void hexadecimal_is_read_in_both_cases_and_written_low(void **state)
{
	const uint8_t bytes[] = {0x00, 0x1f, 0xab, 0xff};
	char text[9] = "********";

	for (int c = -128; c < 128; c++) {
		const char *all = "0123456789abcdefABCDEF";
		const char *found = c > 0 ? strchr(all, c) : NULL;
		int expected = found ? (int)(found - all) : -1;

		assert_int_equal(hex_digit((char)c), expected > 15 ? expected - 6 : expected);
	}
	hex_write(bytes, 3, text);
	assert_string_equal(text, "001fab**");
	hex_write(bytes, 4, text);
	assert_string_equal(text, "001fabff");
}

static void assert_cut(const char *text, size_t max, size_t len)
{
	assert_int_equal(str_cut(str_from(text), max).len, len);
}

static void a_cut_is_between_characters(void **state)
{
	assert_cut("abc", 3, 3);
	assert_cut("abc", 2, 2);
	assert_cut("abc", 0, 0);
	assert_cut("a\xc3\xbc", 2, 1);
	assert_cut("a\xf0\x9f\x98\x80z", 4, 1);
	assert_cut("a\xf0\x9f\x98\x80z", 5, 5);
	assert_cut("\xc3\xbc", 1, 0);
	assert_cut("\x80\x80\x80\x80\x80\x80", 5, 5); /* no characters: bytes */
	assert_cut("", 5, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equality_is_of_bytes_and_length),
		cmocka_unit_test(case_is_ignored_for_ascii_letters_only),
		cmocka_unit_test(a_prefix_may_be_all_or_nothing),
		cmocka_unit_test(order_is_by_bytes_then_by_length),
		cmocka_unit_test(trimming_takes_spaces_and_tabs_alone),
		cmocka_unit_test(finding_says_where_or_the_length),
		cmocka_unit_test(the_rest_from_an_index_is_never_past_the_end),
		cmocka_unit_test(splitting_sees_every_part_and_the_empty_ones),
		cmocka_unit_test(numbers_are_digits_up_to_their_bound),
		cmocka_unit_test(hexadecimal_is_read_in_both_cases_and_written_low),
		cmocka_unit_test(a_cut_is_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
