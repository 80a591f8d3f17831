/* Shows that a person's decision is read as it was meant, and becomes the store's command that
 * says no more than the operation's record and the settings allow. */
#include "admin_test.h"

#include "admin/decision.h"

enum { NOW_MS = 1000000, DAY_MS = 24 * 3600 * 1000 };

struct desk {
	struct arena mem;
	struct settings_upstream upstreams[2];
	struct action action;
	struct settings settings;
	struct store_command found; /* an unknown payment */
	struct store_command command;
};

static int set_up(void **state)
{
	struct desk *desk = calloc(1, sizeof(*desk));

	arena_init(&desk->mem, 1024 * 1024);
	desk->upstreams[0].name = STR("default");
	desk->upstreams[1].name = STR("pay");
	desk->action = (struct action){
		.name = STR("payments.create"),
		.upstream = 1,
		.retention_ms = 2 * DAY_MS,
	};
	desk->settings.upstreams = desk->upstreams;
	desk->settings.upstream_count = 2;
	desk->settings.actions = &desk->action;
	desk->settings.action_count = 1;
	desk->settings.tokens.retention_ms = DAY_MS;
	desk->found.operation = (struct store_operation){
		.id = {{7}},
		.account = STR("acme"),
		.action = STR("payments.create"),
		.upstream = STR("pay"),
		.state = STATE_UNKNOWN,
	};
	*state = desk;
	return 0;
}

static int tear_down(void **state)
{
	struct desk *desk = *state;

	arena_fini(&desk->mem);
	free(desk);
	return 0;
}

static const char *read_text(struct desk *desk, enum decision_kind kind, const char *text,
			     struct decision *out_decision)
{
	struct json_value *body;
	struct json_error error;

	assert_int_equal(json_read(str_from(text), &json_limits_default, &desk->mem, &body, &error),
			 0);
	return decision_read(kind, body, out_decision);
}

/* Read it, and make it the command. */
static void decide(struct desk *desk, enum decision_kind kind, const char *text)
{
	static const struct caller person = {.credential = {"admin-token", 11}};
	struct decision decision = {0};

	assert_null(read_text(desk, kind, text, &decision));
	assert_true(decision_by(&decision, &person, &desk->mem));
	decision_command(&decision, &desk->settings, &desk->found, NOW_MS, &desk->mem,
			 &desk->command);
	assert_memory_equal(&desk->command.operation.id, &desk->found.operation.id,
			    sizeof(struct operation_id));
}

static void three_decisions_have_their_verbs(void **state)
{
	assert_string_equal(decision_kind_name(DECISION_CANCEL), "cancel");
	assert_string_equal(decision_kind_name(DECISION_RESOLVE), "resolve");
	assert_string_equal(decision_kind_name(DECISION_RELEASE), "release");
}

static void every_decision_needs_a_reason(void **state)
{
	static const char *const bodies[] = {
		"{\"happened\":true}",
		"{\"happened\":true,\"why\":\"\"}",
		"{\"happened\":true,\"why\":7}",
		"[\"why\"]",
	};
	struct decision decision;

	for (int kind = DECISION_CANCEL; kind <= DECISION_RELEASE; kind++) {
		for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
			assert_non_null(
				read_text(*state, (enum decision_kind)kind, bodies[i], &decision));
	}
}

static void a_flag_is_true_or_false(void **state)
{
	static const char *const bodies[] = {
		"{\"why\":\"seen\"}",
		"{\"why\":\"seen\",\"happened\":null}",
		"{\"why\":\"seen\",\"happened\":\"false\"}",
		"{\"why\":\"seen\",\"happened\":false,\"retry\":0}",
		"{\"why\":\"seen\",\"happened\":false,\"retry\":null}",
		"{\"why\":\"seen\",\"happened\":false,\"epoch\":\"1\"}",
		"{\"why\":\"seen\",\"happened\":false,\"epoch\":-1}",
		"{\"why\":\"seen\",\"happened\":false,\"epoch\":1.5}",
		"{\"why\":\"seen\",\"happened\":false,\"epoch\":4294967296}",
		"{\"why\":\"seen\",\"happened\":false,\"epoch\":null}",
	};
	struct decision decision;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		assert_non_null(read_text(*state, DECISION_RESOLVE, bodies[i], &decision));
}

