/*
 * Approvals from the words of a configuration to the question: when people are asked, what they
 * are shown, and that nothing in it can pretend to be something else.
 */
#include "core/approval.h"
#include "core/command.h"

#include "config_test.h"

enum { MEMORY_MAX = 8 << 20 };

/* One action, and a command of it. */
struct trial {
	struct settings *settings;
	const struct action *action;
	struct arena mem;
};

static const char fields[] = "    fields:\n"
			     "      amount: {type: money, currency: currency, required: true}\n"
			     "      currency: {type: string, required: true}\n"
			     "      note: {type: string}\n"
			     "      environment: {type: string, enum: [production, staging]}\n"
			     "      count: {type: integer}\n"
			     "      rate: {type: decimal}\n"
			     "      force: {type: boolean}\n"
			     "      card: {type: string, secret: true}\n"
			     "      inner: {type: object, unknown_fields: keep, fields: {pin: "
			     "{type: string, secret: true}}}\n"
			     "      list: {type: array, items: {type: string, secret: true}}\n";

static struct trial open_trial(const char *approval)
{
	struct trial trial;
	char text[4096];

	snprintf(text, sizeof(text),
		 "actions:\n  payments.create:\n    route: POST /v1/{region}/payments\n"
		 "    summary: \"Pay {amount} for {note} in {region}\"\n%s    approval: %s\n",
		 fields, approval);
	trial.settings = parse(text);
	trial.action = &trial.settings->actions[0];
	arena_init(&trial.mem, MEMORY_MAX);
	return trial;
}

static void close_trial(struct trial *trial)
{
	arena_fini(&trial->mem);
	settings_free(trial->settings);
}

/* The canonical tree of a body. */
static const struct json_value *command_of(struct trial *trial, const char *body)
{
	const struct json_value *command = NULL;
	struct command_faults faults;
	struct json_error error;
	struct json_value *tree;
	struct buf out;

	assert_int_equal(json_read(arena_str(&trial->mem, str_from(body)), &json_limits_default,
				   &trial->mem, &tree, &error),
			 0);
	buf_init(&out, MEMORY_MAX);
	assert_int_equal(command_read(trial->action, tree, &trial->mem, &out, &command, &faults),
			 0);
	buf_fini(&out);
	return command;
}

#define EUR "\"amount\": 100000, \"currency\": \"EUR\""

static struct approval_need need_of(struct trial *trial, const char *body)
{
	struct approval_need need;

	assert_int_equal(approval_is_asked(trial->action, STR("/v1/eu%2Dwest/payments"),
					   command_of(trial, body), &trial->mem, &need),
			 0);
	return need;
}

/* A condition, a body it is true of, and one it is not true of. */
static const struct {
	const char *approval, *asked, *passed;
} conditions[] = {
	{"{when: [{field: amount, over: 99999}]}", "{" EUR "}",
	 "{\"amount\": 99999, \"currency\": \"EUR\"}"},
	{"{when: [{field: amount, over: 100000, currency: EUR}]}",
	 "{\"amount\": 1, \"currency\": \"USD\"}", "{" EUR "}"},
	{"{when: [{field: environment, is: production}]}",
	 "{" EUR ", \"environment\": \"production\"}", "{" EUR ", \"environment\": \"staging\"}"},
	{"{when: [{field: environment, in: [production, null]}]}", "{" EUR "}",
	 "{" EUR ", \"environment\": \"staging\"}"},
	{"{when: [{field: count, over: 9007199254740992}]}",
	 "{" EUR ", \"count\": 9007199254740993}", "{" EUR ", \"count\": 9007199254740992}"},
	{"{when: [{field: rate, over: 0.1}]}", "{" EUR ", \"rate\": 0.1000000000000000001}",
	 "{" EUR ", \"rate\": 0.10}"},
	{"{when: [{field: count, in: [1, 2.0]}]}", "{" EUR ", \"count\": 2}",
	 "{" EUR ", \"count\": 3}"},
	{"{when: [{field: force, is: true}]}", "{" EUR ", \"force\": true}",
	 "{" EUR ", \"force\": false}"},
	{"{when: [{field: note, matches: \"^db-\"}]}", "{" EUR ", \"note\": \"db-1\"}",
	 "{" EUR ", \"note\": \"a db-1\"}"},
	{"{when: [{field: note, matches: \"^db-\"}]}", "{" EUR ", \"note\": \"a\\u0000b\"}",
	 "{" EUR "}"},
	{"{when: [{field: count, is: 1}, {field: note, is: x}]}", "{" EUR ", \"note\": \"x\"}",
	 "{" EUR ", \"count\": 2}"},
};

