/*
 * Serving HTTP/1.1: listeners, connections, exchanges.
 *
 * A connection reads one message at a time and hands each over as an `exchange`: one request
 * and its answer. A service (the gate, the admin listener, the practice API) is told when a
 * head has been read; it then says how it wants the body, and answers when it can.
 *
 *   begin ──► exchange_collect() ──► collected ──► exchange_answer() ──► finished
 *         └─► exchange_stream()  ──► data, data_end ──► exchange_start/write/end ──► finished
 *         └─► exchange_answer()     (the body is not wanted: the connection closes after it)
 *
 * Always true: callbacks run on the loop of the connection, never inside a call that asked
 * for them; `finished` comes exactly once for every exchange that began, also when the client
 * has gone; after it the exchange must be released with exchange_release(). (One that has no
 * `events` yet may be broken off in `begin`; it then goes by itself.) A client that
 * goes away takes its connection with it, not the exchange: what is written then is dropped.
 *
 * Ambiguous or oversized messages never reach the service: they are answered here, with the
 * service's `refuse`, and the connection is closed.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "base/arena.h"
#include "base/buf.h"
#include "http/http.h"
#include "net/loop.h"

struct exchange;
struct connection;
struct server;
struct tls_context;

/* What a service does with an exchange. All run on its loop. */
struct service {
	/* The head has been read. Choose collect, stream or answer, now or later. */
	void (*begin)(struct service *service, struct exchange *exchange);
	/* A message was refused by the codec: append header lines and a body (both may stay empty).
	 */
	void (*refuse)(struct service *service, const struct http_refusal *refusal,
		       struct buf *headers, struct buf *body);
};

/* What an exchange does with its request's body. */
enum body_mode { BODY_NOT_WANTED, BODY_COLLECT, BODY_STREAM, BODY_OVER };

/* Whether an answer got out. */
enum delivery {
	DELIVERY_NOT_KNOWN = -1, /* accepted by the socket of a client that had closed its side */
	DELIVERY_FAILED = 0,
	DELIVERY_DONE = 1, /* all its bytes were accepted by the socket */
};

/* How one exchange is told what happens to it. */
struct exchange_events {
	/* collect: the whole body is in exchange->body_text; or status is not 0: too large (413),
	 * malformed (400) or broken off (0 < status), and an answer is wanted for it. */
	void (*collected)(struct exchange *exchange, const struct http_refusal *refusal);
	/* stream: the next piece; valid inside the call. */
	void (*data)(struct exchange *exchange, struct str piece);
	/* stream: the body is complete, or (with a refusal) will never be. */
	void (*data_end)(struct exchange *exchange, const struct http_refusal *refusal);
	/* What was written has left for the socket: there is room again. May be NULL. */
	void (*drained)(struct exchange *exchange);
	/* The client has gone before the end. May be NULL. */
	void (*gone)(struct exchange *exchange);
	/* The answer is over. */
	void (*finished)(struct exchange *exchange, enum delivery delivery);
};

struct exchange {
	/* for the service to read */
	struct http_request request;
	struct arena mem; /* dies with the exchange */
	struct loop *loop;
	struct str body_text; /* collected */
	int64_t began_us;     /* monotonic */
	char peer[46];	      /* the client's address, text */
	bool is_tls;
	bool is_gone;	       /* the client will not see an answer */
	int status;	       /* of the answer, once it has started */
	uint64_t answer_bytes; /* of its body */

	/* for the service to fill */
	const struct exchange_events *events;
	void *owner;

	/* its connection's */
	struct connection *connection; /* NULL once it has gone */
	struct http_body body;	       /* how far the reading of the body is */

	/* its own: the request's body */
	enum body_mode body_mode;
	struct http_refusal body_refusal; /* status 0: none, so far */
	struct buf collecting;		  /* becomes body_text */
	bool is_collecting;		  /* `collected` is told of the end, not `data_end` */
	bool is_paused;			  /* stream: no pieces at the moment */
	struct loop_task body_end;	  /* tells of the end */

	/* its own: the answer */
	bool is_started;     /* its head has been written */
	bool is_ended;	     /* all of it has been written, or it was broken off */
	bool is_bodiless;    /* by its status or the request's method */
	bool is_chunked;     /* its length is not known when it begins */
	bool is_until_close; /* nor does the client know chunks: it is over with the connection */
	enum delivery delivery;
	struct loop_task leave;	 /* tells that the client has gone */
	struct loop_task finish; /* tells that the answer is over */
};

