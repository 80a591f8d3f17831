/*
 * Shows what a loaded configuration holds of the rules of its actions, and that every rule
 * that could not keep its promise is refused where it stands.
 */
#include "base/err.h"
#include "config_test.h"

/* One action, POST /a/{p}/{q}, with every kind of field; `rules` are lines of it. */
#define FIELDS                                                                                     \
	"    fields:\n"                                                                            \
	"      s: {type: string, required: true}\n"                                                \
	"      t: {type: string}\n"                                                                \
	"      d: {type: string, default: x}\n"                                                    \
	"      dn: {type: string, default: x, nullable: true}\n"                                   \
	"      i: {type: integer}\n"                                                               \
	"      m: {type: money, currency: EUR, required: true}\n"                                  \
	"      mo: {type: money, currency: EUR}\n"                                                 \
	"      ms: {type: money, currency: EUR, required: true, secret: true}\n"                   \
	"      k: {type: string, secret: true}\n"                                                  \
	"      ks: {type: integer, secret: true}\n"                                                \
	"      a: {type: string, server_assigned: true}\n"                                         \
	"      o: {type: object, required: true, fields: {x: {type: string, required: true},\n"    \
	"        y: {type: string}, 'b/c': {type: money, currency: EUR, required: true}}}\n"       \
	"      oa: {type: object, server_assigned: true, fields: {x: {type: string}}}\n"           \
	"      l: {type: array}\n"                                                                 \
	"      'e~/f': {type: string, required: true}\n"
#define HEAD "actions:\n  act:\n    route: 'POST /a/{p}/{q}'\n" FIELDS

enum { FIRST_LINE = 21 }; /* of what follows HEAD */

static struct settings *parse_rules(const char *rules)
{
	char text[4096];

	snprintf(text, sizeof(text), HEAD "%s", rules);
	return parse(text);
}

static void without_rules_there_are_none(void **state)
{
	static const struct rule_inquiry no_inquiry;
	struct settings *settings = parse_rules("");
	const struct action *action = &settings->actions[0];

	assert_int_equal(action->unique.count + action->lock.count, 0);
	assert_int_equal(action->unique.for_ms, 0);
	assert_false(action->budget.is_declared || action->opens_budget.is_declared);
	assert_int_equal(action->response.reference.len + action->response.resource.len, 0);
	assert_int_equal(action->response.failed_when_count, 0);
	assert_int_equal(action->downstream_key.header.len + action->downstream_key.field.len, 0);
	assert_memory_equal(&action->probe, &no_inquiry, sizeof(no_inquiry));
	assert_memory_equal(&action->lookup, &no_inquiry, sizeof(no_inquiry));
	assert_false(action->inbox.is_declared || action->is_outbox);
	settings_free(settings);
}

static void identities_are_made_of_parts(void **state)
{
	struct settings *settings =
		parse_rules("    unique: {by: [s, q, /o/y, 'e~/f', p, t], for: forever}\n");
	const struct rule_unique *unique = &settings->actions[0].unique;

	assert_int_equal(unique->count, 6);
	assert_int_equal(unique->for_ms, SETTINGS_FOREVER_MS);
	assert_string_equal(unique->by[0].name.at, "s");
	assert_string_equal(unique->by[0].pointer.at, "/s");
	assert_int_equal(unique->by[1].pointer.len, 0);
	assert_int_equal(unique->by[1].parameter, 1);
	assert_string_equal(unique->by[2].pointer.at, "/o/y");
	assert_string_equal(unique->by[3].pointer.at, "/e~0~1f");
	assert_int_equal(unique->by[4].parameter, 0);
	settings_free(settings);

	settings = parse_rules("    unique: {by: [s]}\n");
	assert_int_equal(settings->actions[0].unique.for_ms, INT64_C(30) * 86400000);
	settings_free(settings);
}

static void a_field_goes_before_a_parameter_of_its_name(void **state)
{
	struct settings *settings = parse("actions: {a: {route: 'POST /{s}', unique: {by: [s]},\n"
					  "  fields: {s: {type: string}}}}");

	assert_string_equal(settings->actions[0].unique.by[0].pointer.at, "/s");
	settings_free(settings);
}

static void parameters_are_named_without_fields(void **state)
{
	struct settings *settings =
		parse("actions: {a: {route: 'POST /x/{id}/y/{n}', lock: {on: [n]}}}");

	assert_int_equal(settings->actions[0].lock.on[0].parameter, 1);
	settings_free(settings);
}

