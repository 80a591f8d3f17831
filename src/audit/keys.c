/*
 * Reading and making the keys of a log.
 *
 * A key is written under another name, synced and renamed, and the folder is synced after: half a
 * key is never found under its name. A file that is there is never written over.
 */
#include "audit/keys.h"

#include "audit/disk.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_SIZE = 32 };
_Static_assert((int)KEY_SIZE == (int)NOTE_SEED_SIZE && (int)KEY_SIZE == (int)ENTRY_KEY_SIZE,
	       "both keys have one size");

enum { KEY_NAME_MAX = 40, SEALED_SIZE = KEY_SIZE + VAULT_OVERHEAD, UNSEAL_MEMORY = 1024 };

enum key_kind { KEY_SEED, KEY_DATA, KEY_PUBLIC };

static void name_key(enum key_kind kind, uint32_t epoch, char out[KEY_NAME_MAX])
{
	static const char *const parts[][2] = {
		[KEY_SEED] = {"audit", "key"},
		[KEY_DATA] = {"audit-data", "key"},
		[KEY_PUBLIC] = {"audit", "vkey"},
	};

	if (epoch)
		snprintf(out, KEY_NAME_MAX, "%s.%" PRIu32 ".%s", parts[kind][0], epoch,
			 parts[kind][1]);
	else
		snprintf(out, KEY_NAME_MAX, "%s.%s", parts[kind][0], parts[kind][1]);
}

static int refuse(char *why, size_t why_size, const char *folder, const char *name,
		  const char *what)
{
	snprintf(why, why_size, "%s/%s %s", folder, name, what);
	return FAIL_CONFIG;
}

static int refuse_errno(char *why, size_t why_size, const char *folder, const char *name,
			int error_number)
{
	snprintf(why, why_size,
		 "%s/%s cannot be used: %s; let the user that runs counterfoil "
		 "read and write there",
		 folder, name, strerror(error_number));
	return FAIL_CONFIG;
}

/* NULL, or what is wrong with a file of that kind. */
static const char *look_at(const struct stat *facts)
{
	if (!S_ISREG(facts->st_mode))
		return "is no plain file: put the key back from your copy of it";
	if (facts->st_mode & (S_IRWXG | S_IRWXO))
		return "can be read by others: make it yours alone (chmod 600), and think about "
		       "who has read it";
	if (facts->st_size != KEY_SIZE && facts->st_size != SEALED_SIZE)
		return "has the wrong size, it is no key: put the key back from your copy of it";
	return NULL;
}

/* The bytes of a key's file, sealed or not. */
static int read_file(const char *folder, const char *name, uint8_t out[SEALED_SIZE],
		     size_t *out_size, char *why, size_t why_size)
{
	const char *fault;
	char path[4096];
	struct stat facts;
	int fd, r = 0;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return refuse(why, why_size, folder, name, "has too long a name");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		refuse(why, why_size, folder, name, "is missing");
		return KEYS_ABSENT;
	}
	if (fd < 0)
		return refuse_errno(why, why_size, folder, name, errno);
	if (fstat(fd, &facts) != 0)
		r = refuse_errno(why, why_size, folder, name, errno);
	fault = r == 0 ? look_at(&facts) : NULL;
	if (fault)
		r = refuse(why, why_size, folder, name, fault);
	*out_size = r == 0 ? (size_t)facts.st_size : 0;
	if (r == 0 && read(fd, out, *out_size) != (ssize_t)*out_size)
		r = refuse(why, why_size, folder, name, "cannot be read whole");
	close(fd);
	return r;
}

static struct vault_place place_of(const char *name)
{
	return (struct vault_place){"audit key", 0, str_from(name)};
}

static const char *unseal(struct vault *vault, const char *name, struct str sealed,
			  uint8_t out[KEY_SIZE])
{
	struct arena mem;
	struct str plain;
	int r;

	if (!vault)
		return "is sealed, and the folder's vault.json is missing: put that back from your "
		       "copy of it";
	arena_init(&mem, UNSEAL_MEMORY);
	r = vault_unseal(vault, place_of(name), sealed, &mem, &plain);
	if (r == 0) {
		memcpy(out, plain.at, KEY_SIZE);
		explicit_bzero((char *)(uintptr_t)plain.at, KEY_SIZE);
	}
	arena_fini(&mem);
	return r == 0 ? NULL
		      : "is not what the vault beside it has sealed: put both back from your copy "
			"of them";
}

