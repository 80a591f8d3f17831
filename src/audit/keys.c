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

enum { KEY_NAME_MAX = 40 };

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
	if (facts->st_size != KEY_SIZE)
		return "has the wrong size, a key has 32 bytes: put the key back from your copy "
		       "of it";
	return NULL;
}

static int read_key(const char *folder, enum key_kind kind, uint32_t epoch, uint8_t out[KEY_SIZE],
		    char *why, size_t why_size)
{
	char path[4096], name[KEY_NAME_MAX];
	const char *fault;
	struct stat facts;
	int fd, r = 0;

	name_key(kind, epoch, name);
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
	if (r == 0 && read(fd, out, KEY_SIZE) != KEY_SIZE)
		r = refuse(why, why_size, folder, name, "cannot be read whole");
	close(fd);
	return r;
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

int audit_data_key_read(const char *folder, uint32_t epoch, struct entry_key *out_key, char *why,
			size_t why_size)
{
	uint8_t secret[KEY_SIZE];
	int r = check_folder(folder, why, why_size);

	if (r == 0)
		r = read_key(folder, KEY_DATA, epoch, secret, why, why_size);
	if (r == 0)
		entry_key_init(out_key, secret);
	sodium_memzero(secret, sizeof(secret));
	return r;
}

int audit_seed_read(const char *folder, uint32_t epoch, uint8_t out_seed[NOTE_SEED_SIZE], char *why,
		    size_t why_size)
{
	return read_key(folder, KEY_SEED, epoch, out_seed, why, why_size);
}

int audit_keys_read(const char *folder, uint32_t epoch, struct audit_keys *out_keys, char *why,
		    size_t why_size)
{
	int r = audit_data_key_read(folder, epoch, &out_keys->data, why, why_size);

	return r == 0 ? audit_seed_read(folder, epoch, out_keys->seed, why, why_size) : r;
}

static int make_key(int fd, const char *folder, enum key_kind kind, uint32_t epoch,
		    const struct env *env, char *why, size_t why_size)
{
	uint8_t secret[KEY_SIZE];
	char name[KEY_NAME_MAX];
	int r;

	name_key(kind, epoch, name);
	if (faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	env_random(env, secret, sizeof(secret));
	r = disk_replace(fd, name, str_of((const char *)secret, sizeof(secret)), 0600);
	sodium_memzero(secret, sizeof(secret));
	return r == 0 ? 0 : refuse_errno(why, why_size, folder, name, errno);
}

int audit_keys_make(const char *folder, uint32_t epoch, const struct env *env, char *why,
		    size_t why_size)
{
	int fd, r;

	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return refuse_errno(why, why_size, folder, "", errno);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse_errno(why, why_size, folder, "", errno);
	r = make_key(fd, folder, KEY_SEED, epoch, env, why, why_size);
	if (r == 0)
		r = make_key(fd, folder, KEY_DATA, epoch, env, why, why_size);
	if (r == 0 && (fsync(fd) != 0 || disk_sync_parent(fd) != 0))
		r = refuse_errno(why, why_size, folder, "", errno);
	close(fd);
	return r;
}

/* Zeros over what is there, synced, before its name goes. */
static int overwrite(int fd, const char *name)
{
	static const char zeros[KEY_SIZE];
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
