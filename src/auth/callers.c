/*
 * The table of keys.
 *
 * Two hash tables over the same entries: by digest, for who shows a key, and by id. A reader takes
 * the lock shared and copies what it wants into its own memory, so that no entry is held by
 * anybody. A digest is compared in constant time; the bucket it lies in says nothing of the text
 * that it is the SHA-256 of.
 */
#include "auth/callers.h"

#include "base/err.h"
#include "base/list.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	BUCKETS = 1024,
	ENTRY_MEMORY = 64 * 1024, /* of one entry's texts */
};

struct entry {
	struct list by_digest, by_id, in_order;
	struct arena mem;
	struct key_record record;
	atomic_llong used_ms;
};

struct callers {
	pthread_rwlock_t lock;
	struct list digests[BUCKETS], ids[BUCKETS];
	struct list order;
	size_t count;
};

int callers_new(struct callers **out_callers)
{
	struct callers *callers = calloc(1, sizeof(*callers));

	if (!callers)
		return fail(FAIL_MEMORY);
	require(pthread_rwlock_init(&callers->lock, NULL) == 0);
	for (size_t i = 0; i < BUCKETS; i++) {
		list_init(&callers->digests[i]);
		list_init(&callers->ids[i]);
	}
	list_init(&callers->order);
	*out_callers = callers;
	return 0;
}

static void entry_free(struct entry *entry)
{
	arena_fini(&entry->mem);
	free(entry);
}

void callers_free(struct callers *callers)
{
	struct list *link, *after;

	if (!callers)
		return;
	list_for_each (link, after, &callers->order)
		entry_free(list_entry(link, struct entry, in_order));
	pthread_rwlock_destroy(&callers->lock);
	free(callers);
}

/* -- finding ----------------------------------------------------------------------- */

static struct list *digest_bucket(struct callers *callers, const struct hash *digest)
{
	return &callers->digests[(digest->bytes[0] << 8 | digest->bytes[1]) % BUCKETS];
}

/* FNV-1a. Ids are the gate's own: nobody chooses them so that they meet. */
static struct list *id_bucket(struct callers *callers, struct str id)
{
	uint32_t sum = 2166136261U;

	for (size_t i = 0; i < id.len; i++)
		sum = (sum ^ (uint8_t)id.at[i]) * 16777619U;
	return &callers->ids[sum % BUCKETS];
}

static struct entry *find_digest(struct callers *callers, const struct hash *digest)
{
	struct list *head = digest_bucket(callers, digest), *link, *after;

	list_for_each (link, after, head) {
		struct entry *entry = list_entry(link, struct entry, by_digest);

		if (sodium_memcmp(entry->record.digest.bytes, digest->bytes, HASH_SIZE) == 0)
			return entry;
	}
	return NULL;
}

static struct entry *find_id(struct callers *callers, struct str id)
{
	struct list *head = id_bucket(callers, id), *link, *after;

	list_for_each (link, after, head) {
		struct entry *entry = list_entry(link, struct entry, by_id);

		if (str_equal(entry->record.id, id))
			return entry;
	}
	return NULL;
}

/* -- copying ----------------------------------------------------------------------- */

static bool copy_text(struct arena *mem, struct str *text)
{
	*text = arena_str(mem, *text);
	return text->at != NULL;
}

static bool copy_actions(struct arena *mem, struct str **actions, size_t count)
{
	struct str *copies = arena_zalloc(mem, (count + 1) * sizeof(*copies));

	if (!copies)
		return false;
	for (size_t i = 0; i < count; i++) {
		copies[i] = (*actions)[i];
		if (!copy_text(mem, &copies[i]))
			return false;
	}
	*actions = copies;
	return true;
}

static bool copy_record(struct arena *mem, const struct key_record *record, struct key_record *out)
{
	*out = *record;
	return copy_text(mem, &out->id) && copy_text(mem, &out->account) &&
	       copy_text(mem, &out->agent) && copy_text(mem, &out->label) &&
	       copy_text(mem, &out->created_by) && copy_text(mem, &out->revoked_by) &&
	       copy_text(mem, &out->revoked_why) &&
	       copy_actions(mem, &out->actions, out->action_count);
}

static bool copy_caller(struct arena *mem, const struct key_record *record, struct caller *out)
{
	*out = (struct caller){
		.account = record->account,
		.agent = record->agent,
		.credential = record->id,
		.role = record->role,
		.has_all_accounts = record->has_all_accounts,
		.actions = record->actions,
		.action_count = record->action_count,
	};
	return copy_text(mem, &out->account) && copy_text(mem, &out->agent) &&
	       copy_text(mem, &out->credential) &&
	       copy_actions(mem, &out->actions, out->action_count);
}

/* -- changing ---------------------------------------------------------------------- */

static struct entry *entry_new(const struct key_record *record)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	arena_init(&entry->mem, ENTRY_MEMORY);
	if (copy_record(&entry->mem, record, &entry->record))
		return entry;
	entry_free(entry);
	return NULL;
}

/* Under the lock. */
static void take_out(struct callers *callers, struct str id, int64_t *out_used_ms)
{
	struct entry *entry = find_id(callers, id);

	if (!entry)
		return;
	*out_used_ms = atomic_load(&entry->used_ms);
	list_remove(&entry->by_digest);
	list_remove(&entry->by_id);
	list_remove(&entry->in_order);
	callers->count--;
	entry_free(entry);
}

