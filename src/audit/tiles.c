/*
 * Names of tiles, what is in them, and nodes out of them.
 *
 * Every eighth level of the tree is kept; the levels between are hashed again from a tile, at
 * most 127 hashes for a node.
 */
#include "audit/tiles.h"

#include "base/err.h"

#include <stdio.h>

enum { GROUP = 1000, GROUPS_MAX = 7 };

static const struct str entries_name = {"entries", 7};

void tile_path(const struct tile *tile, char out[TILE_PATH_MAX])
{
	unsigned groups[GROUPS_MAX], count = 0;
	uint64_t rest = tile->index;
	int at;

	require(tile->width > 0 && tile->width <= TILE_WIDTH && tile->level < 64);
	do {
		groups[count++] = (unsigned)(rest % GROUP);
		rest /= GROUP;
	} while (rest);
	if (tile->is_entries)
		at = snprintf(out, TILE_PATH_MAX, "tile/entries/");
	else
		at = snprintf(out, TILE_PATH_MAX, "tile/%u/", tile->level);
	while (count-- > 1)
		at += snprintf(out + at, (size_t)(TILE_PATH_MAX - at), "x%03u/", groups[count]);
	at += snprintf(out + at, (size_t)(TILE_PATH_MAX - at), "%03u", groups[0]);
	if (tile->width < TILE_WIDTH)
		snprintf(out + at, (size_t)(TILE_PATH_MAX - at), ".p/%u", tile->width);
}

/* Take `count` digits from the front. */
static bool read_digits(struct str *rest, size_t count, uint64_t *number)
{
	uint64_t group;

	if (rest->len < count || !str_to_u64(str_of(rest->at, count), GROUP - 1, &group) ||
	    *number > (UINT64_MAX - group) / GROUP)
		return false;
	*number = *number * GROUP + group;
	*rest = str_from_index(*rest, count);
	return true;
}

static bool read_index(struct str *rest, uint64_t *out_index)
{
	*out_index = 0;
	while (rest->len && rest->at[0] == 'x') {
		*rest = str_from_index(*rest, 1);
		if (!read_digits(rest, 3, out_index) || !rest->len || rest->at[0] != '/')
			return false;
		*rest = str_from_index(*rest, 1);
	}
	return read_digits(rest, 3, out_index);
}

/* Read loosely, then held against the one spelling. */
bool tile_path_read(struct str path, struct tile *out_tile)
{
	struct tile tile = {.width = TILE_WIDTH};
	struct str rest = path, part;
	char again[TILE_PATH_MAX];
	uint64_t number = 0;

	if (path.len >= TILE_PATH_MAX || !str_split(&rest, '/', &part) ||
	    !str_equal(part, STR("tile")) || !str_split(&rest, '/', &part))
		return false;
	tile.is_entries = str_equal(part, entries_name);
	if (!tile.is_entries && !str_to_u64(part, 63, &number))
		return false;
	tile.level = (unsigned)number;
	if (!read_index(&rest, &tile.index))
		return false;
	if (str_starts_with(rest, STR(".p/"))) {
		if (!str_to_u64(str_from_index(rest, 3), TILE_WIDTH - 1, &number) || number == 0)
			return false;
		tile.width = (unsigned)number;
	}
	tile_path(&tile, again);
	if (!str_equal(path, str_from(again)))
		return false;
	*out_tile = tile;
	return true;
}

unsigned tile_width(unsigned level, uint64_t index, uint64_t size)
{
	uint64_t nodes = level < TILE_LEVELS ? size >> TILE_HEIGHT * level : 0;
	uint64_t before;

	if (index > nodes / TILE_WIDTH)
		return 0;
	before = index * TILE_WIDTH;
	return nodes - before < TILE_WIDTH ? (unsigned)(nodes - before) : TILE_WIDTH;
}