static void test_when_people_are_asked(void **state)
{
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		struct trial trial = open_trial(conditions[i].approval);

		assert_true(need_of(&trial, conditions[i].asked).is_asked);
		assert_false(need_of(&trial, conditions[i].passed).is_asked);
		close_trial(&trial);
	}
}

static void test_always_and_first_use(void **state)
{
	struct trial trial = open_trial("{when: always}");

	assert_true(need_of(&trial, "{" EUR "}").is_asked);
	close_trial(&trial);
	trial = open_trial("{when: [{first_use: agent}, {field: amount, over: 100000}]}");
	assert_true(need_of(&trial, "{" EUR "}").unless_known);
	assert_true(need_of(&trial, "{" EUR "}").is_asked);
	assert_false(need_of(&trial, "{\"amount\": 100001, \"currency\": \"EUR\"}").unless_known);
	close_trial(&trial);
	trial = open_trial("{when: [{field: region, is: eu-west}]}");
	assert_true(need_of(&trial, "{" EUR "}").is_asked);
	close_trial(&trial);
}

static struct approval_question question_of(struct trial *trial, const char *body)
{
	struct approval_question question;

	assert_int_equal(approval_question(trial->action, STR("/v1/eu%2Dwest/payments"),
					   command_of(trial, body), &trial->mem, &question),
			 0);
	return question;
}

static void assert_text(struct str text, const char *expected)
{
	assert_int_equal(text.len, strlen(expected));
	assert_memory_equal(text.at, expected, text.len);
}

static void test_what_is_shown(void **state)
{
	struct trial trial = open_trial("{when: always, consequence: Charges, reversible: false, "
					"class: payment}");
	struct approval_question question =
		question_of(&trial, "{\"amount\": 3150, \"currency\": \"EUR\", \"note\": \"tea\"}");

	assert_text(question.summary, "Pay 31.50 EUR for “tea” in “eu-west”");
	assert_text(question.shown,
		    "{\"summary\":\"Pay 31.50 EUR for “tea” in “eu-west”\","
		    "\"consequence\":\"Charges\",\"reversible\":false,\"class\":\"payment\","
		    "\"command\":{\"amount\":{\"currency\":\"EUR\",\"minor_units\":3150},"
		    "\"currency\":\"EUR\",\"note\":\"tea\"}}");
	close_trial(&trial);
}

/* Whatever is secret is a mask, wherever it lies, and of the same length for all. */
static void test_secrets_are_masked(void **state)
{
	struct trial trial = open_trial("{when: always}");
	struct approval_question question = question_of(
		&trial, "{" EUR ", \"card\": \"4111\", \"inner\": {\"pin\": \"9876\", \"open\": 1},"
			" \"list\": [\"s1\", \"s2\"]}");

	assert_null(strstr(question.shown.at, "4111"));
	assert_null(strstr(question.shown.at, "9876"));
	assert_null(strstr(question.shown.at, "s1"));
	assert_non_null(strstr(question.command.at, "\"card\":\"" APPROVAL_MASK "\""));
	assert_non_null(strstr(question.command.at, "\"pin\":\"" APPROVAL_MASK "\""));
	assert_non_null(strstr(question.command.at, "\"open\":1"));
	assert_non_null(strstr(question.command.at, "[\"" APPROVAL_MASK "\",\"" APPROVAL_MASK));
	close_trial(&trial);
}

/* What a requester writes, and what people see of it. */
static const struct {
	const char *note, *seen;
} forgeries[] = {
	{"a\\u202eb", "a\\u{202E}b"}, /* turns the rest round */
	{"a\\nApproved by root", "a\\u{A}Approved by root"},
	{"a\\u200bb\\u2066c\\ufeff", "a\\u{200B}b\\u{2066}c\\u{FEFF}"},
	{"a\\u00a0\\u2003b", "a\\u{A0}\\u{2003}b"},
	{"\\udb40\\udc41", "\\u{E0041}"}, /* a tag, which nobody sees */
	{"\\u001b[2K", "\\u{1B}[2K"},	  /* moves a terminal's cursor */
	{"x” in “eu", "x\\u{201D} in \\u{201C}eu"},
	{"\\\\u{202E}", "\\u{5C}u{202E}"}, /* no code, and not taken for one */
	{"Zürich 東京", "Zürich 東京"},
};

