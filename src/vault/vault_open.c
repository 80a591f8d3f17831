/*
 * Opening a vault, making one, and changing what its file says.
 *
 * Whoever changes vault.json holds a lock on its folder. A new master key in the vault's own file
 * is put beside the old one first, then vault.json is replaced, then the file: whoever opens in
 * between finds that one of the two opens it.
 */
#include "vault/vault_internal.h"

#include "base/err.h"
#include "vault/master.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static const char box_name[] = "vault.json";

/* What a change of the file, or a look at it, works with. */
struct work {
	int fd; /* of the folder */
	const char *folder;
	const struct vault_master *master;
	const struct env *env;
	struct reason why;
	char shown[PATH_SIZE]; /* of vault.json */
	struct box box;
	uint8_t secret[VAULT_SECRET_SIZE]; /* the master key, once it is known to be right */
};

static int work_begin(struct work *work, const char *folder, bool may_make,
		      const struct vault_master *master, const struct env *env, char *why,
		      size_t why_size)
{
	*work = (struct work){
		.folder = folder, .master = master, .env = env, .why = {why, why_size}};
	snprintf(work->shown, sizeof(work->shown), "%s/%s", folder, box_name);
	work->fd = files_open_folder(folder, may_make, &work->why);
	return work->fd < 0 ? work->fd : 0;
}

static void work_end(struct work *work)
{
	if (work->fd >= 0)
		close(work->fd);
	sodium_memzero(work->secret, sizeof(work->secret));
}

/* -- reading ----------------------------------------------------------------------- */

static int read_box(struct work *work)
{
	const char *fault;
	struct buf text;
	int r;

	buf_init(&text, BOX_TEXT_MAX);
	r = files_read(work->fd, box_name, work->shown, &text, &work->why);
	if (r == 0 && !box_read(buf_str(&text), &work->box, &fault))
		r = reason_put(&work->why, "%s %s: put it back from your copy of it", work->shown,
			       fault);
	buf_fini(&text);
	return r;
}

static bool opens(const struct work *work)
{
	uint8_t secret[VAULT_SECRET_SIZE];
	bool is_right = master_unwrap(work->secret, &work->box.keys[0], secret);

	sodium_memzero(secret, sizeof(secret));
	return is_right;
}

/* The process ended between vault.json and master.key: the new one is still beside it. */
static int try_next(struct work *work)
{
	char why[PATH_SIZE + 64];
	const struct reason unheard = {why, sizeof(why)};

	if (!master_is_own(work->master) ||
	    master_read_own(work->fd, work->folder, master_next_name, work->secret, &unheard) !=
		    0 ||
	    !opens(work))
		return FAIL_CONFIG;
	return files_rename(work->fd, master_next_name, master_own_name, &work->why);
}

static int read_master(struct work *work)
{
	int r = master_read(work->fd, work->folder, work->master, &work->box, work->secret,
			    &work->why);
	size_t len;

	if (r == FILES_ABSENT) {
		len = strlen(work->why.text);
		snprintf(work->why.text + len, work->why.size - len,
			 ": put the master key back from your copy of it; without it nothing that "
			 "was sealed can be read");
		return try_next(work) == 0 ? 0 : FAIL_CONFIG;
	}
	if (r != 0 || opens(work))
		return r;
	if (try_next(work) == 0)
		return 0;
	return reason_put(&work->why,
			  "the master key does not open %s: set master_key to the one it was last "
			  "wrapped with",
			  work->shown);
}

/* -- making ------------------------------------------------------------------------ */

static int add_key(struct work *work, uint32_t *out_number)
{
	struct box_key *key = &work->box.keys[work->box.count];
	uint8_t secret[VAULT_SECRET_SIZE];

	key->number = work->box.count ? key[-1].number + 1 : 1;
	key->made_ms = env_wall_ms(work->env);
	if (key->made_ms < 0)
		key->made_ms = 0;
	env_random(work->env, secret, sizeof(secret));
	master_wrap(work->secret, secret, work->env, key);
	sodium_memzero(secret, sizeof(secret));
	work->box.count++;
	*out_number = key->number;
	return 0;
}

