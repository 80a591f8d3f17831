/*
 * Shows which configuration an OpenAPI document becomes: its actions, routes and fields, what
 * a person is asked, and that it always passes the check.
 */
#include "config/import.h"

#include "config/import_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct imported {
	struct buf text;
	struct settings *settings;
};

static struct settings *check(struct str text)
{
	struct settings *settings = NULL;
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = settings_parse(text, "imported.yaml", NULL, &settings, &report);
	settings_report_print(&report, stderr);
	settings_report_fini(&report);
	if (r != 0)
		fail_msg("not a good configuration:\n%.*s", STR_ARG(text));
	return settings;
}

static void import(const char *document, struct imported *out)
{
	struct settings_report report;
	int r;

	settings_report_init(&report);
	buf_init(&out->text, SETTINGS_FILE_MAX);
	r = import_openapi_text(str_from(document), "api.yaml", &out->text, &report);
	settings_report_print(&report, stderr);
	settings_report_fini(&report);
	assert_int_equal(r, 0);
	buf_append_byte(&out->text, '\0');
	out->text.len--;
	out->settings = check(buf_str(&out->text));
}

static void done(struct imported *imported)
{
	settings_free(imported->settings);
	buf_fini(&imported->text);
}

#define HEAD   "openapi: 3.0.3\n"
#define POST_A HEAD "paths: {/a: {post: {requestBody: {content: {application/json: {schema:\n"
#define END    "}}}}}}\n"

/* One action, POST /a, with that schema of its body. */
static void import_schema(const char *schema, const char *rest, struct imported *out)
{
	char document[4096];

	snprintf(document, sizeof(document), POST_A "%s" END "%s", schema, rest);
	import(document, out);
	assert_int_equal(out->settings->action_count, 1);
}

static const struct action_field *field(const struct imported *imported, const char *name)
{
	const struct action *action = &imported->settings->actions[0];

	for (size_t i = 0; i < action->field_count; i++) {
		if (str_equal(action->fields[i].name, str_from(name)))
			return &action->fields[i];
	}
	fail_msg("there is no field %s in\n%s", name, imported->text.at);
	return NULL;
}

static bool says(const struct imported *imported, const char *text)
{
	return strstr(imported->text.at, text) != NULL;
}

static void writes_become_actions(void **state)
{
	struct imported imported;
	const struct action *action;

	import(HEAD "servers: [{url: https://shop.test/api}]\n"
		    "paths:\n"
		    "  /orders:\n"
		    "    get: {}\n"
		    "    post: {operationId: create order!, summary: 'Make {one}'}\n"
		    "  /orders/{order-id}:\n"
		    "    put: {operationId: create order?}\n"
		    "    patch: {operationId: PATCH}\n"
		    "    delete: {}\n",
	       &imported);
	assert_int_equal(imported.settings->action_count, 4);
	assert_non_null(settings_action(imported.settings, STR("patch.orders.order-id")));
	assert_string_equal(imported.settings->upstreams[0].url.text.at, "https://shop.test/api");
	action = settings_action(imported.settings, STR("create_order"));
	assert_string_equal(action->method.at, "POST");
	assert_string_equal(action->summary.at, "Make (one)");
	assert_false(action->has_fields);
	action = settings_action(imported.settings, STR("create_order_2"));
	assert_string_equal(action->method.at, "PUT");
	assert_true(route_matches(&action->route, STR("/orders/7"), NULL));
	assert_true(str_equal(action->route.segments[1].text, STR("order_id")));
	assert_non_null(settings_action(imported.settings, STR("delete.orders.order-id")));
	assert_true(says(&imported, "Then natural: true"));
	assert_false(says(&imported, "approve")); /* what is not built is no question */
	assert_true(says(&imported, "after a lost answer"));
	assert_true(says(&imported, "Then lock: {on:"));
	done(&imported);
}

/* Rules that names suggest stand there as comments, which are right without their mark. */
static void rules_are_suggested_to_a_person(void **state)
{
	struct imported imported;
	char *unique;

	import_schema("{type: object, required: [payment_id, amount, made_id], properties: {\n"
		      "made_id: {type: string, readOnly: true}, payment_id: {type: string},\n"
		      "amount: {type: integer}}}",
		      "", &imported);
	assert_int_equal(imported.settings->actions[0].unique.count, 0);
	assert_true(says(&imported, "\n    # budget: {of: payment_id, amount: amount}\n"));
	unique = strstr(imported.text.at, "    # unique: {by: [payment_id], for: 30d}\n");
	assert_non_null(unique);
	memmove(unique + 4, unique + 6, strlen(unique + 6) + 1);
	settings_free(imported.settings);
	imported.settings = check(str_from(imported.text.at));
	assert_int_equal(imported.settings->actions[0].unique.count, 1);
	done(&imported);
}

