/* Shows that the table of endpoints is whole, and which row a method and a path lead to. */
#include "admin_test.h"

#include "admin/api.h"

static struct arena mem;
static struct str parameters[API_PARAMETERS_MAX];
static const char *served;

static int set_up(void **state)
{
	arena_init(&mem, 64 * 1024);
	return 0;
}

static int tear_down(void **state)
{
	arena_fini(&mem);
	return 0;
}

static const struct api_endpoint *find(const char *method, const char *path)
{
	return api_endpoint_find(str_from(method), str_from(path), &mem, parameters, &served);
}

static bool is_good_power(enum caller_power power)
{
	for (unsigned role = ROLE_APPROVER; role < ROLE_COUNT; role++) {
		if (role_may((enum caller_role)role, power))
			return power != POWER_CALL;
	}
	return false;
}

static void every_row_is_whole(void **state)
{
	size_t count;
	const struct api_endpoint *rows = api_endpoints(&count);

	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(rows[i].method);
		assert_int_equal(rows[i].path[0], '/');
		assert_non_null(rows[i].handler);
		assert_true(rows[i].summary && rows[i].summary[0]);
		assert_true(rows[i].is_open || is_good_power(rows[i].power));
		if (strcmp(rows[i].method, "GET") == 0)
			assert_int_equal(rows[i].body, API_BODY_NONE);
	}
}

/* Its own path, taken as it is written, leads to each row and to no earlier one. */
static void every_row_is_reached(void **state)
{
	size_t count;
	const struct api_endpoint *rows = api_endpoints(&count);

	for (size_t i = 0; i < count; i++) {
		assert_ptr_equal(find(rows[i].method, rows[i].path), &rows[i]);
		assert_non_null(served);
	}
}

/* All that is open is named here; a row that joins them has to be thought of. */
static void health_alone_is_open(void **state)
{
	static const char *const open[] = {
		"/healthz", "/readyz", "/", "/console/{file}", "/api/session",
	};
	size_t count, found = 0;
	const struct api_endpoint *rows = api_endpoints(&count);

	for (size_t i = 0; i < count; i++) {
		if (!rows[i].is_open)
			continue;
		assert_true(found < sizeof(open) / sizeof(open[0]));
		assert_string_equal(rows[i].path, open[found++]);
	}
	assert_int_equal(found, sizeof(open) / sizeof(open[0]));
}

static void what_the_path_names_is_taken(void **state)
{
	assert_non_null(find("POST", "/api/operations/op_1/cancel"));
	assert_true(str_equal(parameters[0], STR("op_1")));
	assert_non_null(find("GET", "/api/operations/a%2Fb+c"));
	assert_true(str_equal(parameters[0], STR("a/b+c")));
}

static void a_get_is_a_heads_too(void **state)
{
	assert_ptr_equal(find("HEAD", "/api/locks"), find("GET", "/api/locks"));
	assert_null(find("HEAD", "/api/operations/op_1/cancel"));
	assert_string_equal(served, "POST");
}

static void what_is_no_row_is_not_served(void **state)
{
	static const char *const paths[] = {
		"",
		"/console/",
		"/api",
		"/api/",
		"/api/operations/",
		"/api/operations/%zz",
		"/api/operations/op_1/",
		"/api/operations/op_1/cancel/",
		"/api/operations/op_1/cancel/more",
		"/api/operations//cancel",
		"//api/operations",
		"/api/locks/",
		"/API/locks",
		"/healthz/",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (find("GET", paths[i]) || served)
			print_error("served: %s\n", paths[i]);
		assert_null(find("GET", paths[i]));
		assert_null(served);
	}
}

static void another_method_is_told_apart(void **state)
{
	assert_null(find("DELETE", "/api/locks"));
	assert_string_equal(served, "GET");
	assert_null(find("get", "/api/locks"));
	assert_string_equal(served, "GET");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_row_is_whole),	    TEST(every_row_is_reached),
		TEST(health_alone_is_open),	    TEST(what_the_path_names_is_taken),
		TEST(a_get_is_a_heads_too),	    TEST(what_is_no_row_is_not_served),
		TEST(another_method_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
