/*
 * An answer says what is declared of it, and one that cannot be read says nothing.
 */
#include "core/response.h"

#include "base/err.h"
#undef fail /* cmocka has one too */
#include "declare.h"

#include <stdio.h>

enum { MEMORY_MAX = 1 << 20 };

static struct action reading(void)
{
	return (struct action){
		.response = {.reference = STR("/id"), .resource = STR("/links/self")},
		.opens_budget = {.is_declared = true, .id = STR("/data/0/id")},
	};
}

static void check_texts(const char *body, const char *reference, const char *resource,
			const char *budget_id)
{
	const struct action action = reading();
	struct response_facts facts;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	response_read(&action, STR("application/json"), str_from(body), &mem, &facts);
	if (!str_equal(facts.reference, str_from(reference)) ||
	    !str_equal(facts.resource, str_from(resource)) ||
	    !str_equal(facts.budget_id, str_from(budget_id)))
		fail_msg("%s: \"%.*s\", \"%.*s\", \"%.*s\"", body, STR_ARG(facts.reference),
			 STR_ARG(facts.resource), STR_ARG(facts.budget_id));
	assert_false(facts.has_failed);
	arena_fini(&mem);
}

static void test_texts(void **state)
{
	check_texts("{\"id\":\"pay_1\",\"links\":{\"self\":\"/v1/p/1\"},\"data\":[{\"id\":7.0}]}",
		    "pay_1", "/v1/p/1", "7");
	check_texts("{\"id\":9007199254740993}", "9007199254740993", "", "");
	check_texts("{\"id\":\"\\u00e9\"}", "\xc3\xa9", "", "");
	check_texts("{\"id\":true,\"links\":[],\"data\":{}}", "", "", "");
	check_texts("{\"id\":null,\"links\":{\"self\":{}},\"data\":[{\"id\":\"\"}]}", "", "", "");
	check_texts("[]", "", "", "");
	check_texts("{\"id\":\"pay_1\"", "", "", "");
	check_texts("", "", "", "");
}

static void test_length_is_bounded(void **state)
{
	char longest[RESPONSE_TEXT_MAX + 1] = "", body[RESPONSE_TEXT_MAX + 32];

	memset(longest, 'a', RESPONSE_TEXT_MAX);
	snprintf(body, sizeof(body), "{\"id\":\"%s\"}", longest);
	check_texts(body, longest, "", "");
	snprintf(body, sizeof(body), "{\"id\":\"%sa\"}", longest);
	check_texts(body, "", "", "");
}

static bool is_read_as(const char *content_type, const char *body)
{
	struct rule_condition any = {.pointer = STR("")};
	struct action action = {.response = {.failed_when = &any, .failed_when_count = 1}};
	struct response_facts facts;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	response_read(&action, str_from(content_type), str_from(body), &mem, &facts);
	arena_fini(&mem);
	return facts.has_failed;
}

static void test_what_is_json(void **state)
{
	assert_true(is_read_as("application/json", "{}"));
	assert_true(is_read_as("application/problem+json; charset=utf-8", " 1"));
	assert_true(is_read_as("application/json", "\"failed\""));
	assert_true(is_read_as("text/html", "\r\n {\"error\":1}"));
	assert_true(is_read_as("", "[1]"));
	assert_true(is_read_as("no media type", "[1]"));
	assert_false(is_read_as("text/plain", "1"));
	assert_false(is_read_as("", "\"failed\""));
	assert_false(is_read_as("text/html", "<html>{}"));
	assert_false(is_read_as("application/json", "<html>{}"));
	assert_false(is_read_as("text/plain", "{\"a\""));
	assert_false(is_read_as("text/plain", " "));
}

static void test_is_read(void **state)
{
	struct action action = {.name = STR("a")};

	assert_false(response_is_read(&action));
	action.response.failed_when_count = 1;
	assert_true(response_is_read(&action));
	action.response.failed_when_count = 0;
	action.opens_budget.is_declared = true;
	assert_true(response_is_read(&action));
	action.opens_budget.is_declared = false;
	action.response.resource = STR("/url");
	assert_true(response_is_read(&action));
}

/* `choices` is a list in JSON; NULL: none, there has to be a value. */
static void check_condition(const char *pointer, const char *choices, const char *body,
			    bool is_true)
{
	struct rule_condition condition = {.pointer = str_from(pointer)};
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	if (choices) {
		const struct json_value *list = declare_json(choices, &mem);

		condition.choices = (const struct json_value **)list->array.items;
		condition.choice_count = list->array.count;
	}
	if (condition_holds(&condition, declare_json(body, &mem)) != is_true)
		fail_msg("%s in %s of %s", pointer, choices ? choices : "anything", body);
	arena_fini(&mem);
}

static void test_conditions(void **state)
{
	check_condition("/error", NULL, "{\"error\":{}}", true);
	check_condition("/error", NULL, "{\"error\":false}", true);
	check_condition("/error", NULL, "{\"error\":null}", false);
	check_condition("/error", NULL, "{}", false);
	check_condition("/error", NULL, "[]", false);
	check_condition("/status", "[\"failed\"]", "{\"status\":\"failed\"}", true);
	check_condition("/status", "[\"failed\"]", "{\"status\":\"Failed\"}", false);
	check_condition("/code", "[1,2.50]", "{\"code\":2.5}", true);
	check_condition("/code", "[1,2.50]", "{\"code\":\"1\"}", false);
	check_condition("/ok", "[false]", "{\"ok\":false}", true);
	check_condition("/ok", "[false]", "{\"ok\":true}", false);
	check_condition("/ok", "[false]", "{\"ok\":null}", false);
	check_condition("/id", "[null]", "{\"id\":null}", true);
	check_condition("/id", "[null]", "{}", false);
	check_condition("/l", "[[]]", "{\"l\":[]}", false);
	check_condition("/l/1", "[\"b\"]", "{\"l\":[\"a\",\"b\"]}", true);
}

static void test_no_value_meets_no_condition(void **state)
{
	struct rule_condition condition = {.pointer = STR("")};

	assert_false(condition_holds(&condition, NULL));
}

static void test_any_condition_is_enough(void **state)
{
	struct rule_condition conditions[] = {{.pointer = STR("/a")}, {.pointer = STR("/b")}};
	struct action action = {.response = {.failed_when = conditions, .failed_when_count = 2}};
	struct response_facts facts;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	response_read_value(&action, declare_json("{\"b\":1}", &mem), &mem, &facts);
	assert_true(facts.has_failed);
	response_read_value(&action, declare_json("{\"c\":1}", &mem), &mem, &facts);
	assert_false(facts.has_failed);
	arena_fini(&mem);
}

/* The tree is given back: what is kept are the texts. And without room nothing is said. */
static void test_memory(void **state)
{
	static const char body[] = "{\"id\":\"pay_1\",\"more\":[1,2,3,4,5,6,7,8,9]}";
	const struct action action = reading();
	struct response_facts facts;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	response_read(&action, str_of(NULL, 0), str_from(body), &mem, &facts);
	assert_true(str_equal(facts.reference, STR("pay_1")));
	assert_true(mem.used <= 64);
	mem.ceiling = mem.used;
	response_read(&action, str_of(NULL, 0), str_from(body), &mem, &facts);
	assert_int_equal(facts.reference.len, 0);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_length_is_bounded),
		cmocka_unit_test(test_what_is_json),
		cmocka_unit_test(test_is_read),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_no_value_meets_no_condition),
		cmocka_unit_test(test_any_condition_is_enough),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