static void a_move_says_who_and_why(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_CANCEL, "{\"why\":\"not wanted\"}");
	assert_int_equal(desk->command.kind, STORE_MOVE);
	assert_int_equal(desk->command.event, EVENT_CANCELLED);
	assert_true(desk->command.any_epoch);
	assert_true(str_equal(desk->command.operation.reason, STR("not wanted")));
	assert_true(str_equal(desk->command.operation.decided_by, STR("operator")));
}

static void a_key_is_named_with_who_has_it(void **state)
{
	struct desk *desk = *state;
	const struct caller caller = {.agent = STR("ann"), .credential = STR("key_1")};
	struct decision decision = {.kind = DECISION_CANCEL, .why = STR("x")};

	assert_true(decision_by(&decision, &caller, &desk->mem));
	decision_command(&decision, &desk->settings, &desk->found, NOW_MS, &desk->mem,
			 &desk->command);
	assert_true(str_equal(desk->command.operation.decided_by, STR("ann key_1")));
	assert_true(str_equal(desk->command.attempt.agent, STR("ann")));
	assert_true(str_equal(desk->command.attempt.credential, STR("key_1")));
}

static void assert_history(const struct desk *desk, enum outcome outcome, const char *note)
{
	const struct store_attempt *attempt = &desk->command.attempt;

	assert_int_equal(attempt->by, ACTOR_OPERATOR);
	assert_int_equal(attempt->outcome, outcome);
	assert_int_equal(attempt->at_ms, NOW_MS);
	assert_int_equal(attempt->delivered, -1);
	assert_true(str_equal(attempt->note, str_from(note)));
}

static void a_move_is_told_in_the_history(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_CANCEL, "{\"why\":\"not wanted\"}");
	assert_history(desk, OUTCOME_REFUSED, "cancelled; not wanted");
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true}");
	assert_history(desk, OUTCOME_CREATED, "resolved: it happened; seen");
	decide(desk, DECISION_RESOLVE, "{\"why\":\"gone\",\"happened\":false,\"retry\":true}");
	assert_history(desk, OUTCOME_NOT_SENT, "resolved: it did not happen; gone");
	decide(desk, DECISION_RESOLVE, "{\"why\":\"gone\",\"happened\":false,\"retry\":false}");
	assert_history(desk, OUTCOME_REFUSED,
		       "resolved: it did not happen, and is not to be sent again; gone");
}

/* A history without room for the words has the reason still. */
static void a_note_without_room_is_the_reason(void **state)
{
	struct desk *desk = *state;
	struct decision decision = {.kind = DECISION_CANCEL, .why = STR("not wanted")};
	struct arena none;

	arena_init(&none, 1);
	decision_command(&decision, &desk->settings, &desk->found, NOW_MS, &none, &desk->command);
	assert_history(desk, OUTCOME_REFUSED, "not wanted");
	arena_fini(&none);
}

static void what_happened_is_three_events(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true,\"reference\":\"p\"}");
	assert_int_equal(desk->command.event, EVENT_FOUND_DONE);
	assert_true(str_equal(desk->command.operation.reference, STR("p")));
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":false,\"retry\":true}");
	assert_int_equal(desk->command.event, EVENT_FOUND_NOT_DONE);
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":false}");
	assert_int_equal(desk->command.event, EVENT_FOUND_FAILED);
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":false,\"retry\":false}");
	assert_int_equal(desk->command.event, EVENT_FOUND_FAILED);
}

/* What the dispatcher sends is not left lying when a person says that it did not arrive. */
static void what_did_not_happen_is_due_at_once(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":false,\"retry\":true}");
	assert_int_equal(desk->command.next_ms, NOW_MS);
}

