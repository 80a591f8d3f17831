/*
 * A set of public keys that sign tokens (JWKS, RFC 7517).
 *
 * Read once, never changed, shared by threads that count their holds. What cannot sign a token for
 * us is passed over, as RFC 7517 § 5 wishes: keys for encryption, of unknown types, symmetric ones,
 * and what is weaker than RSA with 2048 bits. A key knows the one family of algorithms that
 * it may be used with, so the header of a token never chooses how it is judged.
 *
 * Private keys are passed over too: somebody who publishes one has no secret left.
 */
#ifndef AUTH_JWKS_H
#define AUTH_JWKS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JWKS_REFUSED = 1, JWKS_AMBIGUOUS = 2, JWKS_ABSENT = 3, JWKS_OTHER_ALGORITHM = 4 };

enum {
	JWKS_BYTES_MAX = 256 * 1024, /* of a set's text */
	JWKS_KEYS_MAX = 64,	     /* that are of use */
	JWKS_KID_MAX = 256,	     /* bytes of a key's name */
	JWKS_WHY_MAX = 200,	     /* characters of why a set was refused, and a NUL */
	JWKS_RSA_BYTES_MIN = 256,    /* of a modulus: 2048 bits */
	JWKS_RSA_BYTES_MAX = 1024,   /* of a modulus; larger ones only cost time */
	JWKS_ED25519_SIZE = 32,
};

enum jwks_type { JWKS_RSA, JWKS_P256, JWKS_P384, JWKS_P521, JWKS_ED25519 };

/* How a token is signed: RS256 and its like. No symmetric one, and not `none`. */
struct jwks_algorithm {
	const char *name;
	enum jwks_type type; /* of the keys that it is for */
};

struct jwks_key {
	struct str kid; /* its name; empty: it has none */
	enum jwks_type type;
	const struct jwks_algorithm *only; /* the one it says it is for; NULL: its type's */
	size_t signature_size;		   /* bytes of each of its signatures */
	struct _cjose_jwk_int *cjose;	   /* RSA and EC */
	uint8_t ed25519[JWKS_ED25519_SIZE];
};

struct jwks;

/*
 * Read a set and hold it once. Any thread.
 *   0             *out_set
 *   JWKS_REFUSED  it is none, or no key of it is of use; `why` is a sentence without its end
 *   FAIL_MEMORY
 */
int jwks_read(struct str text, struct jwks **out_set, char why[JWKS_WHY_MAX]);

/* One more hold, and one less: the last one frees it. NULL is fine. Any thread. */
struct jwks *jwks_hold(struct jwks *set);
void jwks_drop(struct jwks *set);

/* Keys of use, and those that were passed over. */
size_t jwks_count(const struct jwks *set);
size_t jwks_passed_over(const struct jwks *set);

/* The algorithm of that name; NULL for any that is not taken. */
const struct jwks_algorithm *jwks_algorithm(struct str name);

/*
 * The key for a token with that kid (empty: without) and algorithm.
 *   0                     *out_key
 *   JWKS_ABSENT           the set has no such key; a newer one may
 *   JWKS_OTHER_ALGORITHM  the key of that name is for another algorithm
 *   JWKS_AMBIGUOUS        several would fit
 */
int jwks_pick(const struct jwks *set, struct str kid, const struct jwks_algorithm *algorithm,
	      const struct jwks_key **out_key);

#endif
