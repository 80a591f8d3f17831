/* Shows that a request is sent once, as it is and with no header that nobody asked for, and
 * what a call tells of its end: never left, unclear, answered. */
#include "client_test.h"

/* What is sent. */

static void only_what_was_asked_for_is_sent(void **state)
{
	struct world *world = *state;
	struct trial trial;
	char expected[256];

	trial_init(&trial, world, "POST", "/a/../b?x=%7e&y");
	trial.call.headers = STR("X-One: 1\r\nX-Empty: \r\nx-one: 2\r\n");
	trial.call.has_body = true;
	trial.call.body = STR("body");
	start(&trial);
	upstream_hears(world, "\r\n\r\nbody");
	snprintf(expected, sizeof(expected),
		 "POST /a/../b?x=%%7e&y HTTP/1.1\r\nHost: %s\r\nX-One: 1\r\nX-Empty:\r\n"
		 "x-one: 2\r\nContent-Length: 4\r\n\r\nbody",
		 world->url + strlen("http://"));
	assert_heard(world, expected);
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	trial_fini(&trial);
}

/* libcurl has its own ideas about large bodies: it would ask first (Expect). */
static void a_large_body_is_sent_without_asking(void **state)
{
	struct world *world = *state;
	const size_t size = 3 * 1024 * 1024;
	char *body = malloc(size);
	struct trial trial;

	memset(body, 'b', size);
	trial_init(&trial, world, "PUT", "/large");
	trial.call.has_body = true;
	trial.call.body = str_of(body, size);
	start(&trial);
	upstream_hears(world, "\r\n\r\nb");
	assert_false(peer_heard(&world->peer, "Expect"));
	turn_until(&world->loop, peer_heard_bytes(&world->peer, size + 60));
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	assert_int_equal(world->peer.heard.at[world->peer.heard.len - 1], 'b');
	trial_fini(&trial);
	free(body);
}

