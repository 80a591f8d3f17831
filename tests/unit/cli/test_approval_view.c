/* A person sees all that they answer for, and nothing that an agent made up to look like it. */
#include "cli/approval_view.h"

#include "cli_test.h"

#include <stdio.h>
#include <string.h>

struct view {
	struct arena mem;
	struct buf out;
};

static const char *show(struct view *view, const char *text)
{
	struct json_value *value;
	struct json_error error;

	arena_init(&view->mem, 1024 * 1024);
	buf_init(&view->out, 1024 * 1024);
	assert_int_equal(
		json_read(str_from(text), &json_limits_default, &view->mem, &value, &error), 0);
	approval_view_show(value, &view->mem, &view->out);
	assert_false(view->out.is_spoiled);
	buf_append_byte(&view->out, '\0');
	return view->out.at;
}

static void end_view(struct view *view)
{
	buf_fini(&view->out);
	arena_fini(&view->mem);
}

static void everything_that_counts_is_there(void **state)
{
	struct view view;

	assert_string_equal(
		show(&view,
		     "{\"operation\":{\"id\":\"op_1\",\"state\":\"awaiting_approval\"},"
		     "\"action\":\"payments.create\",\"class\":\"money\","
		     "\"summary\":\"Pay 9\",\"consequence\":\"Charges\",\"reversible\":false,"
		     "\"destination\":{\"upstream\":\"pay\",\"method\":\"POST\","
		     "\"url\":\"https://pay.test/v1\"},"
		     "\"command\":{\"amount\":9,\"to\":{\"name\":\"x\"}},"
		     "\"fingerprint\":\"f00d\","
		     "\"asked\":{\"by\":\"key_1\",\"agent\":\"bot\",\"account\":\"a\",\"at\":"
		     "\"T0\"},"
		     "\"expires_at\":\"T1\",\"needed\":2,\"given\":1,"
		     "\"answers\":[{\"by\":\"key_2\",\"role\":\"approver\",\"verdict\":"
		     "\"approved\","
		     "\"at\":\"T2\",\"why\":\"seen\"}],"
		     "\"alike\":1,\"alike_ids\":[\"op_2\"],"
		     "\"previous\":{\"operation\":\"op_0\",\"at\":\"T3\"},"
		     "\"changed\":[{\"path\":\"/amount\",\"from\":5,\"to\":9},"
		     "{\"path\":\"/to\",\"to\":{}},{\"path\":\"/memo\",\"from\":\"m\"}]}"),
		"Operation    op_1\n"
		"State        awaiting_approval, 1 of 2 approvals given\n"
		"Action       payments.create\n"
		"Class        money\n"
		"Summary      Pay 9\n"
		"Destination  POST https://pay.test/v1\n"
		"Upstream     pay\n"
		"Consequence  Charges\n"
		"Reversible   no\n"
		"Asked by     key_1\n"
		"Agent        bot\n"
		"Account      a\n"
		"Asked at     T0\n"
		"Until        T1\n"
		"Answers      T2  approved by key_2 (approver): seen\n"
		"Alike        1 more of the same wait, each for an answer of its own\n"
		"             op_2\n"
		"\nCommand\n"
		"  amount                 9\n"
		"  to                     {\"name\":\"x\"}\n"
		"\nOther than the last one, op_0 of T3\n"
		"  /amount                9; it was 5\n"
		"  /to                    new: {}\n"
		"  /memo                  no longer there; it was \"m\"\n"
		"\nFingerprint  f00d\n");
	end_view(&view);
}

static void an_agents_text_stays_on_its_line(void **state)
{
	struct view view;
	const char *page =
		show(&view, "{\"operation\":{\"id\":\"op_1\",\"state\":\"awaiting_approval\"},"
			    "\"summary\":\"harmless\\nReversible   yes\\u001b[2J\\u202e\","
			    "\"asked\":{\"agent\":\"\\u0007bot\"},"
			    "\"command\":{\"a\\nUntil        never\":\"x\\u001b]0;t\\u0007\\r\"}}");

	assert_non_null(strstr(page, "harmless\\nReversible   yes\\x1b[2J\\u202e\n"));
	assert_non_null(strstr(page, "Agent        \\x07bot\n"));
	assert_non_null(strstr(page, "  a\\nUntil        never"));
	assert_non_null(strstr(page, "\nReversible   nobody has said\n"));
	for (const char *at = page; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= ' ');
	end_view(&view);
}

static void nothing_of_a_long_command_is_cut(void **state)
{
	static char text[40000];
	struct view view;
	size_t len = (size_t)snprintf(text, sizeof(text), "{\"command\":{\"note\":\"");

	memset(text + len, 'x', 30000);
	snprintf(text + len + 30000, sizeof(text) - len - 30000, " the end\"}}");
	assert_non_null(strstr(show(&view, text), "xxx the end\"\n"));
	end_view(&view);
}

static void a_body_without_a_command_is_shown_as_it_is(void **state)
{
	struct view view;
	const char *page = show(&view, "{\"command\":null,\"body_preview\":\"a=b\\u0000\"}");

	assert_non_null(strstr(page, "\nBody         a=b\\x00\n"));
	assert_null(strstr(page, "Command"));
	end_view(&view);
}

static void the_same_as_last_time_is_said(void **state)
{
	struct view view;
	const char *page = show(&view, "{\"command\":{},\"changed\":[],"
				       "\"previous\":{\"operation\":\"op_0\",\"at\":\"T\"}}");

	assert_non_null(strstr(page, "Other than the last one, op_0 of T: nothing\n"));
	end_view(&view);
}

static void how_it_stands_is_one_line(void **state)
{
	struct view view;
	struct json_value *value;
	struct json_error error;

	(void)show(&view, "{}");
	buf_clear(&view.out);
	assert_int_equal(json_read(STR("{\"operation\":{\"id\":\"op_1\",\"state\":\"queued\"},"
				       "\"needed\":1,\"given\":1}"),
				   &json_limits_default, &view.mem, &value, &error),
			 0);
	approval_view_standing(value, &view.mem, &view.out);
	buf_append_byte(&view.out, '\0');
	assert_string_equal(view.out.at, "op_1  queued, 1 of 1 approval given\n");
	end_view(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_counts_is_there),
		cmocka_unit_test(an_agents_text_stays_on_its_line),
		cmocka_unit_test(nothing_of_a_long_command_is_cut),
		cmocka_unit_test(a_body_without_a_command_is_shown_as_it_is),
		cmocka_unit_test(the_same_as_last_time_is_said),
		cmocka_unit_test(how_it_stands_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
