/*
 * Nonces of XChaCha20, drawn many at a time.
 *
 * Each is 24 bytes that nobody can foretell, and none comes twice: never a counter, which a backup
 * that was put back would repeat. The system is asked for a seed; what it expands to is kept until
 * it is used up. A system call for each would show, and so would that many bytes of its.
 */
#ifndef VAULT_NONCES_H
#define VAULT_NONCES_H

#include "base/env.h"
#include "vault/box.h"

enum { NONCES_DRAWN = 64 };

/* A zeroed one is empty. One thread. */
struct nonces {
	uint8_t left_over[NONCES_DRAWN][VAULT_NONCE_SIZE];
	size_t count;
};

void nonces_next(struct nonces *nonces, const struct env *env, uint8_t out[VAULT_NONCE_SIZE]);

#endif