static const struct hash no_hash;

static bool opens_nothing(const struct desk *desk)
{
	return memcmp(&desk->command.opens, &no_hash, sizeof(no_hash)) == 0;
}

static void a_reference_opens_the_budget(void **state)
{
	struct desk *desk = *state;
	struct hash wanted;

	desk->found.view.opens_budget = true;
	decide(desk, DECISION_RESOLVE,
	       "{\"why\":\"seen\",\"happened\":true,\"reference\":\"pay_1\"}");
	budget_hash(STR("acme"), STR("pay"), STR("pay_1"), &wanted);
	assert_memory_equal(&desk->command.opens, &wanted, sizeof(wanted));
}

static void a_budget_opens_by_nothing_else(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_RESOLVE,
	       "{\"why\":\"seen\",\"happened\":true,\"reference\":\"pay_1\"}");
	assert_true(opens_nothing(desk));
	desk->found.view.opens_budget = true;
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true}");
	assert_true(opens_nothing(desk));
	decide(desk, DECISION_RESOLVE,
	       "{\"why\":\"seen\",\"happened\":false,\"reference\":\"pay_1\"}");
	assert_true(opens_nothing(desk));
}

static void the_action_says_how_long_it_is_kept(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true}");
	assert_int_equal(desk->command.retention_ms, 2 * DAY_MS);
	desk->found.operation.action = STR("");
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true}");
	assert_int_equal(desk->command.retention_ms, DAY_MS);
}

/* Forgotten earlier, its business could be done twice; a failed one leaves it free at once. */
static void an_identity_keeps_its_operation(void **state)
{
	struct desk *desk = *state;

	desk->found.view.has_unique = true;
	desk->found.view.unique_until_ms = NOW_MS + 5LL * DAY_MS;
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true}");
	assert_int_equal(desk->command.retention_ms, 5LL * DAY_MS);
	assert_int_equal(desk->command.plain_retention_ms, 2 * DAY_MS);
	desk->found.view.unique_until_ms = NOW_MS - 1;
	decide(desk, DECISION_RESOLVE, "{\"why\":\"seen\",\"happened\":true}");
	assert_int_equal(desk->command.retention_ms, 2 * DAY_MS);
}

static void a_release_is_told_in_the_history(void **state)
{
	struct desk *desk = *state;

	decide(desk, DECISION_RELEASE, "{\"why\":\"the host is gone\"}");
	assert_int_equal(desk->command.kind, STORE_RELEASE);
	assert_int_equal(desk->command.attempt.by, ACTOR_OPERATOR);
	assert_int_equal(desk->command.attempt.outcome, OUTCOME_UNKNOWN);
	assert_int_equal(desk->command.attempt.at_ms, NOW_MS);
	assert_int_equal(desk->command.attempt.delivered, -1);
	assert_true(
		str_equal(desk->command.attempt.note, STR("released its lock; the host is gone")));
	desk->found.operation.state = STATE_RUNNING;
	decide(desk, DECISION_RELEASE, "{\"why\":\"the host is gone\"}");
	assert_int_equal(desk->command.attempt.outcome, OUTCOME_RUNNING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(three_decisions_have_their_verbs),
		TEST(every_decision_needs_a_reason),
		TEST(a_flag_is_true_or_false),
		TEST(a_move_says_who_and_why),
		TEST(a_key_is_named_with_who_has_it),
		TEST(a_move_is_told_in_the_history),
		TEST(a_note_without_room_is_the_reason),
		TEST(what_happened_is_three_events),
		TEST(what_did_not_happen_is_due_at_once),
		TEST(a_reference_opens_the_budget),
		TEST(a_budget_opens_by_nothing_else),
		TEST(the_action_says_how_long_it_is_kept),
		TEST(an_identity_keeps_its_operation),
		TEST(a_release_is_told_in_the_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
