/* Patterns are read or refused with a sentence; the most specific route that matches wins. */
#include "core/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct arena mem;

static struct route route_of(const char *pattern)
{
	struct route route;
	const char *detail = NULL;

	if (route_read(str_from(pattern), &mem, &route, &detail) != 0)
		fail_msg("%s: %s", pattern, detail);
	return route;
}

static void test_matching(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool does;
	} rows[] = {
		{"/v1/tickets", "/v1/tickets", true},
		{"/v1/tickets", "/v1/tickets/", false},
		{"/v1/tickets/", "/v1/tickets/", true},
		{"/v1/tickets/", "/v1/tickets", false},
		{"/v1/tickets", "/v1/ticket", false},
		{"/v1/tickets", "/v1/Tickets", false},
		{"/v1/tickets", "/v1", false},
		{"/v1/tickets", "/v1/tickets/1", false},
		{"/v1/tickets", "/v1//tickets", false},
		{"/v1/orders/{id}", "/v1/orders/7", true},
		{"/v1/orders/{id}", "/v1/orders/a%2Fb", true},
		{"/v1/orders/{id}", "/v1/orders/", false},
		{"/v1/orders/{id}", "/v1/orders//", false},
		{"/v1/orders/{id}/", "/v1/orders/7/", true},
		{"/v1/orders/{id}", "/v1/orders/7/items", false},
		{"/{a}/{b}", "/x/y", true},
		{"/", "/", true},
		{"/", "/x", false},
		{"/{a}", "/", false},
		{"/", "//", false},
		{"/v1/%7euser/%2f", "/v1/~user/%2F", true},
		{"/v1/x", "v1/x", false},
		{"/v1/x", "", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct route route = route_of(rows[i].pattern);

		if (route_matches(&route, str_from(rows[i].path), NULL) != rows[i].does)
			fail_msg("%s and %s", rows[i].pattern, rows[i].path);
	}
}

/* A path that is none of the route's, or of another one, by its spelling. */
static void test_mistakable(void **state)
{
	static const struct {
		const char *pattern, *found, *path;
		bool is;
	} rows[] = {
		{"/v1/tickets", NULL, "/v1/tickets", false},
		{"/v1/tickets", NULL, "/v1/tickets/", true},
		{"/v1/tickets/", NULL, "/v1/tickets", true},
		{"/v1/tickets", NULL, "//v1///tickets", true},
		{"/v1/tickets", NULL, "/V1/Tickets", true},
		{"/v1/tickets", NULL, "/v1/tickets;a=b", true},
		{"/v1/tickets", NULL, "/v1%3Bx/tickets", true},
		{"/v1/tickets", NULL, "/v1%2Ftickets", true},
		{"/v1/tickets", NULL, "/v1/tickets.json", true},
		{"/v1/tickets", NULL, "/v1.json/tickets", false},
		{"/v1/tickets", NULL, "/v1/tickets.%20.", true},
		{"/v1/tickets", NULL, "/v1/ticket", false},
		{"/v1/tickets", NULL, "/v1/tickets/1", false},
		{"/v1/tickets", NULL, "/v1", false},
		{"/v1/orders/{id}", NULL, "/v1/orders/7/", true},
		{"/v1/orders/{id}", NULL, "/v1/orders/", false},
		{"/", NULL, "//", true},
		{"/v1/orders", "/v1/orders/", "/v1/orders/", false},
		{"/v1/orders", "/v1/{kind}", "/v1/Orders", true},
		{"/v1/{kind}", "/v1/orders/", "/v1/orders/", false},
		{"/v1/pay/{id}/now", "/v1/pay/{id}", "/v1/pay/7%2Fnow", true},
		{"/v1/pay/{id}/now", "/v1/pay/{id}", "/v1/pay/7%2Flater", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct route route = route_of(rows[i].pattern), found = {0};

		if (rows[i].found)
			found = route_of(rows[i].found);
		if (route_is_mistakable(&route, rows[i].found ? &found : NULL,
					str_from(rows[i].path)) != rows[i].is)
			fail_msg("%s %s", rows[i].pattern, rows[i].path);
	}
}

static void test_values(void **state)
{
	struct str values[ROUTE_SEGMENTS_MAX];
	struct route route = route_of("/v1/{kind}/items/{item_id}");

	assert_true(route_matches(&route, STR("/v1/orders/items/a%20b"), values));
	assert_true(str_equal(values[0], STR("orders")));
	assert_true(str_equal(values[1], STR("a%20b")));
	assert_true(str_equal(route.segments[3].text, STR("item_id")));
	assert_true(str_equal(route.pattern, STR("/v1/{kind}/items/{item_id}")));
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"v1/tickets",
		"POST /v1/tickets",
		"/v1//tickets",
		"//",
		"/a/../b",
		"/a/./b",
		"/a%2F..",
		"/a b",
		"/a?x=1",
		"/a#b",
		"/a%zz",
		"/a%00",
		"/x{id}",
		"/{id}x",
		"/{id",
		"/id}",
		"/{}",
		"/{a b}",
		"/{1a}",
		"/{a}{b}",
		"/{{a}}",
		"/{a}/{a}",
		"/{a-b}",
		"/{a/b}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *detail = NULL;
		struct route route;

		if (route_read(str_from(rows[i]), &mem, &route, &detail) != ROUTE_WRONG)
			fail_msg("%s is taken", rows[i]);
		assert_non_null(detail);
		assert_true(detail[0] != '\0');
	}
}

