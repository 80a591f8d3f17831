/* Shows when the gate looks again by itself, and when a second sending is one effect. */
#include "gate_test.h"

#include "gate/plan.h"

enum { MIDDLE = INT32_MAX }; /* of the random numbers: moves a pause by next to nothing */

#define HOUR INT64_C(3600000)
#define NOW  (1000 * HOUR)

static struct settings_upstream upstream = {.timeout_ms = 30000};

struct world {
	struct settings settings;
	struct action action;
	struct policy policy;
	struct store_operation operation;
	struct store_request request;
	struct plan_facts facts;
};

/* An operation that became unknown a minute ago, of an action without any rule. */
static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	upstream.url.text = upstream.service = STR("https://a.test");
	world->settings = (struct settings){
		.upstreams = &upstream,
		.upstream_count = 1,
		.outbox = {.attempts = 3, .first_pause_ms = 1000, .max_pause_ms = 600000},
	};
	world->policy = (struct policy){.settings = &world->settings, .action = &world->action};
	world->operation = (struct store_operation){
		.sent_ms = NOW - 61000,
		.updated_ms = NOW - 60000,
		.probe = STR("/v1/things?key=k"),
	};
	world->request.method = STR("POST");
	world->facts = (struct plan_facts){
		.policy = &world->policy,
		.operation = &world->operation,
		.request = &world->request,
		.now_ms = NOW,
	};
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void give_probe(struct world *world)
{
	world->action.probe = (struct rule_inquiry){
		.get = STR("/v1/things?key={downstream_key}"),
		.settle_ms = 10000,
		.every_ms = 5000,
		.give_up_ms = 24 * HOUR,
	};
}

static void give_key(struct world *world)
{
	world->policy.downstream_key = (struct rule_downstream_key){
		.header = STR("Idempotency-Key"),
		.for_ms = HOUR,
	};
	world->request.key_place = STR("header Idempotency-Key https://a.test");
}

static void without_any_rule_it_is_a_persons(void **state)
{
	struct world *world = *state;

	assert_int_equal(plan_first(&world->facts), PLAN_NOTHING);
}

static void a_question_comes_before_a_second_sending(void **state)
{
	struct world *world = *state;

	give_probe(world);
	give_key(world);
	assert_int_equal(plan_first(&world->facts), PLAN_ASK);
}

/* Claimed before its action had a probe: the question was never put together. */
static void no_question_no_asking(void **state)
{
	struct world *world = *state;

	give_probe(world);
	world->operation.probe = STR("");
	assert_int_equal(plan_first(&world->facts), PLAN_NOTHING);
}

static void a_known_key_makes_one_effect(void **state)
{
	struct world *world = *state;

	give_key(world);
	assert_int_equal(plan_first(&world->facts), PLAN_RESEND);
}

/* The service may forget the key while the request is under way. */
static void a_key_has_to_outlive_the_sending(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->operation.sent_ms = NOW - HOUR + upstream.timeout_ms + 1;
	assert_true(plan_may_resend(&world->facts));
	world->operation.sent_ms -= 1;
	assert_false(plan_may_resend(&world->facts));
}

/* Time that has passed counts, also where the clock was set back and does not show it. */
static void a_key_is_forgotten_whatever_the_clock_says(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->operation.sent_ms = NOW - HOUR + upstream.timeout_ms + 1 + 5000;
	world->facts.lost_ms = 5000;
	assert_true(plan_may_resend(&world->facts));
	world->facts.lost_ms += 1;
	assert_false(plan_may_resend(&world->facts));
}

static void an_actions_own_timeout_counts(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->policy.timeout_ms = 10 * upstream.timeout_ms;
	world->operation.sent_ms = NOW - HOUR + upstream.timeout_ms + 1;
	assert_false(plan_may_resend(&world->facts));
}

static void of_one_that_was_never_seen_sent_no_key_is_known(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->operation.sent_ms = 0;
	assert_false(plan_may_resend(&world->facts));
}

/* The upstream has another URL since it was sent: who is there now has never seen the key. */
static void another_service_knows_no_key(void **state)
{
	struct world *world = *state;

	give_key(world);
	assert_true(plan_may_resend(&world->facts));
	world->request.key_place = STR("header Idempotency-Key https://b.test");
	assert_false(plan_may_resend(&world->facts));
}

static void without_its_request_nothing_is_sent(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->request.method = STR("");
	assert_false(plan_may_resend(&world->facts));
}

static void a_natural_one_is_sent_again_when_it_is_wished(void **state)
{
	struct world *world = *state;

	world->action.is_natural = true;
	world->operation.sent_ms = NOW - 10000 * HOUR;
	world->request.key_place = STR("none https://a.test");
	assert_int_equal(plan_first(&world->facts), PLAN_NOTHING);
	world->facts.is_wished = true;
	assert_int_equal(plan_first(&world->facts), PLAN_RESEND);
}

