/* Shows what a call tells of its end (never left, unclear, answered), that a request is sent
 * once and with no header that nobody asked for, and which parts of an answer are passed on. */
#include "net_test.h"

#include "net/client.h"

struct world {
	struct twin twin;
	struct loop loop;
	struct client_settings settings;
	char url[64];
	struct client *client;
	int listener;
	struct sockaddr_storage address;
	struct peer peer; /* the upstream's end of the connection */
	bool is_asking;
};

struct
try {
	struct world *world;
	struct call call;
	int heads, pieces, dones;
	struct buf body;
	bool takes_nothing; /* pauses the answer */
	const char *upload; /* what is left of a streamed body */
	bool is_upload_open, is_upload_broken;
	enum sending sending;
	char reason[256];
};

#define ASK(world, request)                                                                        \
	do {                                                                                       \
		(world)->is_asking = true;                                                         \
		request;                                                                           \
		(world)->is_asking = false;                                                        \
	} while (0)

static struct try *try_of(struct call *call)
{
	struct try *try = call->owner;

	assert_false(try->world->is_asking);
	assert_int_equal(try->dones, 0);
	return try;
}

static void on_head(struct call *call)
{
	struct try *try = try_of(call);

	assert_int_equal(try->pieces, 0);
	try->heads++;
}

static bool on_data(struct call *call, struct str piece)
{
	struct try *try = try_of(call);

	assert_int_equal(try->heads, 1);
	if (try->takes_nothing)
		return false;
	try->pieces++;
	buf_append_str(&try->body, piece);
	return true;
}

/* Three bytes at a time. */
static ssize_t on_body(struct call *call, char *out, size_t max)
{
	struct try *try = call->owner;
	size_t len = strlen(try->upload) < 3 ? strlen(try->upload) : 3;

	if (try->is_upload_broken)
		return CALL_BODY_BROKEN;
	if (!len)
		return try->is_upload_open ? 0 : CALL_BODY_END;
	memcpy(out, try->upload, len);
	try->upload += len;
	return (ssize_t)len;
}

static void on_done(struct call *call, enum sending sending)
{
	struct try *try = try_of(call);

	try->dones++;
	try->sending = sending;
	snprintf(try->reason, sizeof(try->reason), "%s", call->reason ? call->reason : "");
}

static const struct call_events events = {on_head, on_data, on_body, on_done};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	twin_init(&world->twin);
	assert_int_equal(loop_init(&world->loop, &world->twin.env, NULL), 0);
	world->listener = listen_somewhere(&world->address);
	snprintf(world->url, sizeof(world->url), "http://127.0.0.1:%u",
		 ntohs(((struct sockaddr_in *)&world->address)->sin_port));
	world->settings = (struct client_settings){
		.url = world->url,
		.base_path = STR(""),
		.verify = true,
		.timeout_ms = 30000,
		.connect_timeout_ms = 2000,
		.max_connections = 2,
	};
	world->peer.fd = -1;
	assert_int_equal(client_new(&world->loop, &world->settings, &world->client), 0);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	client_release(world->client);
	peer_fini(&world->peer);
	if (world->listener >= 0)
		close(world->listener);
	loop_fini(&world->loop);
	free(world);
	return 0;
}

/* The same world with other settings. */
static void settle_anew(struct world *world)
{
	client_release(world->client);
	assert_int_equal(client_new(&world->loop, &world->settings, &world->client), 0);
}

static void try_init(struct try *try, struct world *world, const char *method, const char *target)
{
	*try = (struct try){.world = world, .upload = ""};
	try->call = (struct call){
		.events = &events,
		.owner = try,
		.method = str_from(method),
		.target = str_from(target),
		.headers = STR(""),
		.is_once = true,
	};
	buf_init(&try->body, HEARD_MAX);
}

static void try_fini(struct try *try)
{
	assert_int_equal(try->dones, 1);
	call_fini(&try->call);
	buf_fini(&try->body);
}

static void start(struct try *try)
{
	ASK(try->world, call_start(try->world->client, &try->call));
}

/* The upstream hears `part` on the connection it has, or on a new one. */
static void upstream_hears(struct world *world, const char *part)
{
	if (world->peer.fd < 0)
		turn_until(&world->loop, peer_accept(&world->peer, world->listener));
	turn_until(&world->loop, peer_heard(&world->peer, part));
}

