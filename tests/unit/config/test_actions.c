/*
 * Shows what a loaded configuration holds of its declared actions, and that everything that
 * can be wrong with one is reported where it stands.
 */
#include "base/err.h"
#include "config_test.h"

static const struct action_field *field_of(const struct action_field *fields, size_t count,
					   const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(fields[i].name, str_from(name)))
			return &fields[i];
	}
	fail_msg("there is no field %s", name);
	return NULL;
}

static const struct action_field *field(const struct action *action, const char *name)
{
	return field_of(action->fields, action->field_count, name);
}

static void without_actions_there_are_none(void **state)
{
	struct settings *settings = parse("actions: {}");

	assert_int_equal(settings->action_count, 0);
	assert_null(settings_action(settings, STR("a")));
	settings_free(settings);
}

static void an_action_holds_what_the_file_says(void **state)
{
	struct settings *settings = parse("actions:\n"
					  "  pay:\n"
					  "    route: POST /v1/payments\n"
					  "    summary: Pay {amount}\n"
					  "    upstream: other\n"
					  "    fields: {amount: {type: integer}}\n"
					  "    unknown_fields: keep\n"
					  "    token: {from: body, pointer: /meta/token}\n"
					  "    headers: [X-Tenant, x-b]\n"
					  "    statuses: {not_sent: [409]}\n"
					  "    timeout: 2s\n"
					  "    max_body: 64KiB\n"
					  "    max_response: 1KiB\n"
					  "    retention: forever\n"
					  "upstreams: {other: {url: http://b}}\n");
	const struct action *action = settings_action(settings, STR("pay"));

	assert_non_null(action);
	assert_string_equal(action->method.at, "POST");
	assert_true(route_matches(&action->route, STR("/v1/payments"), NULL));
	assert_string_equal(action->summary.at, "Pay {amount}");
	assert_string_equal(settings->upstreams[action->upstream].name.at, "other");
	assert_true(action->has_fields);
	assert_true(action->keeps_unknown);
	assert_string_equal(action->token_pointer.at, "/meta/token");
	assert_int_equal(action->header_count, 2);
	assert_string_equal(action->headers[1].at, "x-b");
	assert_true(action->has_statuses);
	assert_true(status_class_has(action->statuses.not_sent, 409));
	assert_false(status_class_has(action->statuses.not_sent, 503));
	assert_true(status_class_has(action->statuses.unknown, 504));
	assert_int_equal(action->timeout_ms, 2000);
	assert_int_equal(action->max_body, 65536);
	assert_int_equal(action->max_response, 1024);
	assert_int_equal(action->retention_ms, SETTINGS_FOREVER_MS);
	settings_free(settings);
}

static void an_action_needs_a_route_alone(void **state)
{
	struct settings *settings = parse("actions: {orders.put: {route: 'PUT /v1/orders/{id}'}}");
	const struct action *action = &settings->actions[0];

	assert_string_equal(action->name.at, "orders.put");
	assert_int_equal(action->upstream, 0);
	assert_false(action->has_fields);
	assert_false(action->keeps_unknown);
	assert_false(action->is_natural);
	assert_false(action->has_statuses);
	assert_int_equal(action->token_pointer.len, 0);
	assert_int_equal(action->timeout_ms + action->retention_ms, 0);
	assert_int_equal(action->max_body + action->max_response, 0);
	settings_free(settings);
}

