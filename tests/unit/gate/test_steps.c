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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_keeps_time_has_no_steps),
		cmocka_unit_test(a_step_counts_for_what_was_noted_before),
		cmocka_unit_test(a_small_step_counts_in_doubt),
		cmocka_unit_test(back_and_forward_again),
		cmocka_unit_test(more_steps_than_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
