/* What the parts of the vault share. */
#ifndef VAULT_VAULT_INTERNAL_H
#define VAULT_VAULT_INTERNAL_H

#include "vault/box.h"
#include "vault/nonces.h"

#include <pthread.h>
#include <stdatomic.h>

struct ring_key {
	uint32_t number;
	uint8_t secret[VAULT_SECRET_SIZE];
};

/* In memory of libsodium's: locked, not dumped, between guards. */
struct ring {
	struct ring_key keys[VAULT_KEYS_MAX];
};

struct vault {
	const struct env *env;
	char *folder;
	struct ring *ring;
	atomic_size_t count;  /* of its keys; grows */
	pthread_mutex_t lock; /* what follows */
	struct nonces nonces;
};

#endif
