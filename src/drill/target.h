/*
 * The drill's HTTP client: one request, one connection, one thread.
 *
 * A call is begun, can be watched (is it wholly sent?) and given up, and is finished by who began
 * it. Nothing is ever sent twice, followed or kept open; proxies of the environment are not used.
 */
#ifndef DRILL_TARGET_H
#define DRILL_TARGET_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	TARGET_HEAD_MAX = 64 * 1024,	      /* bytes of an answer's header lines */
	TARGET_BODY_MAX = 4 * 1024 * 1024,    /* bytes of an answer's body */
	TARGET_REQUEST_MAX = 2 * 1024 * 1024, /* bytes of a request, whole */
};

/*
 * A starting line: so many calls connect first and send together. Who is late after
 * TARGET_LINE_MS goes alone. NULL without memory.
 */
enum { TARGET_LINE_MS = 2000 };
struct target_line;
struct target_line *target_line_new(int calls);
void target_line_free(struct target_line *line); /* once its calls are finished; NULL is fine */

struct target_request {
	struct str method;
	struct str url;	    /* absolute */
	struct str headers; /* "Name: value\n" lines; "Name:\n" is sent empty */
	struct str body;
	bool has_body;
	struct str ca_file; /* empty: the system's roots */
	bool verify;
	int64_t timeout_ms;	  /* of all of it */
	struct target_line *line; /* borrowed; NULL: it sends at once */
};

enum target_end {
	TARGET_ANSWERED,
	TARGET_NOT_SENT,  /* no byte of the request left */
	TARGET_NO_ANSWER, /* sent, perhaps in part, and not answered as a whole */
};

struct target_answer {
	enum target_end end;
	int status;	    /* 0 without an answer */
	struct str headers; /* "Name: value\n" lines */
	struct str body;
	struct str why; /* a few words, without an answer */
	int64_t took_us;
};

struct target_call;

/* Begin; copies what it needs. 0, or FAIL_MEMORY, FAIL_IO (no thread): nothing was begun. */
int target_begin(const struct target_request *request, struct target_call **out_call);

/* Wait until all of the request has been given to the connection. False: it ended, or time is
 * over, first. */
bool target_wait_sent(struct target_call *call, int64_t timeout_ms);

/* Go away: the connection is shut. The call still has to be finished. Any thread. */
void target_give_up(struct target_call *call);

/* Wait for the end, free the call. Strings of *out_answer live in `mem`. 0, FAIL_MEMORY. */
int target_finish(struct target_call *call, struct arena *mem, struct target_answer *out_answer);

/* Begin and finish. */
int target_ask(const struct target_request *request, struct arena *mem,
	       struct target_answer *out_answer);

/* The value of an answer's header; {NULL, 0}: it has none. */
struct str target_header(const struct target_answer *answer, struct str name);

#endif