static void upstream_says(struct world *world, const char *text)
{
	peer_say(&world->loop, &world->peer, text);
}

static void ends(struct try *try, enum sending sending)
{
	turn_until(&try->world->loop, try->dones);
	if (try->sending != sending)
		print_error("reason: %s\n", try->reason);
	assert_int_equal(try->sending, sending);
}

static void assert_heard(struct world *world, const char *whole)
{
	if (!str_equal(buf_str(&world->peer.heard), str_from(whole)))
		print_error("heard: %.*s\n", STR_ARG(buf_str(&world->peer.heard)));
	assert_true(str_equal(buf_str(&world->peer.heard), str_from(whole)));
}

/* A call that is answered "ok", so that its connection is kept. */
static void one_good_call(struct world *world)
{
	struct try try;

	try_init(&try, world, "GET", "/first");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ends(&try, SENDING_ANSWERED);
	try_fini(&try);
	peer_forget(&world->peer);
}

/* What is sent. */

static void only_what_was_asked_for_is_sent(void **state)
{
	struct world *world = *state;
	struct try try;
	char expected[256];

	try_init(&try, world, "POST", "/a/../b?x=%7e&y");
	try.call.headers = STR("X-One: 1\r\nX-Empty: \r\nx-one: 2\r\n");
	try.call.has_body = true;
	try.call.body = STR("body");
	start(&try);
	upstream_hears(world, "\r\n\r\nbody");
	snprintf(expected, sizeof(expected),
		 "POST /a/../b?x=%%7e&y HTTP/1.1\r\nHost: %s\r\nX-One: 1\r\nX-Empty:\r\n"
		 "x-one: 2\r\nContent-Length: 4\r\n\r\nbody",
		 world->url + strlen("http://"));
	assert_heard(world, expected);
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	try_fini(&try);
}

/* libcurl has its own ideas about large bodies: it would ask first (Expect). */
static void a_large_body_is_sent_without_asking(void **state)
{
	struct world *world = *state;
	const size_t size = 3 * 1024 * 1024;
	char *body = malloc(size);
	struct try try;

	memset(body, 'b', size);
	try_init(&try, world, "PUT", "/large");
	try.call.has_body = true;
	try.call.body = str_of(body, size);
	start(&try);
	upstream_hears(world, "\r\n\r\nb");
	assert_false(peer_heard(&world->peer, "Expect"));
	turn_until(&world->loop, peer_heard_bytes(&world->peer, size + 60));
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	assert_int_equal(world->peer.heard.at[world->peer.heard.len - 1], 'b');
	try_fini(&try);
	free(body);
}

