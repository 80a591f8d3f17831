/*
 * The text of vault.json: data keys, each wrapped, and how the master key is had. Pure.
 *
 *   {"version": 1,
 *    "master": {"kind": "raw"}   or
 *              {"kind": "argon2id", "salt": HEX, "passes": N, "memory_kib": N},
 *    "keys": [{"number": 1, "made_ms": N, "wrapped": HEX}, …]}
 *
 * Numbers grow from 1 and never come twice. A wrapped key is nonce, ciphertext and tag of
 * XChaCha20-Poly1305 under the master key, bound to its number.
 */
#ifndef VAULT_BOX_H
#define VAULT_BOX_H

#include "base/buf.h"
#include "base/str.h"
#include "vault/vault.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	VAULT_SECRET_SIZE = 32,
	VAULT_NONCE_SIZE = 24,
	VAULT_TAG_SIZE = 16,
	VAULT_WRAPPED_SIZE = VAULT_NONCE_SIZE + VAULT_SECRET_SIZE + VAULT_TAG_SIZE,
	VAULT_SALT_SIZE = 16,
	BOX_TEXT_MAX = 64 * 1024,
	BOX_PASSES_MAX = 16,
	BOX_MEMORY_KIB_MAX = 1024 * 1024,
	BOX_MEMORY_KIB_MIN = 8,
};

struct box_key {
	uint32_t number;
	int64_t made_ms;
	uint8_t wrapped[VAULT_WRAPPED_SIZE];
};

struct box {
	bool has_passphrase; /* then the three below say how the key is made of it */
	uint8_t salt[VAULT_SALT_SIZE];
	uint32_t passes, memory_kib;
	size_t count; /* at least 1 */
	struct box_key keys[VAULT_KEYS_MAX];
};

/* All of `text`, strictly. False, and *out_why is a phrase of what is wrong with it. */
bool box_read(struct str text, struct box *out_box, const char **out_why);

/* Append its one spelling; box_read() of that gives it back. */
void box_write(const struct box *box, struct buf *out);

#endif
