/* Shows that every problem has its words and an advice that is safe to follow, and what an
 * answer about one looks like. */
#include "gate_test.h"

#include "config/settings.h"
#include "gate/problem.h"

static bool is_slug(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if (!(text[i] >= 'a' && text[i] <= 'z') && text[i] != '-')
			return false;
	}
	return len > 0 && text[0] != '-' && text[len - 1] != '-';
}

static void every_problem_has_its_words(void **state)
{
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		const struct problem_kind *kind = problem_kind((enum problem)i);

		assert_non_null(kind->slug);
		assert_true(is_slug(kind->slug));
		assert_non_null(kind->title);
		assert_true(strlen(kind->title) > 8);
		assert_true(kind->title[strlen(kind->title) - 1] != '.');
		assert_in_range(kind->status, 200, 599);
		assert_non_null(advice_name(kind->advice));
		assert_in_range(kind->after_s, 0, 3600);
	}
}

static void a_slug_is_one_problem(void **state)
{
	for (int i = PROBLEM_NONE; i < PROBLEM_COUNT; i++) {
		for (int k = i + 1; k < PROBLEM_COUNT; k++) {
			bool is_same = strcmp(problem_kind((enum problem)i)->slug,
					      problem_kind((enum problem)k)->slug) == 0;

			/* the first time it is 504, later 409 */
			assert_int_equal(is_same, i == PROBLEM_OUTCOME_UNKNOWN &&
							  k == PROBLEM_OUTCOME_UNKNOWN_NOW);
		}
	}
}

/* A new token is a second effect waiting to happen, unless it is certain that there was none. */
static void a_new_token_is_advised_only_where_nothing_happened(void **state)
{
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		bool is_over = i == PROBLEM_OPERATION_CANCELLED || i == PROBLEM_OPERATION_FAILED ||
			       i == PROBLEM_APPROVAL_EXPIRED;

		assert_int_equal(problem_kind((enum problem)i)->advice == ADVICE_NEW_KEY, is_over);
	}
}

/* Of an operation that was queued under it, the token is not free: nobody is told so. */
static void a_version_that_moved_frees_no_token(void **state)
{
	const char *help = problem_kind(PROBLEM_VERSION_MISMATCH)->help;

	assert_null(strstr(help, "the token is still free"));
	assert_non_null(strstr(help, "stays queued"));
}

/* Who is told to come back is told when. */
static void waiting_and_trying_again_have_a_time(void **state)
{
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		const struct problem_kind *kind = problem_kind((enum problem)i);

		if (kind->advice == ADVICE_WAIT || kind->advice == ADVICE_SAME_KEY)
			assert_true(kind->after_s > 0);
		if (kind->advice == ADVICE_STOP || kind->advice == ADVICE_FIX ||
		    kind->advice == ADVICE_NEW_KEY)
			assert_int_equal(kind->after_s, 0);
	}
}

static void the_statuses_are_those_of_the_contract(void **state)
{
	static const struct {
		enum problem problem;
		const char *slug;
		int status;
		enum advice advice;
	} promised[] = {
		{PROBLEM_KEY_MISSING, "key-missing", 400, ADVICE_FIX},
		{PROBLEM_KEY_MALFORMED, "key-malformed", 400, ADVICE_FIX},
		{PROBLEM_KEY_REUSED, "key-reused", 422, ADVICE_FIX},
		{PROBLEM_OPERATION_RUNNING, "operation-running", 409, ADVICE_WAIT},
		{PROBLEM_OUTCOME_UNKNOWN, "outcome-unknown", 409, ADVICE_QUERY},
		{PROBLEM_OUTCOME_UNKNOWN_NOW, "outcome-unknown", 504, ADVICE_QUERY},
		{PROBLEM_KEY_EXPIRED, "key-expired", 410, ADVICE_STOP},
		{PROBLEM_RESPONSE_NOT_RETAINED, "response-not-retained", 410, ADVICE_STOP},
		{PROBLEM_NOT_SENT, "not-sent", 503, ADVICE_SAME_KEY},
		{PROBLEM_LOCK_HELD, "lock-held", 423, ADVICE_WAIT},
		{PROBLEM_VERSION_MISMATCH, "version-mismatch", 412, ADVICE_FIX},
		{PROBLEM_BUDGET_EXCEEDED, "budget-exceeded", 422, ADVICE_FIX},
		{PROBLEM_BUDGET_UNKNOWN, "budget-unknown", 422, ADVICE_FIX},
		{PROBLEM_BUDGET_CURRENCY, "budget-currency", 422, ADVICE_FIX},
		{PROBLEM_SIGNATURE_INVALID, "signature-invalid", 401, ADVICE_FIX},
		{PROBLEM_STORE_UNAVAILABLE, "store-unavailable", 503, ADVICE_SAME_KEY},
	};

	for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
		const struct problem_kind *kind = problem_kind(promised[i].problem);

		assert_string_equal(kind->slug, promised[i].slug);
		assert_int_equal(kind->status, promised[i].status);
		assert_int_equal(kind->advice, promised[i].advice);
	}
}

