/* A scenario is read whole, or all that is wrong with it is told, each with its place. */
#include "drill/scenario.h"

#include "drill/scenario_table.h"
#include "drill_test.h"

#include <stdio.h>

static const char good[] = "name: open a ticket\n"
			   "target: http://127.0.0.1:8080/\n"
			   "write:\n"
			   "  path: /v1/tickets\n"
			   "  headers: {Authorization: Bearer a}\n"
			   "  body: {project: drill, title: \"{marker}\", amount: 1.50, n: \"1\"}\n"
			   "id: /id\n"
			   "effects: {get: \"/v1/tickets?title={marker}\", count: /data}\n";

struct read {
	struct scenario scenario;
	struct settings_report report;
	struct arena mem;
	int result;
};

static void read_text(struct read *read, const char *text, const struct scenario_override *override)
{
	arena_init(&read->mem, SCENARIO_MEMORY_MAX);
	settings_report_init(&read->report);
	read->result = scenario_parse(str_from(text), "s.yaml", override, &read->mem,
				      &read->scenario, &read->report);
	if (read->result == 0)
		assert_int_equal(read->report.count, 0);
}

static void done(struct read *read)
{
	settings_report_fini(&read->report);
	arena_fini(&read->mem);
}

static void test_a_good_one(void **state)
{
	struct read read;

	read_text(&read, good, NULL);
	assert_int_equal(read.result, 0);
	assert_str(read.scenario.name, "open a ticket");
	assert_str(read.scenario.target, "http://127.0.0.1:8080");
	assert_str(read.scenario.write.method, "POST");
	assert_str(read.scenario.write.body.text,
		   "{\"project\":\"drill\",\"title\":\"{marker}\",\"amount\":1.50,\"n\":\"1\"}");
	assert_true(read.scenario.write.body.is_json);
	assert_str(read.scenario.key.header, "Idempotency-Key");
	assert_true(read.scenario.key.required);
	assert_int_equal(read.scenario.key.max_length, 255);
	assert_int_equal(read.scenario.copies, 20);
	assert_int_equal(read.scenario.timeout_ms, 10000);
	assert_int_equal(read.scenario.settle_ms, 5000);
	assert_true(read.scenario.tls.verify);
	done(&read);
}

static void test_everything(void **state)
{
	struct read read;
	char text[4096];

	snprintf(text, sizeof(text), "%s%s", good,
		 "change: {/title: \"{marker} changed\"}\n"
		 "key: {header: X-Key, required: false, max_length: 64}\n"
		 "resource: {get: \"/v1/tickets/{id}\", equals: {/n: 1}}\n"
		 "second_account: {headers: {Authorization: Bearer b}}\n"
		 "other_write: {path: /v1/other, body: text}\n"
		 "server: {start: ./run, kill: ./kill, reset: ./reset,\n"
		 "  ready: {get: /healthz, within: 2s}}\n"
		 "expiry: {after: 3s, then: new}\n"
		 "revoke: {command: ./revoke, headers: {Authorization: Bearer c}}\n"
		 "failing: {headers: {X-Fail: \"500\"}}\n"
		 "slow: {command: ./slow}\n"
		 "copies: 3\ntimeout: 250ms\nsettle: 1s\ntls: {ca_file: ca.pem, verify: false}\n");
	read_text(&read, text, NULL);
	assert_int_equal(read.result, 0);
	assert_str(read.scenario.change.items[0].name, "/title");
	assert_str(read.scenario.change.items[0].value, "\"{marker} changed\"");
	assert_str(read.scenario.resource.equals.items[0].value, "1");
	assert_false(read.scenario.other_write.body.is_json);
	assert_int_equal(read.scenario.server.ready_within_ms, 2000);
	assert_int_equal(read.scenario.expiry.then, SCENARIO_NEW);
	assert_true(scenario_has_means(&read.scenario.failing));
	assert_str(read.scenario.slow.command, "./slow");
	assert_false(read.scenario.tls.verify);
	done(&read);
}

static void test_the_command_line_wins(void **state)
{
	const struct scenario_override override = {
		.target = "http://127.0.0.1:1", .kill = "k", .start = "s"};
	struct read read;

	read_text(&read, good, &override);
	assert_int_equal(read.result, 0);
	assert_str(read.scenario.target, "http://127.0.0.1:1");
	assert_str(read.scenario.server.kill, "k");
	assert_str(read.scenario.server.start, "s");
	done(&read);
}

