/*
 * Getting the master key, and what it is for.
 *
 * A key is 32 bytes, or 64 hexadecimal digits and perhaps a line's end, since not every place for
 * secrets keeps bytes. A passphrase is stretched by Argon2id with what vault.json says; 64 MiB and
 * three passes for a new one, some tenths of a second once at each start.
 */
#include "vault/master.h"

#include "base/err.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	MASTER_TEXT_MAX = 4096,
	PASSPHRASE_MIN = 12,
	PASSES = 3,
	MEMORY_KIB = 64 * 1024,
	PATH_SIZE = 4096,
};
_Static_assert((int)VAULT_SECRET_SIZE == (int)crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert((int)VAULT_NONCE_SIZE == (int)crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert((int)VAULT_TAG_SIZE == (int)crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
_Static_assert((int)VAULT_SALT_SIZE == (int)crypto_pwhash_argon2id_SALTBYTES, "salt");

const char master_own_name[] = "master.key", master_next_name[] = "master.key.next";

bool master_is_own(const struct vault_master *master)
{
	return !master->file.len && !master->credential.len && !master->passphrase_file.len;
}

int master_make_own(int fd, const char *folder, const struct env *env, const struct reason *why)
{
	uint8_t secret[VAULT_SECRET_SIZE];
	char shown[PATH_SIZE];
	int r;

	snprintf(shown, sizeof(shown), "%s/%s", folder, master_own_name);
	env_random(env, secret, sizeof(secret));
	r = files_make(fd, master_own_name, shown, str_of((const char *)secret, sizeof(secret)),
		       why);
	sodium_memzero(secret, sizeof(secret));
	return r == FILES_TAKEN ? 0 : r;
}

/* -- texts ------------------------------------------------------------------------- */

static struct str without_end(struct str text)
{
	if (text.len && text.at[text.len - 1] == '\n')
		text.len--;
	if (text.len && text.at[text.len - 1] == '\r')
		text.len--;
	return text;
}

static bool from_hex(struct str text, uint8_t out[VAULT_SECRET_SIZE])
{
	if (text.len != 2 * VAULT_SECRET_SIZE)
		return false;
	for (size_t i = 0; i < VAULT_SECRET_SIZE; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static int key_of(struct str text, const char *shown, uint8_t out[VAULT_SECRET_SIZE],
		  const struct reason *why)
{
	if (text.len == VAULT_SECRET_SIZE) {
		memcpy(out, text.at, VAULT_SECRET_SIZE);
		return 0;
	}
	if (from_hex(without_end(text), out))
		return 0;
	return reason_put(why,
			  "%s is no master key: one has 32 bytes, or 64 hexadecimal digits; put it "
			  "back from your copy of it",
			  shown);
}

static int stretch(struct str text, const char *shown, const struct box *box,
		   uint8_t out[VAULT_SECRET_SIZE], const struct reason *why)
{
	text = without_end(text);
	if (text.len < PASSPHRASE_MIN)
		return reason_put(why,
				  "the passphrase in %s is too short: it has at least %d bytes",
				  shown, PASSPHRASE_MIN);
	if (crypto_pwhash_argon2id(out, VAULT_SECRET_SIZE, text.at, text.len, box->salt,
				   box->passes, (size_t)box->memory_kib * 1024,
				   crypto_pwhash_argon2id_ALG_ARGON2ID13) == 0)
		return 0;
	reason_put(why, "there is no memory (%u KiB) to make a key of the passphrase",
		   box->memory_kib);
	return FAIL_MEMORY;
}

/* Read a file as a key; as a passphrase where `box` is given. Its text is wiped. */
static int read_file(int fd, const char *name, const char *shown, const struct box *box,
		     uint8_t out[VAULT_SECRET_SIZE], const struct reason *why)
{
	struct buf text;
	int r;

	buf_init(&text, MASTER_TEXT_MAX);
	if (!buf_reserve(&text, MASTER_TEXT_MAX)) /* so that no growing leaves a copy behind */
		return fail(FAIL_MEMORY);
	r = files_read(fd, name, shown, &text, why);
	if (r == 0)
		r = box ? stretch(buf_str(&text), shown, box, out, why)
			: key_of(buf_str(&text), shown, out, why);
	sodium_memzero(text.memory, text.capacity);
	buf_fini(&text);
	return r;
}

/* -- where ------------------------------------------------------------------------- */

int master_read_own(int fd, const char *folder, const char *name, uint8_t out[VAULT_SECRET_SIZE],
		    const struct reason *why)
{
	char shown[PATH_SIZE];

	snprintf(shown, sizeof(shown), "%s/%s", folder, name);
	return read_file(fd, name, shown, NULL, out, why);
}

static int read_path(struct str path, const struct box *box, uint8_t out[VAULT_SECRET_SIZE],
		     const struct reason *why)
{
	char name[PATH_SIZE];

	if (snprintf(name, sizeof(name), "%.*s", STR_ARG(path)) >= (int)sizeof(name))
		return reason_put(why, "the path of the master key is too long");
	return read_file(AT_FDCWD, name, name, box, out, why);
}

static int read_credential(struct str name, uint8_t out[VAULT_SECRET_SIZE],
			   const struct reason *why)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char path[PATH_SIZE];

	if (!folder || !*folder)
		return reason_put(why,
				  "master_key.credential names a credential, and there is no "
				  "CREDENTIALS_DIRECTORY: start counterfoil from a unit with "
				  "LoadCredentialEncrypted=%.*s",
				  STR_ARG(name));
	if (str_find(name, '/') < name.len ||
	    snprintf(path, sizeof(path), "%s/%.*s", folder, STR_ARG(name)) >= (int)sizeof(path))
		return reason_put(why, "master_key.credential is a name without slashes");
	return read_path(str_from(path), NULL, out, why);
}

int master_read(int fd, const char *folder, const struct vault_master *master,
		const struct box *box, uint8_t out[VAULT_SECRET_SIZE], const struct reason *why)
{
	if (box->has_passphrase != (master->passphrase_file.len > 0))
		return reason_put(why,
				  "%s/vault.json is wrapped by a %s, and the settings name a %s: "
				  "set master_key to what it was (counterfoil vault rewrap changes "
				  "it)",
				  folder, box->has_passphrase ? "passphrase" : "key",
				  box->has_passphrase ? "key" : "passphrase");
	if (master->file.len)
		return read_path(master->file, NULL, out, why);
	if (master->credential.len)
		return read_credential(master->credential, out, why);
	if (master->passphrase_file.len)
		return read_path(master->passphrase_file, box, out, why);
	return master_read_own(fd, folder, master_own_name, out, why);
}

void master_describe(const struct vault_master *master, const struct env *env, struct box *box)
{
	box->has_passphrase = master->passphrase_file.len > 0;
	if (!box->has_passphrase)
		return;
	box->passes = PASSES;
	box->memory_kib = MEMORY_KIB;
	env_random(env, box->salt, sizeof(box->salt));
}

/* -- wrapping ---------------------------------------------------------------------- */

enum { BOUND_SIZE = 32 };

static size_t bind(uint32_t number, uint8_t out[BOUND_SIZE])
{
	static const char label[] = "counterfoil/vault/wrap/1"; /* with its NUL */

	memcpy(out, label, sizeof(label));
	for (size_t i = 0; i < 4; i++)
		out[sizeof(label) + i] = (uint8_t)(number >> (24 - 8 * i));
	return sizeof(label) + 4;
}

void master_wrap(const uint8_t master[VAULT_SECRET_SIZE], const uint8_t secret[VAULT_SECRET_SIZE],
		 const struct env *env, struct box_key *key)
{
	uint8_t bound[BOUND_SIZE];
	size_t bound_size = bind(key->number, bound);

	env_random(env, key->wrapped, VAULT_NONCE_SIZE);
	crypto_aead_xchacha20poly1305_ietf_encrypt(key->wrapped + VAULT_NONCE_SIZE, NULL, secret,
						   VAULT_SECRET_SIZE, bound, bound_size, NULL,
						   key->wrapped, master);
}

bool master_unwrap(const uint8_t master[VAULT_SECRET_SIZE], const struct box_key *key,
		   uint8_t out[VAULT_SECRET_SIZE])
{
	uint8_t bound[BOUND_SIZE];
	size_t bound_size = bind(key->number, bound);

	return crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL,
							  key->wrapped + VAULT_NONCE_SIZE,
							  VAULT_SECRET_SIZE + VAULT_TAG_SIZE, bound,
							  bound_size, key->wrapped, master) == 0;
}
