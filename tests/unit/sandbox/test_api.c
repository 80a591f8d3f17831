/* The practice API makes an effect of every write it accepts, and of no other. */
#include "sandbox/api.h"

#include "sandbox_test.h"

#include <stdio.h>

static struct world *world;
static char answer[65536]; /* the last one's body */
static char headers[4096];
static const char *fence = ""; /* the X-Fence that deployments come with */
static const char *event = ""; /* the webhook-id that comes with it */
static int64_t wall_ms, hide_ms;
static bool is_twice;

static int set_up(void **state)
{
	wall_ms = 1769847300250;
	hide_ms = 0;
	is_twice = false;
	world = world_new();
	return world ? 0 : -1;
}

static int tear_down(void **state)
{
	world_free(world);
	return 0;
}

/* Ask with a key; returns the status. `target` may have a query. */
static int ask_with(const char *key, const char *method, const char *target, const char *body)
{
	struct str path = str_from(target);
	size_t mark = str_find(path, '?');
	struct api_reply reply;
	struct arena mem;
	struct api_request request = {
		.method = str_from(method),
		.path = str_of(path.at, mark),
		.query = str_from_index(path, mark + 1),
		.key = str_from(key),
		.fence = str_from(fence),
		.event = str_from(event),
		.body = str_from(body),
		.wall_ms = wall_ms,
		.hide_ms = hide_ms,
		.is_twice = is_twice,
		.mem = &mem,
	};
	int status;

	arena_init(&mem, 1024 * 1024);
	api_reply_init(&reply);
	api_answer(world, &request, &reply);
	snprintf(answer, sizeof(answer), "%.*s", STR_ARG(buf_str(&reply.body)));
	snprintf(headers, sizeof(headers), "%.*s", STR_ARG(buf_str(&reply.headers)));
	status = reply.status;
	api_reply_fini(&reply);
	arena_fini(&mem);
	return status;
}

static int ask(const char *method, const char *target, const char *body)
{
	return ask_with("", method, target, body);
}

static uint64_t effects_of(enum kind kind)
{
	return world->effects.of_kind[kind];
}

static void every_post_is_a_new_effect(void **state)
{
	assert_int_equal(ask_with("k", "POST", "/v1/tickets", "{\"title\":\"a\",\"n\":1.50}"), 201);
	assert_string_equal(answer, "{\"id\":\"tkt_1\",\"title\":\"a\",\"n\":1.5,"
				    "\"created\":\"2026-01-31T08:15:00.250Z\"}\n");
	assert_string_equal(headers, "Location: /v1/tickets/tkt_1\r\n"
				     "Content-Type: application/json\r\n");
	assert_int_equal(ask_with("k", "POST", "/v1/tickets", "{\"title\":\"a\"}"), 201);
	assert_int_equal(effects_of(KIND_TICKET), 2);
	assert_int_equal(ask("GET", "/v1/tickets/tkt_2", ""), 200);
	assert_int_equal(ask("GET", "/effects?key=k", ""), 200);
	assert_non_null(strstr(answer, "\"keys\":{\"k\":2}"));
}

