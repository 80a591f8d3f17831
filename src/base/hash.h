/*
 * SHA-256, the only hash that leaves the process: fingerprints, digests, accounts.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

/* The plain calls of OpenSSL: no allocation, no look-up of providers, the processor's own SHA. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <stdint.h>

enum { HASH_SIZE = 32 };

struct hash {
	uint8_t bytes[HASH_SIZE];
};

/* SHA-256 (FIPS 180-4) in pieces. */
struct hasher {
	SHA256_CTX state;
};

void hasher_init(struct hasher *hasher);
void hasher_add(struct hasher *hasher, const void *bytes, size_t len);
void hasher_end(struct hasher *hasher, struct hash *out_hash);

/* A 32-bit big-endian length, then the bytes: so that two parts never run into one. */
void hasher_add_part(struct hasher *hasher, struct str part);

/* All at once. */
void hash_bytes(const void *bytes, size_t len, struct hash *out_hash);

static inline int hash_equal(const struct hash *a, const struct hash *b)
{
	return memcmp(a->bytes, b->bytes, HASH_SIZE) == 0;
}

#endif
