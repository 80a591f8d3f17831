/*
 * Which action is meant: the step of a workflow, and the token that stands for it.
 *
 * A step is (task, step, method, URL) in one spelling, or a token given by hand with method and
 * URL. Its first token is derived from these four alone, so a job that lost its disk, or runs on
 * another machine, finds the same one again; a deliberate new action has one that is drawn.
 */
#ifndef CLIENT_IDENTITY_H
#define CLIENT_IDENTITY_H

#include "base/arena.h"
#include "base/env.h"
#include "base/str.h"

#include <stdbool.h>

enum {
	STEP_NAME_MAX = 255, /* bytes of a task, and of a step */
	STEP_URL_MAX = 8192, /* bytes of a URL */
	STEP_TOKEN_TEXT = 35 /* characters of a token that was derived or drawn */
};
enum { IDENTITY_REFUSED = 1 };

/* A step in its one spelling. */
struct step {
	struct str task, step; /* empty where the token was given by hand */
	struct str method;     /* upper case */
	struct str url;	       /* see url_spell() */
	struct str token;      /* given by hand; else empty */
};

/*
 * Bring what somebody wrote into its one spelling. Task and step: both or none, 1 to STEP_NAME_MAX
 * bytes of UTF-8 without control characters. Without them a token (core/token.h; quotes around it
 * are taken off) is needed; with them there is none. The method is upper-cased. Everything lives in
 * `mem` or is `wish`'s own. 0                 *out_step IDENTITY_REFUSED  *out_why, a constant
 * sentence, says what is wrong and how to mend it FAIL_MEMORY
 */
int step_read(const struct step *wish, struct arena *mem, struct step *out_step,
	      const char **out_why);

/*
 * A URL in its one spelling: scheme and host in lower case, the scheme's own port left out, "/"
 * for an empty path, no fragment, the query as it is. Refused: other schemes than http and https, a
 * user's name in it, blanks, controls and bytes over 126, more than STEP_URL_MAX bytes.
 */
int url_spell(struct str url, struct arena *mem, struct str *out_url, const char **out_why);

/* scheme://host[:port] of a spelled URL; points into it. */
struct str url_origin(struct str url);

/*
 * The first token of a step: "cf-" and the base32 of the first 20 bytes of SHA-256 over
 * "counterfoil/call/1", NUL, and task, step, method and URL as parts (hasher_add_part()). A NUL
 * at the end.
 */
void token_derive(const struct step *step, char out[STEP_TOKEN_TEXT + 1]);

/* Another one: "cf-" and the base32 of 20 random bytes. */
void token_draw(const struct env *env, char out[STEP_TOKEN_TEXT + 1]);

#endif