static void what_is_not_accepted_is_no_effect(void **state)
{
	static const struct {
		const char *method, *target, *body;
		int status;
	} cases[] = {
		{"POST", "/v1/tickets", "", 400},
		{"POST", "/v1/tickets", "[]", 400},
		{"POST", "/v1/tickets", "{\"title\":1}", 400},
		{"POST", "/v1/tickets", "{\"title\":\"a\",\"title\":\"b\"}", 400},
		{"POST", "/v1/payments", "{\"amount\":0,\"currency\":\"EUR\"}", 400},
		{"POST", "/v1/payments", "{\"amount\":1.5,\"currency\":\"EUR\"}", 400},
		{"POST", "/v1/payments", "{\"amount\":1,\"currency\":\"EU1\"}", 400},
		{"POST", "/v1/payments", "{\"amount\":1}", 400},
		{"POST", "/v1/refunds",
		 "{\"payment_id\":\"pay_1\",\"amount\":1,\"currency\":\"EUR\"}", 404},
		{"POST", "/v1/deployments", "{\"environment\":\"e\",\"service\":\"s\"}", 400},
		{"POST", "/v1/nothing", "{}", 404},
		{"POST", "/v1/tickets/", "{\"title\":\"a\"}", 404},
		{"POST", "/v1/tickets/tkt_1", "{\"title\":\"a\"}", 405},
		{"PUT", "/v1/tickets", "{\"title\":\"a\"}", 405},
		{"DELETE", "/effect", "", 404},
		{"POST", "/effects", "", 405},
		{"POST", "/faults", "{\"fault\":\"drop\"}", 405},
		{"GET", "/v1/tickets/tkt_01", "", 404},
		{"GET", "/v1/tickets?limit=0", "", 400},
		{"GET", "/v1/environments/none", "", 404},
		{"GET", "/v1/orders", "", 404},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ask(cases[i].method, cases[i].target, cases[i].body),
				 cases[i].status);
		assert_non_null(strstr(answer, "{\"error\":{\"code\":"));
	}
	for (int kind = 0; kind < KIND_COUNT; kind++)
		assert_int_equal(effects_of((enum kind)kind), 0);
}

static void payments_are_found_by_what_they_came_with(void **state)
{
	assert_int_equal(
		ask_with("key one", "POST", "/v1/payments", "{\"amount\":1,\"currency\":\"EUR\"}"),
		201);
	assert_int_equal(ask("POST", "/v1/payments",
			     "{\"amount\":\"2\",\"currency\":\"EUR\",\"reference\":\"r/2\"}"),
			 201);
	assert_int_equal(ask("GET", "/v1/payments?reference=key+one", ""), 200);
	assert_non_null(strstr(answer, "{\"data\":[{\"id\":\"pay_1\""));
	assert_null(strstr(answer, "pay_2"));
	assert_int_equal(ask("GET", "/v1/payments?limit=1&reference=r%2F2", ""), 200);
	assert_non_null(strstr(answer, "{\"data\":[{\"id\":\"pay_2\""));
	assert_int_equal(ask("GET", "/v1/payments?reference=none", ""), 200);
	assert_string_equal(answer, "{\"data\":[],\"has_more\":false}\n");
	assert_int_equal(ask("GET", "/v1/payments?limit=1", ""), 200);
	assert_non_null(strstr(answer, "\"has_more\":true"));
}

static void tickets_are_found_by_their_members(void **state)
{
	assert_int_equal(
		ask("POST", "/v1/tickets",
		    "{\"title\":\"a\",\"event\":\"e/1\",\"n\":7,\"in\":{\"event\":\"e2\"}}"),
		201);
	assert_int_equal(ask("POST", "/v1/tickets", "{\"title\":\"b\",\"event\":\"e/1\",\"n\":8}"),
			 201);
	assert_int_equal(ask("GET", "/v1/tickets?event=e%2F1&n=7", ""), 200);
	assert_non_null(strstr(answer, "{\"data\":[{\"id\":\"tkt_1\""));
	assert_null(strstr(answer, "tkt_2"));
	assert_int_equal(ask("GET", "/v1/tickets?event=e/1&limit=1", ""), 200);
	assert_non_null(strstr(answer, "{\"data\":[{\"id\":\"tkt_2\""));
	assert_int_equal(ask("GET", "/v1/tickets?event=e2", ""), 200);
	assert_string_equal(answer, "{\"data\":[],\"has_more\":false}\n");
	assert_int_equal(ask("GET", "/v1/tickets?a=&b=&c=&d=&e=&f=&g=&h=&i=", ""), 400);
}

