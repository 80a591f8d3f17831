/* Tables keep their columns, whatever stands in them. */
#include "cli/table.h"

#include "cli_test.h"

static const struct table_column columns[] = {{"NAME", 6}, {"N", 3}, {"LAST", 4}};

struct page {
	struct arena mem;
	struct buf out;
	struct table table;
};

static int set_up(void **state)
{
	static struct page page;

	arena_init(&page.mem, 1024 * 1024);
	buf_init(&page.out, 1024 * 1024);
	assert_true(table_begin(&page.table, columns, 3, 2, &page.mem));
	*state = &page;
	return 0;
}

static int tear_down(void **state)
{
	struct page *page = *state;

	buf_fini(&page->out);
	arena_fini(&page->mem);
	return 0;
}

static void add(struct page *page, const char *name, const char *number, const char *last)
{
	const struct str texts[] = {str_from(name), str_from(number), str_from(last)};

	table_add(&page->table, texts);
}

static void assert_written(struct page *page, const char *expected)
{
	table_write(&page->table, &page->out);
	buf_append_byte(&page->out, '\0');
	assert_string_equal(page->out.at, expected);
}

static void titles_alone_are_a_table(void **state)
{
	assert_written(*state, "NAME  N  LAST\n");
}

static void a_column_is_as_wide_as_it_needs_to_be(void **state)
{
	add(*state, "a", "100", "x");
	add(*state, "", "", "");
	assert_written(*state, "NAME  N    LAST\n"
			       "a     100  x\n"
			       "           \n");
}

static void a_long_text_is_cut(void **state)
{
	add(*state, "abcdefg", "1", "abcde");
	assert_written(*state, "NAME    N  LAST\n"
			       "abcde…  1  abc…\n");
}

static void a_control_does_not_reach_the_terminal(void **state)
{
	add(*state, "a\nb", "1", "\x1b");
	assert_written(*state, "NAME  N  LAST\n"
			       "a\\nb  1  \\x1b\n");
}

static void no_memory_is_no_table(void **state)
{
	struct arena mem;
	struct table table;

	arena_init(&mem, 64);
	assert_false(table_begin(&table, columns, 3, 1000, &mem));
	arena_fini(&mem);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(titles_alone_are_a_table), TEST(a_column_is_as_wide_as_it_needs_to_be),
		TEST(a_long_text_is_cut),	TEST(a_control_does_not_reach_the_terminal),
		TEST(no_memory_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