static void locks_hold_what_the_file_says(void **state)
{
	struct settings *settings = parse_rules("    lock:\n"
						"      on: [s, d, /o/x, p]\n"
						"      held: queue\n"
						"      version: i\n"
						"      fencing: X-Fence\n"
						"      resource: deployments\n");
	const struct rule_lock *lock = &settings->actions[0].lock;

	assert_int_equal(lock->count, 4);
	assert_string_equal(lock->on[2].pointer.at, "/o/x");
	assert_true(lock->is_queue);
	assert_string_equal(lock->version.at, "/i");
	assert_string_equal(lock->fencing.at, "X-Fence");
	assert_string_equal(lock->resource.at, "deployments");
	settings_free(settings);

	settings = parse_rules("    lock: {on: [s]}\n");
	lock = &settings->actions[0].lock;
	assert_false(lock->is_queue);
	assert_int_equal(lock->version.len + lock->fencing.len + lock->resource.len, 0);
	settings_free(settings);
}

static void budgets_hold_what_the_file_says(void **state)
{
	struct settings *settings = parse_rules(
		"    budget: {of: p, amount: m, if_unknown: allow}\n"
		"    opens_budget: {id: response/data/id, amount: /o/b~1c, for: 90d}\n");
	const struct action *action = &settings->actions[0];

	assert_true(action->budget.is_declared && action->budget.lets_unknown);
	assert_int_equal(action->budget.of.pointer.len, 0);
	assert_string_equal(action->budget.amount.at, "/m");
	assert_true(action->opens_budget.is_declared);
	assert_string_equal(action->opens_budget.id.at, "/data/id");
	assert_string_equal(action->opens_budget.amount.at, "/o/b~1c");
	assert_int_equal(action->opens_budget.for_ms, INT64_C(90) * 86400000);
	settings_free(settings);

	settings = parse_rules("    budget: {of: s, amount: m}\n"
			       "    opens_budget: {id: /id, amount: m}\n");
	action = &settings->actions[0];
	assert_false(action->budget.lets_unknown);
	assert_string_equal(action->budget.of.pointer.at, "/s");
	assert_string_equal(action->opens_budget.id.at, "/id");
	assert_int_equal(action->opens_budget.for_ms, SETTINGS_FOREVER_MS);
	settings_free(settings);
}

static void a_budget_is_known_as_long_as_what_opened_it(void **state)
{
	struct settings *settings = parse_rules("    opens_budget: {id: /id, amount: m, for: 1h}\n"
						"    retention: 7d\n");

	assert_int_equal(settings->actions[0].opens_budget.for_ms, 604800000);
	settings_free(settings);
}

static void answers_are_read_by_pointers_and_conditions(void **state)
{
	struct settings *settings =
		parse_rules("    response: {reference: response/id, resource: /u}\n"
			    "    failed_when:\n"
			    "    - {at: /status, is: failed}\n"
			    "    - at: response/error\n"
			    "    - {at: /code, in: [7, \"7\", ~, false]}\n"
			    "    - {at: response, is: no}\n");
	const struct rule_response *response = &settings->actions[0].response;

	assert_string_equal(response->reference.at, "/id");
	assert_string_equal(response->resource.at, "/u");
	assert_int_equal(response->failed_when_count, 4);
	assert_string_equal(response->failed_when[0].pointer.at, "/status");
	assert_int_equal(response->failed_when[0].choice_count, 1);
	assert_true(str_equal(response->failed_when[0].choices[0]->string, STR("failed")));
	assert_string_equal(response->failed_when[1].pointer.at, "/error");
	assert_int_equal(response->failed_when[1].choice_count, 0);
	assert_int_equal(response->failed_when[2].choice_count, 4);
	assert_int_equal(response->failed_when[2].choices[0]->type, JSON_NUMBER);
	assert_int_equal(response->failed_when[2].choices[1]->type, JSON_STRING);
	assert_int_equal(response->failed_when[2].choices[2]->type, JSON_NULL);
	assert_int_equal(response->failed_when[2].choices[3]->type, JSON_FALSE);
	assert_int_equal(response->failed_when[3].pointer.len, 0);
	settings_free(settings);
}

/* Header and time of the first action's key. */
static void expect_key(const char *text, const char *header, const char *field, int64_t hours)
{
	struct settings *settings = parse(text);
	const struct rule_downstream_key *key = &settings->actions[0].downstream_key;

	assert_true(str_equal(key->header, str_from(header)));
	assert_true(str_equal(key->field, str_from(field)));
	assert_int_equal(key->for_ms, hours * 3600000);
	settings_free(settings);
}

#define KEYED "upstreams: {pay: {url: http://b, downstream_key: X-Up, downstream_key_for: 2h}}\n"

