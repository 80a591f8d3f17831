/*
 * A table behind one lock (see secrets.h). It is read once for each sending that needs it, and
 * holds a handful of names: a list is enough.
 */
#include "gate/secrets.h"

#include "base/err.h"
#include "core/secret.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

struct secret {
	char name[SECRET_NAME_MAX];
	size_t name_len;
	char *value; /* sodium_malloc()ed */
	size_t len;
	uint64_t version;
	int64_t updated_ms;
};

struct secrets {
	pthread_mutex_t lock;
	struct secret *rows;
	size_t count, room;
	uint64_t last_version;
};

int secrets_new(struct secrets **out)
{
	struct secrets *secrets = calloc(1, sizeof(*secrets));

	if (!secrets)
		return fail(FAIL_MEMORY);
	pthread_mutex_init(&secrets->lock, NULL);
	*out = secrets;
	return 0;
}

void secrets_free(struct secrets *secrets)
{
	if (!secrets)
		return;
	for (size_t i = 0; i < secrets->count; i++)
		sodium_free(secrets->rows[i].value);
	free(secrets->rows);
	pthread_mutex_destroy(&secrets->lock);
	free(secrets);
}

/* All below is called with the lock held. */

static struct secret *find(const struct secrets *secrets, struct str name)
{
	for (size_t i = 0; i < secrets->count; i++) {
		struct secret *row = &secrets->rows[i];

		if (str_equal(str_of(row->name, row->name_len), name))
			return row;
	}
	return NULL;
}

static int make_room(struct secrets *secrets)
{
	size_t room = secrets->room ? 2 * secrets->room : 8;
	struct secret *rows;

	if (secrets->count < secrets->room)
		return 0;
	if (secrets->count >= SECRETS_MAX)
		return SECRETS_FULL;
	rows = realloc(secrets->rows, room * sizeof(*rows));
	if (!rows)
		return fail(FAIL_MEMORY);
	secrets->rows = rows;
	secrets->room = room;
	return 0;
}

static int add(struct secrets *secrets, struct str name, struct secret **out_row)
{
	int r = make_room(secrets);

	if (r != 0)
		return r;
	*out_row = &secrets->rows[secrets->count++];
	**out_row = (struct secret){.name_len = name.len};
	memcpy((*out_row)->name, name.at, name.len);
	return 0;
}

static int put(struct secrets *secrets, struct str name, char *value, size_t len,
	       int64_t updated_ms)
{
	struct secret *row = find(secrets, name);
	int r = row ? 0 : add(secrets, name, &row);

	if (r != 0)
		return r;
	sodium_free(row->value);
	row->value = value;
	row->len = len;
	row->version = ++secrets->last_version;
	row->updated_ms = updated_ms;
	return 0;
}

/* For every thread. */

int secrets_put(struct secrets *secrets, struct str name, struct str value, int64_t updated_ms)
{
	char *copy;
	int r;

	require(secret_name_is_fine(name));
	copy = sodium_malloc(value.len ? value.len : 1);
	if (!copy)
		return fail(FAIL_MEMORY);
	if (value.len)
		memcpy(copy, value.at, value.len);
	pthread_mutex_lock(&secrets->lock);
	r = put(secrets, name, copy, value.len, updated_ms);
	pthread_mutex_unlock(&secrets->lock);
	if (r != 0)
		sodium_free(copy);
	return r;
}

void secrets_drop(struct secrets *secrets, struct str name)
{
	struct secret *row;

	pthread_mutex_lock(&secrets->lock);
	row = find(secrets, name);
	if (row) {
		sodium_free(row->value);
		*row = secrets->rows[--secrets->count];
	}
	pthread_mutex_unlock(&secrets->lock);
}

int secrets_read(struct secrets *secrets, struct str name, struct buf *out, uint64_t *out_version)
{
	const struct secret *row;
	int r = SECRETS_ABSENT;

	pthread_mutex_lock(&secrets->lock);
	row = find(secrets, name);
	if (row) {
		buf_append(out, row->value, row->len);
		*out_version = row->version;
		r = 0;
	}
	pthread_mutex_unlock(&secrets->lock);
	return r;
}

uint64_t secrets_version(struct secrets *secrets, struct str name)
{
	const struct secret *row;
	uint64_t version;

	pthread_mutex_lock(&secrets->lock);
	row = find(secrets, name);
	version = row ? row->version : 0;
	pthread_mutex_unlock(&secrets->lock);
	return version;
}

static int by_name(const void *a, const void *b)
{
	return str_compare(((const struct secret_note *)a)->name,
			   ((const struct secret_note *)b)->name);
}

/* With the lock held. */
static int write_notes(const struct secrets *secrets, struct arena *mem, struct secret_note *notes)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *row = &secrets->rows[i];

		notes[i].name = arena_str(mem, str_of(row->name, row->name_len));
		notes[i].updated_ms = row->updated_ms;
		if (!notes[i].name.at)
			return FAIL_MEMORY;
	}
	return 0;
}

int secrets_list(struct secrets *secrets, struct arena *mem, struct secret_note **out_notes,
		 size_t *out_count)
{
	struct secret_note *notes;
	size_t count;
	int r = FAIL_MEMORY;

	pthread_mutex_lock(&secrets->lock);
	count = secrets->count;
	notes = arena_alloc(mem, (count + 1) * sizeof(*notes));
	if (notes)
		r = write_notes(secrets, mem, notes);
	pthread_mutex_unlock(&secrets->lock);
	if (r != 0)
		return r;
	qsort(notes, count, sizeof(*notes), by_name);
	*out_notes = notes;
	*out_count = count;
	return 0;
}