static void fields_hold_their_rules(void **state)
{
	struct settings *settings = parse(
		"actions:\n"
		"  a:\n"
		"    route: POST /a\n"
		"    fields:\n"
		"      name: {type: string, required: true, min_length: 1, max_length: 9,\n"
		"        pattern: '^[a-z]+$', description: Its name, secret: true}\n"
		"      rank: {type: integer, minimum: -1, maximum: 10, default: 3}\n"
		"      level: {type: string, enum: [low, high], default: low, nullable: true}\n"
		"      ratio: {type: decimal, minimum: 0.25}\n"
		"      cost: {type: money, currency: code, unit: major}\n"
		"      fee: {type: money, currency: EUR}\n"
		"      code: {type: string}\n"
		"      made: {type: timestamp, server_assigned: true}\n"
		"      free: {type: object}\n"
		"      tight: {type: object, fields: {x: {type: boolean, default: false}}}\n"
		"      list: {type: array, items: {type: string}, min_items: 1, max_items: 2}\n"
		"      card: {type: object, secret: true, fields: {o: {type: object, fields: {\n"
		"        pin: {type: string, default: '1'}}}}}\n"
		"      loose: {type: array}\n");
	const struct action *a = &settings->actions[0];
	int64_t number;
	bool does;

	assert_int_equal(a->field_count, 13);
	assert_true(field(a, "name")->is_required && field(a, "name")->is_secret);
	assert_true(field(a, "name")->has_minimum_length && field(a, "name")->has_maximum_length);
	assert_int_equal(field(a, "name")->maximum_length, 9);
	assert_int_equal(matcher_ask(field(a, "name")->pattern, STR("abc"), &does), 0);
	assert_true(does);
	assert_int_equal(matcher_ask(field(a, "name")->pattern, STR("a1"), &does), 0);
	assert_false(does);
	assert_string_equal(field(a, "name")->pattern_text.at, "^[a-z]+$");
	assert_string_equal(field(a, "name")->text.at, "Its name");
	assert_true(json_number_to_i64(field(a, "rank")->minimum, &number) && number == -1);
	assert_int_equal(field(a, "rank")->default_value->type, JSON_NUMBER);
	assert_int_equal(field(a, "level")->choice_count, 2);
	assert_true(str_equal(field(a, "level")->choices[1]->string, STR("high")));
	assert_true(field(a, "level")->is_nullable);
	assert_true(field(a, "ratio")->minimum && !field(a, "ratio")->maximum);
	assert_string_equal(field(a, "cost")->currency_field.at, "code");
	assert_int_equal(field(a, "cost")->currency.len, 0);
	assert_true(field(a, "cost")->is_major && !field(a, "fee")->is_major);
	assert_string_equal(field(a, "fee")->currency.at, "EUR");
	assert_true(field(a, "made")->is_server_assigned);
	assert_true(field(a, "card")->fields[0].fields[0].is_secret);
	assert_true(field(a, "free")->keeps_unknown && !field(a, "tight")->keeps_unknown);
	assert_int_equal(field(a, "tight")->fields[0].default_value->type, JSON_FALSE);
	assert_int_equal(field(a, "list")->field_count, 1);
	assert_int_equal(field(a, "list")->fields[0].type, FIELD_STRING);
	assert_int_equal(field(a, "list")->maximum_length, 2);
	assert_int_equal(field(a, "loose")->fields[0].type, FIELD_ANY);
	settings_free(settings);
}

static void memory_follows_the_largest_body(void **state)
{
	struct settings *settings = parse("actions: {a: {route: POST /a, max_body: 100MiB}}");

	assert_int_equal(settings->limits.request_memory, 800 << 20);
	settings_free(settings);
}

static void actions_change_on_reload(void **state)
{
	struct settings *old = parse("actions: {a: {route: POST /a}}");
	struct settings *new = parse("actions: {b: {route: POST /b, natural: true}}");
	struct settings_report report;

	settings_report_init(&report);
	assert_int_equal(settings_reloadable(old, new, "gate.yaml", &report), 0);
	settings_report_fini(&report);
	settings_free(old);
	settings_free(new);
}