static void headers_that_are_given_are_not_taken_away(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	try.call.headers = STR("Accept: a/b\r\ncontent-type: text/plain\r\nUser-Agent: me\r\n");
	try.call.has_body = true;
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	assert_true(peer_heard(&world->peer, "\r\nAccept: a/b\r\n"));
	assert_true(peer_heard(&world->peer, "\r\ncontent-type: text/plain\r\n"));
	assert_true(peer_heard(&world->peer, "\r\nUser-Agent: me\r\n"));
	assert_true(peer_heard(&world->peer, "\r\nContent-Length: 0\r\n"));
	assert_int_equal(peer_count(&world->peer, "\r\n"), 7);
	upstream_says(world, "HTTP/1.1 204 No Content\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	try_fini(&try);
}

static void a_base_path_goes_before_every_path_and_no_star(void **state)
{
	struct world *world = *state;
	struct try try;

	world->settings.base_path = STR("/v1");
	settle_anew(world);
	try_init(&try, world, "GET", "/x?y=/z");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	assert_true(peer_heard(&world->peer, "GET /v1/x?y=/z HTTP/1.1\r\n"));
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	try_fini(&try);
	peer_forget(&world->peer);
	try_init(&try, world, "OPTIONS", "*");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	assert_true(peer_heard(&world->peer, "OPTIONS * HTTP/1.1\r\n"));
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	try_fini(&try);
}

/* A handle that has sent one kind of request must not remember it in the next. */
static void a_connection_is_used_again_for_any_kind_of_request(void **state)
{
	static const char *const methods[] = {"POST", "HEAD", "GET", "PUT", "DELETE", "GET"};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		bool is_head = methods[i][0] == 'H';
		struct try try;

		try_init(&try, world, methods[i], "/");
		try.call.has_body = i == 0;
		try.call.is_streamed = i == 3;
		try.call.body_length = i == 3 ? 3 : 0;
		try.call.body = i == 0 ? STR("abc") : STR("");
		try.upload = i == 3 ? "xyz" : "";
		start(&try);
		upstream_hears(world, i == 0 ? "\r\n\r\nabc" : i == 3 ? "xyz" : "\r\n\r\n");
		assert_true(peer_heard(&world->peer, methods[i]));
		assert_int_equal(peer_count(&world->peer, "Content-Length"), i == 0 || i == 3);
		assert_int_equal(peer_count(&world->peer, "chunked"), 0);
		upstream_says(world, is_head ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
					     : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		ends(&try, SENDING_ANSWERED);
		assert_int_equal(try.body.len, is_head ? 0 : 2);
		assert_int_equal(try.call.answer_length, is_head ? 9 : 2);
		try_fini(&try);
		peer_forget(&world->peer);
	}
	assert_false(peer_saw_end(&world->peer)); /* it was one connection all along */
}

static void a_streamed_body_waits_for_its_next_piece(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	try.call.is_streamed = true;
	try.call.body_length = -1;
	try.call.is_once = false;
	try.is_upload_open = true;
	try.upload = "abcd";
	start(&try);
	upstream_hears(world, "\r\n3\r\nabc\r\n1\r\nd\r\n");
	assert_true(peer_heard(&world->peer, "Transfer-Encoding: chunked\r\n"));
	assert_false(peer_heard(&world->peer, "Expect"));
	turn_times(&world->loop, 20);
	assert_false(peer_heard(&world->peer, "\r\n0\r\n"));
	try.upload = "e";
	ASK(world, call_resume(&try.call));
	upstream_hears(world, "\r\n1\r\ne\r\n");
	try.is_upload_open = false;
	ASK(world, call_resume(&try.call));
	upstream_hears(world, "\r\n0\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	try_fini(&try);
}

static void a_streamed_body_that_breaks_ends_the_call(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	try.call.is_streamed = true;
	try.call.body_length = 10;
	try.call.is_once = false;
	try.is_upload_open = true;
	try.upload = "ab";
	start(&try);
	upstream_hears(world, "\r\n\r\nab");
	try.is_upload_broken = true;
	ASK(world, call_resume(&try.call));
	ends(&try, SENDING_UNCLEAR);
	turn_until(&world->loop, peer_saw_end(&world->peer));
	try_fini(&try);
}

/* What is certain. */

static void a_refused_connection_means_that_nothing_left(void **state)
{
	struct world *world = *state;
	struct try try;

	close(world->listener);
	world->listener = -1;
	try_init(&try, world, "POST", "/");
	try.call.has_body = true;
	try.call.body = STR("money");
	start(&try);
	ends(&try, SENDING_NEVER_LEFT);
	assert_true(strlen(try.reason) > 0);
	assert_int_equal(try.heads, 0);
	try_fini(&try);
}

static void a_failed_handshake_means_that_nothing_left(void **state)
{
	struct world *world = *state;
	struct try try;
	char url[80];

	snprintf(url, sizeof(url), "https%s", world->url + strlen("http"));
	world->settings.url = url;
	settle_anew(world);
	try_init(&try, world, "POST", "/");
	start(&try);
	turn_until(&world->loop, peer_accept(&world->peer, world->listener));
	upstream_says(world, "this is no handshake\r\n");
	ends(&try, SENDING_NEVER_LEFT);
	assert_false(peer_heard(&world->peer, "POST"));
	try_fini(&try);
}

static void a_target_that_cannot_be_sent_means_that_nothing_left(void **state)
{
	struct world *world = *state;
	static char target[20000];
	struct try try;

	memset(target, 'a', sizeof(target) - 1);
	target[0] = '/';
	try_init(&try, world, "POST", target);
	start(&try);
	assert_int_equal(try.dones, 0);
	ends(&try, SENDING_NEVER_LEFT);
	try_fini(&try);
}

static void an_upstream_that_goes_without_a_word_is_unclear(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	peer_close(&world->peer);
	ends(&try, SENDING_UNCLEAR);
	assert_int_equal(try.heads, 0);
	try_fini(&try);
}

/* libcurl would send it again by itself on a new connection. It must not. */
static void a_kept_connection_that_dies_gets_no_second_request(void **state)
{
	struct world *world = *state;
	struct peer second = {.fd = -1};
	struct try try;

	one_good_call(world);
	try_init(&try, world, "POST", "/pay");
	try.call.has_body = true;
	try.call.body = STR("once");
	start(&try);
	upstream_hears(world, "\r\n\r\nonce"); /* it has it, on the kept connection */
	peer_close(&world->peer);
	for (int i = 0; i < 2000 && !try.dones; i++) {
		turn(&world->loop);
		if (second.fd < 0)
			peer_accept(&second, world->listener);
	}
	ends(&try, SENDING_UNCLEAR);
	turn_times(&world->loop, 50);
	if (second.fd >= 0 || peer_accept(&second, world->listener))
		assert_false(peer_heard_bytes(&second, 1)); /* it may knock, but says nothing */
	assert_string_equal(try.reason, "the connection was lost after the request had been sent");
	try_fini(&try);
	peer_fini(&second);
}

static void half_an_answer_is_unclear(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf");
	turn_until(&world->loop, try.pieces);
	peer_close(&world->peer);
	ends(&try, SENDING_UNCLEAR);
	assert_int_equal(try.call.status, 201);
	try_fini(&try);
}

static void half_a_chunked_answer_is_unclear(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	turn_until(&world->loop, try.pieces);
	peer_close(&world->peer);
	ends(&try, SENDING_UNCLEAR);
	try_fini(&try);
}

static void half_a_head_is_unclear(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Le");
	turn_times(&world->loop, 20);
	peer_close(&world->peer);
	ends(&try, SENDING_UNCLEAR);
	assert_int_equal(try.heads, 0);
	try_fini(&try);
}

static void silence_ends_in_a_timeout_that_is_unclear(void **state)
{
	struct world *world = *state;
	struct try try;

	world->settings.timeout_ms = 60;
	settle_anew(world);
	try_init(&try, world, "POST", "/");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	ends(&try, SENDING_UNCLEAR);
	assert_true(try.call.is_timed_out);
	assert_int_equal(peer_count(&world->peer, "POST"), 1);
	try_fini(&try);
}

static void a_cancelled_call_tells_whether_it_had_left(void **state)
{
	struct world *world = *state;
	struct try early, late;

	try_init(&early, world, "POST", "/early");
	try_init(&late, world, "POST", "/late");
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
	try_fini(&early);
	try_fini(&late);
}

static void a_client_that_is_released_finishes_its_calls(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "POST", "/");
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	ASK(world, client_release(world->client));
	world->client = NULL;
	turn_times(&world->loop, 5);
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ends(&try, SENDING_ANSWERED);
	assert_true(str_equal(buf_str(&try.body), STR("ok")));
	try_fini(&try);
}

static void calls_over_the_limit_wait_their_turn(void **state)
{
	struct world *world = *state;
	struct peer second;
	struct try tries[3];

	for (int i = 0; i < 3; i++) {
		try_init(&tries[i], world, "GET", "/");
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
		try_fini(&tries[i]);
	}
	peer_fini(&second);
}

/* What is passed on. */

static void answer_with(struct world *world, struct try *try, const char *text)
{
	try_init(try, world, "POST", "/");
	start(try);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, text);
}

