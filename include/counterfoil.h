/*
 * libcounterfoil: one intended action, one effect, from a C or C++ program.
 *
 * A step of a workflow has a token, which is on disk in the journal before anything is sent. What
 * has ended is told from the journal and never sent again; what is uncertain is asked about first.
 * The journal is the one that `counterfoil call` and the other languages use.
 *
 * Texts are UTF-8 with a NUL at the end, unless a length goes with them. What a function is given
 * it copies; what a result gives lives as long as the result. Times are milliseconds, except where
 * a name says seconds. Nothing here writes to standard output or error, ends the process in an
 * ordinary failure, or changes what a signal does. After fork() the child opens its own journal.
 *
 * Threads: one thread at a time for one journal, one request or one result; different ones may be
 * used at the same time, also on the same file. Before a second thread is started, a program should
 * call curl_global_init() itself, as libcurl asks of everybody.
 */
#ifndef COUNTERFOIL_H
#define COUNTERFOIL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define COUNTERFOIL_API __attribute__((visibility("default")))
#else
#define COUNTERFOIL_API
#endif

/* What functions return. counterfoil_error() has the sentence for all but COUNTERFOIL_OK. */
enum counterfoil_code {
	COUNTERFOIL_OK = 0,
	COUNTERFOIL_REFUSED = 1,    /* not as it was asked; nothing was sent */
	COUNTERFOIL_BUSY = 2,	    /* a new action, beside somebody who is at the one before */
	COUNTERFOIL_NONE = 3,	    /* nothing is known of the step, or nothing was sent */
	COUNTERFOIL_UNRECORDED = 4, /* the journal cannot be written. What was sent before that is
				       on record as uncertain: do the same again later */
	COUNTERFOIL_NO_MEMORY = 5   /* the same holds */
};

/* For counterfoil_request_set_flags(). */
enum counterfoil_flag {
	COUNTERFOIL_NEW = 1,	      /* a deliberate new action of the step */
	COUNTERFOIL_HONOURS_KEY = 2,  /* the API has one effect for one Idempotency-Key */
	COUNTERFOIL_SAME_ACCOUNT = 4, /* another credential than before, of the same account */
	COUNTERFOIL_INSECURE = 8      /* the server's certificate is not checked */
};

enum {
	COUNTERFOIL_TOKEN_SIZE = 256 /* room for every token, with its NUL */
};

typedef struct counterfoil_journal counterfoil_journal;
typedef struct counterfoil_request counterfoil_request;
typedef struct counterfoil_result counterfoil_result;

/* "0.1.0". Any thread. */
COUNTERFOIL_API const char *counterfoil_version(void);

/* What went wrong in this thread's last call that did not return COUNTERFOIL_OK; "" before any. */
COUNTERFOIL_API const char *counterfoil_error(void);

/*
 * Open the journal at `path`, and make it where there is none. NULL: $COUNTERFOIL_JOURNAL, else
 * counterfoil/journal.db under $XDG_STATE_HOME or ~/.local/state.
 * COUNTERFOIL_OK: *out_journal, to be closed; REFUSED: others can read it, or it is no journal of
 * this version; UNRECORDED, NO_MEMORY. *out_journal is NULL then.
 */
COUNTERFOIL_API int counterfoil_journal_open(const char *path, counterfoil_journal **out_journal);
COUNTERFOIL_API void counterfoil_journal_close(counterfoil_journal *journal); /* NULL is fine */

/*
 * Forget what ended at least so many seconds ago and has not changed since; never what has no known
 * end, or somebody is at. A step that is forgotten and run again is sent again: only its gate may
 * still know its token. COUNTERFOIL_OK: *out_count entries are gone (NULL is fine); REFUSED: it is
 * less than a second, or more than 10 years; UNRECORDED, NO_MEMORY: some may be gone.
 */
COUNTERFOIL_API int counterfoil_journal_prune(counterfoil_journal *journal, long older_seconds,
					      unsigned long *out_count);

/* A request that is to be freed; it may be sent any number of times. NULL: no memory. */
COUNTERFOIL_API counterfoil_request *counterfoil_request_new(const char *method, const char *url);
COUNTERFOIL_API void counterfoil_request_free(counterfoil_request *request); /* NULL is fine */

/*
 * What is set a second time takes the place of the first. Each: COUNTERFOIL_OK, REFUSED,
 * NO_MEMORY; the request is as it was then. Whether a step, a token or a URL is one is checked when
 * it is used.
 */

/* The workflow, as its next run will call it too, and the action in it. 1 to 255 bytes each. */
COUNTERFOIL_API int counterfoil_request_set_step(counterfoil_request *request, const char *task,
						 const char *step);
/* A token of your own, in place of a step. */
COUNTERFOIL_API int counterfoil_request_set_token(counterfoil_request *request, const char *token);
/* One more header. Idempotency-Key, Host and those of framing are not yours to set. */
COUNTERFOIL_API int counterfoil_request_add_header(counterfoil_request *request, const char *name,
						   const char *value);
/* The body, at most 64 MiB; its media type becomes the Content-Type (NULL: no such header). */
COUNTERFOIL_API int counterfoil_request_set_body(counterfoil_request *request,
						 const char *media_type, const void *body,
						 size_t length);