/* What it does there would be another effect. */
static void a_natural_one_is_not_sent_elsewhere(void **state)
{
	struct world *world = *state;

	world->action.is_natural = true;
	world->facts.is_wished = true;
	world->request.key_place = STR("none https://b.test");
	assert_int_equal(plan_first(&world->facts), PLAN_NOTHING);
	world->request.key_place = STR("");
	assert_int_equal(plan_first(&world->facts), PLAN_NOTHING);
}

static void an_absence_counts_once_it_is_late_enough(void **state)
{
	struct world *world = *state;
	int64_t from_ms = 0;

	give_probe(world);
	assert_false(plan_absence_counts(&world->facts, NOW - 50001, &from_ms));
	assert_true(plan_absence_counts(&world->facts, NOW - 50000, &from_ms));
	assert_int_equal(from_ms, NOW - 50000);
}

/* Time that has not passed, since the clock was set forward, is not waited for the less. */
static void an_absence_counts_by_time_that_has_passed(void **state)
{
	struct world *world = *state;
	int64_t from_ms = 0;

	give_probe(world);
	world->facts.gained_ms = 55000;
	assert_false(plan_absence_counts(&world->facts, NOW, &from_ms));
	assert_int_equal(from_ms, NOW + 5000);
}

static void pauses_double_up_to_ten_minutes(void **state)
{
	static const int64_t pauses_ms[] = {5000,  5000,   10000,  20000,  40000,
					    80000, 160000, 320000, 600000, 600000};
	struct world *world = *state;

	give_probe(world);
	world->operation.updated_ms = NOW - HOUR;
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		int64_t pause_ms;

		world->operation.tries = (uint32_t)i;
		pause_ms = plan_next_ms(&world->facts, MIDDLE) - NOW;
		assert_in_range(pause_ms, pauses_ms[i] - 1, pauses_ms[i] + 1);
	}
}

/* Its callers may ask as often as they like: the next question comes no later than before. */
static void a_pause_is_no_longer_than_it_has_been_unknown(void **state)
{
	struct world *world = *state;

	give_probe(world);
	world->operation.tries = 50;
	assert_in_range(plan_next_ms(&world->facts, MIDDLE), NOW + 59999, NOW + 60001);
	world->facts.gained_ms = 30000;
	assert_in_range(plan_next_ms(&world->facts, MIDDLE), NOW + 29999, NOW + 30001);
	world->operation.updated_ms = NOW + 1000;
	assert_in_range(plan_next_ms(&world->facts, MIDDLE), NOW + 4999, NOW + 5001);
}

/* Without a probe each sending makes it unknown anew: counted from the first one. */
static void a_pause_is_no_longer_than_since_it_was_sent(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->operation.tries = 50;
	world->operation.updated_ms = NOW;
	assert_in_range(plan_next_ms(&world->facts, MIDDLE), NOW + 60999, NOW + 61001);
}

/* With a probe as well: were they counted from the last sending, no pause would ever be longer than
 * the one before it, and a service that is down be sent it every few seconds. */
static void pauses_between_sendings_grow(void **state)
{
	struct world *world = *state;

	give_probe(world);
	give_key(world);
	world->operation.sent_ms = NOW - HOUR / 2;
	world->operation.updated_ms = NOW - 5000;
	world->operation.tries = 5;
	assert_in_range(plan_next_ms(&world->facts, MIDDLE), NOW + 79999, NOW + 80001);
}

static void the_last_question_is_when_the_time_is_over(void **state)
{
	struct world *world = *state;

	give_probe(world);
	world->operation.tries = 20;
	world->operation.updated_ms = NOW - 24 * HOUR + 1000;
	assert_int_equal(plan_next_ms(&world->facts, MIDDLE), NOW + 1000);
	world->facts.now_ms = NOW + 1000;
	assert_int_equal(plan_next_ms(&world->facts, MIDDLE), INT64_MAX);
}

/* Each sending makes it unknown anew; the time for it is counted from the first. */
static void sending_again_ends_too(void **state)
{
	struct world *world = *state;

	give_key(world);
	world->operation.sent_ms = NOW - 24 * HOUR;
	world->operation.updated_ms = NOW;
	assert_int_equal(plan_next_ms(&world->facts, MIDDLE), INT64_MAX);
}

static void a_clock_at_its_end_does_not_run_over(void **state)
{
	struct world *world = *state;

	give_probe(world);
	world->action.probe.give_up_ms = INT64_MAX;
	world->facts.now_ms = INT64_MAX - 10;
	assert_int_equal(plan_next_ms(&world->facts, MIDDLE), INT64_MAX);
}

