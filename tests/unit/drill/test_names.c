/* Names in braces become what they stand for; all else stays as it was written. */
#include "drill/names.h"

#include "drill_test.h"

static const struct names names = {.marker = {"m-1", 3},
				   .run = {"r", 1},
				   .test_case = {"replay", 6},
				   .key = {"k-1", 3},
				   .id = {"a/b c", 5}};

static void check(const char *text, enum names_as as, const char *expected)
{
	struct arena mem;

	arena_init(&mem, TEST_MEMORY_MAX);
	assert_str(names_fill(str_from(text), &names, as, &mem), expected);
	arena_fini(&mem);
}

static void test_known_names(void **state)
{
	check("", NAMES_PLAIN, "");
	check("{marker}", NAMES_PLAIN, "m-1");
	check("{run}{case}{key}", NAMES_PLAIN, "rreplayk-1");
	check("/t?a={marker}&b={key}", NAMES_URL, "/t?a=m-1&b=k-1");
}

static void test_braces_of_json_stay(void **state)
{
	check("{\"title\":\"{marker}\",\"o\":{}}", NAMES_PLAIN, "{\"title\":\"m-1\",\"o\":{}}");
	check("{marke}", NAMES_PLAIN, "{marke}");
	check("{marker", NAMES_PLAIN, "{marker");
	check("{{marker}}", NAMES_PLAIN, "{m-1}");
}

static void test_an_id_is_for_urls_alone(void **state)
{
	check("/t/{id}", NAMES_URL, "/t/a%2Fb%20c");
	check("rm {id}", NAMES_PLAIN, "rm {id}");
}

static void test_what_tells_apart(void **state)
{
	assert_true(names_tell_apart(STR("?t={marker}")));
	assert_true(names_tell_apart(STR("select '{key}'")));
	assert_false(names_tell_apart(STR("/all?run={run}")));
}

static void test_a_slip_is_found(void **state)
{
	assert_str(names_unknown(STR("/t?a={marker}&b={makrer}"), false), "makrer");
	assert_str(names_unknown(STR("/t/{id}"), false), "id");
	assert_int_equal(names_unknown(STR("/t/{id}"), true).len, 0);
	assert_int_equal(names_unknown(STR("/t/{0}/{a-b}"), false).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_names),
		cmocka_unit_test(test_braces_of_json_stay),
		cmocka_unit_test(test_an_id_is_for_urls_alone),
		cmocka_unit_test(test_what_tells_apart),
		cmocka_unit_test(test_a_slip_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
