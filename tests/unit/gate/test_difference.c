/* What a person is told to be other than the last time is what is other, by its meaning. */
#include "gate/difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { MEMORY = 4 * 1024 * 1024 };

static struct json_value *read_json(struct arena *mem, const char *text)
{
	struct json_value *value;
	struct json_error error;

	if (!text)
		return NULL;
	assert_int_equal(json_read(str_from(text), &json_limits_default, mem, &value, &error), 0);
	return value;
}

static void expect(const char *from, const char *to, const char *expected)
{
	struct json_writer json;
	struct arena mem;
	struct buf out;

	arena_init(&mem, MEMORY);
	buf_init(&out, MEMORY);
	json_writer_init(&json, &out);
	difference_json(&json, read_json(&mem, from), read_json(&mem, to), &mem);
	assert_false(out.is_spoiled);
	buf_append_byte(&out, '\0');
	assert_string_equal(out.at, expected);
	buf_fini(&out);
	arena_fini(&mem);
}

static void the_same_has_none(void **state)
{
	expect("{\"a\":1,\"b\":{\"c\":[1,2]}}", "{\"b\":{\"c\":[1.0,2e0]},\"a\":1.00}", "[]");
	expect(NULL, NULL, "[]");
}

static void each_place_is_told(void **state)
{
	expect("{\"a\":1,\"b\":{\"c\":2,\"d\":3},\"e\":4}",
	       "{\"a\":2,\"b\":{\"c\":2,\"d\":[3]},\"f\":null}",
	       "[{\"path\":\"/a\",\"from\":1,\"to\":2},"
	       "{\"path\":\"/b/d\",\"from\":3,\"to\":[3]},"
	       "{\"path\":\"/e\",\"from\":4},{\"path\":\"/f\",\"to\":null}]");
}

static void lists_and_kinds_are_compared_whole(void **state)
{
	expect("[1,2]", "[2,1]", "[{\"path\":\"\",\"from\":[1,2],\"to\":[2,1]}]");
	expect("{\"a\":{}}", "{\"a\":\"{}\"}", "[{\"path\":\"/a\",\"from\":{},\"to\":\"{}\"}]");
	expect("{}", NULL, "[{\"path\":\"\",\"from\":{}}]");
}

static void names_are_escaped_in_paths(void **state)
{
	expect("{\"a/b~c\":1}", "{\"a/b~c\":2}", "[{\"path\":\"/a~1b~0c\",\"from\":1,\"to\":2}]");
}

static void there_is_an_end_to_it(void **state)
{
	struct json_writer json;
	struct arena mem;
	struct buf many, out;
	size_t told = 0;

	arena_init(&mem, MEMORY);
	buf_init(&many, MEMORY);
	buf_init(&out, MEMORY);
	for (int i = 0; i < DIFFERENCES_MAX + 50; i++)
		buf_printf(&many, "%s\"m%d\":1", i ? "," : "{", i);
	buf_append(&many, "}", 2);
	json_writer_init(&json, &out);
	difference_json(&json, read_json(&mem, "{}"), read_json(&mem, many.at), &mem);
	buf_append_byte(&out, '\0');
	for (const char *at = out.at; (at = strstr(at, "path")); at++)
		told++;
	assert_int_equal(told, DIFFERENCES_MAX);
	buf_fini(&many);
	buf_fini(&out);
	arena_fini(&mem);
}

static void without_memory_nothing_is_told_as_the_same(void **state)
{
	struct json_writer json;
	struct arena mem, none;
	struct buf out;

	arena_init(&mem, MEMORY);
	arena_init(&none, 0);
	buf_init(&out, MEMORY);
	json_writer_init(&json, &out);
	difference_json(&json, read_json(&mem, "{\"a\":1}"), read_json(&mem, "{\"a\":2}"), &none);
	assert_true(out.is_spoiled);
	buf_fini(&out);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_has_none),
		cmocka_unit_test(each_place_is_told),
		cmocka_unit_test(lists_and_kinds_are_compared_whole),
		cmocka_unit_test(names_are_escaped_in_paths),
		cmocka_unit_test(there_is_an_end_to_it),
		cmocka_unit_test(without_memory_nothing_is_told_as_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