static void headers_that_are_given_are_not_taken_away(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	trial.call.headers = STR("Accept: a/b\r\ncontent-type: text/plain\r\nUser-Agent: me\r\n");
	trial.call.has_body = true;
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	assert_true(peer_heard(&world->peer, "\r\nAccept: a/b\r\n"));
	assert_true(peer_heard(&world->peer, "\r\ncontent-type: text/plain\r\n"));
	assert_true(peer_heard(&world->peer, "\r\nUser-Agent: me\r\n"));
	assert_true(peer_heard(&world->peer, "\r\nContent-Length: 0\r\n"));
	assert_int_equal(peer_count(&world->peer, "\r\n"), 7);
	upstream_says(world, "HTTP/1.1 204 No Content\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	trial_fini(&trial);
}

static void a_base_path_goes_before_every_path_and_no_star(void **state)
{
	struct world *world = *state;
	struct trial trial;

	world->settings.base_path = STR("/v1");
	settle_anew(world);
	trial_init(&trial, world, "GET", "/x?y=/z");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	assert_true(peer_heard(&world->peer, "GET /v1/x?y=/z HTTP/1.1\r\n"));
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	trial_fini(&trial);
	peer_forget(&world->peer);
	trial_init(&trial, world, "OPTIONS", "*");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	assert_true(peer_heard(&world->peer, "OPTIONS * HTTP/1.1\r\n"));
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	trial_fini(&trial);
}

/* A handle that has sent one kind of request must not remember it in the next. */
static void a_connection_is_used_again_for_any_kind_of_request(void **state)
{
	static const char *const methods[] = {"POST", "HEAD", "GET", "PUT", "DELETE", "GET"};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		bool is_head = methods[i][0] == 'H';
		struct trial trial;

		trial_init(&trial, world, methods[i], "/");
		trial.call.has_body = i == 0;
		trial.call.is_streamed = i == 3;
		trial.call.body_length = i == 3 ? 3 : 0;
		trial.call.body = i == 0 ? STR("abc") : STR("");
		trial.upload = i == 3 ? "xyz" : "";
		start(&trial);
		upstream_hears(world, i == 0 ? "\r\n\r\nabc" : i == 3 ? "xyz" : "\r\n\r\n");
		assert_true(peer_heard(&world->peer, methods[i]));
		assert_int_equal(peer_count(&world->peer, "Content-Length"), i == 0 || i == 3);
		assert_int_equal(peer_count(&world->peer, "chunked"), 0);
		upstream_says(world, is_head ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
					     : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		ends(&trial, SENDING_ANSWERED);
		assert_int_equal(trial.body.len, is_head ? 0 : 2);
		assert_int_equal(trial.call.answer.length, is_head ? 9 : 2);
		trial_fini(&trial);
		peer_forget(&world->peer);
	}
	assert_false(peer_saw_end(&world->peer)); /* it was one connection all along */
}

static void a_streamed_body_waits_for_its_next_piece(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	trial.call.is_streamed = true;
	trial.call.body_length = -1;
	trial.call.has_total_timeout = false;
	trial.is_upload_open = true;
	trial.upload = "abcd";
	start(&trial);
	upstream_hears(world, "\r\n3\r\nabc\r\n1\r\nd\r\n");
	assert_true(peer_heard(&world->peer, "Transfer-Encoding: chunked\r\n"));
	assert_false(peer_heard(&world->peer, "Expect"));
	turn_times(&world->loop, 20);
	assert_false(peer_heard(&world->peer, "\r\n0\r\n"));
	trial.upload = "e";
	ASK(world, call_resume(&trial.call));
	upstream_hears(world, "\r\n1\r\ne\r\n");
	trial.is_upload_open = false;
	ASK(world, call_resume(&trial.call));
	upstream_hears(world, "\r\n0\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	trial_fini(&trial);
}

static void a_streamed_body_that_breaks_ends_the_call(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	trial.call.is_streamed = true;
	trial.call.body_length = 10;
	trial.call.has_total_timeout = false;
	trial.is_upload_open = true;
	trial.upload = "ab";
	start(&trial);
	upstream_hears(world, "\r\n\r\nab");
	trial.is_upload_broken = true;
	ASK(world, call_resume(&trial.call));
	ends(&trial, SENDING_UNCLEAR);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	trial_fini(&trial);
}

/* What is certain. */

static void a_refused_connection_means_that_nothing_left(void **state)
{
	struct world *world = *state;
	struct trial trial;

	close(world->listener);
	world->listener = -1;
	trial_init(&trial, world, "POST", "/");
	trial.call.has_body = true;
	trial.call.body = STR("money");
	start(&trial);
	ends(&trial, SENDING_NEVER_LEFT);
	assert_string_equal(trial.reason, "the service took no connection");
	assert_int_equal(trial.heads, 0);
	trial_fini(&trial);
}

static void a_failed_handshake_means_that_nothing_left(void **state)
{
	struct world *world = *state;
	struct trial trial;
	char url[80];

	snprintf(url, sizeof(url), "https%s", world->url + strlen("http"));
	world->settings.url = url;
	settle_anew(world);
	trial_init(&trial, world, "POST", "/");
	start(&trial);
	turn_until(&world->loop, peer_accept(&world->peer, world->listener));
	upstream_says(world, "this is no handshake\r\n");
	ends(&trial, SENDING_NEVER_LEFT);
	assert_false(peer_heard(&world->peer, "POST"));
	trial_fini(&trial);
}

static void a_target_that_cannot_be_sent_means_that_nothing_left(void **state)
{
	struct world *world = *state;
	static char target[20000];
	struct trial trial;

	memset(target, 'a', sizeof(target) - 1);
	target[0] = '/';
	trial_init(&trial, world, "POST", target);
	start(&trial);
	assert_int_equal(trial.dones, 0);
	ends(&trial, SENDING_NEVER_LEFT);
	trial_fini(&trial);
}

static void an_upstream_that_goes_without_a_word_is_unclear(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	peer_close(&world->peer);
	ends(&trial, SENDING_UNCLEAR);
	assert_string_equal(trial.reason, "the service closed the connection without an answer");
	assert_int_equal(trial.heads, 0);
	trial_fini(&trial);
}

/* libcurl would send it again by itself on a new connection. It must not. */
static void a_kept_connection_that_dies_gets_no_second_request(void **state)
{
	struct world *world = *state;
	struct peer second = {.fd = -1};
	struct trial trial;

	one_good_call(world);
	trial_init(&trial, world, "POST", "/pay");
	trial.call.has_body = true;
	trial.call.body = STR("once");
	start(&trial);
	upstream_hears(world, "\r\n\r\nonce"); /* it has it, on the kept connection */
	peer_close(&world->peer);
	for (int i = 0; i < 2000 && !trial.dones; i++) {
		turn(&world->loop);
		if (second.fd < 0)
			peer_accept(&second, world->listener);
	}
	ends(&trial, SENDING_UNCLEAR);
	turn_times(&world->loop, 50);
	if (second.fd >= 0 || peer_accept(&second, world->listener))
		assert_false(peer_heard_bytes(&second, 1)); /* it may knock, but says nothing */
	assert_string_equal(trial.reason, "the service closed the connection without an answer");
	trial_fini(&trial);
	peer_fini(&second);
}

static void half_an_answer_is_unclear(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf");
	turn_until(&world->loop, trial.pieces);
	peer_close(&world->peer);
	ends(&trial, SENDING_UNCLEAR);
	assert_string_equal(trial.reason, "the connection broke in the middle of the answer");
	assert_int_equal(trial.call.answer.status, 201);
	trial_fini(&trial);
}

static void half_a_chunked_answer_is_unclear(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	turn_until(&world->loop, trial.pieces);
	peer_close(&world->peer);
	ends(&trial, SENDING_UNCLEAR);
	assert_string_equal(trial.reason, "the connection broke in the middle of the answer");
	trial_fini(&trial);
}

static void half_a_head_is_unclear(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Le");
	turn_times(&world->loop, 20);
	peer_close(&world->peer);
	ends(&trial, SENDING_UNCLEAR);
	assert_int_equal(trial.heads, 0);
	trial_fini(&trial);
}

static void silence_ends_in_a_timeout_that_is_unclear(void **state)
{
	struct world *world = *state;
	struct trial trial;

	world->settings.timeout_ms = 60;
	settle_anew(world);
	trial_init(&trial, world, "POST", "/");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	ends(&trial, SENDING_UNCLEAR);
	assert_string_equal(trial.reason, "the service did not answer in time");
	assert_true(trial.call.is_timed_out);
	assert_int_equal(peer_count(&world->peer, "POST"), 1);
	trial_fini(&trial);
}

static void a_cancelled_call_tells_whether_it_had_left(void **state)
{
	struct world *world = *state;
	struct trial early, late;

	trial_init(&early, world, "POST", "/early");
	trial_init(&late, world, "POST", "/late");
	start(&late);
	upstream_hears(world, "/late");
	ASK(world, call_cancel(&late.call));
	start(&early);
	ASK(world, call_cancel(&early.call));
	ASK(world, call_cancel(&early.call)); /* once is enough */
	ends(&late, SENDING_UNCLEAR);
	ends(&early, SENDING_NEVER_LEFT);
	assert_string_equal(late.reason, "cancelled");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	ASK(world, call_cancel(&late.call)); /* after the end: nothing */
	turn_times(&world->loop, 5);
	trial_fini(&early);
	trial_fini(&late);
}

static void a_client_that_is_released_finishes_its_calls(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	ASK(world, client_release(world->client));
	world->client = NULL;
	turn_times(&world->loop, 5);
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ends(&trial, SENDING_ANSWERED);
	assert_true(str_equal(buf_str(&trial.body), STR("ok")));
	trial_fini(&trial);
}

static void calls_over_the_limit_wait_their_turn(void **state)
{
	struct world *world = *state;
	struct peer second;
	struct trial tries[3];

	for (int i = 0; i < 3; i++) {
		trial_init(&tries[i], world, "GET", "/");
		start(&tries[i]);
	}
	upstream_hears(world, "\r\n\r\n");
	turn_until(&world->loop, peer_accept(&second, world->listener));
	turn_until(&world->loop, peer_heard(&second, "\r\n\r\n"));
	turn_times(&world->loop, 50);
	assert_int_equal(accept(world->listener, NULL, NULL), -1); /* max_connections is 2 */
	peer_forget(&second);
	peer_say(&world->loop, &second, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	turn_until(&world->loop, peer_heard(&second, "\r\n\r\n")); /* the third's */
	peer_say(&world->loop, &second, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		ends(&tries[i], SENDING_ANSWERED);
		trial_fini(&tries[i]);
	}
	peer_fini(&second);
}

static void once_it_has_given_up_nothing_leaves(void **state)
{
	struct world *world = *state;
	struct trial sent, waiting, late;

	world->settings.max_connections = 1;
	settle_anew(world);
	trial_init(&sent, world, "POST", "/sent");
	trial_init(&waiting, world, "POST", "/waiting");
	trial_init(&late, world, "POST", "/late");
	start(&sent);
	start(&waiting);
	upstream_hears(world, "\r\n\r\n");
	ASK(world, client_give_up(world->client));
	start(&late);
	ends(&sent, SENDING_UNCLEAR);
	ends(&waiting, SENDING_NEVER_LEFT);
	ends(&late, SENDING_NEVER_LEFT);
	assert_string_equal(late.reason, "cancelled");
	turn_times(&world->loop, 50);
	assert_int_equal(peer_count(&world->peer, "POST"), 1);
	assert_int_equal(accept(world->listener, NULL, NULL), -1);
	trial_fini(&sent);
	trial_fini(&waiting);
	trial_fini(&late);
}

static void a_held_call_is_sent_once_it_is_released(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/held");
	trial.call.is_held = true;
	trial.call.has_body = true;
	start(&trial);
	turn_times(&world->loop, 20);
	assert_int_equal(accept(world->listener, NULL, NULL), -1);
	trial.call.headers = STR("X-Late: 1\r\n");
	ASK(world, call_release(&trial.call));
	ASK(world, call_release(&trial.call)); /* once is enough */
	upstream_hears(world, "\r\nX-Late: 1\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	assert_int_equal(peer_count(&world->peer, "POST"), 1);
	trial_fini(&trial);
}

static void a_held_call_that_is_not_sent_never_left(void **state)
{
	struct world *world = *state;
	struct trial refused, cancelled, given_up;

	trial_init(&refused, world, "POST", "/refused");
	trial_init(&cancelled, world, "POST", "/cancelled");
	trial_init(&given_up, world, "POST", "/given-up");
	refused.call.is_held = cancelled.call.is_held = given_up.call.is_held = true;
	start(&refused);
	start(&cancelled);
	start(&given_up);
	ASK(world, call_refuse(&refused.call, "it lacks something"));
	ASK(world, call_cancel(&cancelled.call));
	ASK(world, call_release(&cancelled.call)); /* too late */
	ASK(world, client_give_up(world->client));
	ends(&refused, SENDING_NEVER_LEFT);
	ends(&cancelled, SENDING_NEVER_LEFT);
	ends(&given_up, SENDING_NEVER_LEFT);
	assert_string_equal(refused.reason, "it lacks something");
	assert_string_equal(cancelled.reason, "cancelled");
	assert_int_equal(accept(world->listener, NULL, NULL), -1);
	trial_fini(&refused);
	trial_fini(&cancelled);
	trial_fini(&given_up);
}

static void a_call_is_not_held_longer_than_its_time(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "POST", "/held");
	trial.call.is_held = true;
	trial.call.timeout_ms = 1;
	trial.call.why_not = "what it lacks did not come";
	start(&trial);
	turn_times(&world->loop, 5);
	assert_int_equal(trial.dones, 0);
	twin_pass(&world->twin, 2);
	ends(&trial, SENDING_NEVER_LEFT);
	assert_true(trial.call.is_timed_out);
	assert_string_equal(trial.reason, "what it lacks did not come");
	ASK(world, call_release(&trial.call)); /* after the end: nothing */
	turn_times(&world->loop, 5);
	trial_fini(&trial);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_what_was_asked_for_is_sent),
		TEST(a_large_body_is_sent_without_asking),
		TEST(headers_that_are_given_are_not_taken_away),
		TEST(a_base_path_goes_before_every_path_and_no_star),
		TEST(a_connection_is_used_again_for_any_kind_of_request),
		TEST(a_streamed_body_waits_for_its_next_piece),
		TEST(a_streamed_body_that_breaks_ends_the_call),
		TEST(a_refused_connection_means_that_nothing_left),
		TEST(a_failed_handshake_means_that_nothing_left),
		TEST(a_target_that_cannot_be_sent_means_that_nothing_left),
		TEST(an_upstream_that_goes_without_a_word_is_unclear),
		TEST(a_kept_connection_that_dies_gets_no_second_request),
		TEST(half_an_answer_is_unclear),
		TEST(half_a_chunked_answer_is_unclear),
		TEST(half_a_head_is_unclear),
		TEST(silence_ends_in_a_timeout_that_is_unclear),
		TEST(a_cancelled_call_tells_whether_it_had_left),
		TEST(a_client_that_is_released_finishes_its_calls),
		TEST(calls_over_the_limit_wait_their_turn),
		TEST(once_it_has_given_up_nothing_leaves),
		TEST(a_held_call_is_sent_once_it_is_released),
		TEST(a_held_call_that_is_not_sent_never_left),
		TEST(a_call_is_not_held_longer_than_its_time),
	};

	assert_int_equal(client_init_process(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
