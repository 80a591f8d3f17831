/*
 * The faulty wire at work: who connects, and what becomes of each request.
 *
 *   client ─request─► proxy ─request─► server
 *                       │ ◄──answer───── │
 *          ◄──answer────┘   (or not: the plan says what is lost)
 *
 * One mutex guards all that threads share; nobody holds it while reading or writing. Whoever
 * stops the proxy shuts every socket down, so that no thread waits longer than for that.
 *
 * Always true: a thread has left the list before its connection's memory goes.
 * Can fail: a thread or memory cannot be had: that client is hung up on.
 */
#include "drill/proxy.h"

#include "base/list.h"
#include "drill/proxy_message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS = 2, BACKLOG = 128, TEXT_SIZE = 512, BREATH_NS = 10000000 };

struct proxy {
	struct proxy_settings settings;
	struct proxy_watch watch;
	SSL_CTX *context; /* NULL: the server speaks without TLS */
	int listener;
	uint16_t port;
	pthread_t acceptor;

	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t changed;
	struct list connections;
	size_t connection_count;
	struct proxy_plan plan;
	int lanes;	  /* requests so far */
	bool is_sent;	  /* the request of the last plan is with the server */
	bool is_released; /* what was held may go */
	bool is_stopping;
};

/* One client, one request, and the server (twice, where it gets it twice). */
struct connection {
	struct list link;
	struct proxy *proxy;
	struct proxy_wire client, servers[SERVERS];
	struct buf request, answer;
	struct proxy_plan plan;
	int lane;
	int status; /* of the answer */
};

static void *accept_clients(void *owner);
static bool listen_somewhere(struct proxy *proxy, char why[PROXY_WHY_MAX]);

int proxy_start(const struct proxy_settings *settings, struct proxy **out, char why[PROXY_WHY_MAX])
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));

	if (!proxy) {
		snprintf(why, PROXY_WHY_MAX, "there is no memory");
		return 1;
	}
	proxy->settings = *settings;
	proxy->listener = -1;
	list_init(&proxy->connections);
	pthread_mutex_init(&proxy->mutex, NULL);
	pthread_cond_init(&proxy->changed, NULL);
	if (settings->is_tls)
		proxy->context = proxy_wire_context(settings, why);
	if ((!settings->is_tls || proxy->context) && listen_somewhere(proxy, why)) {
		if (pthread_create(&proxy->acceptor, NULL, accept_clients, proxy) == 0) {
			*out = proxy;
			return 0;
		}
		snprintf(why, PROXY_WHY_MAX, "there is no thread for it");
		close(proxy->listener);
	}
	SSL_CTX_free(proxy->context);
	free(proxy);
	return 1;
}

static bool listen_somewhere(struct proxy *proxy, char why[PROXY_WHY_MAX])
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(here);

	proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (proxy->listener >= 0 &&
	    bind(proxy->listener, (struct sockaddr *)&here, sizeof(here)) == 0 &&
	    listen(proxy->listener, BACKLOG) == 0 &&
	    getsockname(proxy->listener, (struct sockaddr *)&here, &size) == 0) {
		proxy->port = ntohs(here.sin_port);
		return true;
	}
	snprintf(why, PROXY_WHY_MAX, "no port of 127.0.0.1 can be had: %s", strerror(errno));
	if (proxy->listener >= 0)
		close(proxy->listener);
	return false;
}

uint16_t proxy_port(const struct proxy *proxy)
{
	return proxy->port;
}

void proxy_watch(struct proxy *proxy, struct proxy_watch watch)
{
	pthread_mutex_lock(&proxy->mutex);
	proxy->watch = watch;
	pthread_mutex_unlock(&proxy->mutex);
}

void proxy_plan(struct proxy *proxy, struct proxy_plan plan)
{
	pthread_mutex_lock(&proxy->mutex);
	proxy->plan = plan;
	proxy->is_sent = proxy->is_released = false;
	pthread_mutex_unlock(&proxy->mutex);
}

void proxy_release(struct proxy *proxy)
{
	pthread_mutex_lock(&proxy->mutex);
	proxy->is_released = true;
	pthread_cond_broadcast(&proxy->changed);
	pthread_mutex_unlock(&proxy->mutex);
}

/* Wait, with the mutex, until `flag` or stopping, `timeout_ms` at most. */
static bool wait_for(struct proxy *proxy, const bool *flag, int64_t timeout_ms)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (!*flag && !proxy->is_stopping && r == 0)
		r = pthread_cond_timedwait(&proxy->changed, &proxy->mutex, &until);
	return *flag;
}

int proxy_wait_sent(struct proxy *proxy, int64_t timeout_ms)
{
	bool is_sent;

	pthread_mutex_lock(&proxy->mutex);
	is_sent = wait_for(proxy, &proxy->is_sent, timeout_ms);
	pthread_mutex_unlock(&proxy->mutex);
	return is_sent ? 0 : 1;
}

static void shut(const struct proxy_wire *wire)
{
	if (wire->fd >= 0)
		shutdown(wire->fd, SHUT_RDWR);
}

