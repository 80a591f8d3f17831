/*
 * Tokens that say who calls (JWT, RFC 7519, as RFC 8725 advises).
 *
 * A token is taken only whole: signed by a key of the set with an algorithm of that key's type,
 * issued by the issuer, meant for us, within its time, and with the claims that name account and
 * agent. It has no say in how it is judged: keys and addresses in its header are not looked at,
 * and an extension that it calls critical is one that we do not have.
 */
#ifndef AUTH_JWT_H
#define AUTH_JWT_H

#include "auth/jwks.h"
#include "base/arena.h"

enum { JWT_REFUSED = 1, JWT_UNKNOWN_KEY = 2 };

enum {
	JWT_BYTES_MAX = 16 * 1024, /* of a token */
	JWT_NAME_MAX = 255,	   /* bytes of an account's or agent's name, or of an issuer's */
};

struct jwt_rules {
	struct str issuer;   /* `iss`, exactly */
	struct str audience; /* what `aud` is, or has among others */
	struct str
		account_claim;	/* which claim is the account: a name, or a JSON pointer ("/a/b") */
	struct str agent_claim; /* which is the agent */
	int64_t tolerance_ms;	/* of the issuer's clock */
};

/* What the gate goes by. Texts live in the arena. */
struct jwt_claims {
	struct str account;
	struct str agent;
	int64_t expires_ms; /* Unix time; the tolerance is not in it */
};

/*
 * Is it good at `now_ms`? Any thread; `mem` takes about twenty times its size.
 *   0                *out_claims
 *   JWT_REFUSED      *out_why is a constant sentence: it is safe to show and says nothing of keys
 *   JWT_UNKNOWN_KEY  its key is not in the set; a newer set may have it. *out_why too
 *   FAIL_MEMORY      not logged: a client can bring it about
 */
int jwt_verify(const struct jwks *set, const struct jwt_rules *rules, struct str token,
	       int64_t now_ms, struct arena *mem, struct jwt_claims *out_claims,
	       const char **out_why);

/*
 * Is the key that its header asks for in the set? Also true of what is no token, or will be refused
 * with any set: only for a key that a newer set may have it is worth to look for one.
 */
bool jwt_key_is_known(const struct jwks *set, struct str token, struct arena *mem);

/* Does that text look like one: three parts? Nothing is said of whether it is good. */
bool jwt_is_like(struct str text);

#endif