static void what_is_hidden_is_seen_later(void **state)
{
	hide_ms = 300;
	assert_int_equal(ask("POST", "/v1/tickets", "{\"title\":\"a\"}"), 201);
	hide_ms = 0;
	wall_ms += 299;
	assert_int_equal(ask("GET", "/v1/tickets/tkt_1", ""), 404);
	assert_int_equal(ask("GET", "/v1/tickets?title=a", ""), 200);
	assert_string_equal(answer, "{\"data\":[],\"has_more\":false}\n");
	assert_int_equal(effects_of(KIND_TICKET), 1);
	wall_ms += 1;
	assert_int_equal(ask("GET", "/v1/tickets/tkt_1", ""), 200);
	assert_int_equal(ask("GET", "/v1/tickets?title=a", ""), 200);
	assert_non_null(strstr(answer, "tkt_1"));
}

static void a_list_can_show_all_twice(void **state)
{
	assert_int_equal(ask("POST", "/v1/tickets", "{\"title\":\"a\"}"), 201);
	is_twice = true;
	assert_int_equal(ask("GET", "/v1/tickets", ""), 200);
	assert_string_equal(answer, "{\"data\":[{\"id\":\"tkt_1\",\"title\":\"a\","
				    "\"created\":\"2026-01-31T08:15:00.250Z\"},"
				    "{\"id\":\"tkt_1\",\"title\":\"a\","
				    "\"created\":\"2026-01-31T08:15:00.250Z\"}],"
				    "\"has_more\":false}\n");
}

static int refund(const char *amount, const char *currency)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"payment_id\":\"pay_1\",\"amount\":%s,\"currency\":\"%s\"}",
		 amount, currency);
	return ask("POST", "/v1/refunds", body);
}

static void refunds_have_no_bound(void **state)
{
	assert_int_equal(ask("POST", "/v1/payments", "{\"amount\":100,\"currency\":\"EUR\"}"), 201);
	assert_int_equal(refund("60", "eur"), 201);
	assert_int_equal(refund("1", "USD"), 422);
	assert_int_equal(refund("60", "EUR"), 201);
	assert_int_equal(effects_of(KIND_REFUND), 2);
	assert_int_equal(ask("GET", "/v1/payments/pay_1", ""), 200);
	assert_non_null(strstr(answer, "\"refunded\":120}"));
}

static void deployments_raise_the_version(void **state)
{
	static const char first[] = "{\"environment\":\"e\",\"service\":\"s\",\"artifact\":\"a1\"}";
	static const char second[] =
		"{\"environment\":\"e\",\"service\":\"s\",\"artifact\":\"a2\"}";

	assert_int_equal(ask("POST", "/v1/deployments", first), 201);
	assert_non_null(strstr(answer, "\"version\":1,"));
	assert_int_equal(ask("POST", "/v1/deployments", second), 201);
	assert_int_equal(ask("GET", "/v1/environments/e", ""), 200);
	assert_string_equal(answer, "{\"name\":\"e\",\"version\":2,\"deployment\":\"dep_2\","
				    "\"service\":\"s\",\"artifact\":\"a2\","
				    "\"updated\":\"2026-01-31T08:15:00.250Z\"}\n");
}