void proxy_stop(struct proxy *proxy)
{
	struct list *link, *after;

	if (!proxy)
		return;
	pthread_mutex_lock(&proxy->mutex);
	proxy->is_stopping = true;
	shutdown(proxy->listener, SHUT_RDWR);
	pthread_cond_broadcast(&proxy->changed);
	list_for_each (link, after, &proxy->connections) {
		struct connection *connection = list_entry(link, struct connection, link);

		shut(&connection->client);
		for (int i = 0; i < SERVERS; i++)
			shut(&connection->servers[i]);
	}
	while (proxy->connection_count)
		pthread_cond_wait(&proxy->changed, &proxy->mutex);
	pthread_mutex_unlock(&proxy->mutex);
	pthread_join(proxy->acceptor, NULL);
	close(proxy->listener);
	SSL_CTX_free(proxy->context);
	pthread_cond_destroy(&proxy->changed);
	pthread_mutex_destroy(&proxy->mutex);
	free(proxy);
}

/* -- connections --------------------------------------------------------------------- */

static void *serve(void *owner);

/* Writing through TLS to who has gone must not end the process. */
static void be_quiet(void)
{
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
}

/* On the list, or not: too many are there, or it is all over. */
static bool enter(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;
	bool may;

	pthread_mutex_lock(&proxy->mutex);
	may = !proxy->is_stopping && proxy->connection_count < PROXY_CONNECTIONS_MAX;
	if (may) {
		list_append(&proxy->connections, &connection->link);
		proxy->connection_count++;
	}
	pthread_mutex_unlock(&proxy->mutex);
	return may;
}

static void leave(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;

	pthread_mutex_lock(&proxy->mutex);
	list_remove(&connection->link);
	for (int i = 0; i < SERVERS; i++)
		proxy_wire_close(&connection->servers[i]);
	proxy_wire_close(&connection->client);
	buf_fini(&connection->request);
	buf_fini(&connection->answer);
	free(connection);
	proxy->connection_count--;
	pthread_cond_broadcast(&proxy->changed);
	pthread_mutex_unlock(&proxy->mutex);
}

static void begin(struct proxy *proxy, int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	pthread_t thread;

	if (!connection) {
		close(fd);
		return;
	}
	connection->proxy = proxy;
	connection->client = (struct proxy_wire){.fd = fd};
	for (int i = 0; i < SERVERS; i++)
		connection->servers[i] = (struct proxy_wire){.fd = -1};
	buf_init(&connection->request, PROXY_MESSAGE_MAX);
	buf_init(&connection->answer, PROXY_MESSAGE_MAX);
	if (!enter(connection)) {
		close(fd);
		free(connection);
	} else if (pthread_create(&thread, NULL, serve, connection) == 0) {
		pthread_detach(thread);
	} else {
		leave(connection);
	}
}

static void *accept_clients(void *owner)
{
	struct proxy *proxy = owner;
	const struct timespec breath = {.tv_nsec = BREATH_NS};
	bool is_stopping = false;

	be_quiet();
	while (!is_stopping) {
		int fd = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			begin(proxy, fd);
		else
			nanosleep(&breath, NULL); /* no descriptor is free now, or it is all over */
		pthread_mutex_lock(&proxy->mutex);
		is_stopping = proxy->is_stopping;
		pthread_mutex_unlock(&proxy->mutex);
	}
	return NULL;
}

/* -- one request --------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void
tell(const struct connection *connection, enum drill_move move, const char *format, ...)
{
	const struct proxy_watch *watch = &connection->proxy->watch;
	char text[TEXT_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (watch->event)
		watch->event(watch->owner, move, connection->lane, text);
}

static void take_plan(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;

	pthread_mutex_lock(&proxy->mutex);
	connection->plan = proxy->plan;
	connection->lane = proxy->lanes++;
	proxy->plan = (struct proxy_plan){.fault = PROXY_NONE};
	pthread_mutex_unlock(&proxy->mutex);
}

static void say_sent(const struct connection *connection)
{
	struct proxy *proxy = connection->proxy;

	pthread_mutex_lock(&proxy->mutex);
	proxy->is_sent = true;
	pthread_cond_broadcast(&proxy->changed);
	pthread_mutex_unlock(&proxy->mutex);
}

/* Connect to the server; where that fails, the client is hung up on. */
static bool reach(struct connection *connection, int which)
{
	struct proxy *proxy = connection->proxy;
	struct proxy_wire wire;
	char why[PROXY_WHY_MAX] = "";
	bool is_open = proxy_wire_open(&wire, &proxy->settings, proxy->context, why);

	pthread_mutex_lock(&proxy->mutex);
	connection->servers[which] = wire;
	if (proxy->is_stopping)
		shut(&wire);
	pthread_mutex_unlock(&proxy->mutex);
	if (!is_open)
		tell(connection, DRILL_LOST_TO_SERVER, "the server cannot be reached: %s", why);
	return is_open;
}

