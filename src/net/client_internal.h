/*
 * What the parts of the client share.
 *
 *   client.c        the life of clients and calls
 *   client_watch.c  libcurl's sockets and its timer, on the loop
 *   client_easy.c   easy handles: what a call sends with one, and gets from it
 */
#ifndef NET_CLIENT_INTERNAL_H
#define NET_CLIENT_INTERNAL_H

#include "net/client.h"

enum { CLIENT_SPARE_HANDLES = 64 }; /* easy handles kept for the next calls */

struct watch;

struct client {
	struct loop *loop;
	struct client_settings settings;
	char *url, *ca_file;
	CURLM *multi;

	/* calls: each is in one of four lists */
	struct list held;      /* until somebody releases them */
	struct list waiting;   /* for a connection, oldest first */
	struct list calls;     /* libcurl has them */
	struct list failed;    /* cancelled, or never begun: not told yet */
	size_t under_way;      /* calls that count as having a connection */
	struct loop_task reap; /* looks for ended calls */
	struct loop_task fail; /* tells of the failed ones */
	bool has_given_up;     /* no call begins any more */
	bool is_released, is_closing;

	/* client_watch.c */
	uv_timer_t timer;
	struct watch **watches; /* by socket; NULL: not watched */
	size_t watch_room;

	/* client_easy.c */
	CURL *spare[CLIENT_SPARE_HANDLES];
	size_t spare_count;
};

/* Have the loop watch what the multi handle wants watched. Both are there. */
void client_watch_init(struct client *client);
/* For easy handles, whose `owner` is the client: the socket's watch comes and goes with it. */
curl_socket_t client_socket_open(void *owner, curlsocktype purpose, struct curl_sockaddr *address);
int client_socket_closed(void *owner, curl_socket_t socket);

/* An easy handle with all fixed options; NULL without memory. */
CURL *client_take_handle(struct client *client);
void client_put_handle(struct client *client, CURL *easy);
void client_drop_handles(struct client *client);

/* Put the call's own options on its handle. False: no memory, or its target is too long. */
bool call_set_request(struct call *call);
/* What is left of its time: for the call as a whole, or for each silence. */
void call_set_times(struct call *call, bool as_a_whole);

/* How long the call may take, its turn included. */
static inline int64_t call_timeout_ms(const struct call *call)
{
	return call->timeout_ms ? call->timeout_ms : call->client->settings.timeout_ms;
}

#endif