static void a_second_sending_that_succeeds_says_it_all(void **state)
{
	struct world *world = *state;

	assert_int_equal(plan_resent(&world->policy, EVENT_SUCCEEDED, 201), EVENT_SUCCEEDED);
}

/* The first one may have acted, whatever became of the second. */
static void a_second_sending_that_did_not_arrive_says_nothing(void **state)
{
	struct world *world = *state;

	give_key(world);
	assert_int_equal(plan_resent(&world->policy, EVENT_NOT_SENT, 0), EVENT_LOST_SIGHT);
	assert_int_equal(plan_resent(&world->policy, EVENT_NOT_SENT, 503), EVENT_LOST_SIGHT);
	assert_int_equal(plan_resent(&world->policy, EVENT_LOST_SIGHT, 0), EVENT_LOST_SIGHT);
}

static void a_refusal_of_the_command_is_the_first_ones_too(void **state)
{
	struct world *world = *state;

	give_key(world);
	assert_int_equal(plan_resent(&world->policy, EVENT_REFUSED, 402), EVENT_REFUSED);
	assert_int_equal(plan_resent(&world->policy, EVENT_REFUSED, 422), EVENT_REFUSED);
}

static void a_refusal_of_who_asks_or_when_says_nothing(void **state)
{
	static const int statuses[] = {307, 308, 401, 403, 404, 405, 407,
				       409, 412, 423, 425, 429, 501};
	struct world *world = *state;

	give_key(world);
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		assert_int_equal(plan_resent(&world->policy, EVENT_REFUSED, statuses[i]),
				 EVENT_LOST_SIGHT);
}

/* failed_when in a 200: the service tells again what it told the first one. */
static void a_failure_in_a_success_is_told_again(void **state)
{
	struct world *world = *state;

	give_key(world);
	assert_int_equal(plan_resent(&world->policy, EVENT_REFUSED, 200), EVENT_REFUSED);
}

/* DELETE, again: 404, because the first one did it. */
static void a_refusal_of_a_natural_one_says_nothing(void **state)
{
	struct world *world = *state;

	world->action.is_natural = true;
	give_key(world);
	assert_int_equal(plan_resent(&world->policy, EVENT_REFUSED, 422), EVENT_LOST_SIGHT);
}

static void the_dispatcher_gives_up_after_its_attempts(void **state)
{
	struct world *world = *state;

	assert_false(plan_gives_up(&world->settings, 2));
	assert_true(plan_gives_up(&world->settings, 3));
}

static void a_service_may_ask_for_a_longer_pause(void **state)
{
	struct world *world = *state;

	assert_int_equal(plan_retry_ms(&world->settings, 1, 60, NOW, MIDDLE), NOW + 60000);
}

static void a_service_does_not_shorten_a_pause(void **state)
{
	struct world *world = *state;
	int64_t pause_ms = plan_retry_ms(&world->settings, 4, 1, NOW, MIDDLE) - NOW;

	assert_in_range(pause_ms, 7999, 8001);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_any_rule_it_is_a_persons),
		TEST(a_question_comes_before_a_second_sending),
		TEST(no_question_no_asking),
		TEST(a_known_key_makes_one_effect),
		TEST(a_key_has_to_outlive_the_sending),
		TEST(an_actions_own_timeout_counts),
		TEST(a_key_is_forgotten_whatever_the_clock_says),
		TEST(of_one_that_was_never_seen_sent_no_key_is_known),
		TEST(another_service_knows_no_key),
		TEST(without_its_request_nothing_is_sent),
		TEST(a_natural_one_is_sent_again_when_it_is_wished),
		TEST(a_natural_one_is_not_sent_elsewhere),
		TEST(an_absence_counts_once_it_is_late_enough),
		TEST(an_absence_counts_by_time_that_has_passed),
		TEST(pauses_double_up_to_ten_minutes),
		TEST(a_pause_is_no_longer_than_it_has_been_unknown),
		TEST(a_pause_is_no_longer_than_since_it_was_sent),
		TEST(pauses_between_sendings_grow),
		TEST(the_last_question_is_when_the_time_is_over),
		TEST(sending_again_ends_too),
		TEST(a_clock_at_its_end_does_not_run_over),
		TEST(a_second_sending_that_succeeds_says_it_all),
		TEST(a_second_sending_that_did_not_arrive_says_nothing),
		TEST(a_refusal_of_the_command_is_the_first_ones_too),
		TEST(a_refusal_of_who_asks_or_when_says_nothing),
		TEST(a_failure_in_a_success_is_told_again),
		TEST(a_refusal_of_a_natural_one_says_nothing),
		TEST(the_dispatcher_gives_up_after_its_attempts),
		TEST(a_service_may_ask_for_a_longer_pause),
		TEST(a_service_does_not_shorten_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