/* One occurrence, written and read back. */
struct written {
	struct buf body, headers;
	struct arena mem;
	struct json_value *json;
};

static void write_it(struct written *written, const struct problem_facts *facts)
{
	buf_init(&written->body, 64 * 1024);
	buf_init(&written->headers, 64 * 1024);
	arena_init(&written->mem, 1024 * 1024);
	problem_write(&written->body, facts);
	problem_headers(&written->headers, facts);
	assert_false(written->body.is_spoiled || written->headers.is_spoiled);
	written->json = json_from(buf_str(&written->body), &written->mem);
}

static void written_fini(struct written *written)
{
	buf_fini(&written->body);
	buf_fini(&written->headers);
	arena_fini(&written->mem);
}

static bool has_line(const struct written *written, const char *line)
{
	return memmem(written->headers.at, written->headers.len, line, strlen(line)) != NULL;
}

static void every_problem_can_be_written(void **state)
{
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		const struct problem_facts facts = {.problem = (enum problem)i, .after_s = -1};
		const struct problem_kind *kind = problem_kind(facts.problem);
		struct written written;
		char type[128];

		write_it(&written, &facts);
		snprintf(type, sizeof(type), "urn:counterfoil:problem:%s", kind->slug);
		assert_member(written.json, "/type", type);
		assert_member(written.json, "/title", kind->title);
		assert_number(written.json, "/status", kind->status);
		assert_member(written.json, "/retry/advice", advice_name(kind->advice));
		assert_number(written.json, "/retry/after", kind->after_s);
		assert_int_equal(written.json->object.count, 4); /* and nothing that is not known */
		assert_true(has_line(&written, "Content-Type: application/problem+json\r\n"));
		assert_true(has_line(&written, "Cache-Control: no-store\r\n"));
		assert_true(
			has_line(&written, "Link: </.counterfoil/help>; rel=\"describedby\"\r\n"));
		assert_int_equal(has_line(&written, "Retry-After: "), kind->after_s > 0);
		written_fini(&written);
	}
}

static void an_occurrence_has_its_own_facts(void **state)
{
	struct operation_id id;
	struct problem_facts facts = {.problem = PROBLEM_KEY_REUSED,
				      .status = 418,
				      .after_s = 7,
				      .detail = "It is \"this\" one.",
				      .id = &id,
				      .state = STATE_UNKNOWN};
	struct written written;

	assert_true(operation_id_read(STR("op_01KGAC9FDTZZZZZZZZZZZZZZZZ"), &id));
	write_it(&written, &facts);
	assert_int_equal(problem_status(&facts), 418);
	assert_number(written.json, "/status", 418);
	assert_number(written.json, "/retry/after", 7);
	assert_member(written.json, "/detail", "It is \"this\" one.");
	assert_member(written.json, "/operation/id", "op_01KGAC9FDTZZZZZZZZZZZZZZZZ");
	assert_member(written.json, "/operation/state", "unknown");
	assert_member(written.json, "/operation/status_url",
		      "/.counterfoil/operations/op_01KGAC9FDTZZZZZZZZZZZZZZZZ");
	assert_true(has_line(&written, "Retry-After: 7\r\n"));
	written_fini(&written);
}

/* Of the holder no more is told than is needed to wait for it. */
static void a_held_lock_names_its_holder(void **state)
{
	struct store_rule_view view = {.lock_name = STR("service=web"), .lock_version = 3};
	const struct problem_facts facts = {.problem = PROBLEM_LOCK_HELD,
					    .after_s = -1,
					    .view = &view,
					    .holder_state = STATE_UNKNOWN};
	struct written written;

	assert_true(operation_id_read(STR("op_01KGAC9FDTZZZZZZZZZZZZZZZZ"), &view.holder));
	write_it(&written, &facts);
	assert_member(written.json, "/lock/name", "service=web");
	assert_member(written.json, "/lock/holder/id", "op_01KGAC9FDTZZZZZZZZZZZZZZZZ");
	assert_member(written.json, "/lock/holder/state", "unknown");
	assert_member(written.json, "/lock/holder/status_url",
		      "/.counterfoil/operations/op_01KGAC9FDTZZZZZZZZZZZZZZZZ");
	assert_int_equal(json_at(written.json, STR("/lock/holder"))->object.count, 3);
	assert_null(json_at(written.json, STR("/operation")));
	written_fini(&written);
}

