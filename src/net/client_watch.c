/*
 * libcurl's sockets and its timer, on the loop.
 *
 * libcurl says which sockets it watches and when it wants to be woken; the loop does both with
 * uv_poll and one timer, and libcurl is told what happened. Ended calls are looked for after
 * that, soon: never inside libcurl's own callbacks.
 */
#include "net/client_internal.h"

#include "base/err.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WATCHES_FIRST = 64 };

/*
 * A socket that libcurl watches. A connection is opened and closed through our own callbacks, so
 * its watch lives as long as it does: between two requests libcurl lets go of it, but the poll
 * stays as it is, since the next request wants the same again, and two system calls each time
 * would be the price of tidiness. Any other socket (its resolver's) is closed behind our back:
 * that watch ends when libcurl lets go, or it would take the place of whoever gets the number next.
 */
struct watch {
	uv_poll_t poll;
	struct client *client;
	curl_socket_t socket;
	int events;   /* polled for; 0: stopped */
	bool is_idle; /* libcurl has let go of it */
	bool is_connection;
};

static void kick(struct client *client, curl_socket_t socket, int what)
{
	int running;

	curl_multi_socket_action(client->multi, socket, what, &running);
	loop_soon(client->loop, &client->reap);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	int what = 0;

	if (watch->is_idle) { /* the service has closed it: libcurl will see when it needs it */
		uv_poll_stop(poll);
		watch->events = 0;
		return;
	}
	if (status < 0)
		what = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		what |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		what |= CURL_CSELECT_OUT;
	kick(watch->client, watch->socket, what);
}

static void free_watch(uv_handle_t *handle)
{
	free(handle->data);
}

static bool make_watch_room(struct client *client, size_t socket)
{
	size_t room = client->watch_room ? client->watch_room : WATCHES_FIRST;
	struct watch **watches;

	if (socket < client->watch_room)
		return true;
	while (room <= socket)
		room *= 2;
	watches = realloc(client->watches, room * sizeof(struct watch *));
	if (!watches)
		return false;
	memset(watches + client->watch_room, 0,
	       (room - client->watch_room) * sizeof(struct watch *));
	client->watches = watches;
	client->watch_room = room;
	return true;
}

static struct watch *watch_new(struct client *client, curl_socket_t socket)
{
	struct watch *watch;

	if (!make_watch_room(client, (size_t)socket))
		return NULL;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	watch->client = client;
	watch->socket = socket;
	if (uv_poll_init_socket(&client->loop->uv, &watch->poll, socket) != 0) {
		free(watch);
		return NULL;
	}
	watch->poll.data = watch;
	client->watches[socket] = watch;
	return watch;
}

static struct watch *watch_of(const struct client *client, curl_socket_t socket)
{
	return (size_t)socket < client->watch_room ? client->watches[socket] : NULL;
}

static void watch_end(struct watch *watch)
{
	uv_poll_stop(&watch->poll);
	watch->client->watches[watch->socket] = NULL;
	uv_close((uv_handle_t *)&watch->poll, free_watch);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *owner, void *unused)
{
	struct client *client = owner;
	struct watch *watch = watch_of(client, socket);
	int events =
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

	if (what == CURL_POLL_REMOVE) {
		if (watch && watch->is_connection)
			watch->is_idle = true;
		else if (watch)
			watch_end(watch);
		return 0;
	}
	if (!watch)
		watch = watch_new(client, socket);
	if (!watch)
		return -1;
	watch->is_idle = false;
	if (events == watch->events)
		return 0;
	watch->events = events;
	return uv_poll_start(&watch->poll, events, on_poll) == 0 ? 0 : -1;
}

curl_socket_t client_socket_open(void *owner, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct client *client = owner;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			address->protocol);
	struct watch *watch;

	if (fd < 0)
		return CURL_SOCKET_BAD;
	watch = watch_new(client, fd);
	if (!watch) {
		close(fd);
		return CURL_SOCKET_BAD;
	}
	watch->is_connection = watch->is_idle = true;
	return fd;
}

int client_socket_closed(void *owner, curl_socket_t socket)
{
	struct watch *watch = watch_of(owner, socket);

	if (watch)
		watch_end(watch);
	return close(socket);
}

static void on_timer(uv_timer_t *timer)
{
	kick(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout_wanted(CURLM *multi, long ms, void *owner)
{
	struct client *client = owner;

	if (ms < 0)
		uv_timer_stop(&client->timer);
	else
		uv_timer_start(&client->timer, on_timer, (uint64_t)ms, 0);
	return 0;
}

void client_watch_init(struct client *client)
{
	require(uv_timer_init(&client->loop->uv, &client->timer) == 0);
	client->timer.data = client;
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
}
