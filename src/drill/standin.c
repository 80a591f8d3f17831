/*
 * The stand-in's server: a thread that accepts, and one for each connection.
 *
 * It reads what the gate sends and no more of HTTP than that: a head, a body of a said length. One
 * mutex guards all that the threads share; a write that is slow sleeps without it.
 *
 * Always true: an effect is kept before a byte of its answer leaves.
 * Can fail: sockets and threads at the start, which is said; a connection later, which only ends.
 */
#include "drill/standin.h"

#include "base/env.h"
#include "drill/standin_store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 64 * 1024, SLOW_STEP_MS = 10, STOP_LOOK_MS = 10 };

struct standin {
	int listener;
	uint16_t port;
	pthread_t acceptor;
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t ended;  /* a connection has */
	struct standin_store store;
	struct standin_manner manner;
	int connections[STANDIN_CONNECTIONS_MAX]; /* sockets; -1: free */
	size_t connection_count;
	bool drops_next, is_stopping;
	int64_t delay_ms;
	int at_once, most_at_once;
};

struct visit {
	struct standin *standin;
	size_t slot;
	int socket;
};

struct request {
	struct str method, target, head, body;
	size_t len; /* of it all */
};

static void *accept_all(void *argument);
static void *serve(void *argument);
static bool read_request(int socket, struct buf *in, struct request *out_request);
static bool answer(struct standin *standin, int socket, const struct request *request);

static int give_up(struct standin *standin, char why[STANDIN_WHY_MAX], const char *what)
{
	snprintf(why, STANDIN_WHY_MAX, "the stand-in could not %s: %s", what, strerror(errno));
	if (standin->listener >= 0)
		close(standin->listener);
	free(standin->store.effects);
	free(standin);
	return -1;
}

static bool listen_on_loopback(struct standin *standin)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	standin->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (standin->listener < 0 ||
	    bind(standin->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(standin->listener, SOMAXCONN) != 0 ||
	    getsockname(standin->listener, (struct sockaddr *)&address, &len) != 0)
		return false;
	standin->port = ntohs(address.sin_port);
	return true;
}

int standin_start(struct standin **out_standin, char why[STANDIN_WHY_MAX])
{
	struct standin *standin = calloc(1, sizeof(*standin));

	if (!standin) {
		snprintf(why, STANDIN_WHY_MAX, "no memory for the stand-in");
		return -1;
	}
	standin->listener = -1;
	for (size_t i = 0; i < STANDIN_CONNECTIONS_MAX; i++)
		standin->connections[i] = -1;
	if (!standin_store_init(&standin->store) || !listen_on_loopback(standin))
		return give_up(standin, why, "listen");
	pthread_mutex_init(&standin->mutex, NULL);
	pthread_cond_init(&standin->ended, NULL);
	errno = pthread_create(&standin->acceptor, NULL, accept_all, standin);
	if (errno != 0)
		return give_up(standin, why, "start a thread");
	*out_standin = standin;
	return 0;
}

void standin_stop(struct standin *standin)
{
	if (!standin)
		return;
	pthread_mutex_lock(&standin->mutex);
	standin->is_stopping = true;
	pthread_mutex_unlock(&standin->mutex);
	shutdown(standin->listener, SHUT_RDWR);
	pthread_join(standin->acceptor, NULL);
	pthread_mutex_lock(&standin->mutex);
	for (size_t i = 0; i < STANDIN_CONNECTIONS_MAX; i++) {
		if (standin->connections[i] >= 0)
			shutdown(standin->connections[i], SHUT_RDWR);
	}
	while (standin->connection_count)
		pthread_cond_wait(&standin->ended, &standin->mutex);
	pthread_mutex_unlock(&standin->mutex);
	close(standin->listener);
	standin_store_fini(&standin->store);
	pthread_cond_destroy(&standin->ended);
	pthread_mutex_destroy(&standin->mutex);
	free(standin);
}

uint16_t standin_port(const struct standin *standin)
{
	return standin->port;
}

