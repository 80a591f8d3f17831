/* Shows how a connection is served: which answers keep it and which end it, what becomes of
 * clients that go, are slow or too many, and that every exchange finishes exactly once. */
#include "server_test.h"

#include <poll.h>

/* Whole answers. */

static void an_answer_has_its_framing_and_leaves_the_connection_open(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	assert_true(str_equal(first(world)->target, STR("/a?b")));
	assert_string_equal(first(world)->exchange->peer, "127.0.0.1");
	assert_false(exchange_has_body(first(world)->exchange));
	answer(first(world), 201, "hello");
	turn_until(&world->loop, first(world)->finished);
	turn_until(&world->loop, peer_heard(&world->peer, "hello"));
	assert_true(
		str_equal(buf_str(&world->peer.heard), STR("HTTP/1.1 201 Created\r\nX-Own: 1\r\n"
							   "Date: Sat, 31 Jan 2026 08:15:00 GMT\r\n"
							   "Content-Length: 5\r\n\r\nhello")));
	assert_int_equal(first(world)->delivery, DELIVERY_DONE);
	assert_int_equal(first(world)->gone, 0);
	assert_int_equal(first(world)->exchange->answer_bytes, 5);
	assert_false(peer_saw_end(&world->peer));
}

static void a_connection_carries_one_message_after_another(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_answering;
	world_connect(world);
	for (int i = 1; i <= 3; i++) {
		world_say(world, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
		turn_until(&world->loop, peer_heard(&world->peer, "\r\n\r\n/x"));
		peer_forget(&world->peer);
	}
	assert_int_equal(world->begun, 3);
	assert_int_equal(world->server.counters.accepted, 1);
}

static void pipelined_requests_are_answered_one_by_one_and_in_order(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
			 "POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
			 "GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	turn_times(&world->loop, 10);
	assert_int_equal(world->begun, 1); /* the second waits for the first one's answer */
	answer(first(world), 200, "one.");
	world_begins(world, 2);
	turn_times(&world->loop, 10);
	assert_int_equal(world->begun, 2);
	ASK(world, exchange_collect(world->visits[1].exchange, 3));
	turn_until(&world->loop, world->visits[1].collected);
	assert_body(&world->visits[1], "abc");
	answer(&world->visits[1], 200, "two.");
	world_begins(world, 3);
	answer(&world->visits[2], 200, "three.");
	turn_until(&world->loop, peer_heard(&world->peer, "three."));
	assert_count(world, "HTTP/1.1 200 OK", 3);
	assert_true(peer_heard(&world->peer, "one.HTTP/1.1"));
	assert_true(peer_heard(&world->peer, "two.HTTP/1.1"));
}

static void a_head_may_come_byte_by_byte(void **state)
{
	static const char head[] = "\r\nGET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
	struct world *world = *state;

	world_connect(world);
	for (size_t i = 0; i < sizeof(head) - 1; i++) {
		assert_int_equal(world->begun, 0);
		peer_send(&world->loop, &world->peer, str_of(head + i, 1));
		turn_times(&world->loop, 2);
	}
	world_begins(world, 1);
	assert_true(str_equal(first(world)->target, STR("/slow")));
}

static void a_client_that_asks_for_the_end_gets_it(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_answering;
	world_connect(world);
	world_say(world, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "\r\nConnection: close\r\n", 1);
	assert_false(world->peer.is_reset);
	peer_close(&world->peer);
	turn_until(&world->loop, server_is_idle(&world->server));
}

static void a_client_of_1_0_keeps_its_connection_only_if_it_asks(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_answering;
	world_connect(world);
	world_say(world, "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	turn_until(&world->loop, peer_heard(&world->peer, "\r\n\r\n/x"));
	assert_count(world, "\r\nConnection: keep-alive\r\n", 1);
	world_say(world, "GET /x HTTP/1.0\r\n\r\n");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_int_equal(world->begun, 2);
}

static void bodies_are_left_out_where_there_can_be_none(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	answer(first(world), 200, "left out");
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 2);
	answer(&world->visits[1], 204, "left out");
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 3);
	answer(&world->visits[2], 304, "left out");
	turn_until(&world->loop, peer_heard(&world->peer, "304 Not Modified"));
	turn_times(&world->loop, 10);
	assert_count(world, "left out", 0);
	assert_count(world, "Content-Length: 8\r\n", 1); /* HEAD's alone */
	assert_count(world, "Content-Length", 1);
	assert_false(peer_saw_end(&world->peer));
}

static void a_date_that_the_service_gives_is_the_only_one(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_answer(first(world)->exchange, 200,
				   STR("date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"), STR("!")));
	turn_until(&world->loop, peer_heard(&world->peer, "!"));
	assert_count(world, "Date:", 0);
	assert_count(world, "date:", 1);
}