struct server_limits {
	struct http_limits head;
	size_t connections;	 /* of this server on this loop; one more is closed at once */
	size_t exchange_memory;	 /* the arena's ceiling, bytes */
	int64_t head_timeout_ms; /* from the first byte of a head to its end */
	int64_t idle_timeout_ms; /* between requests */
	int64_t body_timeout_ms; /* without a byte of a body that is being read, or of an answer
				    that is being taken */
};

struct server_counters {
	uint64_t accepted;	   /* connections, with those that were closed at once */
	uint64_t refused_full;	   /* closed at once: limits.connections */
	uint64_t refused_messages; /* refused by the codec, or too slow to come */
	uint64_t timed_out;	   /* connections whose deadline passed */
	uint64_t open;		   /* connections now */
};

/*
 * One listener of a service on one loop. Several loops may listen to the same address: each
 * gets its own server with reuse_port, and the kernel spreads connections.
 */
struct server {
	/* given to server_listen() */
	struct loop *loop;
	struct service *service;
	struct server_limits limits; /* may be changed between two messages */
	struct tls_context *tls;     /* borrowed; NULL: plain. For connections yet to come */

	/* for everybody to read */
	struct server_counters counters;
	bool is_draining;

	/* the listener's */
	uv_tcp_t listener;
	bool is_listening;
	bool owes_accept; /* a connection was not taken: it is the next sweep's, or none ever is */
	struct list connections;
	struct loop_sweeper sweeper;
	int64_t full_logged_ms; /* when a refused connection was last in the log; monotonic */
	char date[40];		/* a whole Date line, refreshed by the sweep */
};

/* "host:port" or "[v6]:port" with a literal address or "localhost". False: it is none. */
bool address_parse(struct str text, struct sockaddr_storage *out_address);
/* Back to text; `out` has room for 64. */
void address_format(const struct sockaddr *address, char out[64]);

/*
 * Listen. `*address` is updated with the port when it was 0. `reuse_port`: another server of this
 * process listens there already; else nobody may. 0 or FAIL_IO with *why (text of the operating
 * system's error).
 */
int server_listen(struct server *server, struct loop *loop, struct service *service,
		  const struct server_limits *limits, struct tls_context *tls,
		  struct sockaddr_storage *address, bool reuse_port, const char **why);

/* Stop accepting, close idle connections; those at work end after their answer. */
void server_drain(struct server *server);

/* No connection is left. */
bool server_is_idle(const struct server *server);

/* Close every connection now. */
void server_close(struct server *server);

/* Does the request bring a body of at least one byte (or one of unknown length)? */
bool exchange_has_body(const struct exchange *exchange);

/* Body. Call at most one of these, once, from `begin` or later. */
void exchange_collect(struct exchange *exchange, size_t max);
void exchange_stream(struct exchange *exchange);
void exchange_pause(struct exchange *exchange); /* stream: no more pieces until resumed */
void exchange_resume(struct exchange *exchange);

/*
 * Answer whole. `headers` are "Name: value\r\n" lines without framing ones; Content-Length,
 * Date and Connection are added here. Bodies of HEAD, 204 and 304 are left out.
 */
void exchange_answer(struct exchange *exchange, int status, struct str headers, struct str body);

enum { EXCHANGE_UNKNOWN_LENGTH = -1, EXCHANGE_HIGH_WATER = 256 * 1024 };

/* Answer in pieces: start, write as long as exchange_write() says true, wait for `drained`. */
void exchange_start(struct exchange *exchange, int status, struct str headers, int64_t length);
bool exchange_write(struct exchange *exchange, struct str piece);
void exchange_end(struct exchange *exchange);

/* Break the connection off (also instead of any answer), so that the client sees that the answer is
 * not whole. */
void exchange_abort(struct exchange *exchange);
/* The same with a TCP reset. */
void exchange_reset(struct exchange *exchange);

/* Give the exchange back, after `finished`. */
void exchange_release(struct exchange *exchange);

/* TLS for a listener, from PEM files. FAIL_CONFIG with a reason in `why`. */
int tls_context_new(const char *certificate_file, const char *key_file, struct tls_context **out,
		    char *why, size_t why_size);
void tls_context_free(struct tls_context *context);

#endif
