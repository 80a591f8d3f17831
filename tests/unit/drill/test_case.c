/* Every case has a name of its own and says what it proves and why; a report means one status. */
#include "drill/case.h"

#include "drill/drill.h"
#include "drill_test.h"

static void test_the_table(void **state)
{
	const struct drill_case *row;
	size_t count = 0;

	for (; (row = drill_case_at(count)); count++) {
		assert_ptr_equal(drill_case_find(str_from(row->name)), row);
		assert_true(strlen(row->what) > 20 && strlen(row->why) > 20);
		assert_true(row->what[strlen(row->what) - 1] != '.');
		assert_non_null(row->run);
	}
	assert_int_equal(count, 20);
	assert_null(drill_case_find(STR("replays")));
}

static int status_of(enum drill_verdict a, enum drill_verdict b)
{
	struct drill_case_result cases[] = {{.verdict = a}, {.verdict = b}};
	struct drill_scenario_result scenario = {.cases = cases, .case_count = 2};
	const struct drill_report report = {.scenarios = &scenario, .scenario_count = 1};

	return drill_status(&report);
}

static void test_the_status(void **state)
{
	assert_int_equal(status_of(DRILL_PASS, DRILL_NOT_APPLICABLE), 0);
	assert_int_equal(status_of(DRILL_PASS, DRILL_FAIL), 1);
	assert_int_equal(status_of(DRILL_FAIL, DRILL_ERROR), 3);
	assert_int_equal(status_of(DRILL_ERROR, DRILL_PASS), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_the_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
