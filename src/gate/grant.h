/*
 * Access tokens by OAuth 2.0 client credentials (RFC 6749 § 4.4), one grant for each upstream that
 * wants them.
 *
 * All loops share a grant. Whoever needs a token takes the one at hand; where there is none that is
 * good, one loop fetches it and everybody waits for that one fetch. Some time before a token ends,
 * whoever takes it begins to fetch the next one and does not wait. Nothing fetches by itself: a
 * gate that sends nothing asks for nothing.
 *
 * A token is good until a little before the end that its endpoint gave it, as long as the secret it
 * was fetched with is the secret, and until a service has refused it.
 *
 * A grant goes with the settings it is of, so after the last generation that could use it.
 */
#ifndef GATE_GRANT_H
#define GATE_GRANT_H

#include "gate/gate.h"
#include "gate/secrets.h"

enum { GRANT_UNSET = 1, GRANT_WAITS = 2 };

struct grant;
struct grant_wait;

/* Shared by everybody who sends with it. */
struct token {
	atomic_uint holders;
	uint64_t secret_version; /* of the secret that it was had with */
	int64_t refresh_ms;	 /* monotonic: from then on the next one is fetched */
	int64_t good_until_ms;	 /* monotonic: from then on it is not used any more */
	size_t len;
	char *text; /* sodium_malloc()ed */
};

/* One is held by whoever was given it. */
void token_drop(struct token *token); /* NULL is fine */

/* 0 or FAIL_MEMORY. Both outlive it. */
int grant_new(const struct settings_upstream *upstream, struct secrets *secrets,
	      struct grant **out);
void grant_free(struct grant *grant); /* NULL is fine */

/*
 * A token for something of `generation`, whose upstream at `index` this is, on its loop's thread.
 *   0            *out_token
 *   GRANT_WAITS  `ready` is called later on this loop, once, with a token that is its own or NULL
 * and why there is none (a text as long-lived as the grant); *out_wait until then GRANT_UNSET  its
 * secret is not set FAIL_MEMORY
 */
typedef void (*grant_ready)(void *owner, struct token *token, const char *why_not);
int grant_take(struct grant *grant, struct generation *generation, size_t index, void *owner,
	       grant_ready ready, struct token **out_token, struct grant_wait **out_wait);

/* Not wanted any more: `ready` is not called. On the thread that took. */
void grant_leave(struct grant_wait *wait);

/* A service has refused this token: it is not given out again. */
void grant_refuse(struct grant *grant, const struct token *token);

#endif
