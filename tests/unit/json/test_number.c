/* Numbers are exact decimals: one form each, compared without rounding, refused over a limit. */
#include "json_test.h"

/* Digits long enough for every number of these tests. */
struct number_test {
	struct arena mem;
};

static int number_of(struct arena *mem, const char *text, struct json_number *out_number)
{
	return json_number_read(str_from(text), &json_limits_default, mem, out_number);
}

static int setup(void **state)
{
	struct number_test *test = calloc(1, sizeof(*test));

	if (!test)
		return -1;
	arena_init(&test->mem, 1 << 20);
	*state = test;
	return 0;
}

static int teardown(void **state)
{
	struct number_test *test = *state;

	arena_fini(&test->mem);
	free(test);
	return 0;
}

static void each_number_has_one_form(void **state)
{
	static const struct {
		const char *text;
		bool is_negative;
		struct str digits;
		int32_t point;
	} rows[] = {
		{"0", false, STR(""), 0},
		{"-0", false, STR(""), 0},
		{"-0.000e-5", false, STR(""), 0},
		{"0e99999999999999999999999999", false, STR(""), 0},
		{"0.0E-99999999999999999999999999", false, STR(""), 0},
		{"49", false, STR("49"), 2},
		{"49.00", false, STR("49"), 2},
		{"4.9e1", false, STR("49"), 2},
		{"4900e-2", false, STR("49"), 2},
		{"0.0049E+0004", false, STR("49"), 2},
		{"-4900", true, STR("49"), 4},
		{"0.001", false, STR("1"), -2},
		{"10.01", false, STR("1001"), 2},
		{"100", false, STR("1"), 3},
		{"1e307", false, STR("1"), 308},
		{"1e-307", false, STR("1"), -306},
	};
	struct number_test *test = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_number number;

		assert_int_equal(number_of(&test->mem, rows[i].text, &number), 0);
		assert_int_equal(number.is_negative, rows[i].is_negative);
		assert_true(str_equal(number.digits, rows[i].digits));
		assert_int_equal(number.point, rows[i].point);
	}
}

static void other_spellings_are_refused(void **state)
{
	static const char *const rows[] = {
		"",   "-",  "+1",    "01",  "-01", "1.",  ".5",	 "1e",	  "1e+", "1.e1", "0x1",
		"1 ", " 1", "1e1.5", "--1", "NaN", "1_0", "1,0", "1e--1", "00",	 "-.1",	 "1a"};
	struct number_test *test = *state;
	struct json_number number;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(number_of(&test->mem, rows[i], &number), JSON_REFUSED);
}

static void limits_hold_on_both_sides(void **state)
{
	struct number_test *test = *state;
	struct json_number number;
	char text[256];

	snprintf(text, sizeof(text), "%064d", 0);
	memset(text, '9', 64);
	assert_int_equal(number_of(&test->mem, text, &number), 0);
	assert_int_equal(number.digits.len, 64);
	snprintf(text + 64, sizeof(text) - 64, "9");
	assert_int_equal(number_of(&test->mem, text, &number), JSON_REFUSED);
	snprintf(text + 64, sizeof(text) - 64, "0000.000");
	assert_int_equal(number_of(&test->mem, text, &number), 0);
	assert_int_equal(number.point, 68);
	snprintf(text + 64, sizeof(text) - 64, ".0001");
	assert_int_equal(number_of(&test->mem, text, &number), JSON_REFUSED);

	assert_int_equal(number_of(&test->mem, "9.99e307", &number), 0);
	assert_int_equal(number_of(&test->mem, "0.999e308", &number), 0);
	assert_int_equal(number_of(&test->mem, "10e306", &number), 0);
	assert_int_equal(number_of(&test->mem, "10e307", &number), JSON_REFUSED);
	assert_int_equal(number_of(&test->mem, "1e308", &number), JSON_REFUSED);
	assert_int_equal(number_of(&test->mem, "1e-307", &number), 0);
	assert_int_equal(number_of(&test->mem, "0.1e-306", &number), 0);
	assert_int_equal(number_of(&test->mem, "0.99e-307", &number), JSON_REFUSED);
	assert_int_equal(number_of(&test->mem, "-1e-308", &number), JSON_REFUSED);
	assert_int_equal(number_of(&test->mem, "1e18446744073709551616", &number), JSON_REFUSED);
	assert_int_equal(number_of(&test->mem, "1e-18446744073709551616", &number), JSON_REFUSED);
}

