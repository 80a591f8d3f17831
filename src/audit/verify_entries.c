/*
 * Going along the entries, bundle by bundle, with the tiles beside them.
 *
 * Each leaf, and each node that becomes whole, is compared with the tile that should hold it. That
 * alone proves nothing, as tiles are not signed; but where somebody has changed an entry and not
 * everything else, it says which one.
 *
 * A gate that runs puts wider parts in the place of those that an older checkpoint needs, and whole
 * tiles in the place of parts. So what is missing is looked for again, in this order: whole, as a
 * part, and as the newest checkpoint has it, which is read anew. Only what is missing then is.
 */
#include "audit/verify_internal.h"

#include "base/err.h"

#include <stdio.h>

enum { LOOKS_MAX = 16 }; /* at files that a gate replaces meanwhile */

static int read_file(struct walk *walk, const struct tile *tile, struct buf *out)
{
	char path[TILE_PATH_MAX];

	tile_path(tile, path);
	buf_clear(out);
	return walk->order->log->read(walk->order->log->state, path, out);
}

/* The whole tile, else the one that the newest checkpoint needs. As log_reader.read. */
static int read_tile(struct walk *walk, struct tile *tile, struct buf *out)
{
	unsigned need = tile_width(tile->level, tile->index, walk->size_max);
	int r;

	tile->width = TILE_WIDTH;
	r = read_file(walk, tile, out);
	if (r != LOG_ABSENT || need == 0 || need == TILE_WIDTH)
		return r;
	tile->width = need;
	return read_file(walk, tile, out);
}

/* May a file that is missing be found under another name by now? Two looks at least, as a tile
 * becomes whole before a checkpoint says so. */
static int may_look_again(struct walk *walk, int looks, bool *out_may)
{
	bool has_moved;
	int r = walk_read_tip(walk, &has_moved);

	*out_may = looks < 2 || (has_moved && looks < LOOKS_MAX);
	return r;
}

/* A tile may not be there. */
static int load_tile(struct walk *walk, unsigned level, uint64_t index)
{
	struct walk_tile *loaded = &walk->tiles[level];
	struct tile tile = {.level = level, .index = index};
	uint64_t first = index * TILE_WIDTH << TILE_HEIGHT * level;
	bool may_look = true;
	unsigned need;
	int r, again;

	if (loaded->is_loaded && loaded->index == index)
		return 0;
	loaded->is_loaded = true;
	loaded->index = index;
	for (int looks = 1;; looks++) {
		r = read_tile(walk, &tile, &loaded->bytes);
		need = tile_width(level, index, walk->size_max);
		if (r != LOG_ABSENT || need == 0)
			break;
		again = may_look_again(walk, looks, &may_look);
		if (again != 0)
			return again;
		if (!may_look)
			break;
	}
	if (r == LOG_ABSENT)
		buf_clear(&loaded->bytes);
	if (r == LOG_TOO_LARGE || (r == 0 && loaded->bytes.len > tile.width * (size_t)HASH_SIZE))
		walk_blame(walk, first, first, "a tile is too long");
	if (need > 0 && (r != 0 || loaded->bytes.len < need * (size_t)HASH_SIZE))
		walk->report->missing_tiles++;
	return r < 0 ? r : 0;
}

/* Compare a node with its tile. *out_is_there: there is one that agrees. */
static int meet_node(struct walk *walk, unsigned level, uint64_t index, const struct hash *node,
		     bool *out_is_there)
{
	struct walk_tile *tile = &walk->tiles[level];
	size_t at = (size_t)(index % TILE_WIDTH) * HASH_SIZE;
	uint64_t first = index << TILE_HEIGHT * level;
	int r = load_tile(walk, level, index / TILE_WIDTH);

	*out_is_there = false;
	if (r != 0 || at + HASH_SIZE > tile->bytes.len)
		return r;
	*out_is_there = memcmp(tile->bytes.at + at, node->bytes, HASH_SIZE) == 0;
	if (!*out_is_there)
		walk_blame(walk, first, first, "an entry and its tile do not agree");
	return 0;
}

static int meet_growth(struct walk *walk, const struct tree_growth *growth)
{
	bool is_there;
	int r = 0;

	for (unsigned level = TILE_HEIGHT; level < growth->count && r == 0; level += TILE_HEIGHT)
		r = meet_node(walk, level / TILE_HEIGHT, growth->leaf >> level,
			      &growth->nodes[level], &is_there);
	return r;
}

