/* Shows how times are written at the edges of the calendar, and that the machine's clock
 * and randomness move. */
#include "base/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void assert_time(int64_t wall_ms, const char *expected)
{
	char text[26];

	memset(text, '#', sizeof(text));
	time_format(wall_ms, text);
	assert_string_equal(text, expected);
	assert_int_equal(text[25], '#');
}

static void times_are_utc_with_milliseconds(void **state)
{
	assert_time(0, "1970-01-01T00:00:00.000Z");
	assert_time(1769847300250, "2026-01-31T08:15:00.250Z");
	assert_time(951782399999, "2000-02-28T23:59:59.999Z");
	assert_time(951782400000, "2000-02-29T00:00:00.000Z");
}

static void times_before_1970_count_down(void **state)
{
	assert_time(-1, "1969-12-31T23:59:59.999Z");
	assert_time(-1000, "1969-12-31T23:59:59.000Z");
	assert_time(-1001, "1969-12-31T23:59:58.999Z");
}

static void years_have_four_digits_and_are_clamped(void **state)
{
	assert_time(-62167219200000, "0000-01-01T00:00:00.000Z");
	assert_time(-62135596800000, "0001-01-01T00:00:00.000Z");
	assert_time(-30610224000001, "0999-12-31T23:59:59.999Z");
	assert_time(253402300799999, "9999-12-31T23:59:59.999Z");
	assert_time(253402300800000, "9999-12-31T23:59:59.999Z");
	assert_time(INT64_MAX, "9999-12-31T23:59:59.999Z");
	assert_time(INT64_MIN, "0000-01-01T00:00:00.000Z");
}

static void the_machine_knows_the_time(void **state)
{
	int64_t before = env_monotonic_us(&env_machine);
	int64_t drift = env_wall_ms(&env_machine) - (int64_t)time(NULL) * 1000;

	assert_in_range(drift + 5000, 4000, 12000);
	assert_true(env_monotonic_us(&env_machine) >= before);
	assert_true(env_monotonic_ms(&env_machine) >= before / 1000);
}

static void randomness_fills_what_it_is_given_and_no_more(void **state)
{
	uint8_t first[34] = {0}, second[34] = {0};

	env_random(&env_machine, first, 33);
	env_random(&env_machine, second, 33);
	assert_memory_not_equal(first, second, 33);
	assert_int_equal(first[33], 0);
}

static int64_t noon(const struct env *env)
{
	return *(const int64_t *)env->state;
}

static void a_test_may_replace_the_clock(void **state)
{
	int64_t now = 43200000;
	struct env env = {.wall_ms = noon, .monotonic_us = noon, .state = &now};

	assert_int_equal(env_wall_ms(&env), 43200000);
	now += 1500;
	assert_int_equal(env_wall_ms(&env), 43201500);
	assert_int_equal(env_monotonic_ms(&env), 43201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_utc_with_milliseconds),
		cmocka_unit_test(times_before_1970_count_down),
		cmocka_unit_test(years_have_four_digits_and_are_clamped),
		cmocka_unit_test(the_machine_knows_the_time),
		cmocka_unit_test(randomness_fills_what_it_is_given_and_no_more),
		cmocka_unit_test(a_test_may_replace_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
