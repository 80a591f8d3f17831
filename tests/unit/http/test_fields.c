/* Shows that fields are found without case, lists are read whole, and hops keep their own. */
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define F(name, value)                                                                             \
	{                                                                                          \
		{name, sizeof(name) - 1},                                                          \
		{                                                                                  \
			value, sizeof(value) - 1                                                   \
		}                                                                                  \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct http_field fields[] = {
	F("Accept", "a, \"b, c\" ,,d;q=1"),
	F("ACCEPT", "Last"),
	F("Connection", "X-Own, close"),
	F("connection", " ,x-other"),
};

static void names_compare_without_case(void **state)
{
	(void)state;
	assert_ptr_equal(http_field_find(fields, COUNT(fields), STR("accept")), &fields[0]);
	assert_null(http_field_find(fields, COUNT(fields), STR("accep")));
	assert_null(http_field_find(fields, 0, STR("accept")));
	assert_int_equal(http_field_count(fields, COUNT(fields), STR("aCCept")), 2);
	assert_int_equal(http_field_count(fields, COUNT(fields), STR("x")), 0);
}

static bool accepts(struct str member)
{
	return http_field_lists(fields, COUNT(fields), STR("accept"), member);
}

static void lists_are_read_whole(void **state)
{
	(void)state;
	assert_true(accepts(STR("A")));
	assert_true(accepts(STR("\"b, c\"")));
	assert_true(accepts(STR("d;q=1")));
	assert_true(accepts(STR("last")));
	assert_false(accepts(STR("c\"")));
	assert_false(accepts(STR("d")));
	assert_false(accepts(STR("")));
}

static bool ends_here(struct str name)
{
	return http_is_hop_by_hop(fields, COUNT(fields), name);
}

static void hops_keep_their_own(void **state)
{
	static const char *const own[] = {
		"Connection",
		"keep-alive",
		"Proxy-Connection",
		"te",
		"Trailer",
		"Transfer-Encoding",
		"UPGRADE",
		"Proxy-Authenticate",
		"Proxy-Authorization",
		"x-own",
		"X-Other",
		"Content-Length",
		"close",
	};
	static const char *const through[] = {"Accept", "Authorization", "X-Own2", "X-Ow", "T"};

	(void)state;
	for (size_t i = 0; i < COUNT(own); i++)
		assert_true(ends_here(str_from(own[i])));
	for (size_t i = 0; i < COUNT(through); i++)
		assert_false(ends_here(str_from(through[i])));
}

static void lines_are_told_one_by_one(void **state)
{
	struct str headers = STR("HTTP/1.1 200 OK\r\nA: 1\r\n: none\r\nB:2 \r\nC d: 3\r\n"
				 "E: \x01\r\nF:\r\n\r\nG: end");
	static const struct http_field expected[] = {F("A", "1"), F("B", "2"), F("F", ""),
						     F("G", "end")};
	struct http_field field;

	(void)state;
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_true(http_next_line(&headers, &field));
		assert_true(str_equal(field.name, expected[i].name));
		assert_true(str_equal(field.value, expected[i].value));
	}
	assert_false(http_next_line(&headers, &field));
	assert_false(http_next_line(&headers, &field));
}

static void a_line_is_found_by_its_name(void **state)
{
	struct str headers = STR("HTTP/1.1 200 OK\r\nA: 1\r\nb: 2\r\nB: 3\r\nC:\r\n");

	(void)state;
	assert_true(str_equal(http_line_value(headers, STR("B")), STR("2")));
	assert_int_equal(http_line_value(headers, STR("C")).len, 0);
	assert_int_equal(http_line_value(headers, STR("D")).len, 0);
}

static uint32_t wait_of(struct str value)
{
	struct http_field prefer = {{"prefer", 6}, value};

	return http_prefer_wait(&prefer, 1);
}

static void wait_is_read_from_prefer(void **state)
{
	static const struct http_field two[] = {F("Prefer", "wait=3"), F("Prefer", "wait=4")};

	(void)state;
	assert_int_equal(http_prefer_wait(NULL, 0), 0);
	assert_int_equal(http_prefer_wait(two, 2), 3);
	assert_int_equal(wait_of(STR("wait=10")), 10);
	assert_int_equal(wait_of(STR("respond-async, WAIT = \"7\" ; x=y")), 7);
	assert_int_equal(wait_of(STR("note=\"a, wait=5\"")), 0);
	assert_int_equal(wait_of(STR("wait=4294967295")), UINT32_MAX);
	assert_int_equal(wait_of(STR("wait=4294967296")), UINT32_MAX);
	assert_int_equal(wait_of(STR("wait=-1")), 0);
	assert_int_equal(wait_of(STR("wait=1.5")), 0);
	assert_int_equal(wait_of(STR("wait")), 0);
	assert_int_equal(wait_of(STR("wait=\"")), 0);
	assert_int_equal(wait_of(STR("waits=3")), 0);
	assert_int_equal(wait_of(STR("wait=x, wait=3")), 0);
}

static void names_and_values_are_told_from_harm(void **state)
{
	(void)state;
	assert_true(http_is_token(STR("A-b_1!")));
	assert_false(http_is_token(STR("")));
	assert_false(http_is_token(STR("a b")));
	assert_false(http_is_token(STR("a:")));
	assert_true(http_is_field_value(STR("")));
	assert_true(http_is_field_value(STR("a\tb \xff")));
	assert_false(http_is_field_value(STR("a\r\nb")));
	assert_false(http_is_field_value(STR("a\0b")));
	assert_false(http_is_field_value(STR("\x7f")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_compare_without_case),
		cmocka_unit_test(lists_are_read_whole),
		cmocka_unit_test(hops_keep_their_own),
		cmocka_unit_test(lines_are_told_one_by_one),
		cmocka_unit_test(a_line_is_found_by_its_name),
		cmocka_unit_test(wait_is_read_from_prefer),
		cmocka_unit_test(names_and_values_are_told_from_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
