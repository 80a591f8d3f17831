/*
 * A server on loopback whose service does nothing by itself: it writes down what it is told,
 * and the test answers. What a test asks of an exchange goes through ASK(), and every callback
 * checks that it does not run inside that.
 */
#ifndef TESTS_UNIT_NET_SERVER_TEST_H
#define TESTS_UNIT_NET_SERVER_TEST_H

#include "net_test.h"

#include "net/connection.h"
#include "net/server.h"

enum { VISITS = 8 };

/* What the service was told of one exchange. */
struct visit {
	struct world *world;
	struct exchange *exchange; /* NULL once it has been released */
	struct str method, target;
	int collected, data_ends, drained, gone, finished;
	int pieces;	    /* of a streamed body */
	struct buf body;    /* what came of it */
	int refusal_status; /* why it is not whole; 0: it is */
	enum delivery delivery;
};

struct world {
	struct twin twin;
	struct loop loop;
	struct service service;
	struct server server;
	struct server_limits limits;
	struct sockaddr_storage address;
	void (*on_begin)(struct visit *visit); /* NULL: the test does it, later */
	size_t collect_max;
	bool pauses; /* after each piece */
	struct visit visits[VISITS];
	int begun;
	bool is_asking;
	struct peer peer;
};

#define ASK(world, request)                                                                        \
	do {                                                                                       \
		(world)->is_asking = true;                                                         \
		request;                                                                           \
		(world)->is_asking = false;                                                        \
	} while (0)

static inline struct visit *visit_of(struct exchange *exchange)
{
	struct visit *visit = exchange->owner;

	assert_false(visit->world->is_asking);
	assert_int_equal(visit->finished, 0); /* nothing comes after the end */
	return visit;
}

static inline void on_collected(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct visit *visit = visit_of(exchange);

	visit->collected++;
	visit->refusal_status = refusal ? refusal->status : 0;
	buf_clear(&visit->body);
	buf_append_str(&visit->body, exchange->body_text);
}

static inline void on_data(struct exchange *exchange, struct str piece)
{
	struct visit *visit = visit_of(exchange);

	assert_false(exchange->is_paused);
	assert_int_equal(visit->data_ends, 0);
	visit->pieces++;
	buf_append_str(&visit->body, piece);
	if (visit->world->pauses)
		exchange_pause(exchange);
}

static inline void on_data_end(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct visit *visit = visit_of(exchange);

	visit->data_ends++;
	visit->refusal_status = refusal ? refusal->status : 0;
}

static inline void on_drained(struct exchange *exchange)
{
	visit_of(exchange)->drained++;
}

static inline void on_gone(struct exchange *exchange)
{
	visit_of(exchange)->gone++;
}

static inline void on_finished(struct exchange *exchange, enum delivery delivery)
{
	struct visit *visit = visit_of(exchange);

	visit->finished++;
	visit->delivery = delivery;
}

static const struct exchange_events visit_events = {
	on_collected, on_data, on_data_end, on_drained, on_gone, on_finished,
};

static inline void on_service_begin(struct service *service, struct exchange *exchange)
{
	struct world *world = list_entry(service, struct world, service);
	struct visit *visit = &world->visits[world->begun++];

	assert_false(world->is_asking);
	assert_in_range(world->begun, 1, VISITS);
	*visit = (struct visit){.world = world, .exchange = exchange};
	visit->method = exchange->request.method;
	visit->target = exchange->request.target;
	buf_init(&visit->body, HEARD_MAX);
	exchange->events = &visit_events;
	exchange->owner = visit;
	if (world->on_begin)
		world->on_begin(visit);
}

static inline void on_service_refuse(struct service *service, const struct http_refusal *refusal,
				     struct buf *headers, struct buf *body)
{
	buf_append_str(headers, STR("X-Refused: yes\r\n"));
	buf_append_str(body, str_from(refusal->detail));
}

/* Ways to begin. */

static inline void begin_collecting(struct visit *visit)
{
	ASK(visit->world, exchange_collect(visit->exchange, visit->world->collect_max));
}

