/* Shows how an exchange is fed its body, collected or streamed, and writes its answer in
 * pieces; and that what is slower, on either side, holds the other back. */
#include "server_test.h"

/* Bodies. */

static void a_body_is_collected_whole(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
	world_begins(world, 1);
	turn_times(&world->loop, 5);
	assert_int_equal(first(world)->collected, 0);
	world_say(world, "56789");
	turn_until(&world->loop, first(world)->collected);
	assert_body(first(world), "0123456789");
	assert_int_equal(first(world)->refusal_status, 0);
	answer(first(world), 200, "ok");
	turn_until(&world->loop, peer_heard(&world->peer, "ok"));
	assert_int_equal(first(world)->collected, 1);
}

static void chunks_are_put_together_and_trailers_dropped(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Late: 1\r\n\r\n"
			 "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_until(&world->loop, first(world)->collected);
	assert_body(first(world), "abc0123456789");
	answer(first(world), 200, "ok");
	world_begins(world, 2);
	assert_true(str_equal(world->visits[1].target, STR("/next")));
	assert_body(&world->visits[1], "");
}

static void a_message_without_a_body_is_collected_too(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
	turn_until(&world->loop, first(world)->collected);
	assert_int_equal(first(world)->refusal_status, 0);
	assert_body(first(world), "");
}

static void a_body_may_be_collected_long_after_the_head(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
	world_begins(world, 1);
	turn_times(&world->loop, 10);
	ASK(world, exchange_collect(first(world)->exchange, 4));
	turn_until(&world->loop, first(world)->collected);
	assert_body(first(world), "body");
}

static void a_body_over_the_maximum_is_413_before_it_is_read(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world->collect_max = 9;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
	turn_until(&world->loop, first(world)->collected);
	assert_int_equal(first(world)->refusal_status, 413);
	answer(first(world), 413, "too large");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "too large", 1);
	assert_count(world, "Connection: close", 1);
}

static void chunks_over_the_maximum_are_413(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world->collect_max = 9;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "9\r\n012345678\r\n");
	world_begins(world, 1);
	turn_times(&world->loop, 5);
	assert_int_equal(first(world)->collected, 0);
	world_say(world, "1\r\n9\r\n");
	turn_until(&world->loop, first(world)->collected);
	assert_int_equal(first(world)->refusal_status, 413);
	answer(first(world), 413, "too large");
	turn_until(&world->loop, peer_saw_end(&world->peer));
}

static void a_malformed_chunk_is_400_and_the_last_message(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_collecting;
	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "3\r\nabcX\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_until(&world->loop, first(world)->collected);
	assert_int_equal(first(world)->refusal_status, 400);
	answer(first(world), 400, "malformed");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "Connection: close", 1);
	assert_int_equal(world->begun, 1);
}

static void a_client_that_expects_100_gets_it_when_the_body_is_wanted(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
			 "Expect: 100-continue\r\n\r\n");
	world_begins(world, 1);
	turn_times(&world->loop, 5);
	assert_false(peer_heard(&world->peer, "100 Continue"));
	ASK(world, exchange_collect(first(world)->exchange, 2));
	turn_until(&world->loop, peer_heard(&world->peer, "HTTP/1.1 100 Continue\r\n\r\n"));
	world_say(world, "ab");
	turn_until(&world->loop, first(world)->collected);
	assert_body(first(world), "ab");
}

static void a_refused_client_is_not_asked_for_its_body(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_answering;
	world_connect(world);
	world_say(world, "POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
			 "Expect: 100-continue\r\n\r\n");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "100 Continue", 0);
	assert_count(world, "Connection: close", 1); /* the body may come all the same */
	assert_count(world, "\r\n\r\n/no", 1);
}