/* `expected`: "line:column what" of each error, what being a part of it; in the file's order. */
static void check_refused(const char *text, size_t count, const char *const *expected)
{
	struct read read;

	read_text(&read, text, NULL);
	assert_int_equal(read.result, SETTINGS_WRONG);
	for (size_t i = 0; i < read.report.count; i++) {
		const struct settings_error *error = &read.report.errors[i];
		char told[1024];
		const char *space;

		snprintf(told, sizeof(told), "%zu:%zu %s; %s", error->line, error->column,
			 error->what, error->mend);
		space = i < count ? strchr(expected[i], ' ') : NULL;
		if (!space || strncmp(told, expected[i], (size_t)(space - expected[i]) + 1) != 0 ||
		    !strstr(told, space + 1))
			fail_msg("%s, not %s", told, i < count ? expected[i] : "nothing");
	}
	assert_int_equal(read.report.count, count);
	done(&read);
}

static void test_all_errors_at_once(void **state)
{
	static const char text[] = "target: ftp://x\n"
				   "write:\n"
				   "  path: v1\n"
				   "  metod: POST\n"
				   "  headers: {\"a b\": c}\n"
				   "id: id\n"
				   "effects: {get: \"/x?{makrer}\", count: /d, command: y}\n"
				   "copies: 1000\n"
				   "settle: soon\n"
				   "expiry: {after: 1s, then: gone}\n"
				   "timeout: 1s\n"
				   "timeout: 2s\n"
				   "tls: yes\n";
	static const char *const expected[] = {
		"1:9 target is no such URL",
		"3:9 write.path does not begin with a slash",
		"4:3 did you mean method?",
		"5:13 a name that no header can have",
		"6:5 id is no JSON pointer",
		"7:10 more than one way",
		"7:10 {makrer}",
		"8:9 copies is too small or too large",
		"9:9 settle is no duration",
		"10:27 refused | new",
		"12:1 a second time",
		"13:6 tls is no mapping",
	};

	check_refused(text, sizeof(expected) / sizeof(expected[0]), expected);
}

static void test_what_is_missing(void **state)
{
	static const char *const all[] = {"1:1 target is missing", "1:1 write.path is missing",
					  "1:1 id is missing", "1:1 how effects are counted"};
	static const char *const list[] = {"1:1 a mapping of keys"};

	check_refused("name: x\n", 4, all);
	check_refused("- a\n", 1, list);
}

static void test_what_does_not_go_together(void **state)
{
	static const char more[] = "change: {/absent: 1}\n"
				   "other_write: {method: PUT}\n"
				   "server: {kill: x}\n"
				   "revoke: {command: x}\n";
	static const char *const expected[] = {
		"9:9 /absent, which is not in the body",
		"10:14 other_write.path is missing",
		"11:9 server.start is missing",
		"12:9 revoke.headers is missing",
	};
	char text[4096];

	snprintf(text, sizeof(text), "%s%s", good, more);
	check_refused(text, 4, expected);
}

/* Each example of the table is taken as the value of its own key. */
static void test_the_examples_of_the_table(void **state)
{
	for (size_t i = 0; i < scenario_key_count; i++) {
		const struct scenario_key *row = &scenario_keys[i];
		struct read read;
		char text[1024] = "", name[64];
		size_t len = 0, depth = 0;

		snprintf(name, sizeof(name), "%s", row->name);
		for (char *part = name, *dot; part; part = dot ? dot + 1 : NULL, depth++) {
			dot = strchr(part, '.');
			if (dot)
				*dot = '\0';
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%*s%s:%s",
						(int)depth * 2, "", part, dot ? "\n" : " ");
		}
		snprintf(text + len, sizeof(text) - len, "%s\n", row->example);
		read_text(&read, text, NULL);
		for (size_t j = 0; j < read.report.count; j++) {
			if (strncmp(read.report.errors[j].what, row->name, strlen(row->name)) ==
				    0 &&
			    !strstr(read.report.errors[j].what, "missing") &&
			    row->kind != SCENARIO_POINTERS)
				fail_msg("%s: %s", text, read.report.errors[j].what);
		}
		done(&read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_one),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_the_command_line_wins),
		cmocka_unit_test(test_all_errors_at_once),
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_what_does_not_go_together),
		cmocka_unit_test(test_the_examples_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
