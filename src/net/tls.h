/*
 * TLS for a connection, on memory BIOs: bytes from the socket go in, bytes for the socket
 * come out, and the loop moves both. OpenSSL never sees a socket.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/buf.h"
#include "net/server.h"

struct tls;

/* NULL without memory. */
struct tls *tls_new(struct tls_context *context);
void tls_free(struct tls *tls);

/*
 * Bytes came from the socket. Plain text is appended to `plain`, what must be sent (handshake,
 * alerts) to `wire`. 0; TLS_CLOSED: the peer ended it properly; < 0: broken, or a buffer is full
 * (close; `wire` may hold an alert).
 */
enum { TLS_CLOSED = 1 };
int tls_received(struct tls *tls, struct str bytes, struct buf *plain, struct buf *wire);

/* Encrypt: appended to `wire`. 0, FAIL_IO, FAIL_LIMIT. Only after the handshake, which a request
 * proves. */
int tls_send(struct tls *tls, struct str plain, struct buf *wire);

/* Say goodbye: a close_notify to `wire`. */
void tls_close(struct tls *tls, struct buf *wire);

#endif
