/* Shows what a question says to whoever answers, and how much less to whoever asked. */
#include "gate_test.h"

#include "gate/approval_json.h"

#define ID    "op_01KGAC9FDTZZZZZZZZZZZZZZZZ"
#define OTHER "op_01KGAC9FDT0000000000000000"

static const char config[] = "upstreams: {default: {url: 'http://127.0.0.1:1/base'}}\n"
			     "actions: {pay: {route: POST /pay}}\n";

struct written {
	struct buf text;
	struct arena mem;
	struct settings *settings;
	struct json_value *json;
};

static void begin(struct written *written, struct json_writer *json)
{
	struct settings_report report;

	settings_report_init(&report);
	assert_int_equal(
		settings_parse(str_from(config), "test", NULL, &written->settings, &report), 0);
	settings_report_fini(&report);
	buf_init(&written->text, 64 * 1024);
	arena_init(&written->mem, 1024 * 1024);
	json_writer_init(json, &written->text);
}

static void finish(struct written *written)
{
	assert_false(written->text.is_spoiled);
	written->json = json_from(buf_str(&written->text), &written->mem);
}

static void end(struct written *written)
{
	settings_free(written->settings);
	buf_fini(&written->text);
	arena_fini(&written->mem);
}

static struct store_operation an_operation(const char *id)
{
	struct store_operation operation = {
		.account = STR("acc"),
		.token = STR("token"),
		.method = STR("POST"),
		.path = STR("/pay"),
		.action = STR("pay"),
		.upstream = STR("default"),
		.state = STATE_AWAITING_APPROVAL,
		.created_ms = 1769847300250,
		.is_asked = true,
	};

	assert_true(operation_id_read(str_from(id), &operation.id));
	operation.fingerprint.bytes[0] = 0xfe;
	return operation;
}

static struct store_approval an_approval(void)
{
	return (struct store_approval){
		.needed = 2,
		.given = 1,
		.stand = APPROVAL_WAITS,
		.asked_ms = 1769847300250,
		.expires_ms = 1769847300251,
		.shown = STR(
			"{\"summary\":\"Pay 9\",\"consequence\":\"Charges\",\"reversible\":false,"
			"\"class\":\"money\",\"command\":{\"amount\":9,\"to\":\"x\"}}"),
		.asked_by = STR("key_1"),
		.asked_agent = STR("bot"),
		.answers = STR("[{\"by\":\"key_2\",\"agent\":\"ann\",\"account\":\"acc\","
			       "\"role\":\"approver\",\"verdict\":\"approved\","
			       "\"at_ms\":1769847300250,\"why\":\"\"}]"),
	};
}

static struct store_command a_find(struct arena *mem)
{
	return (struct store_command){
		.kind = STORE_FIND,
		.mem = mem,
		.operation = an_operation(ID),
		.approval = an_approval(),
		.request = {.method = STR("POST"),
			    .target = STR("/pay?x=1"),
			    .body = STR("{\"amount\":9}"),
			    .has_body = true},
	};
}

/* A body is looked into only where it is known that nothing of it is secret. */
static void nothing_is_told_of_what_cannot_be_read(void **state)
{
	struct written written;
	struct store_command find;
	struct json_writer json;

	begin(&written, &json);
	find = a_find(&written.mem);
	find.approval.shown = STR("{\"command\":");
	approval_found_json(&json, &find, written.settings);
	finish(&written);
	assert_type(written.json, "/summary", JSON_NULL);
	assert_type(written.json, "/command", JSON_NULL);
	assert_type(written.json, "/body_preview", JSON_NULL);
	end(&written);
}

