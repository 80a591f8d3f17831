/* A reordered body says the same, a changed one something else. */
#include "drill/body.h"

#include "drill_test.h"
#include "json/json.h"

static struct arena mem;

static int setup(void **state)
{
	arena_init(&mem, TEST_MEMORY_MAX);
	return 0;
}

static int teardown(void **state)
{
	arena_fini(&mem);
	return 0;
}

static struct str canonical(struct str text)
{
	struct json_value *value;
	struct json_error error;
	struct str out;

	assert_int_equal(json_read(text, &json_limits_default, &mem, &value, &error), 0);
	assert_int_equal(json_canonical_str(value, &mem, &out), 0);
	return out;
}

static void test_reordered_says_the_same(void **state)
{
	const struct str body = STR(
		"{\"a\":1.50,\"b\":{\"c\":[1,2,{\"x\":null,\"y\":true}],\"d\":\"\\u00e9\\n\"}}");
	struct str other;

	assert_int_equal(body_reordered(body, &mem, &other), 0);
	assert_false(str_equal(body, other));
	assert_true(str_equal(canonical(body), canonical(other)));
	assert_true(memmem(other.at, other.len, "\"b\"", 3) <
		    memmem(other.at, other.len, "\"a\"", 3));
}

static void test_what_has_no_order(void **state)
{
	struct str other;

	assert_int_equal(body_reordered(STR("plain text"), &mem, &other), BODY_UNFIT);
	assert_int_equal(body_reordered(STR("\"text\""), &mem, &other), BODY_UNFIT);
	assert_int_equal(body_reordered(STR("{\"a\":1,\"a\":2}"), &mem, &other), BODY_UNFIT);
}

static void check_changed(const char *body, struct scenario_pair change, const char *expected)
{
	const struct scenario_pairs changes = {&change, change.name.len > 0};
	struct str other;

	assert_int_equal(body_changed(str_from(body), &changes, &mem, &other), 0);
	assert_str(other, expected);
}

static void test_changed_by_itself(void **state)
{
	const struct scenario_pair none = {0};
	const struct scenario_pairs nothing = {0};
	struct str other;

	check_changed("{\"a\":true,\"b\":\"x\"}", none, "{\"a\":true,\"b\":\"x-changed\"}");
	check_changed("{\"a\":[null,12]}", none, "{\"a\":[null,112]}");
	check_changed("[0.5]", none, "[1.5]");
	check_changed("{\"a\":0}", none, "{\"a\":1}");
	assert_int_equal(body_changed(STR("{\"a\":true}"), &nothing, &mem, &other), BODY_UNFIT);
}

static void test_changed_as_asked(void **state)
{
	check_changed("{\"a\":1,\"b\":{\"c\":2}}",
		      (struct scenario_pair){STR("/b/c"), STR("{\"d\":3}")},
		      "{\"a\":1,\"b\":{\"c\":{\"d\":3}}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reordered_says_the_same),
		cmocka_unit_test(test_what_has_no_order),
		cmocka_unit_test(test_changed_by_itself),
		cmocka_unit_test(test_changed_as_asked),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
