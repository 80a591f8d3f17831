/* Shows the shape of an operation as JSON: for its caller and for the operator, with an answer
 * and without, with its rules, and as a page of a list. */
#include "gate_test.h"

#include "gate/operation_json.h"

#define ID	 "op_01KGAC9FDTZZZZZZZZZZZZZZZZ"
#define ZEROES64 "0000000000000000000000000000000000000000000000000000000000000000"

struct written {
	struct buf text;
	struct arena mem;
	struct json_value *json;
};

static void write_one(struct written *written, const struct store_operation *operation,
		      const struct store_attempt *attempts, size_t count, bool is_for_caller)
{
	struct json_writer json;

	buf_init(&written->text, 64 * 1024);
	arena_init(&written->mem, 1024 * 1024);
	json_writer_init(&json, &written->text);
	operation_json(&json, operation, attempts, count, is_for_caller);
	assert_false(written->text.is_spoiled);
	written->json = json_from(buf_str(&written->text), &written->mem);
}

/* An answered find, under a configuration with one action that honours a key. */
static void write_found(struct written *written, const struct store_command *find)
{
	static const char text[] = "upstreams: {default: {url: 'http://127.0.0.1:1'}}\n"
				   "actions: {pay: {route: POST /pay, downstream_key: X-Key}, "
				   "tell: {route: POST /tell}}\n";
	struct settings_report report;
	struct settings *settings;
	struct json_writer json;

	settings_report_init(&report);
	assert_int_equal(settings_parse(str_from(text), "test", NULL, &settings, &report), 0);
	buf_init(&written->text, 64 * 1024);
	arena_init(&written->mem, 1024 * 1024);
	json_writer_init(&json, &written->text);
	operation_found_json(&json, find, settings, true);
	assert_false(written->text.is_spoiled);
	written->json = json_from(buf_str(&written->text), &written->mem);
	settings_report_fini(&report);
	settings_free(settings);
}

static void written_fini(struct written *written)
{
	buf_fini(&written->text);
	arena_fini(&written->mem);
}

static struct store_operation an_operation(enum operation_state state)
{
	struct store_operation operation = {
		.account = STR("acc"),
		.token = STR("tok\"en"),
		.method = STR("POST"),
		.path = STR("/v1/tickets"),
		.upstream = STR("default"),
		.state = state,
		.epoch = 2,
		.attempts = 70,
		.created_ms = 1769847300250,
		.updated_ms = 1769847300251,
		.expires_ms = 1769933700250,
	};

	assert_true(operation_id_read(STR(ID), &operation.id));
	operation.fingerprint.bytes[0] = 0xfe;
	return operation;
}

static void an_operation_has_all_its_members(void **state)
{
	struct store_operation operation = an_operation(STATE_COMPLETED);
	struct written written;

	operation.answer = (struct store_answer){.status = 201, .is_kept = true, .length = 12};
	operation.reference = STR("ticket-1");
	operation.decided_by = STR("admin");
	operation.reason = STR("seen");
	operation.retry_of = STR(ID);
	write_one(&written, &operation, NULL, 0, true);
	assert_member(written.json, "/id", ID);
	assert_member(written.json, "/token", "tok\"en");
	assert_type(written.json, "/action", JSON_NULL);
	assert_member(written.json, "/method", "POST");
	assert_member(written.json, "/path", "/v1/tickets");
	assert_member(written.json, "/upstream", "default");
	assert_member(written.json, "/retry_of", ID);
	assert_member(written.json, "/state", "completed");
	assert_number(written.json, "/epoch", 2);
	assert_member(written.json, "/created", "2026-01-31T08:15:00.250Z");
	assert_member(written.json, "/updated", "2026-01-31T08:15:00.251Z");
	assert_member(written.json, "/expires", "2026-02-01T08:15:00.250Z");
	assert_member(written.json, "/reference", "ticket-1");
	assert_member(written.json, "/reason", "seen");
	assert_member(written.json, "/decided_by", "admin");
	assert_number(written.json, "/attempt_count", 70);
	assert_number(written.json, "/response/status", 201);
	assert_number(written.json, "/response/length", 12);
	assert_member(written.json, "/response/digest", ZEROES64);
	assert_type(written.json, "/response/kept", JSON_TRUE);
	assert_text(str_of(json_at(written.json, STR("/fingerprint"))->string.at, 4), STR("fe00"));
	assert_int_equal(json_at(written.json, STR("/fingerprint"))->string.len, 64);
	written_fini(&written);
}