static void keys_are_the_actions_own_or_the_upstreams(void **state)
{
	expect_key(HEAD "    downstream_key: X-Once\n", "X-Once", "", 24);
	expect_key(HEAD "    downstream_key: {header: X-Once, for: 1h}\n", "X-Once", "", 1);
	expect_key(HEAD "    downstream_key: {field: reference}\n", "", "reference", 24);
	expect_key(HEAD "    upstream: pay\n" KEYED, "X-Up", "", 2);
	expect_key(HEAD "    upstream: pay\n    downstream_key: X-Own\n" KEYED, "X-Own", "", 24);
	expect_key(HEAD "    upstream: pay\n    downstream_key: {field: f}\n" KEYED, "", "f", 24);
	expect_key("actions: {a: {route: 'PUT /{a}', natural: true, upstream: pay}}\n" KEYED, "",
		   "", 0);
	expect_key("actions: {a: {route: POST /a, downstream_key: Idempotency-Key}}\n",
		   "Idempotency-Key", "", 24);
}

static void probes_hold_what_the_file_says(void **state)
{
	struct settings *settings = parse_rules(
		"    downstream_key: X-Once\n"
		"    probe:\n"
		"      get: '/v1/{p}?r={downstream_key}&o={operation}&t={token}&s={s}&m={m}'\n"
		"      found: {status: [200, 203], at: response/data/0, as: 201}\n"
		"      absent: {status: 200, empty: /data}\n"
		"      settle: 0s\n"
		"      every: 100ms\n"
		"      give_up: 7d\n"
		"      timeout: 1s\n");
	const struct rule_inquiry *probe = &settings->actions[0].probe;

	assert_true(str_starts_with(probe->get, STR("/v1/{p}?r={downstream_key}&")));
	assert_true(status_class_has(probe->found, 200) && status_class_has(probe->found, 203));
	assert_false(status_class_has(probe->found, 201));
	assert_string_equal(probe->found_at.at, "/data/0");
	assert_int_equal(probe->found_as, 201);
	assert_true(status_class_has(probe->absent, 200));
	assert_false(status_class_has(probe->absent, 404));
	assert_true(probe->has_absent_empty);
	assert_string_equal(probe->absent_empty.at, "/data");
	assert_int_equal(probe->settle_ms, 0);
	assert_int_equal(probe->every_ms, 100);
	assert_int_equal(probe->give_up_ms, 604800000);
	assert_int_equal(probe->timeout_ms, 1000);
	settings_free(settings);
}

static void questions_have_defaults(void **state)
{
	struct settings *settings = parse_rules(
		"    unique: {by: [s]}\n"
		"    probe: {get: '/{s}', found: {status: 200}, absent: {status: [404, 410]}}\n"
		"    lookup: {get: '/{s}', found: {status: 200, at: /0},\n"
		"      absent: {status: 200, empty: response}, timeout: 3s}\n");
	const struct action *action = &settings->actions[0];

	assert_int_equal(action->probe.found_at.len, 0);
	assert_int_equal(action->probe.found_as, 200);
	assert_true(status_class_has(action->probe.absent, 410));
	assert_false(action->probe.has_absent_empty);
	assert_int_equal(action->probe.settle_ms, 10000);
	assert_int_equal(action->probe.every_ms, 5000);
	assert_int_equal(action->probe.give_up_ms, 86400000);
	assert_int_equal(action->probe.timeout_ms, 10000);
	assert_string_equal(action->lookup.found_at.at, "/0");
	assert_true(action->lookup.has_absent_empty);
	assert_int_equal(action->lookup.absent_empty.len, 0);
	assert_int_equal(action->lookup.timeout_ms, 3000);
	settings_free(settings);
}

static void dispatch_is_by_the_request_or_by_the_outbox(void **state)
{
	struct settings *settings = parse_rules("    dispatch: outbox\n");

	assert_true(settings->actions[0].is_outbox);
	settings_free(settings);
	settings = parse_rules("    dispatch: sync\n");
	assert_false(settings->actions[0].is_outbox);
	settings_free(settings);
}