/* Clients that go. */

static void a_client_that_vanishes_leaves_its_exchange_behind(void **state)
{
	struct world *world = *state;
	struct visit *visit = first(world);

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	peer_vanish(&world->peer);
	turn_until(&world->loop, visit->gone == 1);
	turn_times(&world->loop, 5);
	assert_int_equal(visit->finished, 0); /* the service ends it */
	assert_true(visit->exchange->is_gone);
	assert_true(server_is_idle(&world->server));
	answer(visit, 200, "to nobody");
	turn_until(&world->loop, visit->finished);
	assert_int_equal(visit->delivery, DELIVERY_FAILED);
	assert_int_equal(visit->gone, 1);
}

static void writing_to_a_client_that_has_gone_is_dropped(void **state)
{
	struct world *world = *state;
	struct visit *visit = first(world);

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_start(visit->exchange, 200, STR(""), EXCHANGE_UNKNOWN_LENGTH));
	peer_vanish(&world->peer);
	turn_until(&world->loop, visit->gone == 1);
	ASK(world, assert_true(exchange_write(visit->exchange, STR("dropped"))));
	ASK(world, exchange_end(visit->exchange));
	turn_until(&world->loop, visit->finished);
	assert_int_equal(visit->delivery, DELIVERY_FAILED);
}

static void a_body_that_breaks_off_is_told_and_then_its_client_has_gone(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123");
	world_begins(world, 1);
	peer_close(&world->peer);
	turn_until(&world->loop, first(world)->collected);
	assert_int_equal(first(world)->refusal_status, 400);
	turn_until(&world->loop, first(world)->gone == 1);
}

static void a_body_is_broken_for_a_service_that_wants_it_too_late(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123");
	world_begins(world, 1);
	peer_vanish(&world->peer);
	turn_until(&world->loop, first(world)->gone == 1);
	ASK(world, exchange_stream(first(world)->exchange));
	turn_until(&world->loop, first(world)->data_ends == 1);
	assert_int_equal(first(world)->refusal_status, 400);
}

/* A client that has said all it will say can still listen. */
static void a_client_that_closed_its_side_still_gets_the_answer(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	shutdown(world->peer.fd, SHUT_WR);
	turn_times(&world->loop, 10);
	answer(first(world), 200, "heard");
	turn_until(&world->loop, first(world)->finished);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "heard", 1);
	assert_int_equal(first(world)->delivery, DELIVERY_NOT_KNOWN);
}

static void a_client_may_close_its_side_while_the_last_answer_is_written(void **state)
{
	static char piece[64 * 1024];
	struct world *world = *state;
	struct exchange *exchange;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	world_begins(world, 1);
	exchange = first(world)->exchange;
	ASK(world, exchange_start(exchange, 200, STR(""), EXCHANGE_UNKNOWN_LENGTH));
	shutdown(world->peer.fd, SHUT_WR);
	turn_times(&world->loop, 10);
	ASK(world, exchange_write(exchange, str_of(piece, sizeof(piece))));
	ASK(world, exchange_end(exchange));
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "\r\n0\r\n\r\n", 1);
	turn_until(&world->loop, first(world)->finished);
	assert_int_equal(first(world)->delivery, DELIVERY_NOT_KNOWN);
}

static void a_client_may_close_its_side_with_its_body_still_unread(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
	world_begins(world, 1);
	shutdown(world->peer.fd, SHUT_WR);
	turn_times(&world->loop, 10);
	ASK(world, exchange_stream(first(world)->exchange));
	turn_until(&world->loop, first(world)->data_ends == 1);
	assert_int_equal(first(world)->refusal_status, 0);
	assert_body(first(world), "body");
	answer(first(world), 200, "heard");
	turn_until(&world->loop, peer_heard(&world->peer, "heard"));
}

static void a_side_closed_before_the_body_was_whole_breaks_it(void **state)
{
	struct world *world = *state;

	world->pauses = true;
	world->on_begin = begin_streaming;
	world_connect(world);
	world_say(world, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "1\r\na\r\n1\r\nb\r\n");
	turn_until(&world->loop, first(world)->pieces == 1);
	shutdown(world->peer.fd, SHUT_WR);
	turn_times(&world->loop, 10);
	world->pauses = false;
	ASK(world, exchange_resume(first(world)->exchange));
	turn_until(&world->loop, first(world)->data_ends == 1);
	assert_int_equal(first(world)->refusal_status, 400);
	turn_until(&world->loop, first(world)->gone == 1);
}

/* Refusals and limits. */