/* Each is what follows `actions:\n  a:\n    route: POST /a\n`; line 4 is its first. */
static const struct {
	const char *text;
	size_t line, column;
	const char *what, *mend;
} wrong_actions[] = {
	{"    sumary: x", 4, 5, "`sumary` in an action", "did you mean summary?"},
	{"    approval: {}", 4, 15, "approval has no when", "add when"},
	{"    upstream: pay", 4, 15, "there is no upstream `pay`", "declare it below upstreams"},
	{"    summary: 'x {b}'", 4, 14, "names {b}, which is not declared", NULL},
	{"    summary: 'x {'", 4, 14, "a { without its }", NULL},
	{"    summary: '{b}'\n    fields: {b: {type: string, secret: true}}", 4, 14, "is secret",
	 NULL},
	{"    unknown_fields: keep", 4, 21, "no use without fields", NULL},
	{"    token: {from: body}", 4, 19, "nothing says where", "pointer: /request_id"},
	{"    token: {pointer: /a}", 4, 22, "no use while the token is in the header", NULL},
	{"    token: {from: cookie}", 4, 19, "none of its words", "header | body"},
	{"    token: {from: body, pointer: a}", 4, 34, "not a JSON pointer", NULL},
	{"    token: {from: body, pointer: /a~2}", 4, 34, "not a JSON pointer", NULL},
	{"    token: {from: body, pointer: /b/c}\n    fields: {}", 4, 34, "not declared", NULL},
	{"    token: {from: body, pointer: /b/c/d}\n    fields: {b: {type: object, fields: {}}}", 4,
	 34, "not declared", NULL},
	{"    token: {from: body, pointer: /b/c}\n    fields: {b: {type: string}}", 4, 34,
	 "is no object", "type object"},
	{"    token: {from: body, pointer: /b}\n    fields: {b: {type: integer}}", 4, 34,
	 "is no string", NULL},
	{"    token: {from: body, pointer: /b~1c}\n    fields: {b/c: {type: integer}}", 4, 34,
	 "is no string", NULL},
	{"    token: {from: body, pointer: /b}\n    fields: {b: {type: string, secret: true}}", 4,
	 34, "secret", NULL},
	{"    token: {from: body, pointer: /b/c}\n    fields: {b: {type: object, secret: true}}", 4,
	 34, "secret", NULL},
	{"    natural: true\n    token: {from: header}", 4, 14, "a natural action needs no", NULL},
	{"    headers: [Host]", 4, 15, "`Host`, which is a header that means", NULL},
	{"    headers: [X-A, x-a]", 4, 20, "there already", NULL},
	{"    headers: [idempotency-key]", 4, 15, "never part of the fingerprint", NULL},
	{"    headers: [[a]]", 4, 15, "not a single value", NULL},
	{"    statuses: {unknown: [429]}", 4, 25, "429 is in not_sent and in unknown", NULL},
	{"    statuses: {unknown: [200]}", 4, 26, "out of its range", NULL},
	{"    timeout: 2h", 4, 14, "out of its range", NULL},
	{"    fields: []", 4, 13, "a list where a mapping of fields", NULL},
	{"  a: {route: POST /b}", 4, 3, "second time", NULL},
	{"  b: {route: POST /a}", 4, 14, "the route of a takes too (line 3, column 12)", NULL},
	{"  b: {}", 4, 3, "the action b has no route", NULL},
	{"  b: [a]", 4, 6, "b is not a mapping", "like {route: "},
	{"  b c: {}", 4, 3, "cannot be the name of an action", NULL},
	{"  PATCH: {}", 4, 3, "cannot be the name of an action", "not capitals alone"},
	{"  A_B: {}", 4, 3, "cannot be the name of an action", NULL},
	{"  M-SEARCH: {}", 4, 3, "cannot be the name of an action", NULL},
	{"  .b: {}", 4, 3, "cannot be the name of an action", NULL},
	{"  b: {route: POST /%2Ecounterfoil/b}", 4, 14, "which the gate answers itself", NULL},
	{"  b: {route: GET /b}", 4, 14, "`GET`, which does not write", NULL},
	{"  b: {route: 'PO ST /b'}", 4, 14, "cannot be read", NULL},
	{"  b: {route: \"P\\\"ST /b\"}", 4, 14, "which is not a method", NULL},
	{"  b: {route: /b}", 4, 14, "lacks one of the two", NULL},
	{"  b: {route: POST b}", 4, 14, "does not begin with a slash", NULL},
	{"  b: {route: 'POST /{a}/{a}'}", 4, 14, "names two parameters the same", NULL},
	{"  b: {route: 'POST /{x}b'}", 4, 14, "brace", NULL},
};

