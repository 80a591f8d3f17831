/*
 * The master key: where it is had from, and the wrapping of data keys under it.
 */
#ifndef VAULT_MASTER_H
#define VAULT_MASTER_H

#include "vault/box.h"
#include "vault/files.h"

#include <stdbool.h>

/* Is it the file beside vault.json, which the vault makes and replaces by itself? */
bool master_is_own(const struct vault_master *master);

/* The name of that file, and of the one that is to take its place. */
extern const char master_own_name[], master_next_name[];

/* Make that file. 0, also where it is there; FAIL_CONFIG. */
int master_make_own(int fd, const char *folder, const struct env *env, const struct reason *why);

/*
 * The key, as the settings and `box` say. 0; FILES_ABSENT: its file is missing, with a reason;
 * FAIL_CONFIG; FAIL_MEMORY.
 */
int master_read(int fd, const char *folder, const struct vault_master *master,
		const struct box *box, uint8_t out[VAULT_SECRET_SIZE], const struct reason *why);

/* From another file of the folder. */
int master_read_own(int fd, const char *folder, const char *name, uint8_t out[VAULT_SECRET_SIZE],
		    const struct reason *why);

/* How the key will be had: fills in what a passphrase needs. */
void master_describe(const struct vault_master *master, const struct env *env, struct box *box);

void master_wrap(const uint8_t master[VAULT_SECRET_SIZE], const uint8_t secret[VAULT_SECRET_SIZE],
		 const struct env *env, struct box_key *key);
/* False: it was wrapped by another master key, or changed. */
bool master_unwrap(const uint8_t master[VAULT_SECRET_SIZE], const struct box_key *key,
		   uint8_t out[VAULT_SECRET_SIZE]);

#endif