static void an_ambiguous_message_never_reaches_the_service(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
			 "Content-Length: 2\r\n\r\naGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_int_equal(world->begun, 0);
	assert_count(world, "HTTP/1.1 400 Bad Request\r\nX-Refused: yes\r\n", 1);
	assert_count(world, "Connection: close\r\n\r\n", 1);
	assert_count(world, "HTTP/1.1", 1);
	assert_false(world->peer.is_reset); /* the answer is not overtaken */
	assert_int_equal(world->server.counters.refused_messages, 1);
}

static void a_head_over_the_limit_is_431(void **state)
{
	struct world *world = *state;
	char line[] = "X-Filler: 0123456789012345678901234567890123456789\r\n";

	world->server.limits.head.head_bytes = 1024;
	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < 25; i++)
		world_say(world, line);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "HTTP/1.1 431 ", 1);
	assert_int_equal(world->begun, 0);
}

static void one_connection_too_many_is_closed_at_once(void **state)
{
	struct world *world = *state;
	struct peer peers[5];

	for (int i = 0; i < 5; i++) {
		peer_connect(&peers[i], &world->address);
		turn_until(&world->loop, world->server.counters.accepted == (uint64_t)i + 1);
	}
	turn_until(&world->loop, peer_saw_end(&peers[4]));
	assert_int_equal(world->server.counters.open, 4);
	assert_int_equal(world->server.counters.refused_full, 1);
	for (int i = 0; i < 4; i++)
		assert_false(peer_saw_end(&peers[i]));
	peer_close(&peers[0]);
	turn_until(&world->loop, world->server.counters.open == 3);
	world->on_begin = begin_answering;
	world_connect(world); /* there is room again */
	world_say(world, "GET /in HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_until(&world->loop, peer_heard(&world->peer, "\r\n\r\n/in"));
	for (int i = 0; i < 5; i++)
		peer_fini(&peers[i]);
}

/* Time. */

static void a_slow_head_is_408_however_busy_its_client_looks(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\n");
	turn_until(&world->loop, !list_is_empty(&world->server.connections));
	turn_times(&world->loop, 5);
	for (int i = 0; i < 9; i++) {
		world_pass(world, 1000);
		world_say(world, "X: y\r\n");
		turn_times(&world->loop, 3);
	}
	assert_false(peer_heard(&world->peer, "HTTP"));
	world_pass(world, 1001);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "HTTP/1.1 408 ", 1);
	assert_int_equal(world->server.counters.timed_out, 1);
}

static void a_connection_that_says_nothing_is_closed(void **state)
{
	struct world *world = *state;

	world_connect(world);
	turn_until(&world->loop, world->server.counters.accepted == 1);
	world_pass(world, 9999);
	assert_false(peer_saw_end(&world->peer));
	world_pass(world, 1);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_int_equal(world->peer.heard.len, 0);
}

static void an_idle_connection_is_closed_after_its_own_time(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_answering;
	world_connect(world);
	world_say(world, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_until(&world->loop, first(world)->finished);
	world_pass(world, 59999);
	assert_false(peer_saw_end(&world->peer));
	world_pass(world, 1);
	turn_until(&world->loop, peer_saw_end(&world->peer));
}

static void a_body_without_progress_is_408(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0");
	world_begins(world, 1);
	world_pass(world, 29999);
	world_say(world, "1"); /* a byte is progress */
	turn_until(&world->loop, first(world)->exchange->body.seen == 2);
	world_pass(world, 29999);
	assert_int_equal(first(world)->collected, 0);
	world_pass(world, 1);
	turn_until(&world->loop, first(world)->collected);
	assert_int_equal(first(world)->refusal_status, 408);
	answer(first(world), 408, "slow");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "slow", 1);
}

static void a_service_may_take_its_time(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	for (int i = 0; i < 10; i++)
		world_pass(world, 100000);
	answer(first(world), 200, "at last");
	turn_until(&world->loop, peer_heard(&world->peer, "at last"));
}

/* An answer that the socket cannot take whole, and a client that does not read it. */
static void answer_much(struct world *world, size_t size)
{
	char *body = calloc(1, size);

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_answer(first(world)->exchange, 200, STR(""), str_of(body, size)));
	free(body);
	turn_times(&world->loop, 20);
}

static void a_client_that_takes_nothing_of_its_answer_is_cut_off(void **state)
{
	struct world *world = *state;

	answer_much(world, 32 * 1024 * 1024);
	world_pass(world, 29999);
	assert_int_equal(first(world)->finished, 0);
	/* What went into the socket's own buffer looks like progress, once. */
	for (int i = 0; i < 2 && !first(world)->finished; i++)
		world_pass(world, 30001);
	assert_int_equal(first(world)->finished, 1);
	assert_int_equal(first(world)->delivery, DELIVERY_FAILED);
	assert_int_equal(world->server.counters.timed_out, 1);
}