static void reset_all(struct connection *connection)
{
	struct proxy *proxy = connection->proxy;

	pthread_mutex_lock(&proxy->mutex);
	for (int i = 0; i < SERVERS; i++)
		proxy_wire_reset(&connection->servers[i]);
	proxy_wire_reset(&connection->client);
	pthread_mutex_unlock(&proxy->mutex);
}

static bool forward(struct connection *connection, int which, size_t len)
{
	struct proxy_wire *server = &connection->servers[which];

	if (!reach(connection, which))
		return false;
	if (proxy_wire_write(server, connection->request.at, len))
		return true;
	tell(connection, DRILL_LOST_TO_SERVER, "the server took no more of the request");
	return false;
}

/* The whole request to one or two servers, and the first one's answer. */
static bool exchange(struct connection *connection)
{
	struct buf second;
	int count = connection->plan.fault == PROXY_DUPLICATE ? 2 : 1, status;
	enum proxy_answer came;

	for (int i = 0; i < count; i++) {
		if (!forward(connection, i, connection->request.len))
			return false;
		tell(connection, DRILL_WIRE_TO_SERVER, "request forwarded%s (%zu bytes)",
		     i ? " once more" : "", connection->request.len);
	}
	say_sent(connection);
	came = proxy_read_answer(&connection->servers[0], &connection->answer, &connection->status);
	if (came == PROXY_ANSWER_WHOLE)
		tell(connection, DRILL_SERVER_TO_WIRE, "the server answered %d",
		     connection->status);
	else
		tell(connection, DRILL_LOST_TO_WIRE, "the server hung up %s",
		     came == PROXY_ANSWER_NONE ? "without an answer"
					       : "in the middle of its answer");
	if (count == 2) {
		buf_init(&second, PROXY_MESSAGE_MAX);
		if (proxy_read_answer(&connection->servers[1], &second, &status) ==
		    PROXY_ANSWER_WHOLE)
			tell(connection, DRILL_SERVER_TO_WIRE,
			     "the server answered %d to the second one", status);
		buf_fini(&second);
	}
	return came != PROXY_ANSWER_NONE;
}

static void pause_answer(struct connection *connection)
{
	static const bool never;
	struct proxy *proxy = connection->proxy;
	bool is_held = connection->plan.fault == PROXY_HOLD_ANSWER;

	if (is_held)
		tell(connection, DRILL_AT_WIRE, "the answer is held back");
	else
		tell(connection, DRILL_AT_WIRE, "the answer waits for %lld ms",
		     (long long)connection->plan.delay_ms);
	pthread_mutex_lock(&proxy->mutex);
	wait_for(proxy, is_held ? &proxy->is_released : &never,
		 is_held ? proxy->settings.timeout_ms : connection->plan.delay_ms);
	pthread_mutex_unlock(&proxy->mutex);
}

static void pass_on(struct connection *connection, size_t len)
{
	if (proxy_wire_write(&connection->client, connection->answer.at, len))
		tell(connection, DRILL_WIRE_TO_CLIENT, "answer passed on (%zu bytes)", len);
	else
		tell(connection, DRILL_LOST_TO_CLIENT,
		     "the client has gone: its answer is dropped");
}

/* What the plan makes of a whole request. */
static void carry_out(struct connection *connection)
{
	size_t half = connection->request.len / 2;

	switch (connection->plan.fault) {
	case PROXY_RESET_BEFORE:
		if (reach(connection, 0))
			tell(connection, DRILL_LOST_TO_SERVER,
			     "both connections reset; nothing was sent");
		reset_all(connection);
		return;
	case PROXY_CUT_REQUEST:
		if (forward(connection, 0, half))
			tell(connection, DRILL_LOST_TO_SERVER,
			     "reset after %zu of %zu bytes of the request", half,
			     connection->request.len);
		reset_all(connection);
		return;
	case PROXY_DROP_ANSWER:
		if (exchange(connection))
			tell(connection, DRILL_LOST_TO_CLIENT,
			     "the answer is dropped: hung up on the client");
		return;
	case PROXY_HALF_ANSWER:
		if (exchange(connection)) {
			pass_on(connection, connection->answer.len / 2);
			tell(connection, DRILL_LOST_TO_CLIENT,
			     "hung up in the middle of the answer");
		}
		return;
	case PROXY_DELAY_ANSWER:
	case PROXY_HOLD_ANSWER:
		if (exchange(connection)) {
			pause_answer(connection);
			pass_on(connection, connection->answer.len);
		}
		return;
	case PROXY_DUPLICATE:
	case PROXY_NONE:
		if (exchange(connection))
			pass_on(connection, connection->answer.len);
		return;
	}
}

static void *serve(void *owner)
{
	struct connection *connection = owner;

	be_quiet();
	proxy_wire_patience(connection->client.fd, connection->proxy->settings.timeout_ms);
	if (proxy_read_request(&connection->client, &connection->request)) {
		take_plan(connection);
		carry_out(connection);
	}
	leave(connection);
	return NULL;
}