/*
 * The answer's body goes into this file; NULL: into the result. Where it cannot be written, nothing
 * is sent; where the disk fills up afterwards, the result has the body, and a reason.
 */
COUNTERFOIL_API int counterfoil_request_set_output(counterfoil_request *request, const char *path);
/* PEM files; NULL: the system's roots, no certificate, the key is in `certificate`. */
COUNTERFOIL_API int counterfoil_request_set_tls(counterfoil_request *request, const char *ca_file,
						const char *certificate, const char *key);
/* As curl has it. "": none; NULL, and where it is not called: the environment's. */
COUNTERFOIL_API int counterfoil_request_set_proxy(counterfoil_request *request, const char *proxy);
/*
 * Hosts that are reached without one, with commas between them: names and those below them,
 * addresses, networks; "*": all. NULL, and where it is not called: the environment's no_proxy.
 */
COUNTERFOIL_API int counterfoil_request_set_no_proxy(counterfoil_request *request,
						     const char *hosts);
/* Some of enum counterfoil_flag, or'ed. REFUSED: there is another bit. */
COUNTERFOIL_API int counterfoil_request_set_flags(counterfoil_request *request, unsigned flags);
/*
 * Milliseconds. `wait`: how long an open or uncertain outcome is followed up (default 30000; 0: not
 * at all). `timeout`: of one request (default 60000; at least 1). At most 86400000 each.
 */
COUNTERFOIL_API int counterfoil_request_set_times(counterfoil_request *request, long wait,
						  long timeout);
/* Milliseconds until a connection stands, with TLS and a proxy's tunnel: 1 to 86400000 (10000). */
COUNTERFOIL_API int counterfoil_request_set_connect_timeout(counterfoil_request *request,
							    long timeout);

/*
 * The token of the request's step, committed to the journal before it is told, for a request that
 * something else sends. `size` is at least COUNTERFOIL_TOKEN_SIZE.
 * COUNTERFOIL_OK, REFUSED, BUSY, UNRECORDED, NO_MEMORY.
 */
COUNTERFOIL_API int counterfoil_token(counterfoil_journal *journal,
				      const counterfoil_request *request, char *out_token,
				      size_t size);

/*
 * Deliver the step, however often it is called: blocks for `wait` and a request at most.
 * COUNTERFOIL_OK: *out_result, to be freed, says how far it came, which may be a failure;
 * REFUSED, BUSY, UNRECORDED, NO_MEMORY: *out_result is NULL.
 */
COUNTERFOIL_API int counterfoil_send(counterfoil_journal *journal,
				     const counterfoil_request *request,
				     counterfoil_result **out_result);

/* Find out what became of the step; never sends it. As counterfoil_send(), and COUNTERFOIL_NONE. */
COUNTERFOIL_API int counterfoil_resolve(counterfoil_journal *journal,
					const counterfoil_request *request,
					counterfoil_result **out_result);

COUNTERFOIL_API void counterfoil_result_free(counterfoil_result *result); /* NULL is fine */

/*
 * Texts of a result are never NULL; "" is: there is none.
 *   outcome     created replayed reused | running queued locked awaiting_approval | unknown |
 *               conflict | failed refused denied expired not_sent
 *   state       done: it happened; failed: it did not and never will under this token; new: it did
 *               not, and may; sending: another process is at it; open: a gate has it; unknown:
 *               nobody knows
 *   advice      stop, wait, same_key, query, human, …: alone enough to be safe
 *   difference  of a conflict: "changed: /amount", never values
 *   source      answer, journal, status
 */
COUNTERFOIL_API const char *counterfoil_result_outcome(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_state(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_advice(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_token(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_operation(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_difference(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_reason(const counterfoil_result *result);
COUNTERFOIL_API const char *counterfoil_result_source(const counterfoil_result *result);
/* Lines "Name: value\n". */
COUNTERFOIL_API const char *counterfoil_result_headers(const counterfoil_result *result);
/* The path of the file that has the body, where it is not in the result. */
COUNTERFOIL_API const char *counterfoil_result_body_file(const counterfoil_result *result);
/* The body's bytes, with a NUL after them that does not count; NULL: there is none here. */
COUNTERFOIL_API const char *counterfoil_result_body(const counterfoil_result *result,
						    size_t *out_length);
/*
 * All of it as one JSON object in a line, as `counterfoil call` prints it; made when it is first
 * asked for. NULL: no memory.
 */
COUNTERFOIL_API const char *counterfoil_result_json(counterfoil_result *result);
/* Seconds until the advice may be followed. */
COUNTERFOIL_API long counterfoil_result_after_seconds(const counterfoil_result *result);
/* The HTTP status of the answer; 0: there is none. */
COUNTERFOIL_API int counterfoil_result_status(const counterfoil_result *result);
/* Sendings that began, of this call and those before. */
COUNTERFOIL_API long counterfoil_result_attempts(const counterfoil_result *result);
/* 1: a gate has answered under the token. */
COUNTERFOIL_API int counterfoil_result_is_gate(const counterfoil_result *result);

#ifdef __cplusplus
}
#endif

#endif
