/*
 * Calling upstreams, through libcurl on the loop.
 *
 * A call is one sending of one request. libcurl may by itself send a request a second time
 * (when a kept-alive connection turns out dead); here it may not: the second time it is about
 * to, the call is ended instead. So a call that ends tells one of three certain things:
 * no byte left; bytes left and there is no whole answer; here is the whole answer.
 *
 * Redirects are never followed, answers never decoded, no proxy taken from the environment.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "base/buf.h"
#include "core/outcome.h"
#include "http/answer.h"
#include "net/loop.h"

#include <curl/curl.h>

enum {
	CALL_IDLE_CONNECTION_S = 3, /* an idle upstream connection is not used after that */
	CALL_PIECE_MAX = CURL_MAX_WRITE_SIZE, /* bytes of an answer's body in one piece */
};

/* Where calls go: one an upstream and loop. */
struct client;

struct client_settings {
	const char *url;      /* scheme, host, port */
	struct str base_path; /* put before each target: "" or "/v1" */
	const char *ca_file;  /* NULL: the system's */
	bool verify;	      /* the peer's certificate and name */
	int64_t timeout_ms;   /* a protected call as a whole; a streamed one: without a byte;
				 either: until it is sent */
	int64_t connect_timeout_ms;
	size_t max_connections; /* to this upstream from this loop; more calls wait their turn */
};

struct call;
struct call_events {
	/* The final head is here: call->answer. Not for interim (1xx) ones.
	 */
	void (*head)(struct call *call);
	/* A piece of the answer's body. Returns false to pause: call_resume() brings it again. */
	bool (*data)(struct call *call, struct str piece);
	/* Streamed request body: put up to `max` bytes at `out`; 0: none now (call_resume() when
	 * there are); CALL_BODY_END: it is complete; CALL_BODY_BROKEN: it will never be. */
	ssize_t (*body)(struct call *call, char *out, size_t max);
	/* Over. `sending` says what is certain, call->reason why it is not as it should be. */
	void (*done)(struct call *call, enum sending sending);
};
enum { CALL_BODY_END = -1, CALL_BODY_BROKEN = -2 };

struct call {
	/* for the caller to fill (zero the rest) */
	const struct call_events *events;
	void *owner;
	struct str method;
	struct str target;	/* path[?query], exactly as it is to be sent */
	struct str headers;	/* "Name: value\r\n" lines, without framing and Host */
	struct str body;	/* whole body, borrowed until done */
	bool has_body;		/* else none is sent, unless is_streamed */
	bool is_streamed;	/* the body comes through events->body */
	int64_t body_length;	/* streamed: bytes, or -1: chunked */
	int64_t timeout_ms;	/* its own; 0: the client's */
	bool has_total_timeout; /* timeout_ms is for the call as a whole, not for each silence */
	bool is_spoiled;	/* it could not be put together: it ends as one that never left */
	bool is_held;		/* something is missing yet: it waits for call_release() */
	const char *why_not;	/* the reason of one that was spoiled, or held too long; or NULL */

	/* for the caller to read */
	struct http_answer answer; /* its head */
	const char *reason; /* once it is over: why, one text for one kind of fault; NULL: as it
			       should */
	bool is_timed_out;
	bool had_no_turn;    /* all connections were in use all its time: it was not tried */
	int64_t duration_us; /* once it is over */

	/* the client's: its life */
	struct client *client;	    /* NULL: never started */
	struct list link;	    /* among those that wait, are under way, or have failed */
	int64_t began_us;	    /* monotonic */
	bool is_under_way;	    /* it counts as having a connection */
	bool is_ending;		    /* cancelled */
	struct loop_timer patience; /* while it waits for a connection */

	/* the client's: sending */
	CURL *easy;
	struct curl_slist *lines; /* one piece of memory */
	char error[CURL_ERROR_SIZE];
	unsigned sends; /* how often a sending was about to begin */
	bool is_paused_in, is_paused_out;
	struct loop_task resume;
};

/* 0 or FAIL_MEMORY. Settings are copied. */
int client_new(struct loop *loop, const struct client_settings *settings, struct client **out);

/*
 * Cancel every call that is under way or waits its turn, and each that is started later, so that
 * nothing leaves any more. Not inside an event.
 */
void client_give_up(struct client *client);

/* No more calls; freed once the last has ended. */
void client_release(struct client *client);

/* Start. `done` comes exactly once, never inside this call. */
void call_start(struct client *client, struct call *call);

/*
 * A held call has all it needs now: its fields may have been filled until here. Refuse: it never
 * will, and ends as one that never left, for that reason (a text as long-lived as the call's
 * owner). A call that is not held any more, or has been cancelled, stays as it is. `done` comes
 * later.
 */
void call_release(struct call *call);
void call_refuse(struct call *call, const char *why_not);

/* Go on after a pause of either direction. */
void call_resume(struct call *call);

/*
 * A protected call whose answer is passed on as its client takes it: from now on it may take as
 * long as bytes come. Not inside an event.
 */
void call_be_patient(struct call *call);

/* End it now; `done` comes later with what is certain. */
void call_cancel(struct call *call);

/* libcurl's own words for what went wrong, for a log; after done. NULL: it has none. */
const char *call_error(const struct call *call);

/* Free what the call holds; after done. */
void call_fini(struct call *call);

/* Once a process, before any client. */
int client_init_process(void);

#endif
