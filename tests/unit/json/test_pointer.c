/* A JSON pointer finds the value RFC 6901 says, and a malformed one finds nothing. */
#include "json_test.h"

static const struct str document = STR("{\"foo\":[10,[20,21]],\"\":1,\"a/b\":2,\"m~n\":3,\"~1\":4,"
				       "\"o\":{\"\":{\"x\":5}},\"0\":6,\" \":7,\"\\u00e9\":8}");

static void pointers_find_their_value(void **state)
{
	static const struct {
		struct str pointer;
		int64_t wanted;
	} rows[] = {
		{STR("/foo/0"), 10}, {STR("/foo/1/1"), 21}, {STR("/"), 1},     {STR("/a~1b"), 2},
		{STR("/m~0n"), 3},   {STR("/~01"), 4},	    {STR("/o//x"), 5}, {STR("/0"), 6},
		{STR("/ "), 7},	     {STR("/\xc3\xa9"), 8},
	};
	struct parsed parsed;

	parsed_init(&parsed, document);
	assert_int_equal(parsed.result, 0);
	assert_ptr_equal(json_at(parsed.value, STR("")), parsed.value);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct json_value *value = json_at(parsed.value, rows[i].pointer);
		int64_t number = 0;

		assert_non_null(value);
		assert_int_equal(value->type, JSON_NUMBER);
		assert_true(json_number_to_i64(&value->number, &number));
		assert_int_equal(number, rows[i].wanted);
	}
	parsed_fini(&parsed);
}

static void other_pointers_find_nothing(void **state)
{
	static const struct str rows[] = {
		STR("foo"),	  STR("foo/0"),
		STR("/bar"),	  STR("/foo/2"),
		STR("/foo/-"),	  STR("/foo/00"),
		STR("/foo/01"),	  STR("/foo/"),
		STR("/foo/+1"),	  STR("/foo/0/0"),
		STR("/foo/1/1/"), STR("/a/b"),
		STR("/m~n"),	  STR("/m~"),
		STR("/m~2n"),	  STR("/foo/99999999999999999999"),
		STR("/foo/0x0"),  STR("/fo"),
		STR("/fooo"),	  STR("/o/"),
	};
	struct parsed parsed;

	parsed_init(&parsed, document);
	for (size_t i = 0; i + 1 < sizeof(rows) / sizeof(rows[0]); i++)
		assert_null(json_at(parsed.value, rows[i]));
	assert_int_equal(json_at(parsed.value, STR("/o/"))->type, JSON_OBJECT);
	parsed_fini(&parsed);
}

static void members_are_found_by_name(void **state)
{
	struct parsed parsed;

	parsed_init(&parsed, document);
	assert_int_equal(json_member(parsed.value, STR("foo"))->type, JSON_ARRAY);
	assert_non_null(json_member(parsed.value, STR("a/b")));
	assert_null(json_member(parsed.value, STR("fo")));
	assert_null(json_member(json_member(parsed.value, STR("foo")), STR("0")));
	parsed_fini(&parsed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pointers_find_their_value),
		cmocka_unit_test(other_pointers_find_nothing),
		cmocka_unit_test(members_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
