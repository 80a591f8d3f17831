/* Operations are shown so that an operator can rely on what stands there. */
#include "cli/op_view.h"

#include "cli_test.h"

#include <stdio.h>

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

static void assert_shown(const char *operation, const char *expected)
{
	struct view view;

	op_view_show(read_json(&view, operation), &view.mem, &view.out);
	buf_append_byte(&view.out, '\0');
	assert_false(view.out.is_spoiled);
	assert_string_equal(view.out.at, expected);
	end_view(&view);
}

static void what_the_gate_will_do_is_shown(void **state)
{
	assert_shown("{\"id\":\"op_1\",\"tries\":3,\"due\":\"2026-01-02\","
		     "\"resource\":\"/v1/7\",\"retried_by\":[\"op_2\",\"op_3\"]}",
		     "Operation    op_1\n"
		     "Resource     /v1/7\n"
		     "Retried by   op_2, op_3\n"
		     "Gate tried   3 in a row\n"
		     "Next try     2026-01-02\n"
		     "\nTime line\n");
}

static void what_the_gate_will_not_do_is_not(void **state)
{
	assert_shown("{\"id\":\"op_1\",\"tries\":0,\"due\":null,\"retried_by\":[],"
		     "\"rules\":{\"unique\":null,\"lock\":null,\"budget\":null}}",
		     "Operation    op_1\n\nTime line\n");
}

static void tries_of_what_has_ended_are_not(void **state)
{
	assert_shown("{\"id\":\"op_1\",\"state\":\"completed\",\"tries\":3,\"due\":null}",
		     "Operation    op_1\nState        completed\n\nTime line\n");
}

static void assert_lock(const char *rest, const char *expected)
{
	char operation[512], page[512];

	snprintf(operation, sizeof(operation),
		 "{\"rules\":{\"lock\":{\"name\":\"service=web\",%s}}}", rest);
	snprintf(page, sizeof(page), "Lock         service=web\n             %s\n\nTime line\n",
		 expected);
	assert_shown(operation, page);
}

static void a_lock_says_who_has_it(void **state)
{
	assert_lock("\"holds\":true,\"waits\":false,\"fence\":7,\"version\":0,\"holder\":\"op_1\"",
		    "held by it, fencing number 7, version 0");
	assert_lock("\"holds\":false,\"waits\":true,\"fence\":0,\"version\":2,\"holder\":\"op_1\"",
		    "waits for it; held by op_1, version 2");
	assert_lock("\"holds\":false,\"waits\":true,\"fence\":0,\"version\":2,\"holder\":null",
		    "waits for it; its turn has come, version 2");
	assert_lock("\"holds\":false,\"waits\":false,\"fence\":7,\"version\":3,\"holder\":\"op_2\"",
		    "held by op_2, fencing number 7, version 3");
	assert_lock("\"holds\":false,\"waits\":false,\"fence\":7,\"version\":3,\"holder\":null",
		    "not held, fencing number 7, version 3");
}

/* Minor units read as whole ones would be a hundred times too much, or a thousand times. */
static void a_budget_is_in_the_currencys_units(void **state)
{
	assert_shown("{\"rules\":{\"budget\":{\"currency\":\"EUR\",\"spends\":2005,"
		     "\"total\":10000,\"used\":10900,\"left\":-900}}}",
		     "Budget       spends 20.05 EUR\n"
		     "             109.00 of 100.00 EUR used, -9.00 left\n"
		     "\nTime line\n");
	assert_shown("{\"rules\":{\"budget\":{\"currency\":\"JPY\",\"spends\":20}}}",
		     "Budget       spends 20 JPY\n\nTime line\n");
	assert_shown("{\"rules\":{\"budget\":{\"currency\":\"KWD\",\"spends\":20}}}",
		     "Budget       spends 0.020 KWD\n\nTime line\n");
}

static void an_amount_in_words_is_taken_as_it_is(void **state)
{
	assert_shown("{\"rules\":{\"unique\":{\"until\":\"2027\"},\"budget\":{\"currency\":\"?\","
		     "\"spends\":2005}}}",
		     "Unique until 2027\n"
		     "Budget       spends 2005 ?\n\nTime line\n");
}

static void the_time_line_says_whose_doing_it_was(void **state)
{
	assert_shown("{\"attempts\":[{\"at\":\"1\",\"outcome\":\"running\",\"by\":\"caller\","
		     "\"note\":null},"
		     "{\"at\":\"2\",\"outcome\":\"not_sent\",\"by\":\"dispatcher\"},"
		     "{\"at\":\"3\",\"outcome\":\"unknown\",\"by\":\"operator\","
		     "\"note\":\"released its lock; the host\\nis gone\"},"
		     "{\"at\":\"4\",\"outcome\":\"created\",\"by\":\"operator\","
		     "\"note\":\"resolved: it happened; seen\"},"
		     "{\"at\":\"5\",\"outcome\":\"refused\",\"by\":\"operator\","
		     "\"note\":null}]}",
		     "\nTime line\n"
		     "  1  attempt: running\n"
		     "  2  dispatcher: not_sent\n"
		     "  3  operator: released its lock; the host\\nis gone\n"
		     "  4  operator: resolved: it happened; seen\n"
		     "  5  operator: refused\n");
}

/* `forever` is a time a thousand years from now, which nobody reads as that. */
static void forever_is_shown_as_never(void **state)
{
	assert_shown("{\"expires\":\"3026-11-02T10:00:00.000Z\","
		     "\"rules\":{\"unique\":{\"until\":\"3026-11-02T10:00:00.000Z\"}}}",
		     "Expires      never\n"
		     "Unique until forever\n"
		     "\nTime line\n");
	assert_shown("{\"expires\":\"2126-11-02T10:00:00.000Z\"}",
		     "Expires      2126-11-02T10:00:00.000Z\n"
		     "\nTime line\n");
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
		cmocka_unit_test(what_the_gate_will_do_is_shown),
		cmocka_unit_test(what_the_gate_will_not_do_is_not),
		cmocka_unit_test(tries_of_what_has_ended_are_not),
		cmocka_unit_test(a_lock_says_who_has_it),
		cmocka_unit_test(a_budget_is_in_the_currencys_units),
		cmocka_unit_test(an_amount_in_words_is_taken_as_it_is),
		cmocka_unit_test(the_time_line_says_whose_doing_it_was),
		cmocka_unit_test(forever_is_shown_as_never),
		cmocka_unit_test(a_strange_answer_is_shown_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
