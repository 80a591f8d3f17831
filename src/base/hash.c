/* SHA-256 from libsodium, behind our own names. */
#include "base/hash.h"

#include "base/err.h"

void hasher_init(struct hasher *hasher)
{
	crypto_hash_sha256_init(&hasher->state);
}

void hasher_add(struct hasher *hasher, const void *bytes, size_t len)
{
	if (len)
		crypto_hash_sha256_update(&hasher->state, bytes, len);
}

void hasher_end(struct hasher *hasher, struct hash *out_hash)
{
	crypto_hash_sha256_final(&hasher->state, out_hash->bytes);
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
