/*
 * One HTTP exchange with what keeps or cosigns checkpoints: an anchor, a witness.
 *
 * It blocks its thread, for REMOTE_TOTAL_MS at most, and less where told to stop. No redirect is
 * followed, no proxy used, no credential sent; https is believed by the system's roots. Nothing of
 * an answer is believed here: whoever asks judges it.
 */
#ifndef AUDIT_REMOTE_H
#define AUDIT_REMOTE_H

#include "base/buf.h"

#include <stdatomic.h>
#include <stddef.h>

enum {
	REMOTE_CONNECT_MS = 3000,
	REMOTE_TOTAL_MS = 10000,
	REMOTE_URL_MAX = 2048, /* bytes of an address with its NUL */
	REMOTE_TYPE_MAX = 64,  /* of a Content-Type that matters, with its NUL */
};

enum remote_method { REMOTE_GET, REMOTE_PUT, REMOTE_POST };

struct remote_call {
	enum remote_method method;
	const char *url;
	struct str body;		/* of PUT and POST: text/plain */
	const atomic_bool *is_stopping; /* true: give up at once; NULL: never */
};

struct remote_answer {
	long status;
	char type[REMOTE_TYPE_MAX]; /* cut where it is longer */
	struct buf *body;	    /* the caller's; what is over its bound is FAIL_LIMIT */
};

/* Does the text begin as a web address does, and not as the path of a folder? */
bool remote_is_url(struct str text);

/*
 * Ask. 0 and the answer, whatever its status; FAIL_IO with `why`: there was no whole answer;
 * FAIL_LIMIT with `why`: it is larger than may be; FAIL_MEMORY with `why`.
 */
int remote_ask(const struct remote_call *call, struct remote_answer *answer, char *why,
	       size_t why_size);

#endif