static void an_answer_is_given_as_it_came(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try,
		    "HTTP/1.1 201 Made\r\nContent-Length: 5\r\nLocation:  /x \r\n"
		    "Set-Cookie: a\r\nSet-Cookie: b\r\nX-Empty:\r\n\r\nhello");
	ends(&try, SENDING_ANSWERED);
	assert_int_equal(try.call.status, 201);
	assert_int_equal(try.call.answer_length, 5);
	assert_true(str_equal(buf_str(&try.call.answer_headers),
			      STR("Content-Length: 5\r\nLocation: /x\r\nSet-Cookie: a\r\n"
				  "Set-Cookie: b\r\nX-Empty: \r\n")));
	assert_true(str_equal(buf_str(&try.body), STR("hello")));
	assert_int_equal(try.heads, 1);
	assert_int_equal(try.call.sends, 1);
	try_fini(&try);
}

static void a_redirect_is_an_answer_and_is_not_followed(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try,
		    "HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	assert_int_equal(try.call.status, 307);
	turn_times(&world->loop, 20);
	assert_int_equal(peer_count(&world->peer, "POST"), 1);
	try_fini(&try);
}

static void a_coding_is_left_as_it_is(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try,
		    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnogz");
	ends(&try, SENDING_ANSWERED);
	assert_true(str_equal(buf_str(&try.body), STR("nogz")));
	try_fini(&try);
}