void standin_behave(struct standin *standin, const struct standin_manner *manner)
{
	pthread_mutex_lock(&standin->mutex);
	standin->manner = *manner;
	pthread_mutex_unlock(&standin->mutex);
}

void standin_drop_next(struct standin *standin, bool drops)
{
	pthread_mutex_lock(&standin->mutex);
	standin->drops_next = drops;
	pthread_mutex_unlock(&standin->mutex);
}

void standin_slow(struct standin *standin, int64_t delay_ms)
{
	pthread_mutex_lock(&standin->mutex);
	standin->delay_ms = delay_ms;
	pthread_mutex_unlock(&standin->mutex);
}

int64_t standin_count(struct standin *standin, struct str marker)
{
	int64_t count;

	pthread_mutex_lock(&standin->mutex);
	count = standin_store_count(&standin->store, marker);
	pthread_mutex_unlock(&standin->mutex);
	return count;
}

int standin_most_at_once(struct standin *standin)
{
	int most;

	pthread_mutex_lock(&standin->mutex);
	most = standin->most_at_once;
	standin->most_at_once = standin->at_once;
	pthread_mutex_unlock(&standin->mutex);
	return most;
}

/* -- connections --------------------------------------------------------------------- */

static bool take_slot(struct standin *standin, int socket, size_t *out_slot)
{
	bool has_room = false;

	pthread_mutex_lock(&standin->mutex);
	for (size_t i = 0; !has_room && i < STANDIN_CONNECTIONS_MAX; i++) {
		if (standin->connections[i] >= 0)
			continue;
		standin->connections[i] = socket;
		standin->connection_count++;
		*out_slot = i;
		has_room = true;
	}
	pthread_mutex_unlock(&standin->mutex);
	return has_room;
}

static void leave_slot(struct standin *standin, size_t slot)
{
	pthread_mutex_lock(&standin->mutex);
	close(standin->connections[slot]);
	standin->connections[slot] = -1;
	standin->connection_count--;
	pthread_cond_signal(&standin->ended);
	pthread_mutex_unlock(&standin->mutex);
}

static void begin_visit(struct standin *standin, int socket)
{
	struct visit *visit = malloc(sizeof(*visit));
	pthread_t thread;
	size_t slot;

	if (!visit || !take_slot(standin, socket, &slot)) {
		close(socket);
		free(visit);
		return;
	}
	*visit = (struct visit){standin, slot, socket};
	if (pthread_create(&thread, NULL, serve, visit) == 0) {
		pthread_detach(thread);
		return;
	}
	leave_slot(standin, slot);
	free(visit);
}

static void *accept_all(void *argument)
{
	struct standin *standin = argument;

	for (;;) {
		int socket = accept4(standin->listener, NULL, NULL, SOCK_CLOEXEC);
		bool is_stopping;

		pthread_mutex_lock(&standin->mutex);
		is_stopping = standin->is_stopping;
		pthread_mutex_unlock(&standin->mutex);
		if (is_stopping && socket >= 0)
			close(socket);
		if (is_stopping)
			return NULL;
		if (socket >= 0)
			begin_visit(standin, socket);
		else
			poll(NULL, 0, STOP_LOOK_MS);
	}
}

static void *serve(void *argument)
{
	struct visit visit = *(struct visit *)argument;
	struct request request;
	struct buf in;

	free(argument);
	buf_init(&in, STANDIN_REQUEST_MAX);
	while (read_request(visit.socket, &in, &request) &&
	       answer(visit.standin, visit.socket, &request))
		buf_consume(&in, request.len);
	buf_fini(&in);
	leave_slot(visit.standin, visit.slot);
	return NULL;
}

/* -- requests ------------------------------------------------------------------------ */

static struct str header(struct str head, struct str name)
{
	struct str line;

	while (name.len && str_split(&head, '\n', &line)) {
		size_t colon = str_find(line, ':');

		if (colon < line.len && str_equal_nocase(str_of(line.at, colon), name))
			return str_trim(str_from_index(line, colon + 1));
	}
	return STR("");
}