/*
 * Its place and its predecessor. Where the two do not fit, it is this one that is wrong if it is
 * out of place, or if the tile says that the one before is as it was.
 */
static void meet_chain(struct walk *walk, const struct entry *entry)
{
	uint64_t index = walk->frontier.size;
	bool is_this_one = index == 0 || walk->last_is_vouched || entry->seq != index;
	uint64_t blamed = is_this_one ? index : index - 1;

	if (!hash_equal(&entry->prev, &walk->last))
		walk_blame(walk, blamed, blamed, "an entry does not follow the one before it");
	if (entry->seq != index)
		walk_blame(walk, index, index, "an entry is not in its place");
}

static int tell(struct walk *walk, struct str bytes, const struct entry *entry)
{
	const struct verify_order *order = walk->order;

	return order->on_entry ? order->on_entry(order->state, walk->frontier.size, bytes, entry)
			       : 0;
}

static void note_unreadable(struct walk *walk)
{
	if (walk->report->unreadable++ == 0)
		walk->report->first_unreadable = walk->frontier.size;
}

static int walk_entry(struct walk *walk, struct str bytes)
{
	struct tree_growth growth;
	struct entry entry;
	struct hash leaf;
	bool is_there, is_read;
	const char *why;
	int r;

	tree_hash_leaf(bytes, &leaf);
	r = meet_node(walk, 0, walk->frontier.size, &leaf, &is_there);
	if (r != 0)
		return r;
	is_read = entry_read(bytes, &entry, &why) == 0;
	r = tell(walk, bytes, is_read ? &entry : NULL);
	if (r != 0)
		return r;
	if (is_read) {
		meet_chain(walk, &entry);
		r = walk_meet_entry(walk, &entry);
	} else {
		note_unreadable(walk);
	}
	if (r == 0)
		r = tree_append(&walk->frontier, &leaf, &growth);
	if (r == 0)
		r = meet_growth(walk, &growth);
	walk->last = leaf;
	walk->last_is_vouched = is_there;
	return r == 0 ? walk_meet_signed(walk) : r;
}

/* The whole bundle, else the longest part of it. *out_width 0: there is none. As log_reader.read.
 */
static int read_bundle(struct walk *walk, uint64_t index, unsigned *out_width)
{
	struct tile tile = {.is_entries = true, .index = index};
	int r = LOG_ABSENT;

	for (tile.width = TILE_WIDTH; tile.width > 0 && r == LOG_ABSENT; tile.width--)
		r = read_file(walk, &tile, &walk->bundle);
	*out_width = r == 0 ? tile.width + 1 : 0;
	return r;
}

/* The same, where a gate may be replacing it. */
static int load_bundle(struct walk *walk, uint64_t index, unsigned *out_width)
{
	struct tile tile = {.is_entries = true, .index = index};
	bool may_look = true;
	int r = 0;

	for (int looks = 1; may_look; looks++) {
		/* Looking for the longest takes long, and a busy gate does not wait. */
		r = looks > 1 ? read_tile(walk, &tile, &walk->bundle) : LOG_ABSENT;
		*out_width = r == 0 ? tile.width : 0;
		if (r == LOG_ABSENT)
			r = read_bundle(walk, index, out_width);
		if (r < 0 || r == LOG_TOO_LARGE ||
		    *out_width >= tile_width(0, index, walk->size_max))
			break;
		r = may_look_again(walk, looks, &may_look);
		if (r != 0)
			break;
	}
	if (r == LOG_TOO_LARGE)
		walk_blame(walk, index * TILE_WIDTH, index * TILE_WIDTH, "a bundle is too long");
	return r < 0 ? r : 0;
}

/* The entries of a bundle that the walk has not met yet; *out_count are all that it has. */
static int walk_bundle(struct walk *walk, unsigned width, unsigned *out_count)
{
	struct str rest = buf_str(&walk->bundle), entry;
	unsigned met = (unsigned)(walk->frontier.size % TILE_WIDTH), count = 0;
	int r = 0;

	while (r == 0 && count < width && bundle_next(&rest, &entry)) {
		if (count >= met)
			r = walk_entry(walk, entry);
		count++;
	}
	*out_count = count;
	if (r == 0 && (rest.len > 0 || count < width)) {
		/* Cut off is truncated, where something signed speaks of more. */
		if (count == width || walk->frontier.size >= walk->size_max)
			walk_blame(walk, walk->frontier.size, walk->frontier.size,
				   "a bundle does not hold what its name says");
	}
	return r;
}