static void no_rule_is_suggested_by_other_names(void **state)
{
	struct imported imported;

	import_schema("{type: object, required: [name], properties: {name: {type: string},\n"
		      "order_id: {type: string}}}",
		      "", &imported);
	assert_false(says(&imported, "unique:"));
	assert_false(says(&imported, "budget:"));
	done(&imported);
}

static void fields_follow_the_schema(void **state)
{
	struct imported imported;

	import_schema("{type: object, required: [name, id, tags], properties: {\n"
		      "id: {type: string, readOnly: true},\n"
		      "name: {type: string, minLength: 1, maxLength: 9, pattern: '^\\w+$'},\n"
		      "count: {type: integer, minimum: 1, maximum: 5, default: 2},\n"
		      "ratio: {type: number}, ok: {type: boolean},\n"
		      "at: {type: string, format: date-time},\n"
		      "word: {type: string, writeOnly: true, nullable: true},\n"
		      "kind: {type: string, enum: [a, b, ~], default: b},\n"
		      "tags: {type: array, minItems: 1, maxItems: 3, items: {type: string}},\n"
		      "place: {type: object, additionalProperties: true,\n"
		      "  properties: {city: {type: string}}}}}",
		      "", &imported);
	assert_int_equal(imported.settings->actions[0].field_count, 10);
	assert_true(field(&imported, "id")->is_server_assigned);
	assert_false(field(&imported, "id")->is_required);
	assert_true(field(&imported, "name")->is_required);
	assert_int_equal(field(&imported, "name")->minimum_length, 1);
	assert_string_equal(field(&imported, "name")->pattern_text.at, "^[A-Za-z0-9_]+$");
	assert_int_equal(field(&imported, "count")->type, FIELD_INTEGER);
	assert_non_null(field(&imported, "count")->default_value);
	assert_non_null(field(&imported, "count")->maximum);
	assert_int_equal(field(&imported, "ratio")->type, FIELD_DECIMAL);
	assert_int_equal(field(&imported, "ok")->type, FIELD_BOOLEAN);
	assert_int_equal(field(&imported, "at")->type, FIELD_TIMESTAMP);
	assert_true(field(&imported, "word")->is_secret && field(&imported, "word")->is_nullable);
	assert_int_equal(field(&imported, "kind")->choice_count, 2);
	assert_int_equal(field(&imported, "tags")->fields[0].type, FIELD_STRING);
	assert_int_equal(field(&imported, "tags")->maximum_length, 3);
	assert_true(field(&imported, "place")->keeps_unknown);
	assert_int_equal(field(&imported, "place")->field_count, 1);
	done(&imported);
}

static void references_and_parts_are_brought_together(void **state)
{
	struct imported imported;

	import_schema("{$ref: '#/components/schemas/A~1B%20C'}",
		      "components: {schemas: {\n"
		      "  Base: {required: [x], properties: {x: {type: string}, y: {type: any}}},\n"
		      "  A/B C: {allOf: [{$ref: '#/components/schemas/Base'},\n"
		      "    {properties: {y: {type: integer}, z: {$ref: '#/nowhere'},\n"
		      "      v: {anyOf: [{type: string}, {type: 'null'}]},\n"
		      "      w: {oneOf: [{type: string}, {type: integer}]},\n"
		      "      u: {type: [integer, 'null']}}}]}}}\n",
		      &imported);
	assert_true(field(&imported, "x")->is_required);
	assert_int_equal(field(&imported, "y")->type, FIELD_ANY);
	assert_int_equal(field(&imported, "z")->type, FIELD_ANY);
	assert_true(says(&imported, "leads out of the document, or nowhere"));
	assert_int_equal(field(&imported, "v")->type, FIELD_STRING);
	assert_true(field(&imported, "v")->is_nullable);
	assert_int_equal(field(&imported, "w")->type, FIELD_ANY);
	assert_true(says(&imported, "several shapes"));
	assert_int_equal(field(&imported, "u")->type, FIELD_INTEGER);
	assert_true(field(&imported, "u")->is_nullable);
	done(&imported);
}

static void cycles_are_cut(void **state)
{
	struct imported imported;

	import_schema("{$ref: '#/components/schemas/Tree'}",
		      "components: {schemas: {Tree: {type: object, properties: {name: {type: "
		      "string}, child: {$ref: '#/components/schemas/Tree'},\n"
		      "  loop: {$ref: '#/components/schemas/Loop'}}},\n"
		      "  Loop: {$ref: '#/components/schemas/Loop'}}}",
		      &imported);
	assert_int_equal(field(&imported, "child")->type, FIELD_ANY);
	assert_int_equal(field(&imported, "loop")->type, FIELD_ANY);
	assert_true(says(&imported, "lies inside itself"));
	done(&imported);
}

