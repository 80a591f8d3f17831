/*
 * A faulty wire: a proxy that loses what it is asked to lose.
 *
 * It stands between the drill's client and one server, reads each request whole, and carries out
 * the plan for it; so an API needs to know nothing of a drill. Bytes are passed on as they come,
 * but for a "Connection: close" that it adds: one request, one connection.
 *
 * Always true: a request is given to the server once, and only with PROXY_DUPLICATE twice.
 * Can fail: the server cannot be reached; that is told to the watch, and the client is hung up on.
 *
 * Threads of its own, one for each connection. Its functions may be called from any thread.
 */
#ifndef DRILL_PROXY_H
#define DRILL_PROXY_H

#include "drill/result.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	PROXY_WHY_MAX = 256,
	PROXY_CONNECTIONS_MAX = 256,	     /* at once; more are hung up on */
	PROXY_MESSAGE_MAX = 64 * 1024 * 1024 /* bytes of a request, and of an answer */
};

enum proxy_fault {
	PROXY_NONE,
	PROXY_DROP_ANSWER,  /* the server has answered; the client is hung up on */
	PROXY_HALF_ANSWER,  /* the client gets the first half of the answer and is hung up on */
	PROXY_DELAY_ANSWER, /* the answer waits for delay_ms */
	PROXY_RESET_BEFORE, /* both connections are reset, and nothing has been sent */
	PROXY_CUT_REQUEST,  /* the server gets the first half of the request, then a reset */
	PROXY_DUPLICATE, /* the server gets it twice, on two connections; the first answer counts */
	PROXY_HOLD_ANSWER /* the answer waits for proxy_release() */
};

struct proxy_plan {
	enum proxy_fault fault;
	int64_t delay_ms;
};

/* The server. Texts are borrowed until proxy_stop(). */
struct proxy_settings {
	const char *host; /* a name or a numeric address, without brackets */
	uint16_t port;
	bool is_tls;
	const char *ca_file; /* PEM roots to trust; NULL: the system's */
	bool verify;	     /* its certificate and name */
	int64_t timeout_ms;  /* of connecting, and of each silence */
};

/* Whoever is told what happens, as a sentence; called from the proxy's threads, several at once. */
struct proxy_watch {
	void (*event)(void *owner, enum drill_move move, int lane, const char *text);
	void *owner;
};

struct proxy;

/* Listen on a free port of 127.0.0.1. 0; or 1, and `why` says what is missing. */
int proxy_start(const struct proxy_settings *settings, struct proxy **out, char why[PROXY_WHY_MAX]);
uint16_t proxy_port(const struct proxy *proxy);

/* What happens to the next request; those after it are passed on. */
void proxy_plan(struct proxy *proxy, struct proxy_plan plan);

/* Before its first request. */
void proxy_watch(struct proxy *proxy, struct proxy_watch watch);

/* Until the request of the last plan is wholly with the server. 0; 1: it was not in time. */
int proxy_wait_sent(struct proxy *proxy, int64_t timeout_ms);

/* Let go what PROXY_HOLD_ANSWER holds, now or later. */
void proxy_release(struct proxy *proxy);

/* Hang up on everybody, end the threads, free it. NULL is fine. */
void proxy_stop(struct proxy *proxy);

#endif
