/*
 * A status becomes the event the contract says, and a token meets the verdict it says:
 * a conflict before all else, and never "not sent" without certainty.
 */
#include "core/outcome.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct status_classes defaults(void)
{
	struct status_classes classes;

	status_classes_default(&classes);
	return classes;
}

static void test_every_status_by_default(void **state)
{
	struct status_classes classes = defaults();

	for (int status = -1; status <= 1000; status++) {
		enum operation_event expected = EVENT_LOST_SIGHT;

		if (status == 429 || status == 503)
			expected = EVENT_NOT_SENT;
		else if (status == 408 || status == 500 || status == 502 || status == 504)
			expected = EVENT_LOST_SIGHT;
		else if (status == 509 || (status >= 512 && status <= 599)) /* of no standard */
			expected = EVENT_LOST_SIGHT;
		else if (status == 307 || status == 308) /* to be sent elsewhere */
			expected = EVENT_REFUSED;
		else if (status >= 200 && status <= 399)
			expected = EVENT_SUCCEEDED;
		else if (status >= 400 && status <= 599)
			expected = EVENT_REFUSED;
		assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, status), expected);
	}
}

static void test_status_counts_only_when_answered(void **state)
{
	struct status_classes classes = defaults();

	for (int status = 0; status <= 600; status++) {
		assert_int_equal(outcome_of_sending(&classes, SENDING_NEVER_LEFT, status),
				 EVENT_NOT_SENT);
		assert_int_equal(outcome_of_sending(&classes, SENDING_UNCLEAR, status),
				 EVENT_LOST_SIGHT);
	}
}

static void test_a_status_in_both_classes_is_unknown(void **state)
{
	struct status_classes classes = defaults();

	status_class_add(classes.not_sent, 500);
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 500), EVENT_LOST_SIGHT);
}

static void test_declared_success_may_be_unknown(void **state)
{
	struct status_classes classes = defaults();

	status_class_add(classes.unknown, 202);
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 202), EVENT_LOST_SIGHT);
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 201), EVENT_SUCCEEDED);
}

/* What no standard has follows 500, unless it is declared itself. */
static void test_an_unregistered_status_is_read_as_500(void **state)
{
	struct status_classes classes = defaults();

	status_class_add(classes.not_sent, 521);
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 521), EVENT_NOT_SENT);
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 524), EVENT_LOST_SIGHT);
	memset(&classes, 0, sizeof(classes));
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 524), EVENT_REFUSED);
	status_class_add(classes.unknown, 524);
	assert_int_equal(outcome_of_sending(&classes, SENDING_ANSWERED, 524), EVENT_LOST_SIGHT);
}

static void test_set_has_what_was_added(void **state)
{
	uint64_t set[STATUS_WORDS] = {0};

	for (int status = -5; status <= 1000; status++)
		assert_false(status_class_has(set, status));
	status_class_add(set, 99);
	status_class_add(set, 600);
	status_class_add(set, -1);
	for (int i = 0; i < STATUS_WORDS; i++)
		assert_true(set[i] == 0);
	for (int added = 100; added <= 599; added++) {
		memset(set, 0, sizeof(set));
		status_class_add(set, added);
		for (int status = 90; status <= 620; status++)
			assert_int_equal(status_class_has(set, status), status == added);
	}
}

/* What a matching fingerprint meets in each state, by (answer recorded, answer kept). */
struct row {
	enum operation_state state;
	bool may_pick_up, has_answer, is_answer_kept;
	enum verdict expected;
};

static const struct row rows[] = {
	{STATE_AWAITING_APPROVAL, false, false, false, VERDICT_AWAITING_APPROVAL},
	{STATE_AWAITING_APPROVAL, true, false, false, VERDICT_AWAITING_APPROVAL},
	{STATE_QUEUED, false, false, false, VERDICT_QUEUED},
	{STATE_QUEUED, true, false, false, VERDICT_PICK_UP},
	{STATE_RUNNING, false, false, false, VERDICT_RUNNING},
	{STATE_RUNNING, true, false, false, VERDICT_RUNNING},
	{STATE_UNKNOWN, false, false, false, VERDICT_UNKNOWN},
	{STATE_UNKNOWN, true, true, true, VERDICT_UNKNOWN}, /* a kept 500 is no end */
	{STATE_COMPLETED, false, true, true, VERDICT_REPLAY},
	{STATE_COMPLETED, true, true, true, VERDICT_REPLAY},
	{STATE_COMPLETED, false, true, false, VERDICT_NOT_RETAINED},
	{STATE_COMPLETED, false, false, false, VERDICT_RESOLVED},
	{STATE_FAILED, false, true, true, VERDICT_REPLAY},
	{STATE_FAILED, false, true, false, VERDICT_NOT_RETAINED},
	{STATE_FAILED, false, false, false, VERDICT_RESOLVED},
	{STATE_CANCELLED, false, false, false, VERDICT_CANCELLED},
	{STATE_CANCELLED, false, true, true, VERDICT_CANCELLED}, /* a kept 503 is no end */
};

static void test_recognise(void **state)
{
	static const struct hash same = {{1}}, copy = {{1}}, other = {{1, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict_facts facts = {
			.stored = &same,
			.asked = &copy,
			.state = rows[i].state,
			.may_pick_up = rows[i].may_pick_up,
			.has_answer = rows[i].has_answer,
			.is_answer_kept = rows[i].is_answer_kept,
		};

		assert_int_equal(outcome_recognise(&facts), rows[i].expected);
		facts.asked = &other;
		assert_int_equal(outcome_recognise(&facts), VERDICT_CONFLICT);
	}
}

static void test_names(void **state)
{
	static const char *const outcomes[] = {
		"created",	     "replayed", "reused",  "running", "queued",
		"awaiting_approval", "conflict", "locked",  "refused", "denied",
		"unknown",	     "not_sent", "expired",
	};
	static const char *const advices[] = {"wait", "query", "same_key", "new_key",
					      "fix",  "human", "stop"};

	for (int i = OUTCOME_CREATED; i < OUTCOME_COUNT; i++)
		assert_string_equal(outcome_name((enum outcome)i), outcomes[i - OUTCOME_CREATED]);
	for (int i = ADVICE_WAIT; i <= ADVICE_STOP; i++)
		assert_string_equal(advice_name((enum advice)i), advices[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_status_by_default),
		cmocka_unit_test(test_status_counts_only_when_answered),
		cmocka_unit_test(test_a_status_in_both_classes_is_unknown),
		cmocka_unit_test(test_declared_success_may_be_unknown),
		cmocka_unit_test(test_an_unregistered_status_is_read_as_500),
		cmocka_unit_test(test_set_has_what_was_added),
		cmocka_unit_test(test_recognise),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