int callers_put(struct callers *callers, const struct key_record *record)
{
	struct entry *entry = entry_new(record);
	int64_t used_ms = 0;

	require(pthread_rwlock_wrlock(&callers->lock) == 0);
	take_out(callers, record->id, &used_ms);
	if (entry) {
		atomic_init(&entry->used_ms, used_ms);
		list_append(digest_bucket(callers, &record->digest), &entry->by_digest);
		list_append(id_bucket(callers, record->id), &entry->by_id);
		list_append(&callers->order, &entry->in_order);
		callers->count++;
	}
	pthread_rwlock_unlock(&callers->lock);
	return entry ? 0 : fail(FAIL_MEMORY);
}

void callers_drop(struct callers *callers, struct str id)
{
	int64_t unused;

	require(pthread_rwlock_wrlock(&callers->lock) == 0);
	take_out(callers, id, &unused);
	pthread_rwlock_unlock(&callers->lock);
}

/* -- asking ------------------------------------------------------------------------ */

static int standing(const struct key_record *record, int64_t now_ms)
{
	if (record->revoked_ms)
		return CALLERS_UNKNOWN;
	return record->expires_ms && now_ms >= record->expires_ms ? CALLERS_EXPIRED : 0;
}

int callers_find(struct callers *callers, struct str text, int64_t now_ms, struct arena *mem,
		 struct caller *out_caller)
{
	struct hash digest;
	struct entry *entry;
	struct caller caller;
	int r = CALLERS_UNKNOWN;

	if (!key_is_whole(text))
		return r;
	key_digest(text, &digest);
	require(pthread_rwlock_rdlock(&callers->lock) == 0);
	entry = find_digest(callers, &digest);
	if (entry)
		r = standing(&entry->record, now_ms);
	if (r == 0 && !copy_caller(mem, &entry->record, &caller))
		r = FAIL_MEMORY; /* a client can bring it about: not logged */
	if (r == 0) {
		atomic_store(&entry->used_ms, now_ms);
		*out_caller = caller;
	}
	pthread_rwlock_unlock(&callers->lock);
	return r;
}

int callers_find_id(struct callers *callers, struct str id, int64_t now_ms, struct arena *mem,
		    struct caller *out_caller)
{
	struct entry *entry;
	struct caller caller;
	int r = CALLERS_UNKNOWN;

	require(pthread_rwlock_rdlock(&callers->lock) == 0);
	entry = find_id(callers, id);
	if (entry)
		r = standing(&entry->record, now_ms);
	if (r == 0 && !copy_caller(mem, &entry->record, &caller))
		r = FAIL_MEMORY;
	if (r == 0)
		*out_caller = caller;
	pthread_rwlock_unlock(&callers->lock);
	return r;
}

bool callers_holds(struct callers *callers, struct str id, int64_t now_ms)
{
	struct entry *entry;
	bool holds;

	require(pthread_rwlock_rdlock(&callers->lock) == 0);
	entry = find_id(callers, id);
	holds = entry && standing(&entry->record, now_ms) == 0;
	pthread_rwlock_unlock(&callers->lock);
	return holds;
}

int callers_record(struct callers *callers, struct str id, struct arena *mem,
		   struct key_record *out_record, int64_t *out_used_ms)
{
	struct entry *entry;
	struct key_record record;
	int r = CALLERS_UNKNOWN;

	require(pthread_rwlock_rdlock(&callers->lock) == 0);
	entry = find_id(callers, id);
	if (entry)
		r = copy_record(mem, &entry->record, &record) ? 0 : FAIL_MEMORY;
	if (r == 0) {
		*out_record = record;
		*out_used_ms = atomic_load(&entry->used_ms);
	}
	pthread_rwlock_unlock(&callers->lock);
	return r;
}

/* Under the lock. */
static int copy_uses(struct callers *callers, struct arena *mem, struct callers_use *uses)
{
	struct list *link, *after;
	size_t count = 0;

	list_for_each (link, after, &callers->order) {
		struct entry *entry = list_entry(link, struct entry, in_order);

		uses[count].id = entry->record.id;
		uses[count].used_ms = atomic_load(&entry->used_ms);
		if (!copy_text(mem, &uses[count++].id))
			return FAIL_MEMORY;
	}
	return 0;
}

int callers_list(struct callers *callers, struct arena *mem, struct callers_use **out_uses,
		 size_t *out_count)
{
	struct callers_use *uses;
	int r = FAIL_MEMORY;

	require(pthread_rwlock_rdlock(&callers->lock) == 0);
	uses = arena_zalloc(mem, (callers->count + 1) * sizeof(*uses));
	if (uses)
		r = copy_uses(callers, mem, uses);
	if (r == 0) {
		*out_uses = uses;
		*out_count = callers->count;
	}
	pthread_rwlock_unlock(&callers->lock);
	return r;
}

void callers_set_use(struct callers *callers, struct str id, int64_t used_ms)
{
	struct entry *entry;

	require(pthread_rwlock_rdlock(&callers->lock) == 0);
	entry = find_id(callers, id);
	if (entry && atomic_load(&entry->used_ms) < used_ms)
		atomic_store(&entry->used_ms, used_ms);
	pthread_rwlock_unlock(&callers->lock);
}