static void another_version_is_told(void **state)
{
	const struct store_rule_view view = {.lock_version = 3};
	const struct problem_facts facts = {
		.problem = PROBLEM_VERSION_MISMATCH, .after_s = -1, .view = &view};
	struct written written;

	write_it(&written, &facts);
	assert_number(written.json, "/version", 3);
	assert_null(json_at(written.json, STR("/lock")));
	assert_null(json_at(written.json, STR("/budget")));
	written_fini(&written);
}

static void a_budget_says_what_is_left_in_minor_units(void **state)
{
	const struct store_rule_view view = {
		.currency = "EUR", .budget_total = 4900, .budget_used = 1750};
	const struct problem_facts facts = {
		.problem = PROBLEM_BUDGET_EXCEEDED, .after_s = -1, .view = &view};
	struct written written;

	write_it(&written, &facts);
	assert_member(written.json, "/budget/currency", "EUR");
	assert_number(written.json, "/budget/total", 4900);
	assert_number(written.json, "/budget/used", 1750);
	assert_number(written.json, "/budget/left", 3150);
	written_fini(&written);
}

/* Nothing is known of one that nobody opened, so nothing is made up. */
static void a_budget_that_is_unknown_has_no_figures(void **state)
{
	const struct store_rule_view view = {.currency = "EUR"};
	const struct problem_facts facts = {
		.problem = PROBLEM_BUDGET_UNKNOWN, .after_s = -1, .view = &view};
	struct written written;

	write_it(&written, &facts);
	assert_null(json_at(written.json, STR("/budget")));
	written_fini(&written);
}

static void assert_budget_words(const struct store_rule_view *view, const struct money *asked,
				const char *expected)
{
	char words[256];

	problem_budget_detail(PROBLEM_BUDGET_EXCEEDED, view, asked, words, sizeof(words));
	assert_string_equal(words, expected);
}

/* People count in major units, with the digits of the currency. */
static void money_is_told_in_major_units(void **state)
{
	const struct money euros = {.currency = "EUR", .minor_units = 4000};
	const struct money yen = {.currency = "JPY", .minor_units = 7};
	const struct money dinars = {.currency = "BHD", .minor_units = 1};
	const struct store_rule_view in_euros = {
		.currency = "EUR", .budget_total = 4900, .budget_used = 1750};
	const struct store_rule_view in_yen = {
		.currency = "JPY", .budget_total = 49, .budget_used = 49};
	const struct store_rule_view in_dinars = {
		.currency = "BHD", .budget_total = 1500, .budget_used = 1499};

	assert_budget_words(&in_euros, &euros,
			    "31.50 EUR are left of 49.00 EUR; this asks for 40.00 EUR.");
	assert_budget_words(&in_yen, &yen, "0 JPY are left of 49 JPY; this asks for 7 JPY.");
	assert_budget_words(&in_dinars, &dinars,
			    "0.001 BHD are left of 1.500 BHD; this asks for 0.001 BHD.");
}

static void the_largest_amounts_have_room(void **state)
{
	const struct money most = {.currency = "EUR", .minor_units = INT64_MAX};
	const struct store_rule_view view = {.currency = "EUR", .budget_total = INT64_MAX};

	assert_budget_words(&view, &most,
			    "92233720368547758.07 EUR are left of 92233720368547758.07 EUR; this "
			    "asks for 92233720368547758.07 EUR.");
}

static void no_time_at_all_is_a_time_too(void **state)
{
	const struct problem_facts facts = {.problem = PROBLEM_OPERATION_RUNNING, .detail = ""};
	struct written written;

	write_it(&written, &facts);
	assert_number(written.json, "/retry/after", 0);
	assert_false(has_line(&written, "Retry-After"));
	assert_null(json_at(written.json, STR("/detail")));
	written_fini(&written);
}

static void refusals_of_the_codec_have_a_problem(void **state)
{
	assert_int_equal(problem_of_status(400), PROBLEM_REQUEST_MALFORMED);
	assert_int_equal(problem_of_status(408), PROBLEM_REQUEST_MALFORMED);
	assert_int_equal(problem_of_status(413), PROBLEM_BODY_TOO_LARGE);
	assert_int_equal(problem_of_status(414), PROBLEM_BODY_TOO_LARGE);
	assert_int_equal(problem_of_status(431), PROBLEM_BODY_TOO_LARGE);
	assert_int_equal(problem_of_status(415), PROBLEM_CODING_UNKNOWN);
	assert_int_equal(problem_of_status(505), PROBLEM_REQUEST_MALFORMED);
}