/* What may stand beside natural, and a rule beside errors of others, says nothing. */
static void what_can_be_is_not_refused(void **state)
{
	static const char *const texts[] = {
		"actions: {a: {route: 'PUT /{a}', natural: true, dispatch: sync,\n"
		"  response: {reference: /id}, failed_when: [{at: /error}]}}",
		"actions: {a: {route: POST /a, token: {from: body, pointer: /o/t},\n"
		"  fields: {o: {type: object, required: true, fields: {n: {type: string}}}},\n"
		"  unique: {by: [/o/n]}, downstream_key: {field: t}}}",
		"actions: {a: {route: POST /a, token: {from: body, pointer: /t}, fields: {},\n"
		"  downstream_key: Idempotency-Key, probe: {get: '/?t={token}',\n"
		"  found: {status: 200}, absent: {status: 404}}}}",
		"actions: {a: {route: POST /a, unknown_fields: keep, fields: {},\n"
		"  downstream_key: {field: reference}}}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		settings_free(parse(texts[i]));
}

struct wrong {
	const char *text;
	size_t line, column; /* line 1: the first after HEAD */
	const char *what, *mend;
};

static const struct wrong wrong_names[] = {
	{"    unique: {}", 1, 13, "unique has no by", "add by: [project, source_event_id]"},
	{"    unique: {for: 1d}", 1, 13, "unique has no by", NULL},
	{"    unique: [s]", 1, 13, "unique is not a mapping", "like {by: [project, "},
	{"    unique: {by: s}", 1, 18, "by is a single value where a list of fields", "like [proj"},
	{"    unique: {by: []}", 1, 18, "unique.by is empty", "list 1 to 16"},
	{"    unique: {by: [[s]]}", 1, 19, "not a single value", NULL},
	{"    unique: {by: [s, t, s]}", 1, 25, "`s`, which is there already", "one of the two"},
	{"    unique: {by: [s, /s]}", 1, 22, "`/s`, which is there already", "one of the two"},
	{"    unique: {by: [sx]}", 1, 19, "by names `sx`, which is not declared",
	 "did you mean s?"},
	{"    unique: {by: [zebra]}", 1, 19, "which is not declared", "a parameter of its route"},
	{"    unique: {by: [/o/z]}", 1, 19, "leads to a field that is not declared", "declare the"},
	{"    unique: {by: [/l/0]}", 1, 19, "leads to a field that is not declared", NULL},
	{"    unique: {by: [/s/x]}", 1, 19, "leads to a field that is not declared", NULL},
	{"    unique: {by: [/p]}", 1, 19, "leads to a field that is not declared", NULL},
	{"    unique: {by: [/]}", 1, 19, "`/`, which names nothing", "JSON pointer like /customer"},
	{"    unique: {by: [/a~2]}", 1, 19, "which names nothing", NULL},
	{"    unique: {by: [a]}", 1, 19, "`a`, which is server_assigned", "the caller decides"},
	{"    unique: {by: [/oa/x]}", 1, 19, "which is server_assigned", "the caller decides"},
	{"    unique: {by: [s], for: 0s}", 1, 28, "out of its range", "1s to forever"},
	{"    unique: {by: [s], fors: 1d}", 1, 23, "`fors` in unique", "did you mean for?"},
	{"    token: {from: body, pointer: /t}\n    unique: {by: [t]}", 2, 19,
	 "`t`, which holds the token", "what is meant"},
	{"    token: {from: body, pointer: /o/y}\n    unique: {by: [o]}", 2, 19,
	 "`o`, which holds the token", NULL},
	{"    lock: {held: queue}", 1, 11, "lock has no on", "add on: [environment, service]"},
	{"    lock: {on: [t]}", 1, 17, "lock.on names `t`, which a command may lack", "required"},
	{"    lock: {on: [dn]}", 1, 17, "`dn`, which a command may lack or have as null", NULL},
	{"    lock: {on: [/o/y]}", 1, 17, "which a command may lack", NULL},
	{"    lock: {on: [s], held: wait}", 1, 27, "none of its words", "refuse | queue"},
	{"    lock: {on: [s], version: s}", 1, 30, "lock.version names `s`, which is no integer",
	 "of type integer"},
	{"    lock: {on: [s], version: ks}", 1, 30, "`ks`, which is secret", "remove secret"},
	{"    lock: {on: [s], version: p}", 1, 30, "which is no integer field", NULL},
	{"    lock: {on: [s], version: x}", 1, 30, "which is not declared", NULL},
	{"    lock: {on: [s], fencing: Host}", 1, 30, "is a header that means something else",
	 NULL},
	{"    lock: {on: [s], fencing: Via}", 1, 30, "is a header that means something else", NULL},
	{"    lock: {on: [s], fencing: 'a b'}", 1, 30, "is not the name of a header", NULL},
	{"    lock: {on: [s], fencing: idempotency-key}", 1, 30, "the header of the token", "own"},
	{"    lock: {on: [s], fencing: X-K}\n    downstream_key: x-k", 1, 30,
	 "the header of the downstream key", NULL},
	{"    lock: {on: [s], fencing: X_A}\n    downstream_key: X-A", 1, 30,
	 "the header of the downstream key", NULL},
	{"    lock: {on: [s], fencing: Idempotency_Key}", 1, 30, "the header of the token", NULL},
	{"    lock: {on: [s], fencing: X-F}\n    headers: [x_f]", 1, 30, "headers lists it", NULL},
	{"    lock: {on: [s], fencing: X-F}\n    headers: [x-f]", 1, 30, "headers lists it", NULL},
	{"    budget: {amount: m}", 1, 13, "budget has no of", "add of: payment_id"},
	{"    budget: {of: s}", 1, 13, "budget has no amount", "add amount: amount"},
	{"    budget: {of: t, amount: m}", 1, 18, "budget.of names `t`, which a command may lack",
	 NULL},
	{"    budget: {of: m, amount: m}", 1, 18, "it is of type money", "a string or an integer"},
	{"    budget: {of: s, amount: d}", 1, 29, "amount names `d`, which is no money", "money"},
	{"    budget: {of: s, amount: p}", 1, 29, "which is no money field", NULL},
	{"    budget: {of: s, amount: mo}", 1, 29, "`mo`, which a command may lack", "required"},
	{"    budget: {of: s, amount: ms}", 1, 29, "`ms`, which is secret", "remove secret"},
	{"    budget: {of: s, amount: m, if_unknown: pass}", 1, 44, "none of its words", NULL},
	{"    opens_budget: {amount: m}", 1, 19, "opens_budget has no id", "add id: response/id"},
	{"    opens_budget: {id: /id}", 1, 19, "opens_budget has no amount", NULL},
	{"    opens_budget: {id: id, amount: m}", 1, 24, "not a JSON pointer into an answer",
	 "/id"},
	{"    opens_budget: {id: responses/id, amount: m}", 1, 24, "not a JSON pointer into", NULL},
	{"    opens_budget: {id: response, amount: m}", 1, 24, "the whole answer", "like /id"},
	{"    opens_budget: {id: /id, amount: s}", 1, 37, "which is no money field", NULL},
};

static const struct wrong wrong_answers[] = {
	{"    response: {reference: response}", 1, 27, "response.reference is the whole answer",
	 NULL},
	{"    response: {resource: url}", 1, 26, "not a JSON pointer into an answer", NULL},
	{"    failed_when: {at: /a}", 1, 18, "is a mapping where a list of conditions",
	 "[{at: /st"},
	{"    failed_when: []", 1, 18, "failed_when is empty", "list 1 to 16 conditions"},
	{"    failed_when: [failed]", 1, 19, "an item that is not a condition", "as a mapping"},
	{"    failed_when: [{}]", 1, 19, "says nothing of where it looks", "add at: /status"},
	{"    failed_when: [{is: a}]", 1, 19, "says nothing of where it looks", NULL},
	{"    failed_when: [{at: a}]", 1, 24, "at has `a`, which is not a JSON pointer", NULL},
	{"    failed_when: [{at: /a, is: b, in: [c]}]", 1, 35, "has `is` and `in`", "into `in`"},
	{"    failed_when: [{at: /a, is: {b: c}}]", 1, 32, "compares with a text", "lead `at`"},
	{"    failed_when: [{at: /a, in: [b, [c]]}]", 1, 36, "compares with a text", NULL},
	{"    failed_when: [{at: /a, in: []}]", 1, 32, "in is empty", NULL},
	{"    failed_when: [{at: /a, si: b}]", 1, 28, "`si` in failed_when", NULL},
	{"    failed_when: [{at: /a}]\nlimits: {max_response: 0}", 1, 18,
	 "failed_when needs answers that are kept", "max_response, like 64KiB"},
	{"    downstream_key: Host", 1, 21, "a header that means something else",
	 "Idempotency-Key"},
	{"    downstream_key: X-Forwarded-For", 1, 21, "means something else", NULL},
	{"    downstream_key: [a]", 1, 21, "is a list where the name of a header", NULL},
	{"    downstream_key: {}", 1, 21, "does not say where the key goes", "add header:"},
	{"    downstream_key: {for: 1h}", 1, 21, "does not say where the key goes", NULL},
	{"    downstream_key: {header: X, field: f}", 1, 40, "has a header and a field", NULL},
	{"    downstream_key: {field: /f}", 1, 29, "is not the name of a member",
	 "the body itself"},
	{"    downstream_key: {field: s}", 1, 29, "is a field of the command", "remove it from"},
	{"    downstream_key: {field: a}", 1, 29, "is a field of the command", NULL},
	{"    downstream_key: {field: r}\n    token: {from: body, pointer: /r}", 1, 29,
	 "is where the token is", "move one"},
	{"    downstream_key: {heder: X}", 1, 22, "`heder` in downstream_key", "header?"},
	{"    downstream_key: X-K\n    headers: [X-K]", 1, 21, "headers lists it", NULL},
	{"  b: {route: POST /b, downstream_key: {field: f}}", 1, 47, "no fields are declared",
	 NULL},
	{"    dispatch: later", 1, 15, "none of its words", "sync | outbox"},
	{"outbox: {first_pause: 1h, max_pause: 1m}", 1, 38, "first_pause is longer", NULL},
	{"audit: {origin: a b}", 1, 17, "spaces or a +", "name like"},
	{"audit: {anchors: []}", 1, 18, "is empty", "list 1 to"},
	{"audit: {checkpoint_entries: 0}", 1, 29, "out of its range", "1 to 1000000"},
	{"outbox: {attempts: 0}", 1, 20, "out of its range", "1 to 1000"},
};

#define FOUND  " found: {status: 200}, absent: {status: 404}}"
#define UNIQUE "\n    unique: {by: [s]}"
static const struct wrong wrong_questions[] = {
	{"    probe: {" FOUND, 1, 12, "probe has no get", "add get: "},
	{"    probe: {get: '/{s}', absent: {status: 404}}", 1, 12, "has no found.status",
	 "status: 200"},
	{"    probe: {get: '/{s}', found: {status: 200}}", 1, 12, "probe has no absent.status",
	 NULL},
	{"    probe: {get: '{s}'," FOUND, 1, 18, "does not begin with a slash", "path and query"},
	{"    probe: {get: '/ {s}'," FOUND, 1, 18, "cannot have", "percent-encoded"},
	{"    probe: {get: '/{s}#a'," FOUND, 1, 18, "cannot have", NULL},
	{"    probe: {get: '/{s'," FOUND, 1, 18, "has a { without its }", "close it"},
	{"    probe: {get: '/{s}}'," FOUND, 1, 18, "a brace without its other one", "%7D"},
	{"    probe: {get: '/{{s}'," FOUND, 1, 18, "a brace without its other one", NULL},
	{"    probe: {get: '/all'," FOUND, 1, 18, "asks the same for every operation",
	 "{invoice_id}"},
	{"    probe: {get: '/{}{s}'," FOUND, 1, 18, "has braces without a name", "{invoice_id}"},
	{"    probe: {get: '/{token}'," FOUND
	 "\n  b: {route: POST /b, fields: {token: {type: any}},\n"
	 "    probe: {get: '/{token}'," FOUND "}",
	 3, 18, "a word of the gate and declared", "another field"},
	{"    probe: {get: '/{zz}'," FOUND, 1, 18, "names {zz}, which is not declared",
	 "or operation"},
	{"    probe: {get: '/{k}'," FOUND, 1, 18, "would put {k}, which is secret",
	 "another field"},
	{"    probe: {get: '/{a}'," FOUND, 1, 18, "{a}, which is server_assigned", NULL},
	{"    probe: {get: '/{o}'," FOUND, 1, 18, "{o}, which is no single value", NULL},
	{"    probe: {get: '/{l}'," FOUND, 1, 18, "{l}, which is no single value", NULL},
	{"    probe: {get: '/{downstream_key}'," FOUND, 1, 18, "which the service never gets",
	 "to the action or to its upstream"},
	{"    downstream_key: Idempotency-Key\n    probe: {get: '/{token}'," FOUND, 2, 18,
	 "{token}, which the service never gets", "{downstream_key}"},
	{"    probe: {get: '/{s}', found: {status: 404}, absent: {status: 404}}", 1, 42,
	 "out of its range", "200 to 299"},
	{"    probe: {get: '/{s}', found: {status: []}, absent: {status: 404}}", 1, 42, "is empty",
	 NULL},
	{"    probe: {get: '/{s}', found: {status: x}, absent: {status: 404}}", 1, 42,
	 "not a status or a list of them", "like 200 or"},
	{"    probe: {get: '/{s}', found: {status: {}}, absent: {status: 404}}", 1, 42,
	 "is a mapping where a status or a list of them", NULL},
	{"    probe: {get: '/{s}', found: {status: 200}, absent: {status: 401}}", 1, 65,
	 "has 401, which does not say that it is not there", "like 404"},
	{"    probe: {get: '/{s}', found: {status: 200}, absent: {status: [404, 302]}}", 1, 65,
	 "has 302, which does not say", NULL},
	{"    probe: {get: '/{s}', found: {status: 200}, absent: {status: 500}}", 1, 65,
	 "out of its range", NULL},
	{"    probe: {get: '/{s}', found: {status: 200}, absent: {status: 200}}", 1, 65,
	 "has 200, which is in found.status too", "add empty: /data"},
	{"    probe: {get: '/{s}', found: {status: 200}, absent: {status: 200, empty: /d}}", 1, 42,
	 "nothing says where in it", "add at: /data/0"},
	{"    probe: {get: '/{s}', found: {status: 200, at: d}, absent: {status: 404}}", 1, 51,
	 "not a JSON pointer into an answer", NULL},
	{"    probe: {get: '/{s}', found: {status: 200, as: 204}, absent: {status: 404}}", 1, 51,
	 "found.as is 204, an answer that cannot", "200 or 201"},
	{"    probe: {get: '/{s}', settle: 1h, give_up: 1m," FOUND, 1, 34, "leaves no time",
	 "shorter than give_up"},
	{"    probe: {get: '/{s}', give_up: 5s," FOUND, 1, 35, "leaves no time", NULL},
	{"    probe: {get: '/{s}', evry: 5s," FOUND, 1, 26, "`evry` in probe", "every?"},
	{"    lookup: {get: '/{s}'," FOUND, 1, 13, "lookup needs unique", "add unique: {by:"},
	{"    lookup: {get: '/{zz}'," FOUND UNIQUE, 1, 19, "lookup.get names {zz}", "or token"},
	{"    lookup: {get: '/{operation}'," FOUND UNIQUE, 1, 19, "cannot know before", NULL},
	{"    lookup: {get: '/{downstream_key}'," FOUND UNIQUE, 1, 19, "cannot know before", NULL},
	{"    lookup: {get: '/{s}', settle: 1s," FOUND UNIQUE, 1, 27, "`settle` in lookup", NULL},
};

#define WHEN "    approval: {when: "
static const struct wrong wrong_approvals[] = {
	{"    approval: {}", 1, 15, "approval has no when", "add when: always"},
	{"    approval: always", 1, 15, "approval is not a mapping", NULL},
	{WHEN "never}", 1, 22, "is not always", "a list of conditions"},
	{WHEN "[]}", 1, 22, "when is empty", "1 to 16 conditions"},
	{WHEN "[s]}", 1, 23, "an item that is not a condition", "as a mapping"},
	{WHEN "[{}]}", 1, 23, "says nothing of where it looks", "like {field: amount"},
	{WHEN "[{field: s}]}", 1, 23, "has no test", NULL},
	{WHEN "[{field: s, is: a, matches: b}]}", 1, 23, "has more than one test", NULL},
	{WHEN "[{field: s, is: a, in: [b]}]}", 1, 23, "has more than one test", NULL},
	{WHEN "[{first_use: agent, field: s}]}", 1, 23, "has first_use and more", NULL},
	{WHEN "[{first_use: person}]}", 1, 35, "none of its words", "agent"},
	{WHEN "[{field: zz, is: a}]}", 1, 31, "names `zz`, which is not declared", NULL},
	{WHEN "[{feld: s, is: a}]}", 1, 24, "`feld` in approval.when", "field?"},
	{WHEN "[{field: s, over: 1}]}", 1, 40, "its field is no number", "money, integer"},
	{WHEN "[{field: m, is: 1}]}", 1, 38, "compares money", "use `over`"},
	{WHEN "[{field: m, matches: a}]}", 1, 43, "its field is no text", NULL},
	{WHEN "[{field: s, matches: '('}]}", 1, 43, "cannot be used", "regular expression"},
	{WHEN "[{field: s, is: 1}]}", 1, 38, "compares a text with something else", NULL},
	{WHEN "[{field: s, in: [a, {b: c}]}]}", 1, 38, "no single value", NULL},
	{WHEN "[{field: m, over: 1, currency: XXY}]}", 1, 53, "not known", "ISO 4217"},
	{WHEN "[{field: s, is: a, currency: EUR}]}", 1, 23, "without `over`", NULL},
	{WHEN "always, approvers: 3}", 1, 41, "out of its range", "1 to 2"},
	{WHEN "always, expires: 0s}", 1, 39, "out of its range", "1s to 30d"},
	{WHEN "always, by: {roles: [agent]}}", 1, 43, "a role that cannot answer", "approver"},
	{WHEN "always, by: {roles: []}}", 1, 42, "roles is empty", NULL},
	{WHEN "always, summary: 'Pay {zz}'}", 1, 39, "names {zz}, which is not", NULL},
};

/* What a natural action cannot have: `rule` is the only thing wrong. */
static const char *const unnatural[] = {
	"unique: {by: [p]}",
	"lock: {on: [p]}",
	"budget: {of: p, amount: m}",
	"opens_budget: {id: /id, amount: m}",
	"downstream_key: X-Key",
	"dispatch: outbox",
	"probe: {get: '/{p}', found: {status: 200}, absent: {status: 404}}",
	"lookup: {get: '/{p}', found: {status: 200}, absent: {status: 404}}",
	"inbox: {secrets: [a]}",
	"approval: {when: always}",
};

static void expect_alone(const char *text, size_t line, const struct wrong *wrong)
{
	struct settings *settings = NULL;
	struct settings_report report;
	const struct settings_error *error = &report.errors[0];
	int r;

	settings_report_init(&report);
	r = settings_parse(str_from(text), "gate.yaml", &upstream_alone, &settings, &report);
	if (r != SETTINGS_WRONG || report.count != 1) {
		settings_report_print(&report, stderr);
		fail_msg("%zu errors in %s", report.count, wrong->text);
	}
	if (error->line != line || error->column != wrong->column ||
	    !strstr(error->what, wrong->what) || (wrong->mend && !strstr(error->mend, wrong->mend)))
		fail_msg("expected %zu:%zu %s (%s); got %zu:%zu: %s; %s", line, wrong->column,
			 wrong->what, wrong->mend ? wrong->mend : "", error->line, error->column,
			 error->what, error->mend);
	assert_true(strlen(error->mend) > 5);
	settings_report_fini(&report);
}

static void expect_each_alone(const struct wrong *wrongs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[4096];

		snprintf(text, sizeof(text), HEAD "%s\n", wrongs[i].text);
		expect_alone(text, FIRST_LINE - 1 + wrongs[i].line, &wrongs[i]);
	}
}

