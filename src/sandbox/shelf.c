/*
 * A ring: the number of a record says where it is. Each record is one piece of memory, its
 * texts behind it.
 */
#include "sandbox/shelf.h"

#include "base/err.h"

#include <stdlib.h>

void shelf_init(struct shelf *shelf)
{
	*shelf = (struct shelf){.first = 1, .next = 1};
}

void shelf_fini(struct shelf *shelf)
{
	for (uint64_t number = shelf->first; number < shelf->next; number++)
		record_free(shelf_numbered(shelf, number));
}

static char *put_text(char *at, struct str text, struct str *out_copy)
{
	*out_copy = str_of(at, text.len);
	if (text.len)
		memcpy(at, text.at, text.len);
	return at + text.len;
}

static size_t bytes_of(const struct record *record)
{
	return record->id.len + record->members.len + record->reference.len + record->key.len;
}

struct record *record_new(struct str id, struct str members, struct str reference, struct str key)
{
	struct record *record =
		calloc(1, sizeof(*record) + id.len + members.len + reference.len + key.len);
	char *at = (char *)(record + 1);

	if (!record)
		return NULL;
	at = put_text(at, id, &record->id);
	at = put_text(at, members, &record->members);
	at = put_text(at, reference, &record->reference);
	put_text(at, key, &record->key);
	return record;
}

void record_free(struct record *record)
{
	free(record);
}

static struct record **place_of(struct shelf *shelf, uint64_t number)
{
	return &shelf->records[number % SHELF_RECORDS_MAX];
}

static void drop_oldest(struct shelf *shelf)
{
	struct record **place = place_of(shelf, shelf->first++);

	shelf->bytes -= bytes_of(*place);
	record_free(*place);
	*place = NULL;
}

/* Room for `bytes` more, from the oldest on; never the one numbered `keep`. */
static void make_room(struct shelf *shelf, size_t bytes, uint64_t keep)
{
	while (shelf->first < shelf->next && shelf->first != keep &&
	       shelf->bytes + bytes > SHELF_BYTES_MAX)
		drop_oldest(shelf);
}

void shelf_put(struct shelf *shelf, struct record *record)
{
	if (shelf->next - shelf->first == SHELF_RECORDS_MAX)
		drop_oldest(shelf);
	make_room(shelf, bytes_of(record), 0);
	record->number = shelf->next++;
	*place_of(shelf, record->number) = record;
	shelf->bytes += bytes_of(record);
}

void shelf_replace(struct shelf *shelf, struct record *old, struct record *record)
{
	require(*place_of(shelf, old->number) == old);
	make_room(shelf, bytes_of(record), old->number);
	record->number = old->number;
	*place_of(shelf, record->number) = record;
	shelf->bytes += bytes_of(record);
	shelf->bytes -= bytes_of(old);
	record_free(old);
}

struct record *shelf_numbered(const struct shelf *shelf, uint64_t number)
{
	if (number < shelf->first || number >= shelf->next)
		return NULL;
	return shelf->records[number % SHELF_RECORDS_MAX];
}

struct record *shelf_named(const struct shelf *shelf, struct str id)
{
	for (uint64_t number = shelf->next; number-- > shelf->first;) {
		struct record *record = shelf_numbered(shelf, number);

		if (str_equal(record->id, id))
			return record;
	}
	return NULL;
}
