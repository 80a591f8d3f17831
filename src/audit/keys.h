/*
 * The keys of a log, as files of the machine that writes it. Each epoch (epoch.h) has its own:
 *
 *   <folder>/audit.key        the seed of the Ed25519 key that signs checkpoints, sealed
 *   <folder>/audit-data.key   what entries are encrypted with, sealed
 *   <folder>/audit.vkey       the public half, as text: what whoever verifies is given
 *
 * are those of epoch 0; later ones have their number in the name: audit.1.key, audit-data.1.key,
 * audit.1.vkey. The seed of an epoch that has ended is erased; its data key stays for as long as
 * its entries are to be read.
 *
 * Seeds and data keys are sealed by the vault (vault/vault.h), each bound to its name. 32 bytes in
 * clear are what an earlier version has left: they are read, and audit_keys_seal() ends that.
 *
 * The folder is its owner's alone (0700), the keys are too (0600): what others can read is refused,
 * since nobody knows who has read it. Keys are durable before anything is signed or encrypted with
 * them.
 */
#ifndef AUDIT_KEYS_H
#define AUDIT_KEYS_H

#include "audit/entry.h"
#include "audit/note.h"
#include "base/env.h"
#include "vault/vault.h"

#include <stddef.h>

enum { KEYS_ABSENT = 1 };

struct audit_keys {
	uint8_t seed[NOTE_SEED_SIZE];
	struct entry_key data;
};

/*
 * Read both keys of an epoch. Where `vault` is NULL only what is in clear. 0; KEYS_ABSENT, `why`
 * says which file is missing; FAIL_CONFIG, `why` says what is wrong with which file and how to mend
 * it.
 */
int audit_keys_read(const char *folder, struct vault *vault, uint32_t epoch,
		    struct audit_keys *out_keys, char *why, size_t why_size);

/* The data key alone, for whoever reads entries; or the seed. As audit_keys_read(). */
int audit_data_key_read(const char *folder, struct vault *vault, uint32_t epoch,
			struct entry_key *out_key, char *why, size_t why_size);
int audit_seed_read(const char *folder, struct vault *vault, uint32_t epoch,
		    uint8_t out_seed[NOTE_SEED_SIZE], char *why, size_t why_size);

/* Seal those of an epoch that are in clear. 0; FAIL_CONFIG and `why`. */
int audit_keys_seal(const char *folder, struct vault *vault, uint32_t epoch, char *why,
		    size_t why_size);

/* Make those that are missing, durably; in clear where `vault` is NULL. 0; FAIL_CONFIG and `why`.
 */
int audit_keys_make(const char *folder, struct vault *vault, uint32_t epoch, const struct env *env,
		    char *why, size_t why_size);

/*
 * Write over a key of an epoch, and remove it. 0, also where it is not there; FAIL_IO and errno.
 * A file system that keeps old blocks, or a copy, may have it still.
 */
int audit_seed_erase(const char *folder, uint32_t epoch);
int audit_data_key_erase(const char *folder, uint32_t epoch);

/* Write the public half, where it is not there as it should be. 0; FAIL_CONFIG and `why`. */
int audit_vkey_write(const char *folder, uint32_t epoch, const struct note_verifier *verifier,
		     char *why, size_t why_size);

/* False where it is missing, or is none. */
bool audit_vkey_read(const char *folder, uint32_t epoch, struct note_verifier *out_verifier);

void audit_keys_fini(struct audit_keys *keys); /* wipes them; safe on NULL */

#endif