static inline void begin_streaming(struct visit *visit)
{
	ASK(visit->world, exchange_stream(visit->exchange));
}

static inline void begin_answering(struct visit *visit)
{
	ASK(visit->world,
	    exchange_answer(visit->exchange, 200, STR("X-Path: /\r\n"), visit->target));
}

/* The world. */

static inline void world_serve(struct world *world, struct tls_context *tls)
{
	const char *why = NULL;

	assert_true(address_parse(STR("127.0.0.1:0"), &world->address));
	assert_int_equal(server_listen(&world->server, &world->loop, &world->service,
				       &world->limits, tls, &world->address, false, &why),
			 0);
}

static inline struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));

	twin_init(&world->twin);
	assert_int_equal(loop_init(&world->loop, &world->twin.env, NULL), 0);
	world->service = (struct service){on_service_begin, on_service_refuse};
	world->limits = (struct server_limits){
		.head = http_limits_default,
		.connections = 4,
		.exchange_memory = 256 * 1024,
		.head_timeout_ms = 10000,
		.idle_timeout_ms = 60000,
		.body_timeout_ms = 30000,
	};
	world->collect_max = 1024 * 1024;
	world->peer.fd = -1;
	return world;
}

/* Every exchange that has finished is given back. */
static inline void world_release(struct world *world)
{
	for (int i = 0; i < world->begun; i++) {
		struct visit *visit = &world->visits[i];

		if (visit->exchange && visit->finished) {
			exchange_release(visit->exchange);
			visit->exchange = NULL;
		}
	}
}

/* Close everything: an exchange whose client goes then ends like any other. */
static inline void world_free(struct world *world)
{
	server_close(&world->server);
	turn_times(&world->loop, 3);
	for (int i = 0; i < world->begun; i++) {
		struct visit *visit = &world->visits[i];

		if (visit->exchange && !visit->finished && !visit->exchange->is_ended)
			exchange_abort(visit->exchange);
	}
	turn_times(&world->loop, 3);
	assert_true(server_is_idle(&world->server));
	world_release(world);
	for (int i = 0; i < world->begun; i++) {
		assert_int_equal(world->visits[i].finished, 1); /* exactly once, whatever came */
		assert_null(world->visits[i].exchange);
		buf_fini(&world->visits[i].body);
	}
	peer_fini(&world->peer);
	loop_fini(&world->loop);
	free(world);
}

static inline void world_connect(struct world *world)
{
	peer_connect(&world->peer, &world->address);
}

static inline void world_say(struct world *world, const char *text)
{
	peer_say(&world->loop, &world->peer, text);
}

/* Time passes, and every deadline is looked at. */
static inline void world_pass(struct world *world, int64_t ms)
{
	twin_pass(&world->twin, ms);
	turn(&world->loop); /* the loop takes the time */
	world->server.sweeper.sweep(&world->server.sweeper, env_monotonic_ms(&world->twin.env));
	turn_times(&world->loop, 2);
}

static inline void world_begins(struct world *world, int count)
{
	turn_until(&world->loop, world->begun == count);
}

/* What most tests say. */

static inline int set_up(void **state)
{
	struct world *world = world_new();

	world_serve(world, NULL);
	*state = world;
	return 0;
}

static inline int tear_down(void **state)
{
	world_free(*state);
	return 0;
}

static inline struct visit *first(struct world *world)
{
	return &world->visits[0];
}

static inline void answer(struct visit *visit, int status, const char *body)
{
	ASK(visit->world,
	    exchange_answer(visit->exchange, status, STR("X-Own: 1\r\n"), str_from(body)));
}

static inline void assert_body(const struct visit *visit, const char *body)
{
	assert_true(str_equal(buf_str(&visit->body), str_from(body)));
}

static inline void assert_count(struct world *world, const char *part, size_t count)
{
	peer_listen(&world->peer);
	if (peer_count(&world->peer, part) != count)
		print_error("not %zu times %s in: %.*s\n", count, part,
			    STR_ARG(buf_str(&world->peer.heard)));
	assert_int_equal(peer_count(&world->peer, part), count);
}

#endif