/* Each of 12 schemas holds the next one twice: 4096 fields if nobody counts. */
static void what_multiplies_is_bounded(void **state)
{
	struct imported imported;
	struct buf text;

	buf_init(&text, 65536);
	buf_append_str(&text, STR(POST_A "{$ref: '#/components/schemas/S0'}" END
					 "components:\n  schemas:\n"));
	for (int i = 0; i < 12; i++)
		buf_printf(&text,
			   "    S%d: {type: object, properties: {a: {$ref: "
			   "'#/components/schemas/S%d'}, b: {$ref: '#/components/schemas/S%d'},\n"
			   "      c: {$ref: '#/components/schemas/S%d'}}}\n",
			   i, i + 1, i + 1, i + 1);
	buf_append_str(&text, STR("    S12: {type: string}\n"));
	buf_append_byte(&text, '\0');
	import(text.at, &imported);
	assert_int_equal(imported.settings->action_count, 1);
	assert_true(imported.text.len < 200 * 1024);
	done(&imported);
	buf_fini(&text);
}

static void rules_that_contradict_are_left_out(void **state)
{
	struct imported imported;

	import_schema("{properties: {a: {type: string, minLength: 5, maxLength: 2},\n"
		      "b: {type: string, default: abc, enum: [x]}}}",
		      "", &imported);
	assert_int_equal(field(&imported, "a")->type, FIELD_STRING);
	assert_false(field(&imported, "a")->has_minimum_length);
	assert_int_equal(field(&imported, "b")->choice_count, 0);
	assert_true(says(&imported, "contradict each other"));
	done(&imported);
}

static void a_person_is_asked(void **state)
{
	struct imported imported;

	import_schema("{properties: {amount: {type: integer}, currency: {type: string},\n"
		      "invoice_id: {type: string}, note: {type: string}}}",
		      "", &imported);
	assert_true(says(&imported, "is it money? Then {type: money, currency: currency"));
	assert_true(says(&imported, "does it name one business effect"));
	assert_true(says(&imported, "where is the service?"));
	done(&imported);
}

static void json_is_read_as_well(void **state)
{
	struct imported imported;

	import("{\"openapi\": \"3.1.0\", \"servers\": [{\"url\": \"/relative\"}], \"paths\": "
	       "{\"/a\":\n\t{\"post\": {\"requestBody\": {\"content\": "
	       "{\"application/vnd.a+json\":\n\t{\"schema\": {\"type\": \"object\", "
	       "\"properties\": {\"t\": {\"type\": [\"string\", \"null\"]}}}}}}}}}}",
	       &imported);
	assert_int_equal(field(&imported, "t")->type, FIELD_STRING);
	assert_true(field(&imported, "t")->is_nullable);
	assert_string_equal(imported.settings->upstreams[0].url.text.at, "http://127.0.0.1:9000");
	done(&imported);
}

static void what_cannot_be_an_action_is_said(void **state)
{
	struct imported imported;

	import(HEAD "paths:\n"
		    "  /a/{b}.json: {post: {}}\n"
		    "  /c/{d}: {post: {}}\n"
		    "  /c/{e}: {post: {}}\n"
		    "  /f/../g: {post: {}}\n"
		    "  \"/h\\n  evil: 1\": {post: {}}\n",
	       &imported);
	assert_int_equal(imported.settings->action_count, 1);
	assert_true(says(&imported, "# left out: POST /a/{b}.json: "));
	assert_true(says(&imported, "# left out: POST /c/{e}: an action above"));
	assert_true(says(&imported, "# left out: POST /f/../g"));
	assert_true(says(&imported, "# left out: POST /h evil: 1"));
	done(&imported);
}

static void text_stays_text(void **state)
{
	struct imported imported;

	import_schema("{properties: {\"a: b\": {type: string, description: \"x\\n# y: [\\u2028 "
		      "\\\"\"}, \"no\": {type: string, default: \"1\"},\n"
		      "\"\\u0001\": {type: string}}}",
		      "", &imported);
	assert_false(imported.settings->actions[0].has_fields);
	done(&imported);
	import_schema("{properties: {\"a: b\": {type: string, description: \"x\\n# y: [\\u2028 "
		      "\\\"\"}, \"no\": {type: string, default: \"1\"}}}",
		      "", &imported);
	assert_string_equal(field(&imported, "a: b")->text.at, "x # y: [ \"");
	assert_int_equal(field(&imported, "no")->default_value->type, JSON_STRING);
	done(&imported);
}

