/*
 * OAuth 2.0 client credentials (RFC 6749 § 4.4): what is asked of a token endpoint, and what its
 * answer gives.
 *
 * Pure. The answer comes from outside: only what can stand in a header is a token, only Bearer
 * tokens are understood, and a life that is missing or absurd is taken for a short one.
 */
#ifndef CORE_ACCESS_TOKEN_H
#define CORE_ACCESS_TOKEN_H

#include "base/arena.h"
#include "base/buf.h"

enum { ACCESS_TOKEN_MALFORMED = 1 };

enum {
	ACCESS_TOKEN_MAX = 16 * 1024,	     /* bytes of a token */
	ACCESS_TOKEN_ANSWER_MAX = 64 * 1024, /* bytes of the answer that holds it */
	ACCESS_TOKEN_LIFE_S = 300,	     /* where the endpoint does not say */
	ACCESS_TOKEN_LIFE_MAX_S = 24 * 60 * 60,
};

struct access_token_question {
	struct str client_id, secret;
	struct str scope, audience; /* empty: not asked for */
	bool is_in_body;	    /* client_id and secret; else in an Authorization header */
};

/* The body, form-encoded. A refusal of the buffer shows in out->is_spoiled. */
void access_token_body(const struct access_token_question *question, struct buf *out);

/* The line "Authorization: Basic …" of a client (RFC 6749 § 2.3.1); nothing where it is in the
 * body. */
void access_token_line(const struct access_token_question *question, struct buf *out);

struct access_token {
	struct str text;
	int64_t life_s; /* from now, 0 to ACCESS_TOKEN_LIFE_MAX_S */
};

/*
 * Read the body of a 200. 0; ACCESS_TOKEN_MALFORMED and *out_why, a constant text; FAIL_MEMORY.
 * Texts live in `mem` or in `body`.
 */
int access_token_read(struct str body, struct arena *mem, struct access_token *out_token,
		      const char **out_why);

/* The error code of a refusal ("invalid_client"), for a log: in `mem` or `body`; empty: none that
 * is fit to be shown. */
struct str access_token_error(struct str body, struct arena *mem);

#endif