static int write_box(struct work *work, bool is_new)
{
	struct buf text;
	int r;

	buf_init(&text, BOX_TEXT_MAX);
	box_write(&work->box, &text);
	if (text.is_spoiled)
		r = fail(FAIL_MEMORY);
	else if (is_new)
		r = files_make(work->fd, box_name, work->shown, buf_str(&text), &work->why);
	else
		r = files_replace(work->fd, box_name, work->shown, buf_str(&text), &work->why);
	buf_fini(&text);
	return r;
}

/* A new vault. Somebody who makes it at the same moment may be first: then theirs it is. */
static int make(struct work *work)
{
	uint32_t number;
	int r = 0;

	work->box = (struct box){0};
	if (master_is_own(work->master))
		r = master_make_own(work->fd, work->folder, work->env, &work->why);
	if (r != 0)
		return r;
	master_describe(work->master, work->env, &work->box);
	r = master_read(work->fd, work->folder, work->master, &work->box, work->secret, &work->why);
	if (r == FILES_ABSENT) {
		size_t len = strlen(work->why.text);

		snprintf(work->why.text + len, work->why.size - len,
			 ": make it (head -c 32 /dev/urandom), readable by nobody else, and keep a "
			 "copy elsewhere");
		return FAIL_CONFIG;
	}
	if (r == 0)
		r = add_key(work, &number);
	if (r == 0)
		r = write_box(work, true);
	if (r != FILES_TAKEN)
		return r;
	r = read_box(work);
	return r == 0 ? read_master(work) : FAIL_CONFIG;
}

/* -- in memory --------------------------------------------------------------------- */

/* Take over the keys that are new. 0; FAIL_CONFIG: it is another vault's file. */
static int fill(struct work *work, struct vault *vault)
{
	size_t had = vault_key_count(vault);
	uint8_t secret[VAULT_SECRET_SIZE];

	if (work->box.count < had)
		return reason_put(&work->why, "%s has lost data keys: put it back from your copy",
				  work->shown);
	for (size_t i = 0; i < work->box.count; i++) {
		struct ring_key *key = &vault->ring->keys[i];
		bool is_right = master_unwrap(work->secret, &work->box.keys[i], secret);

		if (is_right && i < had)
			is_right = key->number == work->box.keys[i].number &&
				   sodium_memcmp(key->secret, secret, sizeof(secret)) == 0;
		if (!is_right)
			return reason_put(&work->why, "%s was changed: put it back from your copy",
					  work->shown);
		if (i >= had) {
			key->number = work->box.keys[i].number;
			memcpy(key->secret, secret, sizeof(secret));
		}
	}
	sodium_memzero(secret, sizeof(secret));
	atomic_store_explicit(&vault->count, work->box.count, memory_order_release);
	return 0;
}

static struct vault *vault_new(const char *folder, const struct env *env)
{
	struct vault *vault = calloc(1, sizeof(*vault));

	if (!vault)
		return NULL;
	pthread_mutex_init(&vault->lock, NULL);
	vault->env = env;
	vault->folder = strdup(folder);
	vault->ring = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*vault->ring));
	if (vault->folder && vault->ring)
		return vault;
	vault_close(vault);
	return NULL;
}

static int open_vault(const char *folder, bool may_make, const struct vault_master *master,
		      const struct env *env, struct vault **out_vault, char *why, size_t why_size)
{
	struct vault *vault = vault_new(folder, env);
	struct work work;
	int r;

	if (!vault) {
		snprintf(why, why_size, "there is no memory for the keys in %s", folder);
		return fail(FAIL_MEMORY);
	}
	r = work_begin(&work, folder, may_make, master, env, why, why_size);
	if (r == 0)
		r = read_box(&work);
	if (r == FILES_ABSENT && may_make)
		r = make(&work);
	else if (r == 0)
		r = read_master(&work);
	if (r == 0)
		r = fill(&work, vault);
	work_end(&work);
	if (r == 0)
		*out_vault = vault;
	else
		vault_close(vault);
	return r;
}

int vault_open(const char *folder, const struct vault_master *master, const struct env *env,
	       struct vault **out_vault, char *why, size_t why_size)
{
	return open_vault(folder, true, master, env, out_vault, why, why_size);
}