static void what_is_not_known_is_null(void **state)
{
	struct store_operation operation = an_operation(STATE_RUNNING);
	struct written written;

	write_one(&written, &operation, NULL, 0, true);
	assert_type(written.json, "/response", JSON_NULL);
	assert_type(written.json, "/reference", JSON_NULL);
	assert_type(written.json, "/reason", JSON_NULL);
	assert_type(written.json, "/decided_by", JSON_NULL);
	assert_type(written.json, "/retry_of", JSON_NULL);
	assert_null(json_at(written.json, STR("/attempts"))); /* not asked for */
	written_fini(&written);
}

/* The account is the digest of a credential: its owner needs no reminder, others no hint. */
static void only_the_operator_sees_the_account(void **state)
{
	struct store_operation operation = an_operation(STATE_RUNNING);
	struct written caller, operator;

	write_one(&caller, &operation, NULL, 0, true);
	write_one(&operator, & operation, NULL, 0, false);
	assert_null(json_at(caller.json, STR("/account")));
	assert_member(operator.json, "/account", "acc");
	assert_type(caller.json, "/retry", JSON_OBJECT);
	assert_null(json_at(operator.json, STR("/retry")));
	written_fini(&caller);
	written_fini(&operator);
}

static void the_advice_follows_the_state(void **state)
{
	static const char *const advice[STATE_COUNT] = {
		[STATE_AWAITING_APPROVAL] = "wait", [STATE_QUEUED] = "same_key",
		[STATE_RUNNING] = "wait",	    [STATE_UNKNOWN] = "human",
		[STATE_COMPLETED] = "stop",	    [STATE_FAILED] = "new_key",
		[STATE_CANCELLED] = "new_key",
	};

	for (int i = STATE_AWAITING_APPROVAL; i < STATE_COUNT; i++) {
		struct store_operation operation = an_operation((enum operation_state)i);
		bool waits = strcmp(advice[i], "wait") == 0;
		int after_s = i == STATE_AWAITING_APPROVAL ? 10 : 2; /* people take longer */
		struct written written;

		write_one(&written, &operation, NULL, 0, true);
		assert_member(written.json, "/retry/advice", advice[i]);
		assert_number(written.json, "/retry/after", waits ? after_s : 0);
		assert_member(written.json, "/state",
			      operation_state_name((enum operation_state)i));
		written_fini(&written);
	}
}

/* What the gate sends or finds out by itself is waited for, not sent again and not a person's. */
static void what_the_gate_sees_to_is_waited_for(void **state)
{
	struct store_operation queued = an_operation(STATE_QUEUED);
	struct store_operation unknown = an_operation(STATE_UNKNOWN);
	struct written written;

	queued.is_dispatched = true;
	queued.due_ms = INT64_MAX; /* it waits for a lock */
	write_one(&written, &queued, NULL, 0, true);
	assert_member(written.json, "/retry/advice", "wait");
	assert_type(written.json, "/dispatched", JSON_TRUE);
	assert_type(written.json, "/due", JSON_NULL);
	written_fini(&written);
	unknown.due_ms = 1769847300250;
	unknown.tries = 4;
	write_one(&written, &unknown, NULL, 0, true);
	assert_member(written.json, "/retry/advice", "query");
	assert_member(written.json, "/due", "2026-01-31T08:15:00.250Z");
	assert_number(written.json, "/tries", 4);
	written_fini(&written);
	unknown.due_ms = INT64_MAX; /* given up */
	write_one(&written, &unknown, NULL, 0, true);
	assert_member(written.json, "/retry/advice", "human");
	written_fini(&written);
}