static void a_deployment_tells_its_fence(void **state)
{
	static const char body[] =
		"{\"environment\":\"e\",\"service\":\"s\",\"artifact\":\"a\",\"fence\":1}";
	static const struct {
		const char *fence, *shown;
	} cases[] = {{"7", "\"fence\":7,"}, {"6", "\"fence\":6,"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fence = cases[i].fence;
		assert_int_equal(ask("POST", "/v1/deployments", body), 201);
		assert_non_null(strstr(answer, cases[i].shown));
		assert_int_equal(ask("GET", "/v1/environments/e", ""), 200);
		assert_non_null(strstr(answer, cases[i].shown));
	}
	fence = "x";
	assert_int_equal(ask("POST", "/v1/deployments", body), 400);
	fence = "";
	assert_int_equal(ask("POST", "/v1/deployments", body), 201);
	assert_null(strstr(answer, "fence"));
}

static void an_order_is_what_was_put_last(void **state)
{
	assert_int_equal(ask("PUT", "/v1/orders/o-1", "{\"a\":1}"), 201);
	assert_int_equal(ask("PUT", "/v1/orders/o-1", "{\"a\":2}"), 200);
	assert_int_equal(ask("GET", "/v1/orders/o-1", ""), 200);
	assert_string_equal(answer, "{\"id\":\"o-1\",\"a\":2,"
				    "\"updated\":\"2026-01-31T08:15:00.250Z\"}\n");
	assert_int_equal(effects_of(KIND_ORDER), 2);
}

static void an_honoured_key_makes_one_thing(void **state)
{
	static const char named[] = "{\"amount\":5,\"currency\":\"EUR\",\"reference\":\"r\"}";
	static const char other[] = "{\"amount\":5,\"currency\":\"EUR\"}";

	assert_int_equal(ask_with("k", "POST", "/v1/payments", other), 201);
	assert_int_equal(ask("PUT", "/faults", "{\"honour_keys\":1}"), 400);
	assert_int_equal(ask("PUT", "/faults", "{\"honour_keys\":true}"), 200);
	assert_string_equal(answer, "{\"faults\":[],\"honour_keys\":true}\n");
	assert_int_equal(ask_with("k", "POST", "/v1/payments", other), 200);
	assert_non_null(strstr(answer, "\"id\":\"pay_1\""));
	assert_int_equal(ask("POST", "/v1/payments", named), 201);
	assert_int_equal(ask("POST", "/v1/payments", named), 200);
	assert_int_equal(ask_with("k", "POST", "/v1/tickets", "{\"title\":\"a\"}"), 201);
	assert_int_equal(ask("POST", "/v1/payments", other), 201);
	assert_int_equal(ask("POST", "/v1/payments", other), 201);
	assert_int_equal(effects_of(KIND_PAYMENT), 4);
	assert_int_equal(world->effects.resent, 2);
	assert_int_equal(ask("DELETE", "/faults", ""), 200);
	assert_int_equal(ask_with("k", "POST", "/v1/payments", other), 201);
}

static void events_are_counted_by_their_id(void **state)
{
	event = "evt_1";
	assert_int_equal(ask("POST", "/hooks/pay", "whatever"), 200);
	assert_int_equal(ask("POST", "/hooks/pay", "whatever"), 200);
	assert_int_equal(ask("GET", "/hooks/pay", ""), 405);
	assert_int_equal(ask("POST", "/hooks/", "whatever"), 404);
	event = "";
	assert_int_equal(ask("POST", "/hooks/pay", ""), 200);
	assert_int_equal(effects_of(KIND_HOOK), 3);
	assert_int_equal(ask("GET", "/effects", ""), 200);
	assert_non_null(strstr(answer, "\"hooks\":3},\"total\":3,\"keys\":{\"evt_1\":2}"));
}

static void a_reset_starts_anew(void **state)
{
	assert_int_equal(ask("POST", "/v1/tickets", "{\"title\":\"a\"}"), 201);
	assert_int_equal(ask("PUT", "/faults", "{\"fault\":\"drop\"}"), 200);
	assert_int_equal(ask("DELETE", "/effects", ""), 200);
	assert_non_null(strstr(answer, "\"total\":0"));
	assert_int_equal(ask("GET", "/v1/tickets/tkt_1", ""), 404);
	assert_int_equal(world->faults.count, 1);
	assert_int_equal(ask("DELETE", "/faults", ""), 200);
	assert_string_equal(answer, "{\"faults\":[],\"honour_keys\":false}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_post_is_a_new_effect, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_accepted_is_no_effect, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(payments_are_found_by_what_they_came_with, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(tickets_are_found_by_their_members, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_hidden_is_seen_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_can_show_all_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refunds_have_no_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deployments_raise_the_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_deployment_tells_its_fence, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_order_is_what_was_put_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_honoured_key_makes_one_thing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(events_are_counted_by_their_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reset_starts_anew, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
