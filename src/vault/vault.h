/*
 * Secrets at rest.
 *
 * Picture a box with two locks. What is kept (answers, requests, secrets of services) is sealed
 * with a data key. The data keys lie in a file, `vault.json`, each wrapped by the master key; and
 * the master key is somewhere else, where whoever copies the data does not find it: in a file, in a
 * credential of systemd, or in a passphrase that only a person or a machine's own store knows.
 * There may be several data keys: the newest one seals, all of them unseal.
 *
 *   <folder>/vault.json   the data keys, wrapped, and how the master key is had
 *   <folder>/master.key   the master key, where the settings do not name another place
 *
 * A sealed text is XChaCha20-Poly1305 under a random nonce, and bound to the place it is kept in:
 * moved to another row, or to another name, it does not open.
 *
 * Always true: a data key that has sealed anything is durable in vault.json first; a file that is
 * there is never written over but by vault_rewrap() and vault_add_key(), which replace it whole.
 * Can fail: files that others can read, or that are missing or of another vault, are refused with a
 * reason and a cure (FAIL_CONFIG). Sealed bytes that were changed are VAULT_FALSE, never a failure.
 */
#ifndef VAULT_VAULT_H
#define VAULT_VAULT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/env.h"

#include <stddef.h>
#include <stdint.h>

/* Outcomes. */
enum {
	VAULT_FALSE = 1, /* no sealed text, or a changed one, or of another place */
	VAULT_NO_KEY,	 /* sealed with a data key that this vault does not have */
	VAULT_ABSENT,	 /* there is no vault in the folder */
};

enum {
	VAULT_KEYS_MAX = 64,	   /* data keys of one vault */
	VAULT_OVERHEAD = 45,	   /* bytes that a sealed text is longer than its plain one */
	VAULT_PLACE_NAME_MAX = 255 /* bytes */
};

/* Where something is kept. */
struct vault_place {
	const char *kind; /* "answer", "document" */
	int64_t number;	  /* the row's, where it has one */
	struct str name;  /* or empty; at most VAULT_PLACE_NAME_MAX bytes */
};

/* Where the master key is had from: at most one of them is not empty. None: <folder>/master.key,
 * which is made with a new vault. */
struct vault_master {
	struct str file;	    /* 32 bytes, or 64 hexadecimal digits */
	struct str credential;	    /* the same in $CREDENTIALS_DIRECTORY under this name */
	struct str passphrase_file; /* a text; the key is made of it by Argon2id */
};

struct vault;

/*
 * Open the vault in `folder` (made, 0700, if it is not there; what it is to be in must be there).
 * A new one gets a data key, durable before this returns. 0; FAIL_CONFIG, and `why` says which file
 * is wrong and how to mend it; FAIL_MEMORY.
 */
int vault_open(const char *folder, const struct vault_master *master, const struct env *env,
	       struct vault **out_vault, char *why, size_t why_size);

/* The same for whoever only looks: nothing is made. VAULT_ABSENT where there is none. */
int vault_open_there(const char *folder, const struct vault_master *master, const struct env *env,
		     struct vault **out_vault, char *why, size_t why_size);

/* Wipe the keys and free. Safe on NULL. */
void vault_close(struct vault *vault);

/*
 * Read vault.json again, for data keys that were added since. What it had stays. As vault_open();
 * after a failure it is as it was. Any thread; one at a time.
 */
int vault_reload(struct vault *vault, const struct vault_master *master, char *why,
		 size_t why_size);

/*
 * Append the sealed form of `plain`, or of `count` parts one after the other: VAULT_OVERHEAD bytes
 * more. No room for it shows in out->is_spoiled. Any thread.
 */
void vault_seal(struct vault *vault, struct vault_place place, struct str plain, struct buf *out);
void vault_seal_parts(struct vault *vault, struct vault_place place, const struct str *parts,
		      size_t count, struct buf *out);

/*
 * 0 and *out_plain in `mem`; VAULT_FALSE; VAULT_NO_KEY; FAIL_MEMORY (not logged: a ceiling is its
 * owner's). Any thread.
 */
int vault_unseal(struct vault *vault, struct vault_place place, struct str sealed,
		 struct arena *mem, struct str *out_plain);

/* The number of the data key that sealed bytes name; 0: they are none. */
uint32_t vault_key_of(struct str sealed);

/* How many data keys it has, and the number of the one that seals. */
size_t vault_key_count(const struct vault *vault);
uint32_t vault_newest_key(const struct vault *vault);

/*
 * Changes of the files, beside a gate that runs or without one; two at once wait for each other. A
 * gate that runs goes on with what it has until vault_reload().
 *
 * Add a data key: what is sealed from now on is sealed with it. FAIL_LIMIT: VAULT_KEYS_MAX are
 * there, `why` says so.
 */
int vault_add_key(const char *folder, const struct vault_master *master, const struct env *env,
		  uint32_t *out_number, char *why, size_t why_size);

/*
 * Wrap the data keys under another master key. Where `to` names none, <folder>/master.key gets a
 * new one. The old one opens nothing afterwards. As vault_open(); after a failure the old one still
 * does.
 */
int vault_rewrap(const char *folder, const struct vault_master *from, const struct vault_master *to,
		 const struct env *env, char *why, size_t why_size);

#endif