static void each_wrong_name_is_said_where_it_stands(void **state)
{
	expect_each_alone(wrong_names, sizeof(wrong_names) / sizeof(wrong_names[0]));
}

static void each_wrong_answer_is_said_where_it_stands(void **state)
{
	expect_each_alone(wrong_answers, sizeof(wrong_answers) / sizeof(wrong_answers[0]));
}

static void each_wrong_approval_is_said_where_it_stands(void **state)
{
	expect_each_alone(wrong_approvals, sizeof(wrong_approvals) / sizeof(wrong_approvals[0]));
}

static void each_wrong_question_is_said_where_it_stands(void **state)
{
	expect_each_alone(wrong_questions, sizeof(wrong_questions) / sizeof(wrong_questions[0]));
}

static void natural_actions_have_none_of_these(void **state)
{
	for (size_t i = 0; i < sizeof(unnatural) / sizeof(unnatural[0]); i++) {
		size_t colon = strcspn(unnatural[i], ":");
		struct wrong wrong = {unnatural[i], 0, 5 + colon + 2, "can have no ",
				      "natural: true"};
		char text[4096];

		snprintf(text, sizeof(text), HEAD "    natural: true\n    %s\n", unnatural[i]);
		expect_alone(text, FIRST_LINE + 1, &wrong);
	}
}