/* Is there anything behind a gap? What allows it stands there. */
static int has_later(struct walk *walk, uint64_t index, bool *out_has)
{
	uint64_t last = walk->size_max ? (walk->size_max - 1) / TILE_WIDTH : 0;
	unsigned width = 0;
	int r = last > index ? load_bundle(walk, last, &width) : 0;

	*out_has = width > 0;
	return r;
}

/* A bundle that is not there, by the hashes of its entries. *out_is_met: all of them were. */
static int walk_pruned(struct walk *walk, uint64_t index, bool *out_is_met)
{
	struct walk_tile *tile = &walk->tiles[0];
	struct tree_growth growth;
	struct walk_gap gap = {.from = index * TILE_WIDTH, .to = (index + 1) * TILE_WIDTH};
	int r = 0;

	*out_is_met = false;
	if (walk->frontier.size != gap.from || tile_width(0, index, walk->size_max) != TILE_WIDTH)
		return 0;
	r = has_later(walk, index, out_is_met);
	if (r == 0 && *out_is_met)
		r = load_tile(walk, 0, index);
	*out_is_met = *out_is_met && r == 0 && tile->bytes.len == TILE_SIZE_MAX;
	if (!*out_is_met)
		return r;
	walk_meet_pruned(walk);
	for (size_t i = 0; r == 0 && i < TILE_WIDTH; i++) {
		memcpy(walk->last.bytes, tile->bytes.at + i * HASH_SIZE, HASH_SIZE);
		r = tree_append(&walk->frontier, &walk->last, &growth);
		if (r == 0)
			r = meet_growth(walk, &growth);
		if (r == 0)
			r = walk_meet_signed(walk);
	}
	walk->last_is_vouched = true;
	return r == 0 ? walk_note_gap(&walk->gaps, &walk->gap_count, gap) : r;
}

/* One bundle, and what has come to it meanwhile. *out_is_whole: the next one may follow. */
static int walk_index(struct walk *walk, uint64_t index, bool *out_is_whole)
{
	uint64_t before;
	unsigned width, count = 0;
	int r;

	*out_is_whole = false;
	do {
		before = walk->frontier.size;
		r = load_bundle(walk, index, &width);
		walk->last_width = width;
		if (r == 0 && width == 0)
			r = walk_pruned(walk, index, out_is_whole);
		if (r != 0 || width == 0)
			return r;
		r = walk_bundle(walk, width, &count);
	} while (r == 0 && count == width && count < TILE_WIDTH && walk->frontier.size > before &&
		 walk->size_max > walk->frontier.size);
	*out_is_whole = count == TILE_WIDTH;
	return r;
}

/* Has a gate that runs made the last bundle wider than it was when it was walked? */
static int has_grown(struct walk *walk, uint64_t index, bool *out_has)
{
	unsigned width;
	int r = load_bundle(walk, index, &width);

	*out_has = r == 0 && width > walk->last_width;
	return r;
}

/* Entries behind a gap: not the end has been taken away, but a part. */
static int look_behind(struct walk *walk)
{
	uint64_t here = walk->frontier.size / TILE_WIDTH;
	uint64_t last = walk->size_max ? (walk->size_max - 1) / TILE_WIDTH : 0;
	uint64_t size = walk->frontier.size;
	bool has_more = false;
	unsigned width;
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		uint64_t index = i == 0 ? here + 1 : last;

		if (index <= here)
			continue;
		r = load_bundle(walk, index, &width);
		if (r != 0 || width == 0)
			continue;
		r = has_grown(walk, here, &has_more);
		if (r == 0 && !has_more)
			walk_blame(walk, size, size,
				   "entries are missing, and later ones are there");
	}
	return r;
}

int walk_entries(struct walk *walk)
{
	bool is_whole = true;
	int r = walk_meet_signed(walk);

	for (uint64_t index = 0; r == 0 && is_whole; index++)
		r = walk_index(walk, index, &is_whole);
	walk->report->entries = walk->frontier.size;
	return r == 0 ? look_behind(walk) : r;
}