static void test_nothing_pretends_to_be_something_else(void **state)
{
	struct trial trial = open_trial("{when: always, summary: \"Say {note}.\"}");
	char body[256], expected[256];

	for (size_t i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		snprintf(body, sizeof(body), "{" EUR ", \"note\": \"%s\"}", forgeries[i].note);
		snprintf(expected, sizeof(expected), "Say “%s”.", forgeries[i].seen);
		assert_text(question_of(&trial, body).summary, expected);
	}
	assert_null(strstr(question_of(&trial, "{" EUR ", \"note\": \"a\\u202eb\"}").shown.at,
			   "\xe2\x80\xae"));
	close_trial(&trial);
}

static void test_long_values_are_cut_in_a_sentence(void **state)
{
	struct trial trial = open_trial("{when: always, summary: \"Say {note}.\"}");
	char body[1024], note[701];

	memset(note, 'n', 700);
	note[700] = '\0';
	snprintf(body, sizeof(body), "{" EUR ", \"note\": \"%s\"}", note);
	assert_true(question_of(&trial, body).summary.len < APPROVAL_VALUE_MAX + 30);
	assert_non_null(strstr(question_of(&trial, body).command.at, note));
	close_trial(&trial);
}

static struct hash policy_of(const char *approval)
{
	struct trial trial = open_trial(approval);
	struct hash policy = trial.action->approval.policy;

	close_trial(&trial);
	return policy;
}

static void test_another_declaration_is_another_policy(void **state)
{
	static const char *const others[] = {
		"{when: always}",
		"{when: always, approvers: 2}",
		"{when: always, expires: 31m}",
		"{when: always, consequence: x}",
		"{when: always, reversible: false}",
		"{when: always, by: {roles: [operator]}}",
		"{when: always, by: {accounts: [a]}}",
		"{when: [{first_use: agent}]}",
		"{when: [{field: amount, over: 1}]}",
		"{when: [{field: amount, over: 2}]}",
	};
	enum { OTHERS = sizeof(others) / sizeof(others[0]) };
	struct hash policies[OTHERS];

	for (size_t i = 0; i < OTHERS; i++) {
		struct hash again = policy_of(others[i]);

		policies[i] = policy_of(others[i]);
		assert_true(hash_equal(&policies[i], &again));
		for (size_t j = 0; j < i; j++)
			assert_false(hash_equal(&policies[i], &policies[j]));
	}
}

static void test_who_may_answer(void **state)
{
	struct trial trial = open_trial("{when: always, by: {roles: [approver], accounts: [a]}}");
	struct caller caller = {.account = STR("a"), .role = ROLE_APPROVER};

	assert_int_equal(trial.action->approval.approvers, 1);
	assert_int_equal(trial.action->approval.expires_ms, 30 * 60 * 1000);
	assert_true(approval_may_answer(&trial.action->approval, &caller));
	caller.role = ROLE_OPERATOR;
	assert_false(approval_may_answer(&trial.action->approval, &caller));
	caller = (struct caller){.account = STR("b"), .role = ROLE_APPROVER};
	assert_false(approval_may_answer(&trial.action->approval, &caller));
	assert_true(action_keeps_request(trial.action));
	close_trial(&trial);
	trial = open_trial("{when: always}");
	caller.role = ROLE_OPERATOR;
	assert_true(approval_may_answer(&trial.action->approval, &caller));
	caller.role = ROLE_AGENT;
	assert_false(approval_may_answer(&trial.action->approval, &caller));
	close_trial(&trial);
}

static void test_what_is_alike(void **state)
{
	struct hash fingerprint = {{1}}, other = {{2}}, a, b;

	approval_alike(STR("acc"), STR("bot"), STR("pay"), &fingerprint, &a);
	approval_alike(STR("acc"), STR("bot"), STR("pay"), &other, &b);
	assert_false(hash_equal(&a, &b));
	approval_alike(STR("accb"), STR("ot"), STR("pay"), &fingerprint, &b);
	assert_false(hash_equal(&a, &b));
	approval_agent(STR("acc"), STR("bot"), STR("pay"), &a);
	approval_agent(STR("acc"), STR("bot"), STR("pays"), &b);
	assert_false(hash_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when_people_are_asked),
		cmocka_unit_test(test_always_and_first_use),
		cmocka_unit_test(test_what_is_shown),
		cmocka_unit_test(test_secrets_are_masked),
		cmocka_unit_test(test_nothing_pretends_to_be_something_else),
		cmocka_unit_test(test_long_values_are_cut_in_a_sentence),
		cmocka_unit_test(test_another_declaration_is_another_policy),
		cmocka_unit_test(test_who_may_answer),
		cmocka_unit_test(test_what_is_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
