/*
 * SHA-256 from OpenSSL, behind our own names: it uses the processor's instructions for it,
 * which libsodium does not, and every request is hashed more than once.
 */
#include "base/hash.h"

#include "base/err.h"

void hasher_init(struct hasher *hasher)
{
	SHA256_Init(&hasher->state);
}

void hasher_add(struct hasher *hasher, const void *bytes, size_t len)
{
	if (len)
		SHA256_Update(&hasher->state, bytes, len);
}

void hasher_end(struct hasher *hasher, struct hash *out_hash)
{
	SHA256_Final(out_hash->bytes, &hasher->state);
}

void hasher_add_part(struct hasher *hasher, struct str part)
{
	uint8_t length[4];

	require(part.len <= UINT32_MAX);
	for (int i = 0; i < 4; i++)
		length[i] = (uint8_t)(part.len >> (24 - 8 * i));
	hasher_add(hasher, length, sizeof(length));
	hasher_add(hasher, part.at, part.len);
}

void hash_bytes(const void *bytes, size_t len, struct hash *out_hash)
{
	struct hasher hasher;

	hasher_init(&hasher);
	hasher_add(&hasher, bytes, len);
	hasher_end(&hasher, out_hash);
}