/* Each is a field `f` of that action, at 4:13, beside what is behind it. */
static const struct {
	const char *text;
	size_t column;
	const char *what, *mend;
} wrong_fields[] = {
	{"f: {}}", 17, "the field f has no type", NULL},
	{"f: {type: strin}}", 24, "`strin`, which is none of its words", "string | integer"},
	{"f: string}", 17, "f is not a mapping", "like {type: string}"},
	{"'': {type: any}}", 14, "cannot be the name of a field", NULL},
	{"f: {type: any}, f: {type: any}}", 30, "second time", NULL},
	{"f: {type: any, requird: true}}", 29, "`requird`", "did you mean required?"},
	{"f: {type: money}}", 17, "money without a currency", NULL},
	{"f: {type: money, currency: g}}", 41, "from g, which is not declared", NULL},
	{"f: {type: money, currency: g}, g: {type: integer}}", 41, "from g, which is no string",
	 NULL},
	{"f: {type: money, currency: g}, g: {type: string, server_assigned: true}}", 41,
	 "which is server_assigned", NULL},
	{"f: {type: money, currency: EUX}}", 41, "EUX, which is not known", NULL},
	{"f: {type: money, currency: XAU}}", 41, "XAU, which has no minor unit", NULL},
	{"f: {type: money, currency: EUR, unit: cents}}", 52, "none of its words", NULL},
	{"f: {type: string, currency: EUR}}", 42, "type string, which has no currency", NULL},
	{"f: {type: string, unit: minor}}", 38, "which has no unit", NULL},
	{"f: {type: integer, pattern: a}}", 42, "type integer, which has no pattern", NULL},
	{"f: {type: integer, min_length: 1}}", 45, "has no min_length", NULL},
	{"f: {type: string, minimum: 1}}", 41, "has no minimum", NULL},
	{"f: {type: string, max_items: 1}}", 43, "has no max_items", NULL},
	{"f: {type: string, items: {type: any}}}", 39, "has no items", NULL},
	{"f: {type: array, fields: {}}}", 39, "has no fields", NULL},
	{"f: {type: boolean, enum: [true]}}", 39, "has no enum", NULL},
	{"f: {type: object, unknown_fields: keep}}", 48, "may have any member", NULL},
	{"f: {type: string, pattern: 'a(b'}}", 41, "cannot be used: Unmatched", NULL},
	{"f: {type: string, pattern: '(a)\\1'}}", 41, "back references", NULL},
	{"f: {type: string, pattern: '((a{1,200}){1,200}){9}'}}", 41, "multiply", NULL},
	{"f: {type: string, min_length: 2, max_length: 1}}", 44, "a least over its most", NULL},
	{"f: {type: array, min_items: 2, max_items: 1}}", 42, "a least over its most", NULL},
	{"f: {type: integer, minimum: 2, maximum: 1.5}}", 42, "a minimum over its maximum", NULL},
	{"f: {type: integer, minimum: two}}", 42, "`two`, which is not a number", NULL},
	{"f: {type: string, required: true, default: a}}", 57, "default is never taken", NULL},
	{"f: {type: string, required: true, server_assigned: true}}", 65, "assigned by the server",
	 NULL},
	{"f: {type: string, server_assigned: true, default: a}}", 64, "counts for nothing", NULL},
	{"f: {type: string, default: 5}}", 41, "default of the field f breaks", "in quotes"},
	{"f: {type: string, default: ~}}", 41, "default of the field f breaks", NULL},
	{"f: {type: string, max_length: 2, default: abc}}", 56, "default of the field f", NULL},
	{"f: {type: string, pattern: ^b, default: a}}", 54, "default of the field f", NULL},
	{"f: {type: string, enum: [a, b], default: c}}", 55, "default of the field f", NULL},
	{"f: {type: integer, maximum: 2, default: 3}}", 54, "default of the field f", NULL},
	{"f: {type: boolean, default: \"true\"}}", 42, "default of the field f", NULL},
	{"f: {type: reference, default: main}}", 44, "default of the field f", NULL},
	{"f: {type: timestamp, default: now}}", 44, "default of the field f", NULL},
	{"f: {type: money, currency: JPY, unit: major, default: 1.5}}", 68, "default of the field",
	 NULL},
	{"f: {type: object, fields: {x: {type: any}}, default: {y: 1}}}", 67, "default of the",
	 NULL},
	{"f: {type: any, default: {y: 1, y: 2}}}", 45, "second time", NULL},
	{"f: {type: string, enum: [1, b]}}", 39, "a value in enum of the field f", "in quotes"},
	{"f: {type: integer, enum: [1, b]}}", 43, "a value in enum of the field f", NULL},
	{"f: {type: string, enum: []}}", 38, "enum is empty", NULL},
	{"f: {type: array, items: {}}}", 38, "items has no type", NULL},
	{"f: {type: array, items: {type: any, required: true}}}", 60, "cannot be required", NULL},
	{"f: {type: array, items: {type: any, default: 1}}}", 59, "cannot have a default", NULL},
	{"f: {type: array, items: {type: money, currency: g}}, g: {type: string}}", 62,
	 "not declared beside it", NULL},
	{"f: {type: object, fields: {x: {type: strin}}}}", 51, "none of its words", NULL},
};