static void a_document_without_writes_is_fine(void **state)
{
	struct imported imported;

	import(HEAD, &imported);
	assert_int_equal(imported.settings->action_count, 0);
	done(&imported);
}

static void anchors_are_taken(void **state)
{
	struct imported imported;

	import_schema("{properties: {a: &x {type: string, maxLength: 3}, b: *x}}", "", &imported);
	assert_int_equal(field(&imported, "b")->maximum_length, 3);
	done(&imported);
}

static void other_documents_are_refused(void **state)
{
	static const struct {
		const char *text, *what;
	} cases[] = {
		{"swagger: '2.0'", "Swagger 2.0"}, {"openapi: 2.9", "no OpenAPI 3.0 or 3.1"},
		{"- a", "no OpenAPI 3.0 or 3.1"},  {"", "no OpenAPI 3.0 or 3.1"},
		{"{openapi: 3", "not YAML"},	   {"a: &a [*a]", "stands for nothing"},
		{"a: *b", "stands for nothing"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct settings_report report;
		struct buf out;

		settings_report_init(&report);
		buf_init(&out, SETTINGS_FILE_MAX);
		assert_int_equal(
			import_openapi_text(str_from(cases[i].text), "api.yaml", &out, &report),
			SETTINGS_WRONG);
		assert_int_equal(report.count, 1);
		if (!strstr(report.errors[0].what, cases[i].what))
			fail_msg("%s gave %s", cases[i].text, report.errors[0].what);
		assert_int_equal(out.len, 0);
		buf_fini(&out);
		settings_report_fini(&report);
	}
}

/* More than a configuration has room for: what does not fit is counted. */
static void what_does_not_fit_is_counted(void **state)
{
	struct imported imported;
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_append_str(&text, STR(HEAD "paths:\n"));
	for (int i = 0; i < SETTINGS_ACTIONS_MAX + 5; i++)
		buf_printf(&text, "  /p%d: {post: {}}\n", i);
	buf_append_byte(&text, '\0');
	import(text.at, &imported);
	assert_int_equal(imported.settings->action_count, SETTINGS_ACTIONS_MAX);
	assert_true(says(&imported, "# left out: 5 more"));
	done(&imported);
	buf_fini(&text);
}

static void patterns_become_posix(void **state)
{
	static const struct {
		const char *from, *to; /* NULL: cannot be said */
	} cases[] = {
		{"^\\d{4}-\\d{2}$", "^[0-9]{4}-[0-9]{2}$"},
		{"^[\\w.\\-]+@\\S+$", "^[A-Za-z0-9_.-]+@[^[:space:]]+$"},
		{"(?:a|b)\\/c", "(a|b)/c"},
		{"a\\.b\\\\", "a\\.b\\\\"},
		{"[^\\d]", "[^0-9]"},
		{"[a\\]]", NULL},
		{"[\\D]", NULL},
		{"(?=a)", NULL},
		{"(?<!a)b", NULL},
		{"a+?", NULL},
		{"a{2}?", NULL},
		{"\\bword", NULL},
		{"\\p{L}", NULL},
		{"\\u00e9", NULL},
		{"(a)\\1", NULL},
		{"[]a]", NULL},
		{"[", NULL},
		{"a(", NULL},
		{"a{,3}", NULL},
		{"\\", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out;
		bool is_said;

		buf_init(&out, 256);
		is_said = import_pattern(str_from(cases[i].from), &out);
		if (is_said != (cases[i].to != NULL) ||
		    (is_said && !str_equal(buf_str(&out), str_from(cases[i].to))))
			fail_msg("%s gave %.*s", cases[i].from, STR_ARG(buf_str(&out)));
		buf_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_become_actions),
		cmocka_unit_test(rules_are_suggested_to_a_person),
		cmocka_unit_test(no_rule_is_suggested_by_other_names),
		cmocka_unit_test(fields_follow_the_schema),
		cmocka_unit_test(references_and_parts_are_brought_together),
		cmocka_unit_test(cycles_are_cut),
		cmocka_unit_test(what_multiplies_is_bounded),
		cmocka_unit_test(rules_that_contradict_are_left_out),
		cmocka_unit_test(a_person_is_asked),
		cmocka_unit_test(json_is_read_as_well),
		cmocka_unit_test(what_cannot_be_an_action_is_said),
		cmocka_unit_test(text_stays_text),
		cmocka_unit_test(a_document_without_writes_is_fine),
		cmocka_unit_test(anchors_are_taken),
		cmocka_unit_test(other_documents_are_refused),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(patterns_become_posix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