static void a_refusal_of_the_codec_keeps_its_status_and_words(void **state)
{
	const struct http_refusal refusal = {.status = 431, .detail = "Too many fields."};
	const struct problem_facts facts = problem_of_refusal(&refusal);

	assert_int_equal(facts.problem, PROBLEM_BODY_TOO_LARGE);
	assert_int_equal(problem_status(&facts), 431);
	assert_string_equal(facts.detail, "Too many fields.");
	assert_int_equal(facts.after_s, -1);
	assert_null(facts.id);
}

/* The help page. */

static void help_for(const char *configuration, struct buf *page)
{
	struct settings_report report;
	struct settings *settings;

	settings_report_init(&report);
	assert_int_equal(settings_parse(str_from(configuration), "test", NULL, &settings, &report),
			 0);
	buf_init(page, 256 * 1024);
	problem_help(page, settings);
	assert_false(page->is_spoiled);
	assert_int_equal(buf_append_byte(page, '\0'), 0);
	settings_report_fini(&report);
	settings_free(settings);
}

static void the_help_page_tells_the_rules_of_this_gate(void **state)
{
	struct buf page;

	help_for("upstreams: {default: {url: 'http://127.0.0.1:1'}}\n"
		 "tokens: {required: false, header: X-Token, retention: 36h, tombstones: 30d}\n"
		 "protect: [POST, PURGE]\n",
		 &page);
	assert_non_null(strstr(page.at, " POST PURGE;"));
	assert_non_null(strstr(page.at, "header X-Token and is optional."));
	assert_non_null(strstr(page.at, "at least 36h; a later retry is refused (410) for another "
					"30d."));
	buf_fini(&page);
	help_for("upstreams: {default: {url: 'http://127.0.0.1:1'}}\n"
		 "tokens: {required: true, retention: 90s, tombstones: 0s}\n",
		 &page);
	assert_non_null(strstr(page.at, "is required."));
	assert_non_null(strstr(page.at, "at least 90s.\n"));
	assert_null(strstr(page.at, "(410) for another"));
	buf_fini(&page);
}

/* It holds for every action of the gate: for one that finds out by itself and one that cannot. */
static void the_help_page_says_who_finds_out(void **state)
{
	struct buf page;
	const char *text;

	help_for("upstreams: {default: {url: 'http://127.0.0.1:1'}}\n", &page);
	text = strstr(page.at, "\noutcome-unknown (");
	assert_non_null(text);
	assert_non_null(strstr(text, "It is sent again only where "));
	assert_null(strstr(text, "It is not sent again."));
	buf_fini(&page);
}

static void the_help_page_has_every_problem_once(void **state)
{
	struct buf page;

	help_for("upstreams: {default: {url: 'http://127.0.0.1:1'}}\n", &page);
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		const struct problem_kind *kind = problem_kind((enum problem)i);
		char line[64];
		const char *found;

		snprintf(line, sizeof(line), "\n%s (", kind->slug);
		found = strstr(page.at, line);
		if (!found)
			print_error("no help for %s\n", kind->slug);
		assert_non_null(found);
		assert_null(strstr(found + 1, line));
	}
	buf_fini(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_problem_has_its_words),
		cmocka_unit_test(a_slug_is_one_problem),
		cmocka_unit_test(a_new_token_is_advised_only_where_nothing_happened),
		cmocka_unit_test(a_version_that_moved_frees_no_token),
		cmocka_unit_test(waiting_and_trying_again_have_a_time),
		cmocka_unit_test(the_statuses_are_those_of_the_contract),
		cmocka_unit_test(every_problem_can_be_written),
		cmocka_unit_test(an_occurrence_has_its_own_facts),
		cmocka_unit_test(a_held_lock_names_its_holder),
		cmocka_unit_test(another_version_is_told),
		cmocka_unit_test(a_budget_says_what_is_left_in_minor_units),
		cmocka_unit_test(a_budget_that_is_unknown_has_no_figures),
		cmocka_unit_test(money_is_told_in_major_units),
		cmocka_unit_test(the_largest_amounts_have_room),
		cmocka_unit_test(no_time_at_all_is_a_time_too),
		cmocka_unit_test(refusals_of_the_codec_have_a_problem),
		cmocka_unit_test(a_refusal_of_the_codec_keeps_its_status_and_words),
		cmocka_unit_test(the_help_page_tells_the_rules_of_this_gate),
		cmocka_unit_test(the_help_page_says_who_finds_out),
		cmocka_unit_test(the_help_page_has_every_problem_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