/* Is it whole? *out_request then points into `in`. */
static bool is_whole(const struct buf *in, struct request *out_request)
{
	const char *end = in->len ? memmem(in->at, in->len, "\r\n\r\n", 4) : NULL;
	uint64_t length = 0;
	struct str line;

	if (!end)
		return false;
	out_request->head = str_of(in->at, (size_t)(end - in->at));
	line = str_of(in->at, str_find(out_request->head, '\r'));
	str_to_u64(header(out_request->head, STR("Content-Length")), STANDIN_REQUEST_MAX, &length);
	str_split(&line, ' ', &out_request->method);
	str_split(&line, ' ', &out_request->target);
	out_request->body = str_of(end + 4, (size_t)length);
	out_request->len = out_request->head.len + 4 + (size_t)length;
	return in->len >= out_request->len;
}

static bool read_request(int socket, struct buf *in, struct request *out_request)
{
	while (!is_whole(in, out_request)) {
		char *room = buf_reserve(in, HEAD_MAX);
		ssize_t n = room ? recv(socket, room, HEAD_MAX, 0) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf_commit(in, (size_t)n);
	}
	return true;
}

static void sleep_as_told(struct standin *standin)
{
	int64_t left_ms;
	bool is_stopping;

	pthread_mutex_lock(&standin->mutex);
	left_ms = standin->delay_ms;
	pthread_mutex_unlock(&standin->mutex);
	for (; left_ms > 0; left_ms -= SLOW_STEP_MS) {
		poll(NULL, 0, SLOW_STEP_MS);
		pthread_mutex_lock(&standin->mutex);
		is_stopping = standin->is_stopping;
		pthread_mutex_unlock(&standin->mutex);
		if (is_stopping)
			return;
	}
}

/* Do a write: 0 where its answer is to be dropped, else the status. */
static int do_write(struct standin *standin, const struct request *request, struct buf *out)
{
	int status = 201;
	int64_t index;

	pthread_mutex_lock(&standin->mutex);
	if (++standin->at_once > standin->most_at_once)
		standin->most_at_once = standin->at_once;
	pthread_mutex_unlock(&standin->mutex);
	sleep_as_told(standin);
	pthread_mutex_lock(&standin->mutex);
	standin->at_once--;
	index = standin_store_write(&standin->store, &standin->manner, request->target,
				    header(request->head, standin->manner.key_header),
				    request->body);
	if (index < 0)
		status = 507;
	else if (standin->drops_next)
		status = 0;
	else
		standin_store_show(&standin->store, (size_t)index, standin->manner.id_at, out);
	standin->drops_next = false;
	pthread_mutex_unlock(&standin->mutex);
	return status;
}

static bool send_all(int socket, struct str text)
{
	while (text.len) {
		ssize_t n = send(socket, text.at, text.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text = str_from_index(text, (size_t)n);
	}
	return true;
}

static bool answer(struct standin *standin, int socket, const struct request *request)
{
	bool is_question =
		str_equal(request->method, STR("GET")) || str_equal(request->method, STR("HEAD"));
	struct buf body, head;
	bool is_sent = false;
	int status;

	buf_init(&body, STANDIN_REQUEST_MAX);
	buf_init(&head, HEAD_MAX);
	if (is_question) {
		pthread_mutex_lock(&standin->mutex);
		status = standin_store_find(&standin->store, &standin->manner, request->target,
					    &body);
		pthread_mutex_unlock(&standin->mutex);
	} else {
		status = do_write(standin, request, &body);
	}
	if (status) {
		buf_printf(&head,
			   "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n"
			   "Content-Length: %zu\r\n\r\n",
			   status, body.len);
		is_sent = send_all(socket, buf_str(&head)) && send_all(socket, buf_str(&body));
	}
	buf_fini(&head);
	buf_fini(&body);
	return is_sent;
}
