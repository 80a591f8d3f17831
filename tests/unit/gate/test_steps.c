/* Shows that a wall clock that was set forward is known by how much, for times noted before. */
#include "gate_test.h"

#include "gate/steps.h"

#define WALL INT64_C(1000000000)
#define HOUR INT64_C(3600000)

static void a_clock_that_keeps_time_has_no_steps(void **state)
{
	struct steps steps = {0};

	for (int64_t ms = 1; ms < HOUR; ms += 9999)
		steps_see(&steps, WALL + ms, ms);
	assert_int_equal(steps_since(&steps, WALL), 0);
}

static void a_step_counts_for_what_was_noted_before(void **state)
{
	struct steps steps = {0};

	steps_see(&steps, WALL, 1);
	steps_see(&steps, WALL + HOUR + 5000, 5001);
	assert_int_equal(steps_since(&steps, WALL - 7), HOUR);
	assert_int_equal(steps_since(&steps, WALL + 4999), HOUR);
	assert_int_equal(steps_since(&steps, WALL + HOUR + 5000), 0);
}

/* In doubt it was noted before: a step that is less than the time since we looked last. */
static void a_small_step_counts_in_doubt(void **state)
{
	struct steps steps = {0};

	steps_see(&steps, WALL, 1);
	steps_see(&steps, WALL + 11000, 10001);
	assert_int_equal(steps_since(&steps, WALL + 10000), 1000);
	assert_int_equal(steps_since(&steps, WALL + 11000), 0);
}

/* A step back makes nothing early; the step forward after it would. */
static void back_and_forward_again(void **state)
{
	struct steps steps = {0};

	steps_see(&steps, WALL, 1);
	steps_see(&steps, WALL - HOUR, 1001);
	assert_int_equal(steps_since(&steps, WALL - HOUR), 0);
	steps_see(&steps, WALL + 2000, 2001);
	assert_in_range(steps_since(&steps, WALL - HOUR), HOUR, HOUR + 2000);
}

static void more_steps_than_are_told_apart(void **state)
{
	struct steps steps = {0};

	steps_see(&steps, WALL, 1);
	for (int i = 1; i <= 3 * STEPS_MAX; i++)
		steps_see(&steps, WALL + i * HOUR, 1);
	assert_int_equal(steps_since(&steps, WALL), 3 * STEPS_MAX * HOUR);
	assert_int_equal(steps_since(&steps, WALL + 3 * STEPS_MAX * HOUR), 0);
}

static void a_clock_that_keeps_time_loses_none(void **state)
{
	struct steps steps = {0};

	for (int64_t ms = 1; ms < HOUR; ms += 9999)
		steps_see(&steps, WALL + ms, ms);
	assert_int_equal(steps_lost_since(&steps, WALL), 0);
	assert_int_equal(steps_lost_since(&steps, WALL - HOUR), 0);
}

/* Set back, it shows too little of the time since what was noted before; also before we looked. */
static void time_that_a_clock_lost(void **state)
{
	struct steps steps = {0};

	steps_see(&steps, WALL, 1);
	steps_see(&steps, WALL + 5000 - HOUR, 5001);
	steps_see(&steps, WALL + 15000 - HOUR, 15001);
	assert_int_equal(steps_lost_since(&steps, WALL - 10 * HOUR), HOUR);
	assert_int_equal(steps_lost_since(&steps, WALL), HOUR);
	assert_int_equal(steps_lost_since(&steps, WALL + 4999), HOUR);
	assert_int_equal(steps_lost_since(&steps, WALL + 5001), 0);
}

/* Many steps that are each too small to be one are one together. */
static void a_clock_that_is_set_back_bit_by_bit(void **state)
{
	struct steps steps = {0};

	for (int64_t n = 0; n <= 100; n++)
		steps_see(&steps, WALL + n * (1000 - STEPS_LEAST_MS / 2), 1 + n * 1000);
	assert_in_range(steps_lost_since(&steps, WALL - 1), 99 * STEPS_LEAST_MS / 2,
			100 * STEPS_LEAST_MS / 2);
}

/* Ahead for a while and right again: only of what was noted meanwhile it shows too little. */
static void a_clock_that_was_ahead_for_a_while(void **state)
{
	struct steps steps = {0};

	steps_see(&steps, WALL, 1);
	steps_see(&steps, WALL + HOUR + 1000, 1001);
	steps_see(&steps, WALL + HOUR + 2000, 2001);
	steps_see(&steps, WALL + 3000, 3001);
	assert_int_equal(steps_lost_since(&steps, WALL - 1), 0);
	assert_int_equal(steps_lost_since(&steps, WALL + HOUR + 1500), HOUR);
	assert_int_equal(steps_lost_since(&steps, WALL + 3000), 0);
}

/* What is forgotten of many steps is only when they were, never how much was lost. */
static void more_steps_back_than_are_told_apart(void **state)
{
	struct steps steps = {0};

	for (int i = 0; i <= 3 * STEPS_MAX; i++)
		steps_see(&steps, WALL - i * HOUR, 1);
	assert_int_equal(steps_lost_since(&steps, WALL - 1), 3 * STEPS_MAX * HOUR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_keeps_time_has_no_steps),
		cmocka_unit_test(a_step_counts_for_what_was_noted_before),
		cmocka_unit_test(a_small_step_counts_in_doubt),
		cmocka_unit_test(back_and_forward_again),
		cmocka_unit_test(more_steps_than_are_told_apart),
		cmocka_unit_test(a_clock_that_keeps_time_loses_none),
		cmocka_unit_test(time_that_a_clock_lost),
		cmocka_unit_test(a_clock_that_is_set_back_bit_by_bit),
		cmocka_unit_test(a_clock_that_was_ahead_for_a_while),
		cmocka_unit_test(more_steps_back_than_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
