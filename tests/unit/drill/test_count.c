/* A count is a list's length or a whole number; anything else is no count. */
#include "drill/count.h"

#include "drill_test.h"

static void check(const char *json, const char *pointer, int64_t expected)
{
	char why[COUNT_WHY_MAX] = "";
	int64_t count = -1;
	struct arena mem;
	int r;

	arena_init(&mem, TEST_MEMORY_MAX);
	r = count_read(str_from(json), str_from(pointer), &mem, &count, why);
	arena_fini(&mem);
	if (expected >= 0) {
		assert_int_equal(r, 0);
		assert_int_equal(count, expected);
	} else {
		assert_int_equal(r, COUNT_FAILED);
		assert_true(strlen(why) > 0);
	}
}

static void test_answers(void **state)
{
	check("{\"data\":[1,{},[]]}", "/data", 3);
	check("{\"data\":[]}", "/data", 0);
	check("{\"n\":{\"total\":12}}", "/n/total", 12);
	check("{\"n\":1.5}", "/n", -1);
	check("{\"n\":\"1\"}", "/n", -1);
	check("{}", "/n", -1);
	check("<html>", "/n", -1);
}

static void check_output(const char *text, int64_t expected)
{
	char why[COUNT_WHY_MAX] = "";
	int64_t count = -1;
	int r = count_read_output(str_from(text), &count, why);

	assert_int_equal(r, expected >= 0 ? 0 : COUNT_FAILED);
	if (expected >= 0)
		assert_int_equal(count, expected);
}

static void test_outputs(void **state)
{
	check_output("0", 0);
	check_output(" 7 \n", 7);
	check_output("12\n\n", 12);
	check_output("", -1);
	check_output("-1", -1);
	check_output("7 rows", -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_outputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