/* A long text of few significant digits is one number like any other. */
static void zeros_do_not_count(void **state)
{
	enum { ZEROS = 100000 };
	struct number_test *test = *state;
	struct json_number number;
	struct buf text;

	buf_init(&text, 4 * ZEROS);
	buf_append(&text, "0.", 2);
	for (size_t i = 0; i < ZEROS; i++)
		buf_append_byte(&text, '0');
	buf_printf(&text, "12e%d", ZEROS + 2);
	assert_int_equal(
		json_number_read(buf_str(&text), &json_limits_default, &test->mem, &number), 0);
	assert_true(str_equal(number.digits, STR("12")));
	assert_int_equal(number.point, 2);
	buf_fini(&text);
}

static void comparison_is_exact(void **state)
{
	/* ascending */
	static const char *const rows[] = {
		"-1e307",
		"-10",
		"-9.5",
		"-1.01",
		"-1",
		"-0.1",
		"-1e-307",
		"0",
		"1e-307",
		"0.1",
		"0.10000000000000001",
		"0.2",
		"1",
		"1.0000000000000000000000000000000000000000000000000000000000001",
		"2",
		"9",
		"10",
		"11",
		"100",
		"9007199254740992",
		"9007199254740993",
		"1e307",
	};
	const size_t count = sizeof(rows) / sizeof(rows[0]);
	struct number_test *test = *state;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count; j++) {
			struct json_number a, b;

			assert_int_equal(number_of(&test->mem, rows[i], &a), 0);
			assert_int_equal(number_of(&test->mem, rows[j], &b), 0);
			assert_int_equal(json_number_compare(&a, &b), i < j ? -1 : i > j);
		}
	}
}

static void integers_become_i64_if_they_fit(void **state)
{
	static const struct {
		const char *text;
		bool fits;
		int64_t number;
	} rows[] = {
		{"0", true, 0},
		{"-0.0", true, 0},
		{"1.0", true, 1},
		{"-1", true, -1},
		{"1e3", true, 1000},
		{"1200", true, 1200},
		{"12.5e1", true, 125},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"-9223372036854775808", true, INT64_MIN},
		{"-9223372036854775809", false, 0},
		{"9300000000000000000", false, 0},
		{"18446744073709551616", false, 0},
		{"1e18", true, 1000000000000000000},
		{"1e19", false, 0},
		{"1e300", false, 0},
		{"1.5", false, 0},
		{"0.5", false, 0},
		{"1e-1", false, 0},
		{"1e-300", false, 0},
		{"9223372036854775807.5", false, 0},
	};
	struct number_test *test = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_number number;
		int64_t out = 77;

		assert_int_equal(number_of(&test->mem, rows[i].text, &number), 0);
		assert_int_equal(json_number_to_i64(&number, &out), rows[i].fits);
		assert_true(out == (rows[i].fits ? rows[i].number : 77));
	}
}

static void digits_outlive_their_text(void **state)
{
	struct number_test *test = *state;
	struct json_number number;
	char text[] = "12345";

	assert_int_equal(number_of(&test->mem, text, &number), 0);
	memset(text, 'x', sizeof(text));
	assert_true(str_equal(number.digits, STR("12345")));
}

static void a_full_arena_is_a_failure(void **state)
{
	struct json_number number;
	struct arena mem;

	arena_init(&mem, 0);
	assert_int_equal(number_of(&mem, "12", &number), FAIL_MEMORY);
	assert_int_equal(number_of(&mem, "1.2", &number), FAIL_MEMORY);
	assert_int_equal(number_of(&mem, "0", &number), 0);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_number_has_one_form, setup, teardown),
		cmocka_unit_test_setup_teardown(other_spellings_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_hold_on_both_sides, setup, teardown),
		cmocka_unit_test_setup_teardown(zeros_do_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(comparison_is_exact, setup, teardown),
		cmocka_unit_test_setup_teardown(integers_become_i64_if_they_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(digits_outlive_their_text, setup, teardown),
		cmocka_unit_test(a_full_arena_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