static void a_find_tells_the_rules(void **state)
{
	struct store_command find = {
		.operation = an_operation(STATE_RUNNING),
		.view = {.has_unique = true,
			 .has_lock = true,
			 .has_budget = true,
			 .opens_budget = true,
			 .unique_until_ms = 1769847300250,
			 .lock_name = STR("service=web"),
			 .holds_lock = true,
			 .fence = 7,
			 .lock_version = 3,
			 .currency = "EUR",
			 .spends = 100,
			 .budget_total = 4900,
			 .budget_used = 1750},
	};
	struct written written;

	find.view.holder = find.operation.id;
	write_found(&written, &find);
	assert_member(written.json, "/rules/unique/until", "2026-01-31T08:15:00.250Z");
	assert_member(written.json, "/rules/lock/name", "service=web");
	assert_type(written.json, "/rules/lock/holds", JSON_TRUE);
	assert_type(written.json, "/rules/lock/waits", JSON_FALSE);
	assert_member(written.json, "/rules/lock/holder", ID);
	assert_number(written.json, "/rules/lock/fence", 7);
	assert_number(written.json, "/rules/lock/version", 3);
	assert_member(written.json, "/rules/budget/currency", "EUR");
	assert_number(written.json, "/rules/budget/spends", 100);
	assert_number(written.json, "/rules/budget/left", 3150);
	assert_type(written.json, "/rules/opens_budget", JSON_TRUE);
	written_fini(&written);
}

static void no_rules_are_no_members(void **state)
{
	struct store_command find = {.operation = an_operation(STATE_RUNNING)};
	struct written written;

	write_found(&written, &find);
	assert_int_equal(json_at(written.json, STR("/rules"))->object.count, 0);
	assert_int_equal(json_at(written.json, STR("/retried_by"))->array.count, 0);
	assert_int_equal(json_at(written.json, STR("/attempts"))->array.count, 0);
	written_fini(&written);
}

static void a_lock_that_nobody_holds_names_nobody(void **state)
{
	struct store_command find = {
		.operation = an_operation(STATE_COMPLETED),
		.view = {.has_lock = true, .lock_name = STR("service=web")},
	};
	struct written written;

	write_found(&written, &find);
	assert_type(written.json, "/rules/lock/holder", JSON_NULL);
	written_fini(&written);
}

/* One whose action honours none, or is not declared any more, has none to show. */
static void the_downstream_key_is_shown_where_there_is_one(void **state)
{
	struct store_command find = {.operation = an_operation(STATE_RUNNING)};
	static const char *const without[] = {"tell", "gone", ""};
	struct written written;

	find.operation.action = STR("pay");
	write_found(&written, &find);
	assert_int_equal(json_at(written.json, STR("/downstream_key"))->string.len, 32);
	written_fini(&written);
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		find.operation.action = str_from(without[i]);
		write_found(&written, &find);
		assert_type(written.json, "/downstream_key", JSON_NULL);
		written_fini(&written);
	}
}

static void whoever_retried_it_is_named(void **state)
{
	struct operation_id retries[2] = {0};
	struct store_command find = {
		.operation = an_operation(STATE_FAILED), .retries = retries, .retry_count = 2};
	struct written written;

	assert_true(operation_id_read(STR(ID), &retries[1]));
	write_found(&written, &find);
	assert_int_equal(json_at(written.json, STR("/retried_by"))->array.count, 2);
	assert_member(written.json, "/retried_by/1", ID);
	written_fini(&written);
}

static void an_attempt_says_whose_doing_it_was(void **state)
{
	static const char *const names[] = {"caller", "dispatcher", "reconciler", "operator"};
	struct store_operation operation = an_operation(STATE_COMPLETED);

	for (int i = ACTOR_CALLER; i <= ACTOR_OPERATOR; i++) {
		const struct store_attempt attempt = {.outcome = OUTCOME_UNKNOWN,
						      .by = (enum store_actor)i,
						      .note = i ? STR("asked, and it is not there")
								: STR("")};
		struct written written;

		write_one(&written, &operation, &attempt, 1, true);
		assert_member(written.json, "/attempts/0/by", names[i]);
		if (i)
			assert_member(written.json, "/attempts/0/note",
				      "asked, and it is not there");
		else
			assert_type(written.json, "/attempts/0/note", JSON_NULL);
		written_fini(&written);
	}
}