int vault_open_there(const char *folder, const struct vault_master *master, const struct env *env,
		     struct vault **out_vault, char *why, size_t why_size)
{
	int r = open_vault(folder, false, master, env, out_vault, why, why_size);

	return r == FILES_ABSENT ? VAULT_ABSENT : r;
}

int vault_reload(struct vault *vault, const struct vault_master *master, char *why, size_t why_size)
{
	struct work work;
	int r = work_begin(&work, vault->folder, false, master, vault->env, why, why_size);

	if (r == 0)
		r = read_box(&work);
	if (r == 0)
		r = read_master(&work);
	if (r == 0)
		r = fill(&work, vault);
	work_end(&work);
	return r == FILES_ABSENT ? FAIL_CONFIG : r;
}

/* -- changes ----------------------------------------------------------------------- */

/* Nobody else changes the folder's files; the lock goes with the descriptor. */
static int begin_change(struct work *work, const char *folder, const struct vault_master *master,
			const struct env *env, char *why, size_t why_size)
{
	int r = work_begin(work, folder, false, master, env, why, why_size);

	if (r == 0 && flock(work->fd, LOCK_EX) != 0)
		r = reason_put(&work->why, "%s cannot be locked: %s", folder, strerror(errno));
	if (r == 0)
		r = read_box(work);
	if (r == 0)
		r = read_master(work);
	return r == FILES_ABSENT ? FAIL_CONFIG : r;
}

int vault_add_key(const char *folder, const struct vault_master *master, const struct env *env,
		  uint32_t *out_number, char *why, size_t why_size)
{
	struct work work;
	int r = begin_change(&work, folder, master, env, why, why_size);

	if (r == 0 && work.box.count == VAULT_KEYS_MAX) {
		reason_put(&work.why, "%s has %d data keys already, and there is no room for more",
			   work.shown, VAULT_KEYS_MAX);
		r = FAIL_LIMIT;
	}
	if (r == 0)
		r = add_key(&work, out_number);
	if (r == 0)
		r = write_box(&work, false);
	work_end(&work);
	return r;
}

/* Wrap each data key anew, in a box of its own. */
static int wrap_all(struct work *work, const uint8_t to[VAULT_SECRET_SIZE], struct box *next)
{
	uint8_t secret[VAULT_SECRET_SIZE];

	for (size_t i = 0; i < work->box.count; i++) {
		next->keys[i] = work->box.keys[i];
		if (!master_unwrap(work->secret, &work->box.keys[i], secret))
			return reason_put(&work->why, "%s was changed: put it back from your copy",
					  work->shown);
		master_wrap(to, secret, work->env, &next->keys[i]);
	}
	next->count = work->box.count;
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

static int make_next(struct work *work, uint8_t out[VAULT_SECRET_SIZE])
{
	env_random(work->env, out, VAULT_SECRET_SIZE);
	return files_replace(work->fd, master_next_name, work->shown,
			     str_of((const char *)out, VAULT_SECRET_SIZE), &work->why);
}

static int rewrap(struct work *work, const struct vault_master *to, uint8_t secret[])
{
	bool is_own = master_is_own(to);
	struct box next = {0};
	int r;

	master_describe(to, work->env, &next);
	r = is_own ? make_next(work, secret)
		   : master_read(work->fd, work->folder, to, &next, secret, &work->why);
	if (r == 0)
		r = wrap_all(work, secret, &next);
	if (r != 0)
		return r == FILES_ABSENT ? FAIL_CONFIG : r;
	work->box = next;
	r = write_box(work, false);
	if (r == 0 && is_own)
		r = files_rename(work->fd, master_next_name, master_own_name, &work->why);
	return r;
}

int vault_rewrap(const char *folder, const struct vault_master *from, const struct vault_master *to,
		 const struct env *env, char *why, size_t why_size)
{
	uint8_t secret[VAULT_SECRET_SIZE];
	struct work work;
	int r = begin_change(&work, folder, from, env, why, why_size);

	if (r == 0)
		r = rewrap(&work, to, secret);
	sodium_memzero(secret, sizeof(secret));
	work_end(&work);
	return r;
}