static int read_key(const char *folder, struct vault *vault, enum key_kind kind, uint32_t epoch,
		    uint8_t out[KEY_SIZE], char *why, size_t why_size)
{
	uint8_t bytes[SEALED_SIZE];
	const char *fault = NULL;
	char name[KEY_NAME_MAX];
	size_t size;
	int r;

	name_key(kind, epoch, name);
	r = read_file(folder, name, bytes, &size, why, why_size);
	if (r == 0 && size == SEALED_SIZE)
		fault = unseal(vault, name, str_of((const char *)bytes, size), out);
	else if (r == 0)
		memcpy(out, bytes, KEY_SIZE);
	sodium_memzero(bytes, sizeof(bytes));
	return fault ? refuse(why, why_size, folder, name, fault) : r;
}

static int check_folder(const char *folder, char *why, size_t why_size)
{
	struct stat facts;

	if (stat(folder, &facts) != 0 || !(facts.st_mode & (S_IRWXG | S_IRWXO)))
		return 0; /* reading a key in it says what is wrong */
	snprintf(why, why_size, "others can look into %s; make it yours alone: chmod 700 %s",
		 folder, folder);
	return FAIL_CONFIG;
}

int audit_data_key_read(const char *folder, struct vault *vault, uint32_t epoch,
			struct entry_key *out_key, char *why, size_t why_size)
{
	uint8_t secret[KEY_SIZE];
	int r = check_folder(folder, why, why_size);

	if (r == 0)
		r = read_key(folder, vault, KEY_DATA, epoch, secret, why, why_size);
	if (r == 0)
		entry_key_init(out_key, secret);
	sodium_memzero(secret, sizeof(secret));
	return r;
}

int audit_seed_read(const char *folder, struct vault *vault, uint32_t epoch,
		    uint8_t out_seed[NOTE_SEED_SIZE], char *why, size_t why_size)
{
	return read_key(folder, vault, KEY_SEED, epoch, out_seed, why, why_size);
}

int audit_keys_read(const char *folder, struct vault *vault, uint32_t epoch,
		    struct audit_keys *out_keys, char *why, size_t why_size)
{
	int r = audit_data_key_read(folder, vault, epoch, &out_keys->data, why, why_size);

	return r == 0 ? audit_seed_read(folder, vault, epoch, out_keys->seed, why, why_size) : r;
}

/* Put a key into its file, sealed where there is a vault. */
static int write_key(int fd, struct vault *vault, const char *name, const uint8_t secret[KEY_SIZE])
{
	struct str plain = str_of((const char *)secret, KEY_SIZE);
	struct buf sealed;
	int r;

	if (!vault)
		return disk_replace(fd, name, plain, 0600);
	buf_init(&sealed, SEALED_SIZE);
	vault_seal(vault, place_of(name), plain, &sealed);
	errno = ENOMEM;
	r = sealed.is_spoiled ? FAIL_IO : disk_replace(fd, name, buf_str(&sealed), 0600);
	buf_fini(&sealed);
	return r;
}

static int make_key(int fd, const char *folder, struct vault *vault, enum key_kind kind,
		    uint32_t epoch, const struct env *env, char *why, size_t why_size)
{
	uint8_t secret[KEY_SIZE];
	char name[KEY_NAME_MAX];
	int r;

	name_key(kind, epoch, name);
	if (faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	env_random(env, secret, sizeof(secret));
	r = write_key(fd, vault, name, secret);
	sodium_memzero(secret, sizeof(secret));
	return r == 0 ? 0 : refuse_errno(why, why_size, folder, name, errno);
}

/* Replaced whole: a crash leaves the one or the other. */
static int seal_key(int fd, const char *folder, struct vault *vault, enum key_kind kind,
		    uint32_t epoch, char *why, size_t why_size)
{
	uint8_t bytes[SEALED_SIZE];
	char name[KEY_NAME_MAX];
	size_t size;
	int r;

	name_key(kind, epoch, name);
	r = read_file(folder, name, bytes, &size, why, why_size);
	if (r == 0 && size == KEY_SIZE && write_key(fd, vault, name, bytes) != 0)
		r = refuse_errno(why, why_size, folder, name, errno);
	sodium_memzero(bytes, sizeof(bytes));
	return r == KEYS_ABSENT ? 0 : r; /* an erased one */
}

int audit_keys_seal(const char *folder, struct vault *vault, uint32_t epoch, char *why,
		    size_t why_size)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return refuse_errno(why, why_size, folder, "", errno);
	r = seal_key(fd, folder, vault, KEY_SEED, epoch, why, why_size);
	if (r == 0)
		r = seal_key(fd, folder, vault, KEY_DATA, epoch, why, why_size);
	close(fd);
	return r;
}