/* A wrong field alone is reported, and not the rules that name it. */
static void a_rule_is_silent_about_fields_that_are_wrong(void **state)
{
	static const struct wrong wrong = {"", 0, 29, "none of its words", NULL};

	expect_alone("actions:\n  a:\n    route: POST /a\n    fields: {amount: {type: mony}}\n"
		     "    budget: {of: x, amount: amount}\n    unique: {by: [y]}\n",
		     4, &wrong);
}

static void lists_have_bounds(void **state)
{
	static const struct wrong parts = {"parts", 0, 18, "too many items", "1 to 16"};
	static const struct wrong conditions = {"conditions", 0, 18, "too many items", "1 to 16"};
	struct buf text;

	buf_init(&text, 4096);
	buf_append_str(&text, STR("actions:\n  a:\n    route: POST /a\n    unique: {by: ["));
	for (int i = 0; i <= RULE_PARTS_MAX; i++)
		buf_printf(&text, "f%d, ", i);
	buf_append(&text, "]}", 3);
	expect_alone(text.at, 4, &parts);
	buf_clear(&text);
	buf_append_str(&text, STR("actions:\n  a:\n    route: POST /a\n    failed_when: ["));
	for (int i = 0; i <= RULE_CONDITIONS_MAX; i++)
		buf_append_str(&text, STR("{at: /a}, "));
	buf_append(&text, "]", 2);
	expect_alone(text.at, 4, &conditions);
	buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rules_there_are_none),
		cmocka_unit_test(identities_are_made_of_parts),
		cmocka_unit_test(a_field_goes_before_a_parameter_of_its_name),
		cmocka_unit_test(parameters_are_named_without_fields),
		cmocka_unit_test(locks_hold_what_the_file_says),
		cmocka_unit_test(budgets_hold_what_the_file_says),
		cmocka_unit_test(a_budget_is_known_as_long_as_what_opened_it),
		cmocka_unit_test(answers_are_read_by_pointers_and_conditions),
		cmocka_unit_test(keys_are_the_actions_own_or_the_upstreams),
		cmocka_unit_test(probes_hold_what_the_file_says),
		cmocka_unit_test(questions_have_defaults),
		cmocka_unit_test(dispatch_is_by_the_request_or_by_the_outbox),
		cmocka_unit_test(what_can_be_is_not_refused),
		cmocka_unit_test(each_wrong_name_is_said_where_it_stands),
		cmocka_unit_test(each_wrong_answer_is_said_where_it_stands),
		cmocka_unit_test(each_wrong_approval_is_said_where_it_stands),
		cmocka_unit_test(each_wrong_question_is_said_where_it_stands),
		cmocka_unit_test(natural_actions_have_none_of_these),
		cmocka_unit_test(a_rule_is_silent_about_fields_that_are_wrong),
		cmocka_unit_test(lists_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
