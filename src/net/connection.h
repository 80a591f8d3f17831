/*
 * One connection of a server: what listener.c, connection*.c and exchange.c share.
 *
 *   idle ──first byte──► head ──complete──► body ──over──► answer ──sent──► idle
 *     └────────────── refused, or not to be kept: answer, then linger ──► closed
 *
 * Lingering: a connection closed with bytes unread is reset, and a reset can overtake the
 * answer; so its end is announced, and what still comes is thrown away for a moment.
 */
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include "net/server.h"
#include "net/tls.h"

enum connection_phase {
	PHASE_IDLE,   /* between messages */
	PHASE_HEAD,   /* some bytes of a head */
	PHASE_BODY,   /* a body to be read: the exchange says when and how */
	PHASE_ANSWER, /* the message has been read; its answer is not over */
	PHASE_LINGER, /* answered for the last time; input is thrown away */
	PHASE_CLOSED,
};

enum {
	CONNECTION_IN_MAX = 256 * 1024,	 /* bytes read ahead of what was understood, but a head */
	CONNECTION_IN_HIGH = 128 * 1024, /* over it, reading stops */
	CONNECTION_LINGER_MS = 2000,
};

struct connection {
	/* when it comes */
	struct list link; /* among the server's */
	struct server *server;
	struct loop *loop;
	uv_tcp_t tcp;
	struct tls *tls; /* NULL: plain */
	char peer[46];	 /* the client's address, text */

	/* its place in the drawing */
	enum connection_phase phase;
	struct exchange *exchange; /* at work; NULL when idle */
	int64_t deadline_ms;	   /* monotonic; 0: none */
	bool is_last;		   /* the connection ends after the answer at work */

	/* reading */
	struct buf in;	       /* read, and not understood yet */
	size_t scanned;	       /* of `in`, while a head is looked for */
	struct loop_task pump; /* goes on with `in` */
	bool is_reading;       /* the socket is watched */
	bool is_pumping;       /* `in` is being understood: no need to ask for it */
	bool has_eof;	       /* the client says no more */

	/* writing */
	struct buf out;	   /* waits for the socket */
	struct buf flying; /* with libuv */
	uv_write_t write;
	bool is_writing;   /* a flight is under way */
	size_t queue_seen; /* bytes the client had not taken when that was last looked at */
};

/* connection.c: its life. */

/* A client has come: take it from the listener. */
void connection_accept(struct server *server);

/* The exchange's answer has been written whole: go on with the next message, or end. */
void connection_answered(struct connection *connection);

/* Close now; the exchange at work, if any, loses its client. */
void connection_close(struct connection *connection);
/* The same with a TCP reset. */
void connection_reset(struct connection *connection);

/* Its time has come or not: called at each sweep. */
void connection_sweep(struct connection *connection, int64_t now_ms);

static inline void connection_set_deadline(struct connection *connection, int64_t ms)
{
	connection->deadline_ms = connection->loop->now_ms + ms;
}

/* connection_read.c: from the socket to bytes. */

/* Watch the socket, unless that is done already or the client says no more. */
void connection_start_reading(struct connection *connection);

/* Read on: what waits in `in`, and the socket. Soon, not inside this call. */
void connection_pump_soon(struct connection *connection);
/* The task by which that happens. */
void connection_pump_now(struct loop_task *task);

/* connection_message.c: from bytes to messages. */

/* *input is what has been read; what is left in it afterwards was not understood yet. */
void connection_pump(struct connection *connection, struct str *input);

/* An answer without an exchange: the message was never one. The connection ends after it. */
void connection_refuse(struct connection *connection, const struct http_refusal *refusal);

/* connection_write.c: from answers to the socket. */

/* Send; everything is taken. False: the connection has broken and is gone. */
bool connection_send(struct connection *connection, struct str first, struct str second);

/* Bytes that wait for the socket. */
size_t connection_backlog(const struct connection *connection);

/* Bytes that the client has not taken, those in the system's own buffer among them. */
size_t connection_left_to_take(const struct connection *connection);

/* exchange.c */

/* An exchange whose head is about to be read; NULL without memory. */
struct exchange *exchange_new(struct connection *connection);
void exchange_free(struct exchange *exchange);

/* Does it take body bytes now? */
bool exchange_wants_more(const struct exchange *exchange);
/* Body bytes for the exchange: how many of `bytes` were used. */
size_t exchange_feed(struct exchange *exchange, struct str bytes);
/* The body will never be whole. */
void exchange_break_body(struct exchange *exchange, const struct http_refusal *refusal);

/* Nothing is left to send. */
void exchange_on_drained(struct exchange *exchange);
/* Its connection has closed. */
void exchange_on_gone(struct exchange *exchange);

#endif
