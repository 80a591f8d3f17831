/* Pauses between tries grow, and stay within their bounds. */
#include "core/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_backoff_grows(void **state)
{
	const uint32_t middle = UINT32_MAX / 2 + 1;

	assert_int_equal(backoff_ms(1000, 600000, 0, middle), 1000);
	assert_int_equal(backoff_ms(1000, 600000, 1, middle), 1000);
	assert_int_equal(backoff_ms(1000, 600000, 2, middle), 2000);
	assert_int_equal(backoff_ms(1000, 600000, 5, middle), 16000);
	assert_int_equal(backoff_ms(1000, 600000, 11, middle), 600000);
	assert_int_equal(backoff_ms(1000, 600000, UINT32_MAX, middle), 600000);
	assert_int_equal(backoff_ms(1000, 600000, 1, 0), 750);
	assert_int_equal(backoff_ms(1000, 600000, 1, UINT32_MAX), 1249);
}

/* For any first and longest pause, tries and chance: within a quarter of what is due. */
static void test_backoff_stays_within_bounds(void **state)
{
	static const int64_t spans[] = {
		INT64_MIN,     -1,	 0, 1, 2, 3, 999, 5000, 600000, (int64_t)1 << 40,
		INT64_MAX / 2, INT64_MAX};
	static const uint32_t chances[] = {0, 1, 1U << 31, UINT32_MAX};
	const size_t count = sizeof(spans) / sizeof(spans[0]);

	for (size_t i = 0; i < count * count * 70 * 4; i++) {
		int64_t first = spans[i % count], longest = spans[i / count % count];
		uint32_t tries = (uint32_t)(i / count / count % 70);
		int64_t pause = backoff_ms(first, longest, tries, chances[i % 4]);

		assert_true(pause >= 1);
		if (longest > 0)
			assert_true(pause - longest <= longest / 4);
		if (first > 0 && first <= longest)
			assert_true(pause >= (first > INT64_MAX / 2 ? INT64_MAX / 4 : first / 4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backoff_grows),
		cmocka_unit_test(test_backoff_stays_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