/* The tiles of one kind, from the one that the old tree had begun. */
static int visit_grown(struct tile tile, uint64_t old_size, uint64_t size,
		       int (*visit)(void *state, const struct tile *), void *state)
{
	uint64_t old_nodes = old_size >> TILE_HEIGHT * tile.level;
	uint64_t nodes = size >> TILE_HEIGHT * tile.level;
	int r = 0;

	if (nodes == old_nodes)
		return 0;
	for (tile.index = old_nodes / TILE_WIDTH; r == 0; tile.index++) {
		tile.width = tile_width(tile.level, tile.index, size);
		if (tile.width == 0)
			break;
		r = visit(state, &tile);
	}
	return r;
}

int tiles_grown(uint64_t old_size, uint64_t size, int (*visit)(void *state, const struct tile *),
		void *state)
{
	int r;

	require(old_size <= size && size <= TREE_SIZE_MAX);
	r = visit_grown((struct tile){.is_entries = true}, old_size, size, visit, state);
	for (unsigned level = 0; level < TILE_LEVELS && r == 0; level++)
		r = visit_grown((struct tile){.level = level}, old_size, size, visit, state);
	return r;
}

void tile_of_node(unsigned level, uint64_t index, uint64_t size, struct tile *out_tile)
{
	unsigned above = level % TILE_HEIGHT;

	*out_tile = (struct tile){
		.level = level / TILE_HEIGHT,
		.index = index >> (TILE_HEIGHT - above),
	};
	out_tile->width = tile_width(out_tile->level, out_tile->index, size);
}

bool tile_node(struct str bytes, unsigned level, uint64_t index, struct hash *out_hash)
{
	unsigned above = level % TILE_HEIGHT;
	size_t count = (size_t)1 << above;
	size_t from = (size_t)(index << above) % TILE_WIDTH;
	struct hash row[TILE_WIDTH / 2];

	if ((from + count) * HASH_SIZE > bytes.len)
		return false;
	memcpy(row, bytes.at + from * HASH_SIZE, count * HASH_SIZE);
	for (; count > 1; count /= 2) {
		for (size_t i = 0; i < count / 2; i++)
			tree_hash_node(&row[2 * i], &row[2 * i + 1], &row[i]);
	}
	*out_hash = row[0];
	return true;
}

void tile_nodes_init(struct tile_nodes *nodes, uint64_t size,
		     int (*read_tile)(void *state, const struct tile *tile, struct buf *out),
		     void *state)
{
	*nodes = (struct tile_nodes){.read_tile = read_tile, .state = state, .size = size};
	buf_init(&nodes->bytes, TILE_SIZE_MAX);
}

void tile_nodes_fini(struct tile_nodes *nodes)
{
	if (nodes)
		buf_fini(&nodes->bytes);
}

int tile_nodes_read(void *state, unsigned level, uint64_t index, struct hash *out_hash)
{
	struct tile_nodes *nodes = state;
	struct tile tile;
	int r;

	tile_of_node(level, index, nodes->size, &tile);
	if (tile.width == 0)
		return TILES_SHORT;
	if (nodes->last.width != tile.width || nodes->last.level != tile.level ||
	    nodes->last.index != tile.index) {
		nodes->last.width = 0;
		buf_clear(&nodes->bytes);
		r = nodes->read_tile(nodes->state, &tile, &nodes->bytes);
		if (r != 0)
			return r;
		nodes->last = tile;
	}
	return tile_node(buf_str(&nodes->bytes), level, index, out_hash) ? 0 : TILES_SHORT;
}

int bundle_append(struct str entry, struct buf *out)
{
	require(entry.len <= UINT16_MAX);
	(void)buf_append_byte(out, (char)(uint8_t)(entry.len >> 8));
	(void)buf_append_byte(out, (char)(uint8_t)entry.len);
	return buf_append_str(out, entry);
}

bool bundle_next(struct str *rest, struct str *out_entry)
{
	size_t len;

	if (rest->len < 2)
		return false;
	len = (size_t)(uint8_t)rest->at[0] << 8 | (uint8_t)rest->at[1];
	if (rest->len - 2 < len)
		return false;
	*out_entry = str_of(rest->at + 2, len);
	rest->at += 2 + len;
	rest->len -= 2 + len;
	return true;
}