static void expect_alone(const char *text, size_t line, size_t column, const char *what,
			 const char *mend)
{
	struct settings *settings = NULL;
	struct settings_report report;
	const struct settings_error *error = &report.errors[0];
	int r;

	settings_report_init(&report);
	r = settings_parse(str_from(text), "gate.yaml", &upstream_alone, &settings, &report);
	if (r != SETTINGS_WRONG || report.count != 1) {
		settings_report_print(&report, stderr);
		fail_msg("%zu errors in %s", report.count, text);
	}
	if (error->line != line || error->column != column || !strstr(error->what, what) ||
	    (mend && !strstr(error->mend, mend)))
		fail_msg("expected %zu:%zu %s; got %zu:%zu: %s; %s", line, column, what,
			 error->line, error->column, error->what, error->mend);
	assert_true(strlen(error->mend) > 5);
	settings_report_fini(&report);
}

static void each_error_of_an_action_stands_where_it_is(void **state)
{
	for (size_t i = 0; i < sizeof(wrong_actions) / sizeof(wrong_actions[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text), "actions:\n  a:\n    route: POST /a\n%s\n",
			 wrong_actions[i].text);
		expect_alone(text, wrong_actions[i].line, wrong_actions[i].column,
			     wrong_actions[i].what, wrong_actions[i].mend);
	}
}

