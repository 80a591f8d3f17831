/*
 * A client and an upstream that does nothing by itself: the test hears what was sent to it and
 * says what it answers. Every callback checks that it does not run inside what asked for it.
 */
#ifndef TESTS_UNIT_NET_CLIENT_TEST_H
#define TESTS_UNIT_NET_CLIENT_TEST_H

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

struct trial {
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

static inline struct trial *trial_of(struct call *call)
{
	struct trial *trial = call->owner;

	assert_false(trial->world->is_asking);
	assert_int_equal(trial->dones, 0);
	return trial;
}

static inline void on_head(struct call *call)
{
	struct trial *trial = trial_of(call);

	assert_int_equal(trial->pieces, 0);
	trial->heads++;
}

static inline bool on_data(struct call *call, struct str piece)
{
	struct trial *trial = trial_of(call);

	assert_int_equal(trial->heads, 1);
	if (trial->takes_nothing)
		return false;
	trial->pieces++;
	buf_append_str(&trial->body, piece);
	return true;
}

/* Three bytes at a time. */
static inline ssize_t on_body(struct call *call, char *out, size_t max)
{
	struct trial *trial = call->owner;
	size_t len = strlen(trial->upload) < 3 ? strlen(trial->upload) : 3;

	if (trial->is_upload_broken)
		return CALL_BODY_BROKEN;
	if (!len)
		return trial->is_upload_open ? 0 : CALL_BODY_END;
	memcpy(out, trial->upload, len);
	trial->upload += len;
	return (ssize_t)len;
}

static inline void on_done(struct call *call, enum sending sending)
{
	struct trial *trial = trial_of(call);

	trial->dones++;
	trial->sending = sending;
	snprintf(trial->reason, sizeof(trial->reason), "%s", call->reason ? call->reason : "");
}

static const struct call_events events = {on_head, on_data, on_body, on_done};

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
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
static inline void settle_anew(struct world *world)
{
	client_release(world->client);
	assert_int_equal(client_new(&world->loop, &world->settings, &world->client), 0);
}

static inline void trial_init(struct trial *trial, struct world *world, const char *method,
			      const char *target)
{
	*trial = (struct trial){.world = world, .upload = ""};
	trial->call = (struct call){
		.events = &events,
		.owner = trial,
		.method = str_from(method),
		.target = str_from(target),
		.headers = STR(""),
		.has_total_timeout = true,
	};
	buf_init(&trial->body, HEARD_MAX);
}

static inline void trial_fini(struct trial *trial)
{
	assert_int_equal(trial->dones, 1);
	call_fini(&trial->call);
	buf_fini(&trial->body);
}

static inline void start(struct trial *trial)
{
	ASK(trial->world, call_start(trial->world->client, &trial->call));
}

/* The upstream hears `part` on the connection it has, or on a new one. */
static inline void upstream_hears(struct world *world, const char *part)
{
	if (world->peer.fd < 0)
		turn_until(&world->loop, peer_accept(&world->peer, world->listener));
	turn_until(&world->loop, peer_heard(&world->peer, part));
}

static inline void upstream_says(struct world *world, const char *text)
{
	peer_say(&world->loop, &world->peer, text);
}

static inline void ends(struct trial *trial, enum sending sending)
{
	turn_until(&trial->world->loop, trial->dones);
	if (trial->sending != sending)
		print_error("reason: %s\n", trial->reason);
	assert_int_equal(trial->sending, sending);
}

static inline void assert_heard(struct world *world, const char *whole)
{
	if (!str_equal(buf_str(&world->peer.heard), str_from(whole)))
		print_error("heard: %.*s\n", STR_ARG(buf_str(&world->peer.heard)));
	assert_true(str_equal(buf_str(&world->peer.heard), str_from(whole)));
}

/* A call that is answered "ok", so that its connection is kept. */
static inline void one_good_call(struct world *world)
{
	struct trial trial;

	trial_init(&trial, world, "GET", "/first");
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ends(&trial, SENDING_ANSWERED);
	trial_fini(&trial);
	peer_forget(&world->peer);
}

#endif