int audit_keys_make(const char *folder, struct vault *vault, uint32_t epoch, const struct env *env,
		    char *why, size_t why_size)
{
	int fd, r;

	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return refuse_errno(why, why_size, folder, "", errno);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse_errno(why, why_size, folder, "", errno);
	r = make_key(fd, folder, vault, KEY_SEED, epoch, env, why, why_size);
	if (r == 0)
		r = make_key(fd, folder, vault, KEY_DATA, epoch, env, why, why_size);
	if (r == 0 && (fsync(fd) != 0 || disk_sync_parent(fd) != 0))
		r = refuse_errno(why, why_size, folder, "", errno);
	close(fd);
	return r;
}

/* Zeros over what is there, synced, before its name goes. */
static int overwrite(int fd, const char *name)
{
	static const char zeros[SEALED_SIZE];
	int file = openat(fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), r = FAIL_IO;
	int error_number;

	if (file < 0)
		return errno == ENOENT ? 0 : FAIL_IO;
	if (write(file, zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros) && fsync(file) == 0 &&
	    unlinkat(fd, name, 0) == 0 && fsync(fd) == 0)
		r = 0;
	error_number = errno;
	close(file);
	errno = error_number;
	return r;
}

static int erase_key(const char *folder, enum key_kind kind, uint32_t epoch)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	char name[KEY_NAME_MAX];
	int error_number;

	if (fd < 0)
		return FAIL_IO;
	name_key(kind, epoch, name);
	r = overwrite(fd, name);
	error_number = errno;
	close(fd);
	errno = error_number;
	return r;
}

int audit_seed_erase(const char *folder, uint32_t epoch)
{
	return erase_key(folder, KEY_SEED, epoch);
}

int audit_data_key_erase(const char *folder, uint32_t epoch)
{
	return erase_key(folder, KEY_DATA, epoch);
}

/* A small text file. Its length, or -1. */
static ssize_t read_text(int fd, const char *name, char *out, size_t size)
{
	int file = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t len = file < 0 ? -1 : read(file, out, size);

	if (file >= 0)
		close(file);
	return len;
}

static bool holds(int fd, const char *name, struct str text)
{
	char there[NOTE_KEY_MAX + 1];
	ssize_t len = read_text(fd, name, there, sizeof(there));

	return len == (ssize_t)text.len && memcmp(there, text.at, text.len) == 0;
}

bool audit_vkey_read(const char *folder, uint32_t epoch, struct note_verifier *out_verifier)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[KEY_NAME_MAX], text[NOTE_KEY_MAX + 1];
	ssize_t len;

	if (fd < 0)
		return false;
	name_key(KEY_PUBLIC, epoch, name);
	len = read_text(fd, name, text, sizeof(text));
	close(fd);
	while (len > 0 && text[len - 1] == '\n')
		len--;
	return len > 0 && note_verifier_read(str_of(text, (size_t)len), out_verifier);
}

int audit_vkey_write(const char *folder, uint32_t epoch, const struct note_verifier *verifier,
		     char *why, size_t why_size)
{
	char text[NOTE_KEY_MAX + 1], name[KEY_NAME_MAX];
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	size_t len;

	if (fd < 0)
		return refuse_errno(why, why_size, folder, "", errno);
	name_key(KEY_PUBLIC, epoch, name);
	note_verifier_write(verifier, text);
	len = strlen(text);
	text[len] = '\n';
	text[len + 1] = '\0';
	if (!holds(fd, name, str_from(text)))
		r = disk_replace(fd, name, str_from(text), 0600);
	if (r != 0)
		r = refuse_errno(why, why_size, folder, name, errno);
	close(fd);
	return r;
}

void audit_keys_fini(struct audit_keys *keys)
{
	if (keys)
		sodium_memzero(keys, sizeof(*keys));
}