static void each_error_of_a_field_stands_where_it_is(void **state)
{
	for (size_t i = 0; i < sizeof(wrong_fields) / sizeof(wrong_fields[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "actions:\n  a:\n    route: POST /a\n    fields: {%s\n",
			 wrong_fields[i].text);
		expect_alone(text, 4, wrong_fields[i].column, wrong_fields[i].what,
			     wrong_fields[i].mend);
	}
}

/* A secret default that is wrong is not shown. */
static void a_secret_is_not_repeated(void **state)
{
	struct settings *settings = NULL;
	struct settings_report report;

	settings_report_init(&report);
	assert_int_equal(
		settings_parse(STR("actions: {a: {route: POST /a, fields: {f: {type: string,\n"
				   "  secret: true, max_length: 2, default: hunter}}}}"),
			       "gate.yaml", &upstream_alone, &settings, &report),
		SETTINGS_WRONG);
	assert_int_equal(report.count, 1);
	assert_null(strstr(report.errors[0].what, "hunter"));
	settings_report_fini(&report);
}

/* Fields `depth` deep, each the only one of the one around it. */
static void write_nested(struct buf *text, int depth)
{
	buf_append_str(text, STR("actions: {a: {route: POST /a, "));
	for (int i = 0; i < depth; i++)
		buf_append_str(text, STR("fields: {f: {type: object, "));
	for (int i = 0; i < depth; i++)
		buf_append_str(text, STR("}}"));
	buf_append_str(text, STR("}}"));
}

static void fields_nest_up_to_a_bound(void **state)
{
	struct settings *settings = NULL;
	struct settings_report report;
	struct buf text;

	settings_report_init(&report);
	buf_init(&text, 4096);
	write_nested(&text, SETTINGS_FIELD_DEPTH_MAX);
	assert_int_equal(settings_parse(buf_str(&text), "a", &upstream_alone, &settings, &report),
			 0);
	settings_free(settings);
	buf_clear(&text);
	write_nested(&text, SETTINGS_FIELD_DEPTH_MAX + 1);
	assert_int_equal(settings_parse(buf_str(&text), "a", &upstream_alone, &settings, &report),
			 SETTINGS_WRONG);
	assert_int_equal(report.count, 1);
	assert_non_null(strstr(report.errors[0].what, "nested too deeply"));
	buf_fini(&text);
	settings_report_fini(&report);
}

static void actions_and_fields_are_bounded(void **state)
{
	struct settings *settings = NULL;
	struct settings_report report;
	struct buf text;

	settings_report_init(&report);
	buf_init(&text, 1 << 20);
	buf_append_str(&text, STR("actions:\n"));
	for (int i = 0; i <= SETTINGS_ACTIONS_MAX; i++)
		buf_printf(&text, "  a%d: {route: POST /%d}\n", i, i);
	assert_int_equal(settings_parse(buf_str(&text), "a", &upstream_alone, &settings, &report),
			 SETTINGS_WRONG);
	assert_non_null(strstr(report.errors[0].what, "too many actions"));
	buf_clear(&text);
	buf_append_str(&text, STR("actions:\n  a:\n    route: POST /a\n    fields:\n"));
	for (int i = 0; i <= SETTINGS_FIELDS_MAX; i++)
		buf_printf(&text, "      f%d: {type: any}\n", i);
	assert_int_equal(settings_parse(buf_str(&text), "a", &upstream_alone, &settings, &report),
			 SETTINGS_WRONG);
	assert_int_equal(report.count, 2);
	assert_non_null(strstr(report.errors[1].what, "too many fields"));
	buf_fini(&text);
	settings_report_fini(&report);
}

static void all_errors_come_at_once(void **state)
{
	struct settings *settings = NULL;
	struct settings_report report;
	static const size_t lines[] = {4, 5, 6, 8, 9, 11};

	settings_report_init(&report);
	assert_int_equal(settings_parse(STR("actions:\n"
					    "  a:\n"
					    "    route: POST /a\n"
					    "    upstream: nowhere\n"
					    "    summary: '{b}'\n"
					    "    approval: {when: alway}\n"
					    "    fields:\n"
					    "      m: {type: money}\n"
					    "      i: {type: integer, pattern: a}\n"
					    "  b:\n"
					    "    route: POST /a\n"),
					"gate.yaml", &upstream_alone, &settings, &report),
			 SETTINGS_WRONG);
	assert_int_equal(report.count, sizeof(lines) / sizeof(lines[0]));
	for (size_t i = 0; i < report.count; i++)
		assert_int_equal(report.errors[i].line, lines[i]);
	settings_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_actions_there_are_none),
		cmocka_unit_test(an_action_holds_what_the_file_says),
		cmocka_unit_test(an_action_needs_a_route_alone),
		cmocka_unit_test(fields_hold_their_rules),
		cmocka_unit_test(memory_follows_the_largest_body),
		cmocka_unit_test(actions_change_on_reload),
		cmocka_unit_test(each_error_of_an_action_stands_where_it_is),
		cmocka_unit_test(each_error_of_a_field_stands_where_it_is),
		cmocka_unit_test(a_secret_is_not_repeated),
		cmocka_unit_test(fields_nest_up_to_a_bound),
		cmocka_unit_test(actions_and_fields_are_bounded),
		cmocka_unit_test(all_errors_come_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
