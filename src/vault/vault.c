/*
 * Sealing and unsealing.
 *
 *   byte 0        version, 1
 *   bytes 1-4     number of the data key, big-endian
 *   bytes 5-28    nonce, random
 *   rest          ciphertext and tag
 *
 * Authenticated with it: a label, the kind of place with a NUL, the place's number and its name,
 * and the first five bytes. Keys lie in memory that is not swapped and not dumped; the list only
 * grows, so that whoever seals reads it without a lock.
 */
#include "vault/vault_internal.h"

#include "base/err.h"

#include <sodium.h>
#include <stdlib.h>

enum {
	VERSION = 1,
	HEAD_SIZE = 5,
	PLACE_SIZE = 512,
};
_Static_assert((int)VAULT_OVERHEAD == HEAD_SIZE + (int)VAULT_NONCE_SIZE + (int)VAULT_TAG_SIZE,
	       "what sealing adds");

static const struct ring_key *key_by_number(const struct vault *vault, uint32_t number)
{
	for (size_t i = vault_key_count(vault); i-- > 0;)
		if (vault->ring->keys[i].number == number)
			return &vault->ring->keys[i];
	return NULL;
}

size_t vault_key_count(const struct vault *vault)
{
	return atomic_load_explicit(&vault->count, memory_order_acquire);
}

static const struct ring_key *newest(const struct vault *vault)
{
	return &vault->ring->keys[vault_key_count(vault) - 1];
}

uint32_t vault_newest_key(const struct vault *vault)
{
	return newest(vault)->number;
}

static void next_nonce(struct vault *vault, uint8_t out[VAULT_NONCE_SIZE])
{
	pthread_mutex_lock(&vault->lock);
	nonces_next(&vault->nonces, vault->env, out);
	pthread_mutex_unlock(&vault->lock);
}

/* What a sealed text is bound to. */
static size_t bind(struct vault_place place, const uint8_t head[HEAD_SIZE], uint8_t out[PLACE_SIZE])
{
	static const char label[] = "counterfoil/vault/seal/1"; /* with its NUL */
	size_t kind_size = strlen(place.kind) + 1, at = sizeof(label);

	require(place.name.len <= VAULT_PLACE_NAME_MAX);
	require(at + kind_size + 8 + HEAD_SIZE + place.name.len <= PLACE_SIZE);
	memcpy(out, label, sizeof(label));
	memcpy(out + at, place.kind, kind_size);
	at += kind_size;
	for (size_t i = 0; i < 8; i++)
		out[at + i] = (uint8_t)((uint64_t)place.number >> (56 - 8 * i));
	at += 8;
	memcpy(out + at, head, HEAD_SIZE);
	at += HEAD_SIZE;
	if (place.name.len)
		memcpy(out + at, place.name.at, place.name.len);
	return at + place.name.len;
}

static void put_head(uint32_t number, uint8_t *out)
{
	out[0] = VERSION;
	for (size_t i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)(number >> (24 - 8 * i));
}

void vault_seal_parts(struct vault *vault, struct vault_place place, const struct str *parts,
		      size_t count, struct buf *out)
{
	const struct ring_key *key = newest(vault);
	uint8_t bound[PLACE_SIZE], *at, *plain;
	size_t bound_size, size = 0;

	for (size_t i = 0; i < count; i++)
		size += parts[i].len;
	at = (uint8_t *)buf_reserve(out, size + VAULT_OVERHEAD);
	if (!at)
		return;
	put_head(key->number, at);
	next_nonce(vault, at + HEAD_SIZE);
	plain = at + HEAD_SIZE + VAULT_NONCE_SIZE;
	for (size_t i = 0, done = 0; i < count; done += parts[i++].len)
		if (parts[i].len)
			memcpy(plain + done, parts[i].at, parts[i].len);
	bound_size = bind(place, at, bound);
	crypto_aead_xchacha20poly1305_ietf_encrypt(plain, NULL, plain, size, bound, bound_size,
						   NULL, at + HEAD_SIZE, key->secret);
	buf_commit(out, size + VAULT_OVERHEAD);
}

void vault_seal(struct vault *vault, struct vault_place place, struct str plain, struct buf *out)
{
	vault_seal_parts(vault, place, &plain, 1, out);
}

uint32_t vault_key_of(struct str sealed)
{
	const uint8_t *bytes = (const uint8_t *)sealed.at;

	if (sealed.len < VAULT_OVERHEAD || bytes[0] != VERSION)
		return 0;
	return (uint32_t)bytes[1] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 8 |
	       bytes[4];
}

int vault_unseal(struct vault *vault, struct vault_place place, struct str sealed,
		 struct arena *mem, struct str *out_plain)
{
	const uint8_t *bytes = (const uint8_t *)sealed.at;
	const struct ring_key *key;
	uint8_t bound[PLACE_SIZE];
	size_t bound_size;
	char *plain;

	if (!vault_key_of(sealed))
		return VAULT_FALSE;
	key = key_by_number(vault, vault_key_of(sealed));
	if (!key)
		return VAULT_NO_KEY;
	plain = arena_alloc(mem, sealed.len - VAULT_OVERHEAD + 1);
	if (!plain)
		return FAIL_MEMORY;
	bound_size = bind(place, bytes, bound);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    (uint8_t *)plain, NULL, NULL, bytes + HEAD_SIZE + VAULT_NONCE_SIZE,
		    sealed.len - HEAD_SIZE - VAULT_NONCE_SIZE, bound, bound_size, bytes + HEAD_SIZE,
		    key->secret) != 0)
		return VAULT_FALSE;
	plain[sealed.len - VAULT_OVERHEAD] = '\0';
	*out_plain = str_of(plain, sealed.len - VAULT_OVERHEAD);
	return 0;
}

void vault_close(struct vault *vault)
{
	if (!vault)
		return;
	sodium_free(vault->ring); /* wipes it */
	pthread_mutex_destroy(&vault->lock);
	free(vault->folder);
	free(vault);
}
