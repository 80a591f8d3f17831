/* Shows how an operator is told of locks: who holds one, who waits, and what was left out. */
#include "admin_test.h"

#include "admin/locks_json.h"

struct page {
	struct arena mem;
	struct buf body;
	struct operation_id waiters[2];
	struct store_lock locks[3]; /* held; held and waited for; waited for */
	struct store_command command;
};

static int set_up(void **state)
{
	struct page *page = calloc(1, sizeof(*page));

	arena_init(&page->mem, 1024 * 1024);
	buf_init(&page->body, 1024 * 1024);
	page->waiters[0].bytes[0] = 1;
	page->waiters[1].bytes[0] = 2;
	page->locks[0] = (struct store_lock){
		.account = STR("acme"),
		.name = STR("service=web"),
		.version = 3,
		.fence = 5,
		.is_held = true,
		.holder_state = STATE_UNKNOWN,
		.since_ms = 1000,
	};
	page->locks[1] = page->locks[0];
	page->locks[1].name = STR("service=api");
	page->locks[1].waiters = page->waiters;
	page->locks[1].waiter_count = 2;
	page->locks[1].waiting = 21;
	page->locks[2] = page->locks[1];
	page->locks[2].name = STR("service=job");
	page->locks[2].is_held = false;
	page->command.locks = page->locks;
	page->command.lock_count = 3;
	*state = page;
	return 0;
}

static int tear_down(void **state)
{
	struct page *page = *state;

	buf_fini(&page->body);
	arena_fini(&page->mem);
	free(page);
	return 0;
}

static const char *text_of(struct page *page, const struct locks_filter *filter)
{
	struct json_writer json;

	buf_fini(&page->body);
	buf_init(&page->body, 1024 * 1024);
	json_writer_init(&json, &page->body);
	locks_json(&json, &page->command, filter);
	buf_append_byte(&page->body, '\0');
	assert_false(page->body.is_spoiled);
	return page->body.at;
}

static void a_lock_is_told_whole(void **state)
{
	const struct locks_filter all = {0};
	struct page *page = *state;

	page->locks[0] = page->locks[1];
	page->command.lock_count = 1;
	assert_string_equal(
		text_of(page, &all),
		"{\"locks\":[{\"name\":\"service=api\",\"account\":\"acme\",\"version\":3,"
		"\"fence\":5,\"holder\":{\"id\":\"op_00000000000000000000000000\","
		"\"state\":\"unknown\",\"since\":\"1970-01-01T00:00:01.000Z\"},\"waiting\":21,"
		"\"waiters\":[\"op_01000000000000000000000000\","
		"\"op_02000000000000000000000000\"]}],\"next\":null}");
}

static void nobody_holds_it(void **state)
{
	const struct locks_filter all = {0};

	assert_non_null(strstr(text_of(*state, &all), "\"holder\":null,\"waiting\":21"));
}

static bool tells(struct page *page, const struct locks_filter *filter, const char *name)
{
	return strstr(text_of(page, filter), name) != NULL;
}

static void only_those_that_are_held(void **state)
{
	const struct locks_filter held = {.is_held = true};

	assert_true(tells(*state, &held, "service=web"));
	assert_true(tells(*state, &held, "service=api"));
	assert_false(tells(*state, &held, "service=job"));
}

static void only_those_that_are_waited_for(void **state)
{
	const struct locks_filter waited_for = {.is_waited_for = true};

	assert_false(tells(*state, &waited_for, "service=web"));
	assert_true(tells(*state, &waited_for, "service=api"));
	assert_true(tells(*state, &waited_for, "service=job"));
}

static void what_may_be_left_out_is_said(void **state)
{
	const struct locks_filter all = {0};
	struct page *page = *state;

	assert_non_null(strstr(text_of(page, &all), "\"next\":null"));
	page->command.has_more = true;
	page->command.lock_part = LOCKS_UNKNOWN;
	page->command.next_before = (struct operation_id){.bytes = {0, 0, 0, 0, 0, 0, 0, 7}};
	assert_non_null(strstr(text_of(page, &all), "\"next\":\"unknown-op_"));
	page->command.lock_part = LOCKS_AWAITED;
	assert_non_null(strstr(text_of(page, &all), "\"next\":\"waiting-op_"));
}

/* Behind those that are held there is none that is. */
static void held_ones_end_where_the_others_begin(void **state)
{
	const struct locks_filter held = {.is_held = true};
	struct page *page = *state;

	page->command.has_more = true;
	page->command.lock_part = LOCKS_UNKNOWN;
	assert_non_null(strstr(text_of(page, &held), "\"next\":\"unknown-op_"));
	page->command.lock_part = LOCKS_AWAITED;
	assert_non_null(strstr(text_of(page, &held), "\"next\":null"));
}

static const char *query(struct page *page, const char *text, struct locks_filter *out_filter)
{
	*out_filter = (struct locks_filter){0};
	page->command.limit = 0;
	return locks_query(str_from(text), &page->mem, out_filter, &page->command);
}

static void a_filter_is_read(void **state)
{
	struct locks_filter filter;

	assert_null(query(*state, "", &filter));
	assert_false(filter.is_held || filter.is_waited_for);
	assert_null(query(*state, "held=true&waiting=true", &filter));
	assert_true(filter.is_held && filter.is_waited_for);
	assert_null(query(*state, "held=false", &filter));
	assert_false(filter.is_held);
}

/* Taken for none, it would show more than was asked for. */
static void a_filter_that_says_nothing_is_refused(void **state)
{
	struct locks_filter filter;

	assert_non_null(query(*state, "held", &filter));
	assert_non_null(query(*state, "held=1", &filter));
	assert_non_null(query(*state, "waiting=%zz", &filter));
	assert_non_null(query(*state, "account=acme", &filter));
}

static void where_a_page_begins_is_read(void **state)
{
	static const char *const wrong[] = {
		"limit=0",
		"limit=201",
		"limit=x",
		"limit=",
		"cursor=",
		"cursor=7",
		"cursor=running-",
		"cursor=op_00000000000000000000000007",
		"cursor=others-op_00000000000000000000000007",
	};
	struct page *page = *state;
	struct locks_filter filter;

	assert_null(query(page, "limit=7&cursor=waiting-op_00000000000000000000000007", &filter));
	assert_int_equal(page->command.limit, 7);
	assert_int_equal(page->command.lock_part, LOCKS_AWAITED);
	assert_int_equal(page->command.before.bytes[OPERATION_ID_SIZE - 1], 7);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(query(page, wrong[i], &filter));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_lock_is_told_whole),
		TEST(nobody_holds_it),
		TEST(only_those_that_are_held),
		TEST(only_those_that_are_waited_for),
		TEST(what_may_be_left_out_is_said),
		TEST(held_ones_end_where_the_others_begin),
		TEST(where_a_page_begins_is_read),
		TEST(a_filter_is_read),
		TEST(a_filter_that_says_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
