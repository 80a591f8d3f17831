/*
 * Keys live in a hash table of fixed size and in a list by age; the list says whom to forget.
 */
#include "sandbox/effects.h"

#include "base/err.h"

#include <stdlib.h>

struct effect_key {
	struct list link;	  /* effects->keys */
	struct effect_key *chain; /* the next one of its bucket */
	uint64_t count;
	size_t len;
	char text[];
};

static const char *const kind_names[KIND_COUNT] = {
	[KIND_TICKET] = "tickets",	   [KIND_PAYMENT] = "payments", [KIND_REFUND] = "refunds",
	[KIND_DEPLOYMENT] = "deployments", [KIND_ORDER] = "orders",	[KIND_HOOK] = "hooks",
};

const char *kind_name(enum kind kind)
{
	require(kind < KIND_COUNT);
	return kind_names[kind];
}

void effects_init(struct effects *effects)
{
	*effects = (struct effects){0};
	list_init(&effects->keys);
}

void effects_fini(struct effects *effects)
{
	struct list *link, *after;

	list_for_each (link, after, &effects->keys)
		free(list_entry(link, struct effect_key, link));
}

static struct str cut(struct str key)
{
	return str_of(key.at, key.len < EFFECT_KEY_BYTES ? key.len : EFFECT_KEY_BYTES);
}

/* FNV-1a: no defence against chosen keys; a chain has at most EFFECT_KEYS_MAX anyway. */
static size_t bucket_of(struct str key)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < key.len; i++)
		hash = (hash ^ (uint8_t)key.at[i]) * UINT64_C(1099511628211);
	return (size_t)((hash ^ hash >> 32) % EFFECT_BUCKETS);
}

static struct effect_key *find(const struct effects *effects, struct str key)
{
	struct effect_key *found = effects->buckets[bucket_of(key)];

	while (found && !str_equal(str_of(found->text, found->len), key))
		found = found->chain;
	return found;
}

static void forget_oldest(struct effects *effects)
{
	struct effect_key *oldest = list_entry(effects->keys.next, struct effect_key, link);
	struct effect_key **place = &effects->buckets[bucket_of(str_of(oldest->text, oldest->len))];

	while (*place != oldest)
		place = &(*place)->chain;
	*place = oldest->chain;
	list_remove(&oldest->link);
	free(oldest);
	effects->key_count--;
	effects->keys_forgotten++;
}

static int add_key(struct effects *effects, struct str key)
{
	struct effect_key *added = calloc(1, sizeof(*added) + key.len);
	struct effect_key **place = &effects->buckets[bucket_of(key)];

	if (!added)
		return fail(FAIL_MEMORY);
	if (effects->key_count == EFFECT_KEYS_MAX)
		forget_oldest(effects);
	memcpy(added->text, key.at, added->len = key.len);
	added->count = 1;
	added->chain = *place;
	*place = added;
	list_append(&effects->keys, &added->link);
	effects->key_count++;
	return 0;
}

int effects_add(struct effects *effects, enum kind kind, struct str key)
{
	struct effect_key *known;
	int r = 0;

	require(kind < KIND_COUNT);
	key = cut(key);
	known = key.len ? find(effects, key) : NULL;
	if (known)
		known->count++;
	else if (key.len)
		r = add_key(effects, key);
	if (r == 0)
		effects->of_kind[kind]++;
	return r;
}

static void write_key(const struct effect_key *key, struct json_writer *writer)
{
	json_name_str(writer, str_of(key->text, key->len));
	json_integer(writer, (int64_t)key->count);
}

static void write_keys(const struct effects *effects, struct str only, struct json_writer *writer)
{
	struct effect_key *key = only.len ? find(effects, cut(only)) : NULL;
	struct list *link, *after;

	if (only.len) {
		if (key)
			write_key(key, writer);
		return;
	}
	list_for_each (link, after, &effects->keys)
		write_key(list_entry(link, struct effect_key, link), writer);
}

void effects_write(const struct effects *effects, struct str only, struct json_writer *writer)
{
	uint64_t total = 0;

	json_open_object(writer);
	json_name(writer, "kinds");
	json_open_object(writer);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		json_name(writer, kind_name((enum kind)kind));
		json_integer(writer, (int64_t)effects->of_kind[kind]);
		total += effects->of_kind[kind];
	}
	json_close_object(writer);
	json_name(writer, "total");
	json_integer(writer, (int64_t)total);
	json_name(writer, "keys");
	json_open_object(writer);
	write_keys(effects, only, writer);
	json_close_object(writer);
	json_name(writer, "keys_forgotten");
	json_integer(writer, (int64_t)effects->keys_forgotten);
	json_name(writer, "resent");
	json_integer(writer, (int64_t)effects->resent);
	json_close_object(writer);
}
