/* Operations are shown so that an operator can rely on what stands there. */
#include "cli/op_view.h"

#include "cli_test.h"

struct view {
	struct arena mem;
	struct buf out;
};

static struct json_value *read_json(struct view *view, const char *text)
{
	struct json_value *value;
	struct json_error error;

	arena_init(&view->mem, 1024 * 1024);
	buf_init(&view->out, 1024 * 1024);
	assert_int_equal(
		json_read(str_from(text), &json_limits_default, &view->mem, &value, &error), 0);
	return value;
}

static void end_view(struct view *view)
{
	buf_fini(&view->out);
	arena_fini(&view->mem);
}

static void a_table_has_aligned_columns(void **state)
{
	struct view view;
	struct json_value *operations = read_json(
		&view, "[{\"id\":\"op_1\",\"state\":\"unknown\",\"created\":\"2026\","
		       "\"attempt_count\":12,\"method\":\"POST\",\"path\":\"/v1\",\"action\":null,"
		       "\"token\":\"\xc3\xa9\",\"account\":\"a\"},"
		       "{\"id\":\"op_22\",\"state\":\"failed\",\"attempt_count\":1,"
		       "\"action\":\"pay\",\"token\":\"t\\n\"}]");

	assert_int_equal(op_view_list(operations, &view.mem, &view.out), 2);
	assert_false(view.out.is_spoiled);
	buf_append_byte(&view.out, '\0');
	assert_string_equal(view.out.at,
			    "OPERATION  STATE    CREATED  TRIES  REQUEST   TOKEN  ACCOUNT\n"
			    "op_1       unknown  2026     12     POST /v1  \xc3\xa9      a\n"
			    "op_22      failed            1      pay       t\\n    \n");
	end_view(&view);
}

static void no_operation_is_no_table(void **state)
{
	struct view view;

	assert_int_equal(op_view_list(read_json(&view, "[]"), &view.mem, &view.out), 0);
	assert_int_equal(op_view_list(NULL, &view.mem, &view.out), 0);
	assert_int_equal(view.out.len, 0);
	end_view(&view);
}

static void the_time_line_is_in_order(void **state)
{
	struct view view;
	struct json_value *operation = read_json(
		&view, "{\"id\":\"op_1\",\"state\":\"completed\",\"created\":\"2026-01-01\","
		       "\"updated\":\"2026-01-03\",\"attempt_count\":3,"
		       "\"response\":{\"status\":201,\"length\":5,\"digest\":\"d\",\"kept\":false},"
		       "\"attempts\":[{\"at\":\"2026-01-04\",\"outcome\":\"replayed\","
		       "\"delivered\":false},"
		       "{\"at\":\"2026-01-02\",\"outcome\":\"unknown\",\"agent\":\"ci\"}]}");

	op_view_show(operation, &view.mem, &view.out);
	buf_append_byte(&view.out, '\0');
	assert_string_equal(view.out.at, "Operation    op_1\n"
					 "State        completed\n"
					 "Response     201, 5 bytes, body not kept\n"
					 "             d\n"
					 "\nTime line\n"
					 "  2026-01-01  claimed\n"
					 "  2026-01-02  attempt: unknown  by ci\n"
					 "  2026-01-03  last change; now completed\n"
					 "  2026-01-04  attempt: replayed  (answer not delivered)\n"
					 "  (1 of 3 attempts are not listed)\n");
	end_view(&view);
}

static void a_strange_answer_is_shown_all_the_same(void **state)
{
	struct view view;
	struct json_value *operation = read_json(
		&view, "{\"id\":7,\"reason\":{\"a\":[1]},\"response\":\"?\",\"attempts\":{}}");

	op_view_show(operation, &view.mem, &view.out);
	buf_append_byte(&view.out, '\0');
	assert_string_equal(view.out.at, "Operation    7\n"
					 "Reason       {\"a\":[1]}\n"
					 "\nTime line\n");
	end_view(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_aligned_columns),
		cmocka_unit_test(no_operation_is_no_table),
		cmocka_unit_test(the_time_line_is_in_order),
		cmocka_unit_test(a_strange_answer_is_shown_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
