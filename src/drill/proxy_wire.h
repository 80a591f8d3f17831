/*
 * One connection of the proxy's, plain or with TLS, on blocking sockets.
 */
#ifndef DRILL_PROXY_WIRE_H
#define DRILL_PROXY_WIRE_H

#include "drill/proxy.h"

#include <openssl/ssl.h>
#include <stddef.h>
#include <sys/types.h>

struct proxy_wire {
	int fd;	  /* -1: there is none */
	SSL *ssl; /* NULL: plain */
};

/* The context of a server with TLS; NULL: *why says what is wrong. */
SSL_CTX *proxy_wire_context(const struct proxy_settings *settings, char why[PROXY_WHY_MAX]);

/* Connect. False: *why says what went wrong. `context` NULL: without TLS. */
bool proxy_wire_open(struct proxy_wire *wire, const struct proxy_settings *settings,
		     SSL_CTX *context, char why[PROXY_WHY_MAX]);

/* All of it. False: the other side has gone, or takes nothing in time. */
bool proxy_wire_write(struct proxy_wire *wire, const char *bytes, size_t len);

/* Some bytes; 0: the other side has ended it; -1: broken, or silent for too long. */
ssize_t proxy_wire_read(struct proxy_wire *wire, char *out, size_t size);

/* End it in order; or with a reset, so that the other side sees a broken connection. */
void proxy_wire_close(struct proxy_wire *wire);
void proxy_wire_reset(struct proxy_wire *wire);

/* Silence after which reading and writing give up. */
void proxy_wire_patience(int fd, int64_t timeout_ms);

#endif