static void test_longest(void **state)
{
	char pattern[2 * ROUTE_SEGMENTS_MAX + 3] = "";
	const char *detail = NULL;
	struct route route;

	for (size_t i = 0; i < ROUTE_SEGMENTS_MAX; i++)
		snprintf(pattern + 2 * i, sizeof(pattern) - 2 * i, "/a");
	route = route_of(pattern);
	assert_int_equal(route.count, ROUTE_SEGMENTS_MAX);
	assert_true(route_matches(&route, str_from(pattern), NULL));
	snprintf(pattern + 2 * ROUTE_SEGMENTS_MAX, 3, "/a");
	assert_false(route_matches(&route, str_from(pattern), NULL));
	assert_int_equal(route_read(str_from(pattern), &mem, &route, &detail), ROUTE_WRONG);
}

static void test_precedence(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
		bool overlaps;
	} rows[] = {
		{"/v1/orders/new", "/v1/orders/{id}", -1, false},
		{"/v1/{x}/new", "/v1/orders/{id}", 1, false},
		{"/{a}/b", "/a/{b}", 1, false},
		{"/v1/orders/{id}", "/v1/orders/{order_id}", 0, true},
		{"/v1/orders", "/v1/orders", 0, true},
		{"/v1/orders", "/v1/refunds", 0, false},
		{"/v1/orders/{id}", "/v1/refunds/{id}", 0, false},
		{"/v1/orders", "/v1/orders/", 0, false},
		{"/v1/orders/{id}", "/v1/orders/{id}/", 0, false},
		{"/v1/{a}", "/v1", 0, false},
		{"/", "/", 0, true},
		{"/%7Ea", "/~a", 0, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct route a = route_of(rows[i].a), b = route_of(rows[i].b);

		assert_int_equal(route_compare(&a, &b), rows[i].order);
		assert_int_equal(route_compare(&b, &a), -rows[i].order);
		assert_int_equal(route_overlaps(&a, &b), rows[i].overlaps);
		assert_int_equal(route_overlaps(&b, &a), rows[i].overlaps);
	}
}

/* Parameters are counted by themselves; a literal of the same text is none. */
static void test_parameters(void **state)
{
	struct route route = route_of("/v1/b/{a}/x/{b}");
	size_t parameter;

	assert_true(route_parameter(&route, STR("a"), &parameter));
	assert_int_equal(parameter, 0);
	assert_true(route_parameter(&route, STR("b"), &parameter));
	assert_int_equal(parameter, 1);
	assert_false(route_parameter(&route, STR("x"), &parameter));
}

static int open_memory(void **state)
{
	arena_init(&mem, 1 << 20);
	return 0;
}

static int close_memory(void **state)
{
	arena_fini(&mem);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matching),   cmocka_unit_test(test_mistakable),
		cmocka_unit_test(test_values),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_longest),	   cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_parameters),
	};

	return cmocka_run_group_tests(tests, open_memory, close_memory);
}