static void attempts_are_listed_as_they_came(void **state)
{
	const struct store_attempt attempts[] = {
		{.at_ms = 1769847300250,
		 .outcome = OUTCOME_CREATED,
		 .agent = STR("bot"),
		 .task = STR("t"),
		 .step = STR("s"),
		 .request_id = STR("r"),
		 .delivered = 1},
		{.outcome = OUTCOME_REPLAYED, .delivered = 0},
		{.delivered = -1},
	};
	struct store_operation operation = an_operation(STATE_COMPLETED);
	struct written written;

	write_one(&written, &operation, attempts, 3, true);
	assert_int_equal(json_at(written.json, STR("/attempts"))->array.count, 3);
	assert_member(written.json, "/attempts/0/at", "2026-01-31T08:15:00.250Z");
	assert_member(written.json, "/attempts/0/outcome", "created");
	assert_member(written.json, "/attempts/0/agent", "bot");
	assert_member(written.json, "/attempts/0/task", "t");
	assert_member(written.json, "/attempts/0/step", "s");
	assert_member(written.json, "/attempts/0/request_id", "r");
	assert_type(written.json, "/attempts/0/delivered", JSON_TRUE);
	assert_member(written.json, "/attempts/1/outcome", "replayed");
	assert_type(written.json, "/attempts/1/agent", JSON_NULL);
	assert_type(written.json, "/attempts/1/delivered", JSON_FALSE);
	assert_member(written.json, "/attempts/2/outcome", "running"); /* it has not ended */
	assert_type(written.json, "/attempts/2/delivered", JSON_NULL);
	written_fini(&written);
}

static void no_attempts_yet_is_an_empty_list(void **state)
{
	const struct store_attempt none = {0};
	struct store_operation operation = an_operation(STATE_RUNNING);
	struct written written;

	write_one(&written, &operation, &none, 0, true);
	assert_type(written.json, "/attempts", JSON_ARRAY);
	assert_int_equal(json_at(written.json, STR("/attempts"))->array.count, 0);
	written_fini(&written);
}

static void a_page_says_where_the_next_one_begins(void **state)
{
	struct store_operation operations[2] = {an_operation(STATE_RUNNING),
						an_operation(STATE_FAILED)};
	struct store_command list = {.found = operations, .found_count = 2, .has_more = true};
	struct written written;
	struct json_writer json;

	list.next_before = operations[1].id;
	buf_init(&written.text, 64 * 1024);
	arena_init(&written.mem, 1024 * 1024);
	json_writer_init(&json, &written.text);
	json_open_object(&json);
	operation_list_json(&json, &list, true);
	json_close_object(&json);
	written.json = json_from(buf_str(&written.text), &written.mem);
	assert_int_equal(json_at(written.json, STR("/operations"))->array.count, 2);
	assert_member(written.json, "/operations/1/state", "failed");
	assert_null(json_at(written.json, STR("/operations/0/attempts")));
	assert_null(json_at(written.json, STR("/operations/0/account")));
	assert_member(written.json, "/next", ID);
	list.has_more = false;
	list.found_count = 0;
	buf_clear(&written.text);
	json_writer_init(&json, &written.text);
	json_open_object(&json);
	operation_list_json(&json, &list, true);
	json_close_object(&json);
	assert_text(buf_str(&written.text), STR("{\"operations\":[],\"next\":null}"));
	written_fini(&written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operation_has_all_its_members),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(only_the_operator_sees_the_account),
		cmocka_unit_test(the_advice_follows_the_state),
		cmocka_unit_test(what_the_gate_sees_to_is_waited_for),
		cmocka_unit_test(a_find_tells_the_rules),
		cmocka_unit_test(no_rules_are_no_members),
		cmocka_unit_test(a_lock_that_nobody_holds_names_nobody),
		cmocka_unit_test(the_downstream_key_is_shown_where_there_is_one),
		cmocka_unit_test(whoever_retried_it_is_named),
		cmocka_unit_test(an_attempt_says_whose_doing_it_was),
		cmocka_unit_test(attempts_are_listed_as_they_came),
		cmocka_unit_test(no_attempts_yet_is_an_empty_list),
		cmocka_unit_test(a_page_says_where_the_next_one_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