static void whoever_answers_is_told_all(void **state)
{
	struct written written;
	struct store_command find;
	struct json_writer json;

	begin(&written, &json);
	find = a_find(&written.mem);
	find.previous = an_operation(OTHER).id;
	find.previous_ms = 1769847300250;
	find.previous_shown = STR("{\"command\":{\"amount\":5,\"to\":\"x\"}}");
	approval_found_json(&json, &find, written.settings);
	finish(&written);
	assert_member(written.json, "/operation/id", ID);
	assert_member(written.json, "/operation/account", "acc");
	assert_member(written.json, "/state", "waiting");
	assert_member(written.json, "/summary", "Pay 9");
	assert_member(written.json, "/consequence", "Charges");
	assert_member(written.json, "/class", "money");
	assert_type(written.json, "/reversible", JSON_FALSE);
	assert_member(written.json, "/destination/url", "http://127.0.0.1:1/base/pay?x=1");
	assert_member(written.json, "/destination/method", "POST");
	assert_number(written.json, "/command/amount", 9);
	assert_type(written.json, "/body_preview", JSON_NULL);
	assert_type(written.json, "/question", JSON_STRING);
	assert_member(written.json, "/asked/by", "key_1");
	assert_member(written.json, "/asked/agent", "bot");
	assert_member(written.json, "/expires_at", "2026-01-31T08:15:00.251Z");
	assert_number(written.json, "/needed", 2);
	assert_number(written.json, "/given", 1);
	assert_member(written.json, "/answers/0/by", "key_2");
	assert_member(written.json, "/answers/0/at", "2026-01-31T08:15:00.250Z");
	assert_member(written.json, "/previous/operation", OTHER);
	assert_number(written.json, "/previous/command/amount", 5);
	assert_member(written.json, "/changed/0/path", "/amount");
	assert_number(written.json, "/changed/0/from", 5);
	assert_number(written.json, "/changed/0/to", 9);
	assert_null(json_at(written.json, STR("/changed/1")));
	end(&written);
}

static void a_body_without_a_command_is_made_visible(void **state)
{
	struct written written;
	struct store_command find;
	struct json_writer json;

	begin(&written, &json);
	find = a_find(&written.mem);
	find.approval.shown = STR("{\"summary\":\"s\",\"command\":null}");
	find.request.body = STR("a=\x1b[2J");
	approval_found_json(&json, &find, written.settings);
	finish(&written);
	assert_type(written.json, "/command", JSON_NULL);
	assert_type(written.json, "/body_preview", JSON_STRING);
	assert_true(memchr(written.text.at, 0x1b, written.text.len) == NULL);
	assert_type(written.json, "/previous", JSON_NULL);
	end(&written);
}

static void whoever_asked_is_told_how_it_stands(void **state)
{
	const struct store_approval approval = an_approval();
	struct written written;
	struct json_writer json;

	begin(&written, &json);
	json_open_object(&json);
	approval_member_json(&json, &approval, true, &written.mem);
	json_close_object(&json);
	finish(&written);
	assert_member(written.json, "/approval/state", "waiting");
	assert_number(written.json, "/approval/needed", 2);
	assert_member(written.json, "/approval/summary", "Pay 9");
	assert_null(json_at(written.json, STR("/approval/answers")));
	assert_null(json_at(written.json, STR("/approval/asked_by")));
	end(&written);
}

static void nobody_asked_is_null(void **state)
{
	const struct store_approval none = {0};
	struct written written;
	struct json_writer json;

	begin(&written, &json);
	json_open_object(&json);
	approval_member_json(&json, &none, false, &written.mem);
	json_close_object(&json);
	finish(&written);
	assert_type(written.json, "/approval", JSON_NULL);
	end(&written);
}

static void equal_ones_of_a_page_name_each_other(void **state)
{
	struct store_operation found[3] = {an_operation(ID), an_operation(OTHER),
					   an_operation("op_01KGAC9FDT1111111111111111")};
	struct store_approval approvals[3] = {an_approval(), an_approval(), an_approval()};
	struct store_command list = {.kind = STORE_APPROVALS,
				     .found = found,
				     .approvals = approvals,
				     .found_count = 3,
				     .has_more = true,
				     .is_past = true};
	struct written written;
	struct json_writer json;

	approvals[2].alike.bytes[0] = 1;
	begin(&written, &json);
	list.mem = &written.mem;
	list.next_before = found[2].id;
	approval_list_json(&json, &list, written.settings);
	finish(&written);
	assert_number(written.json, "/approvals/0/alike", 1);
	assert_member(written.json, "/approvals/0/alike_ids/0", OTHER);
	assert_number(written.json, "/approvals/2/alike", 0);
	assert_member(written.json, "/next", "past-op_01KGAC9FDT1111111111111111");
	end(&written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_told_of_what_cannot_be_read),
		cmocka_unit_test(whoever_answers_is_told_all),
		cmocka_unit_test(a_body_without_a_command_is_made_visible),
		cmocka_unit_test(whoever_asked_is_told_how_it_stands),
		cmocka_unit_test(nobody_asked_is_null),
		cmocka_unit_test(equal_ones_of_a_page_name_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