static void a_body_is_streamed_and_stands_still_while_paused(void **state)
{
	struct world *world = *state;
	struct visit *visit = first(world);

	world->on_begin = begin_streaming;
	world->pauses = true;
	world_connect(world);
	world_say(world, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
	turn_until(&world->loop, visit->pieces == 1);
	turn_times(&world->loop, 10);
	assert_body(visit, "abc");
	ASK(world, exchange_resume(visit->exchange));
	turn_until(&world->loop, visit->pieces == 2);
	assert_body(visit, "abcdef");
	turn_times(&world->loop, 10);
	assert_int_equal(visit->data_ends, 0);
	ASK(world, exchange_resume(visit->exchange));
	turn_until(&world->loop, visit->data_ends == 1);
	assert_int_equal(visit->refusal_status, 0);
	ASK(world, exchange_resume(visit->exchange)); /* not paused: nothing */
	answer(visit, 200, "ok");
	turn_until(&world->loop, peer_heard(&world->peer, "ok"));
	assert_int_equal(visit->data_ends, 1);
}

/* While a service is paused, its client is not read from for ever. */
static void a_paused_upload_stops_its_client(void **state)
{
	struct world *world = *state;
	static char bytes[64 * 1024];
	const size_t total = 8 * 1024 * 1024;
	size_t sent = 0;

	world->on_begin = begin_streaming;
	world->pauses = true;
	world_connect(world);
	world_say(world, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n");
	world_begins(world, 1);
	for (int still = 0; still < 50 && sent < total;) {
		ssize_t n = send(world->peer.fd, bytes, sizeof(bytes), MSG_NOSIGNAL);

		still = n > 0 ? 0 : still + 1;
		sent += n > 0 ? (size_t)n : 0;
		turn(&world->loop);
	}
	assert_true(sent < total);
	assert_true(first(world)->body.len <= LOOP_READ_BUFFER);
	assert_in_range(first(world)->exchange->connection->in.len, CONNECTION_IN_HIGH,
			CONNECTION_IN_MAX);
	world->pauses = false;
	ASK(world, exchange_resume(first(world)->exchange));
	for (size_t piece; sent < total; sent += piece) {
		piece = total - sent < sizeof(bytes) ? total - sent : sizeof(bytes);
		peer_send(&world->loop, &world->peer, str_of(bytes, piece));
	}
	turn_until(&world->loop, first(world)->data_ends == 1);
	assert_int_equal(first(world)->body.len, total);
}

/* Answers in pieces. */

static void an_answer_in_pieces_is_chunked_where_its_length_is_not_known(void **state)
{
	struct world *world = *state;
	struct exchange *exchange;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	exchange = first(world)->exchange;
	ASK(world, exchange_start(exchange, 200, STR("A: b\r\n"), EXCHANGE_UNKNOWN_LENGTH));
	ASK(world, assert_true(exchange_write(exchange, STR("0123456789abcdef!"))));
	ASK(world, assert_true(exchange_write(exchange, STR("")))); /* not the last chunk */
	ASK(world, assert_true(exchange_write(exchange, STR("z"))));
	turn_times(&world->loop, 5);
	assert_int_equal(first(world)->finished, 0);
	ASK(world, exchange_end(exchange));
	turn_until(&world->loop, first(world)->finished);
	assert_true(peer_heard(&world->peer, "\r\nTransfer-Encoding: chunked\r\n\r\n"
					     "11\r\n0123456789abcdef!\r\n1\r\nz\r\n0\r\n\r\n"));
	assert_count(world, "Content-Length", 0);
	assert_int_equal(exchange->answer_bytes, 18);
	assert_int_equal(first(world)->delivery, DELIVERY_DONE);
	assert_false(peer_saw_end(&world->peer));
}

static void an_answer_of_known_length_is_not_chunked(void **state)
{
	struct world *world = *state;
	struct exchange *exchange;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	exchange = first(world)->exchange;
	ASK(world, exchange_start(exchange, 200, STR(""), 4));
	ASK(world, exchange_write(exchange, STR("ab")));
	ASK(world, exchange_write(exchange, STR("cd")));
	ASK(world, exchange_end(exchange));
	turn_until(&world->loop, peer_heard(&world->peer, "Content-Length: 4\r\n\r\nabcd"));
	turn_until(&world->loop, first(world)->finished);
	assert_false(peer_saw_end(&world->peer));
}

static void the_end_of_the_connection_ends_an_answer_to_1_0(void **state)
{
	struct world *world = *state;
	struct exchange *exchange;

	world_connect(world);
	world_say(world, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	world_begins(world, 1);
	exchange = first(world)->exchange;
	ASK(world, exchange_start(exchange, 200, STR(""), EXCHANGE_UNKNOWN_LENGTH));
	ASK(world, exchange_write(exchange, STR("abcd")));
	ASK(world, exchange_end(exchange));
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "Connection: close\r\n\r\nabcd", 1);
	assert_count(world, "chunked", 0);
	assert_count(world, "keep-alive", 0);
}

static void a_slow_client_holds_the_writer_back_and_lets_it_go_on(void **state)
{
	static char piece[EXCHANGE_HIGH_WATER / 4];
	struct world *world = *state;
	struct visit *visit = first(world);
	size_t written = 0, limit = 64 * 1024 * 1024;
	bool has_room = true;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_start(visit->exchange, 200, STR(""), EXCHANGE_UNKNOWN_LENGTH));
	while (has_room && written < limit) {
		ASK(world,
		    has_room = exchange_write(visit->exchange, str_of(piece, sizeof(piece))));
		written += sizeof(piece);
	}
	assert_false(has_room); /* its client takes nothing */
	assert_in_range(connection_backlog(visit->exchange->connection), EXCHANGE_HIGH_WATER,
			EXCHANGE_HIGH_WATER + 2 * sizeof(piece));
	turn_times(&world->loop, 10);
	assert_int_equal(visit->drained, 0);
	turn_until(&world->loop, (peer_listen(&world->peer), visit->drained));
	assert_int_equal(connection_backlog(visit->exchange->connection), 0);
	ASK(world, exchange_end(visit->exchange));
	turn_until(&world->loop, peer_heard(&world->peer, "\r\n0\r\n\r\n"));
	turn_until(&world->loop, visit->finished);
	assert_true(world->peer.heard.len > written);
	assert_int_equal(visit->delivery, DELIVERY_DONE);
}

/* An answer has been delivered when the socket has all of it, not before. */
static void an_answer_finishes_once_the_socket_has_taken_it(void **state)
{
	struct world *world = *state;
	const size_t size = 12 * 1024 * 1024;
	char *body = calloc(1, size);

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_answer(first(world)->exchange, 200, STR(""), str_of(body, size)));
	free(body); /* it was taken */
	turn_times(&world->loop, 10);
	assert_int_equal(first(world)->finished, 0);
	turn_until(&world->loop, peer_heard_bytes(&world->peer, size));
	turn_until(&world->loop, first(world)->finished);
	assert_int_equal(first(world)->delivery, DELIVERY_DONE);
	assert_int_equal(first(world)->drained, 0); /* whole answers have nobody to hold back */
}