static void interim_answers_are_not_the_answer(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try,
		    "HTTP/1.1 100 Continue\r\n\r\n"
		    "HTTP/1.1 103 Early Hints\r\nLink: </style>\r\nContent-Length: 9\r\n\r\n");
	turn_times(&world->loop, 20);
	assert_int_equal(try.heads, 0);
	upstream_says(world, "HTTP/1.1 200 OK\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nok");
	ends(&try, SENDING_ANSWERED);
	assert_int_equal(try.call.status, 200);
	assert_true(str_equal(buf_str(&try.call.answer_headers),
			      STR("X-Own: 1\r\nContent-Length: 2\r\n")));
	try_fini(&try);
}

static void trailers_are_dropped(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try,
		    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"
		    "2\r\nok\r\n0\r\nX-Late: 1\r\nContent-Length: 7\r\n\r\n");
	ends(&try, SENDING_ANSWERED);
	assert_int_equal(try.call.status, 200);
	assert_int_equal(try.call.answer_length, -1);
	assert_false(text_has(buf_str(&try.call.answer_headers), "X-Late: 1"));
	assert_true(str_equal(buf_str(&try.body), STR("ok")));
	try_fini(&try);
}

static void two_lengths_are_no_answer(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try,
		    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!");
	ends(&try, SENDING_UNCLEAR);
	assert_int_equal(try.heads, 0);
	try_fini(&try);
}

static void a_length_that_is_none_is_no_answer(void **state)
{
	struct world *world = *state;
	struct try try;

	answer_with(world, &try, "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok!");
	ends(&try, SENDING_UNCLEAR);
	assert_int_equal(try.heads, 0);
	try_fini(&try);
}

/* A line of the head that looks like another status line is a field, and no good one. */
static void a_head_has_one_status_line(void **state)
{
	static const char *const lines[] = {"HTTP/1.1 500 No: x\r\n", "HTTP/1.1 099 : x\r\n",
					    "HTTP/x-long-name-without-a-space:x\r\n"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct world *world = *state;
		struct try try;
		char answer[256];

		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 201 Created\r\nX-Own: 1\r\n%sContent-Length: 2\r\n\r\nok",
			 lines[i]);
		answer_with(world, &try, answer);
		ends(&try, SENDING_ANSWERED);
		assert_int_equal(try.call.status, 201);
		assert_true(str_equal(buf_str(&try.call.answer_headers),
				      STR("X-Own: 1\r\nContent-Length: 2\r\n")));
		try_fini(&try);
		peer_forget(&world->peer);
	}
}

static void a_head_over_its_maximum_is_no_answer(void **state)
{
	struct world *world = *state;
	struct try try;
	char line[1100];

	memset(line, 'v', sizeof(line));
	memcpy(line, "X-Filler: ", 10);
	memcpy(line + sizeof(line) - 3, "\r\n", 3);
	answer_with(world, &try, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 70 && !try.dones; i++)
		upstream_says(world, line);
	upstream_says(world, "Content-Length: 0\r\n\r\n");
	ends(&try, SENDING_UNCLEAR);
	assert_int_equal(try.heads, 0);
	try_fini(&try);
}

static void an_answer_waits_for_whoever_takes_it(void **state)
{
	struct world *world = *state;
	struct try try;

	try_init(&try, world, "GET", "/");
	try.takes_nothing = true;
	start(&try);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	turn_until(&world->loop, try.heads);
	turn_times(&world->loop, 20);
	assert_int_equal(try.dones, 0);
	try.takes_nothing = false;
	ASK(world, call_resume(&try.call));
	ends(&try, SENDING_ANSWERED);
	assert_true(str_equal(buf_str(&try.body), STR("hello")));
	try_fini(&try);
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
		TEST(an_answer_is_given_as_it_came),
		TEST(a_redirect_is_an_answer_and_is_not_followed),
		TEST(a_coding_is_left_as_it_is),
		TEST(interim_answers_are_not_the_answer),
		TEST(trailers_are_dropped),
		TEST(two_lengths_are_no_answer),
		TEST(a_length_that_is_none_is_no_answer),
		TEST(a_head_has_one_status_line),
		TEST(a_head_over_its_maximum_is_no_answer),
		TEST(an_answer_waits_for_whoever_takes_it),
	};

	assert_int_equal(client_init_process(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
