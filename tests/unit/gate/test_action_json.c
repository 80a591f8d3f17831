/* Shows what the list of actions tells of an action's rules, and what it keeps to itself. */
#include "gate_test.h"

#include "gate/action_json.h"

struct written {
	struct settings *settings;
	struct buf text;
	struct arena mem;
	struct json_value *json;
};

/* The rules of the one action in this configuration. */
static void write_rules(struct written *written, const char *action)
{
	struct settings_report report;
	struct json_writer json;
	char text[2048];

	snprintf(text, sizeof(text),
		 "upstreams: {default: {url: 'http://127.0.0.1:1'}}\nactions: {%s}\n", action);
	settings_report_init(&report);
	if (settings_parse(str_from(text), "test", NULL, &written->settings, &report) != 0) {
		settings_report_print(&report, stderr);
		fail();
	}
	settings_report_fini(&report);
	buf_init(&written->text, 64 * 1024);
	arena_init(&written->mem, 1024 * 1024);
	json_writer_init(&json, &written->text);
	json_open_object(&json);
	action_rules_json(&json, written->settings, &written->settings->actions[0]);
	json_close_object(&json);
	assert_false(written->text.is_spoiled);
	written->json = json_from(buf_str(&written->text), &written->mem);
}

static void written_fini(struct written *written)
{
	buf_fini(&written->text);
	arena_fini(&written->mem);
	settings_free(written->settings);
}

static void an_action_without_rules_says_so(void **state)
{
	struct written written;

	write_rules(&written, "a: {route: POST /a}");
	assert_member(written.json, "/rules/dispatch", "sync");
	assert_type(written.json, "/rules/needs_token", JSON_TRUE);
	assert_type(written.json, "/rules/inbox", JSON_FALSE);
	assert_type(written.json, "/rules/probe", JSON_FALSE);
	assert_type(written.json, "/rules/lookup", JSON_FALSE);
	assert_type(written.json, "/rules/downstream_key", JSON_FALSE);
	assert_int_equal(json_at(written.json, STR("/rules"))->object.count, 6);
	written_fini(&written);
}

static void identity_and_lock_name_their_parts(void **state)
{
	struct written written;

	write_rules(
		&written,
		"a: {route: 'POST /a/{project}', fields: {service: {type: string, required: true}, "
		"seen: {type: integer}}, unique: {by: [project, service], for: 30d}, "
		"lock: {on: [service], held: queue, version: seen}, dispatch: outbox}");
	assert_member(written.json, "/rules/dispatch", "outbox");
	assert_member(written.json, "/rules/unique/by/0", "project");
	assert_member(written.json, "/rules/unique/by/1", "service");
	assert_number(written.json, "/rules/unique/for", 30 * 86400);
	assert_member(written.json, "/rules/lock/on/0", "service");
	assert_member(written.json, "/rules/lock/held", "queue");
	written_fini(&written);
}

static void forever_is_no_number(void **state)
{
	struct written written;

	write_rules(&written, "a: {route: 'POST /a/{id}', unique: {by: [id], for: forever}}");
	assert_type(written.json, "/rules/unique/for", JSON_NULL);
	written_fini(&written);
}

static void a_natural_action_needs_no_token(void **state)
{
	struct written written;

	write_rules(&written, "a: {route: 'PUT /a/{id}', natural: true}");
	assert_type(written.json, "/rules/needs_token", JSON_FALSE);
	written_fini(&written);
}

/* How the gate asks is between it and the service: a caller knows that it does. */
static void questions_are_not_told(void **state)
{
	struct written written;

	write_rules(
		&written,
		"a: {route: 'POST /a', probe: {get: '/find?by={operation}', found: {status: 200}, "
		"absent: {status: 404}}}");
	assert_type(written.json, "/rules/probe", JSON_TRUE);
	assert_null(memmem(written.text.at, written.text.len, "/find", 5));
	written_fini(&written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_action_without_rules_says_so),
		cmocka_unit_test(identity_and_lock_name_their_parts),
		cmocka_unit_test(forever_is_no_number),
		cmocka_unit_test(a_natural_action_needs_no_token),
		cmocka_unit_test(questions_are_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
