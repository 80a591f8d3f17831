/* Locks are shown with who holds them and who is next. */
#include "cli/lock_view.h"

#include "cli_test.h"

static void assert_shown(const char *text, size_t count, const char *expected)
{
	struct arena mem;
	struct buf out;
	struct json_value *locks;
	struct json_error error;

	arena_init(&mem, 1024 * 1024);
	buf_init(&out, 1024 * 1024);
	assert_int_equal(json_read(str_from(text), &json_limits_default, &mem, &locks, &error), 0);
	assert_int_equal(lock_view_list(locks, &mem, &out), count);
	buf_append_byte(&out, '\0');
	assert_string_equal(out.at, expected);
	buf_fini(&out);
	arena_fini(&mem);
}

static void a_held_one_and_one_whose_turn_comes(void **state)
{
	assert_shown(
		"[{\"name\":\"service=web\",\"account\":\"acme\",\"version\":3,\"fence\":5,"
		"\"holder\":{\"id\":\"op_1\",\"state\":\"unknown\",\"since\":\"2026\"},"
		"\"waiting\":2,\"waiters\":[\"op_2\",\"op_3\"]},"
		"{\"name\":\"service=job\",\"account\":\"b\",\"version\":0,\"fence\":0,"
		"\"holder\":null,\"waiting\":0,\"waiters\":[]}]",
		2,
		"LOCK         HELD BY  STATE    SINCE  WAITING  NEXT  FENCE  VERSION  ACCOUNT\n"
		"service=web  op_1     unknown  2026   2        op_2  5      3        acme\n"
		"service=job                           0              0      0        b\n");
}

static void no_lock_is_no_table(void **state)
{
	assert_shown("[]", 0, "");
	assert_shown("null", 0, "");
}

static void a_strange_answer_is_shown_all_the_same(void **state)
{
	assert_shown("[7,{\"name\":\"\\u001b[2J\",\"holder\":\"op_1\",\"waiters\":[8]}]", 2,
		     "LOCK     HELD BY  STATE  SINCE  WAITING  NEXT  FENCE  VERSION  ACCOUNT\n"
		     "                                                               \n"
		     "\\x1b[2J                                                        \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_held_one_and_one_whose_turn_comes),
		cmocka_unit_test(no_lock_is_no_table),
		cmocka_unit_test(a_strange_answer_is_shown_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
