/*
 * The order of an object's members: by the UTF-16 code units of their names (RFC 8785
 * § 3.2.3), without writing UTF-16.
 *
 * UTF-8 sorts by code point, and so does UTF-16 but for one thing: what it writes as
 * surrogates (U+10000 and up; lead bytes f0 to f4) comes before U+E000 to U+FFFF (lead
 * bytes ee and ef). So the bytes are compared with ee and ef moved behind f4. The first
 * eight, moved so, make a number that settles most comparisons.
 *
 * Runs of a few members are sorted by insertion and merged in pairs: n log n at worst,
 * whatever the names are.
 */
#include "base/err.h"
#include "json/internal.h"

enum { RUN = 16 };

static uint64_t prefix_of(struct str name);
static void sort_run(struct json_place *places, size_t count);
static struct json_place *merge_runs(struct json_place *places, struct json_place *room,
				     size_t count);

int json_order(struct json_member *members, size_t count, struct arena *mem,
	       struct json_place **out_places)
{
	size_t places_max = SIZE_MAX / 2 / sizeof(struct json_place);
	struct json_place *places, *room = NULL;

	if (count > places_max)
		return FAIL_MEMORY;
	places = arena_alloc(mem, count * sizeof(*places));
	if (!places)
		return FAIL_MEMORY;
	if (count > RUN) {
		room = arena_alloc(mem, count * sizeof(*room));
		if (!room)
			return FAIL_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		places[i] = (struct json_place){prefix_of(members[i].name), &members[i]};
	for (size_t from = 0; from < count; from += RUN)
		sort_run(places + from, count - from < RUN ? count - from : RUN);
	*out_places = room ? merge_runs(places, room, count) : places;
	return 0;
}

static unsigned char rank(char byte)
{
	unsigned char value = (unsigned char)byte;

	return value == 0xee || value == 0xef ? (unsigned char)(value + 7) : value;
}

static uint64_t prefix_of(struct str name)
{
	uint64_t prefix = 0;
	size_t length = name.len < 8 ? name.len : 8;

	for (size_t i = 0; i < length; i++)
		prefix |= (uint64_t)rank(name.at[i]) << (56 - 8 * i);
	return prefix;
}

static int compare_names(struct str a, struct str b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	size_t i = 0;

	while (common - i >= 64 && memcmp(a.at + i, b.at + i, 64) == 0)
		i += 64;
	while (i < common && a.at[i] == b.at[i])
		i++;
	if (i < common)
		return rank(a.at[i]) < rank(b.at[i]) ? -1 : 1;
	return a.len < b.len ? -1 : a.len > b.len;
}

static bool comes_after(const struct json_place *a, const struct json_place *b)
{
	if (a->prefix != b->prefix)
		return a->prefix > b->prefix;
	return compare_names(a->member->name, b->member->name) > 0;
}

static void sort_run(struct json_place *places, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct json_place place = places[i];
		size_t at = i;

		for (; at > 0 && comes_after(&places[at - 1], &place); at--)
			places[at] = places[at - 1];
		places[at] = place;
	}
}

/* Two neighbours of `from`, [0, middle) and [middle, count), into `to`. */
static void merge(const struct json_place *from, size_t middle, size_t count, struct json_place *to)
{
	size_t left = 0, right = middle;

	for (size_t i = 0; i < count; i++) {
		if (right == count || (left < middle && !comes_after(&from[left], &from[right])))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

/* Where the sorted places are in the end: one of the two. */
static struct json_place *merge_runs(struct json_place *places, struct json_place *room,
				     size_t count)
{
	for (size_t width = RUN; width < count; width *= 2) {
		struct json_place *merged = room;

		for (size_t from = 0; from < count; from += 2 * width) {
			size_t left = count - from;
			size_t middle = left < width ? left : width;

			merge(places + from, middle, left < 2 * width ? left : 2 * width,
			      merged + from);
		}
		room = places;
		places = merged;
	}
	return places;
}