static void an_aborted_answer_is_seen_to_be_cut(void **state)
{
	struct world *world = *state;
	struct exchange *exchange;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	exchange = first(world)->exchange;
	ASK(world, exchange_start(exchange, 200, STR(""), EXCHANGE_UNKNOWN_LENGTH));
	ASK(world, exchange_write(exchange, STR("half")));
	ASK(world, exchange_abort(exchange));
	turn_until(&world->loop, first(world)->finished);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_count(world, "half", 1);
	assert_count(world, "\r\n0\r\n", 0);
	assert_int_equal(first(world)->delivery, DELIVERY_FAILED);
	assert_int_equal(first(world)->gone, 0);
}

static void an_answer_may_be_aborted_before_it_starts(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_abort(first(world)->exchange));
	turn_until(&world->loop, first(world)->finished);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_int_equal(world->peer.heard.len, 0);
}

static void a_reset_is_a_reset(void **state)
{
	struct world *world = *state;

	world_connect(world);
	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	world_begins(world, 1);
	ASK(world, exchange_reset(first(world)->exchange));
	turn_until(&world->loop, first(world)->finished);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_true(world->peer.is_reset);
	assert_int_equal(first(world)->delivery, DELIVERY_FAILED);
}

/* An exchange whose answer is out is over: what becomes of the rest of its body is no news. */
static void nothing_is_told_after_the_end(void **state)
{
	struct world *world = *state;

	world->on_begin = begin_streaming;
	world_connect(world);
	world_say(world, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
	turn_until(&world->loop, first(world)->pieces == 1);
	answer(first(world), 200, "enough");
	server_close(&world->server); /* breaks the body off, in the same turn */
	turn_times(&world->loop, 5);
	assert_int_equal(first(world)->finished, 1);
	assert_int_equal(first(world)->data_ends, 0);
	assert_int_equal(first(world)->gone, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_body_is_collected_whole),
		TEST(chunks_are_put_together_and_trailers_dropped),
		TEST(a_message_without_a_body_is_collected_too),
		TEST(a_body_may_be_collected_long_after_the_head),
		TEST(a_body_over_the_maximum_is_413_before_it_is_read),
		TEST(chunks_over_the_maximum_are_413),
		TEST(a_malformed_chunk_is_400_and_the_last_message),
		TEST(a_client_that_expects_100_gets_it_when_the_body_is_wanted),
		TEST(a_refused_client_is_not_asked_for_its_body),
		TEST(a_body_is_streamed_and_stands_still_while_paused),
		TEST(a_paused_upload_stops_its_client),
		TEST(an_answer_in_pieces_is_chunked_where_its_length_is_not_known),
		TEST(an_answer_of_known_length_is_not_chunked),
		TEST(the_end_of_the_connection_ends_an_answer_to_1_0),
		TEST(a_slow_client_holds_the_writer_back_and_lets_it_go_on),
		TEST(an_answer_finishes_once_the_socket_has_taken_it),
		TEST(an_aborted_answer_is_seen_to_be_cut),
		TEST(an_answer_may_be_aborted_before_it_starts),
		TEST(a_reset_is_a_reset),
		TEST(nothing_is_told_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
