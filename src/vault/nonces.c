/* A seed of the system's, and what the stream cipher makes of it (see nonces.h). */
#include "vault/nonces.h"

#include <sodium.h>
#include <string.h>

static void draw(struct nonces *nonces, const struct env *env)
{
	uint8_t seed[randombytes_SEEDBYTES];

	env_random(env, seed, sizeof(seed));
	randombytes_buf_deterministic(nonces->left_over, sizeof(nonces->left_over), seed);
	sodium_memzero(seed, sizeof(seed));
	nonces->count = NONCES_DRAWN;
}

void nonces_next(struct nonces *nonces, const struct env *env, uint8_t out[VAULT_NONCE_SIZE])
{
	if (!nonces->count)
		draw(nonces, env);
	memcpy(out, nonces->left_over[--nonces->count], VAULT_NONCE_SIZE);
}