static void a_client_that_takes_its_answer_slowly_is_not(void **state)
{
	static char some[256 * 1024];
	struct world *world = *state;
	struct pollfd readable = {.events = POLLIN};
	int rests = 0;

	answer_much(world, 32 * 1024 * 1024);
	readable.fd = world->peer.fd;
	for (; rests < 100 && !first(world)->finished; rests++) {
		for (int k = 0; k < 4; k++) {
			poll(&readable, 1, 1000); /* the system moves bytes when it likes */
			if (recv(world->peer.fd, some, sizeof(some), 0) > 0)
				turn_times(&world->loop, 3);
		}
		world_pass(world, 30000);
	}
	assert_in_range(rests, 2, 99); /* longer than the time it had, by much */
	assert_int_equal(first(world)->delivery, DELIVERY_DONE);
	assert_int_equal(world->server.counters.timed_out, 0);
}

/* Ending. */

static void a_draining_server_ends_what_is_at_work_and_nothing_else(void **state)
{
	struct world *world = *state;
	struct peer idle;
	int fd;

	peer_connect(&idle, &world->address);
	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	turn_until(&world->loop, world->server.counters.accepted == 2);
	server_drain(&world->server);
	turn_until(&world->loop, peer_saw_end(&idle));
	assert_false(server_is_idle(&world->server));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_not_equal(
		connect(fd, (struct sockaddr *)&world->address, sizeof(struct sockaddr_in)), 0);
	close(fd);
	answer(first(world), 200, "the last");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "Connection: close", 1);
	assert_count(world, "the last", 1);
	peer_close(&world->peer);
	turn_until(&world->loop, server_is_idle(&world->server));
	peer_fini(&idle);
}

static void an_address_that_is_taken_is_refused_with_a_reason(void **state)
{
	struct world *world = *state;
	struct server second;
	struct sockaddr_storage address = world->address;
	const char *why = NULL;

	assert_int_equal(server_listen(&second, &world->loop, &world->service, &world->limits, NULL,
				       &address, false, &why),
			 FAIL_IO);
	assert_non_null(why);
	assert_true(strlen(why) > 0);
}

static void two_loops_of_one_process_may_share_an_address(void **state)
{
	struct world *world = *state;
	struct server second;
	struct sockaddr_storage address = world->address;
	const char *why = NULL;

	assert_int_equal(server_listen(&second, &world->loop, &world->service, &world->limits, NULL,
				       &address, true, &why),
			 0);
	assert_memory_equal(&address, &world->address, sizeof(struct sockaddr_in));
	server_close(&second);
	list_remove(&second.sweeper.link);
	turn_times(&world->loop, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_has_its_framing_and_leaves_the_connection_open),
		TEST(a_connection_carries_one_message_after_another),
		TEST(pipelined_requests_are_answered_one_by_one_and_in_order),
		TEST(a_head_may_come_byte_by_byte),
		TEST(a_client_that_asks_for_the_end_gets_it),
		TEST(a_client_of_1_0_keeps_its_connection_only_if_it_asks),
		TEST(bodies_are_left_out_where_there_can_be_none),
		TEST(a_date_that_the_service_gives_is_the_only_one),
		TEST(a_client_that_vanishes_leaves_its_exchange_behind),
		TEST(writing_to_a_client_that_has_gone_is_dropped),
		TEST(a_body_that_breaks_off_is_told_and_then_its_client_has_gone),
		TEST(a_body_is_broken_for_a_service_that_wants_it_too_late),
		TEST(a_client_that_closed_its_side_still_gets_the_answer),
		TEST(a_client_may_close_its_side_while_the_last_answer_is_written),
		TEST(a_client_may_close_its_side_with_its_body_still_unread),
		TEST(a_side_closed_before_the_body_was_whole_breaks_it),
		TEST(an_ambiguous_message_never_reaches_the_service),
		TEST(a_head_over_the_limit_is_431),
		TEST(one_connection_too_many_is_closed_at_once),
		TEST(a_slow_head_is_408_however_busy_its_client_looks),
		TEST(a_connection_that_says_nothing_is_closed),
		TEST(an_idle_connection_is_closed_after_its_own_time),
		TEST(a_body_without_progress_is_408),
		TEST(a_service_may_take_its_time),
		TEST(a_client_that_takes_nothing_of_its_answer_is_cut_off),
		TEST(a_client_that_takes_its_answer_slowly_is_not),
		TEST(a_draining_server_ends_what_is_at_work_and_nothing_else),
		TEST(an_address_that_is_taken_is_refused_with_a_reason),
		TEST(two_loops_of_one_process_may_share_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
