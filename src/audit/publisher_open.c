/*
 * Going on with a log that is there: from its checkpoint, and from the tiles that it names.
 *
 * Nothing is believed that the signed root does not cover: the checkpoint must be ours, its tiles
 * must have its root, and the entries that are written anew with the next part must be those of the
 * tiles.
 */
#include "audit/publisher_internal.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static const char mend[] = "put the log's folder back from your copy";

static int explain(char *why, size_t why_size, int r, const char *path, const char *what)
{
	snprintf(why, why_size, "%s %s", path, what);
	return r;
}

int publisher_read_tile(void *state, const struct tile *tile, struct buf *out)
{
	struct publisher *publisher = state;
	struct tile whole = *tile;
	char path[TILE_PATH_MAX];
	int r;

	whole.width = TILE_WIDTH;
	tile_path(&whole, path);
	r = publisher->folder.reader.read(&publisher->folder, path, out);
	if (r != LOG_ABSENT || tile->width == TILE_WIDTH)
		return r;
	tile_path(tile, path);
	return publisher->folder.reader.read(&publisher->folder, path, out);
}

static int load_frontier(struct publisher *publisher, struct tile_nodes *nodes)
{
	struct tip *tip = &publisher->tip;
	uint64_t size = nodes->size;
	int r = 0;

	tip_init(tip);
	if (!size)
		return 0;
	for (unsigned level = 0; r == 0 && level < TREE_LEVELS; level++)
		if (size >> level & 1)
			r = tile_nodes_read(nodes, level, (size >> level) - 1,
					    &tip->frontier.nodes[level]);
	if (r == 0)
		r = tile_nodes_read(nodes, 0, size - 1, &tip->last);
	tip->frontier.size = size;
	return r;
}

static int load_level(struct publisher *publisher, unsigned level, uint64_t size)
{
	struct publisher_part *part = &publisher->levels[level];
	struct tile tile = {.level = level, .index = (size >> TILE_HEIGHT * level) / TILE_WIDTH};
	int r;

	tile.width = tile_width(level, tile.index, size);
	part->index = tile.index;
	part->width = tile.width;
	if (!tile.width)
		return 0;
	buf_clear(&publisher->file);
	r = publisher_read_tile(publisher, &tile, &publisher->file);
	if (r == 0 && publisher->file.len < tile.width * (size_t)HASH_SIZE)
		r = TILES_SHORT;
	if (r == 0)
		r = buf_append(&part->bytes, publisher->file.at, tile.width * (size_t)HASH_SIZE);
	part->last = tile;
	return r;
}

/* The entries of the bundle, each the one that its tile has. */
static int load_bundle(struct publisher *publisher, uint64_t size)
{
	struct publisher_part *part = &publisher->bundle, *leaves = &publisher->levels[0];
	struct tile tile = {.is_entries = true, .index = leaves->index, .width = leaves->width};
	struct str rest, entry;
	struct hash leaf;
	int r;

	part->index = leaves->index;
	part->width = leaves->width;
	if (!tile.width)
		return 0;
	buf_clear(&publisher->file);
	r = publisher_read_tile(publisher, &tile, &publisher->file);
	rest = buf_str(&publisher->file);
	for (unsigned i = 0; r == 0 && i < tile.width; i++) {
		if (!bundle_next(&rest, &entry))
			return TILES_SHORT;
		tree_hash_leaf(entry, &leaf);
		if (memcmp(leaf.bytes, leaves->bytes.at + i * (size_t)HASH_SIZE, HASH_SIZE) != 0)
			return PUBLISHER_FORKED;
		r = bundle_append(entry, &part->bytes);
	}
	part->last = tile;
	return r;
}

/* All that the checkpoint stands on. 0; < 0; anything else: it is not there, or not that. */
static int load_tree(struct publisher *publisher, const struct checkpoint *checkpoint)
{
	struct tile_nodes nodes;
	struct hash root;
	int r;

	tile_nodes_init(&nodes, checkpoint->size, publisher_read_tile, publisher);
	r = load_frontier(publisher, &nodes);
	tile_nodes_fini(&nodes);
	if (r != 0)
		return r;
	tip_root(&publisher->tip, &root);
	if (!hash_equal(&root, &checkpoint->root))
		return PUBLISHER_FORKED;
	for (unsigned level = 0; r == 0 && level < TILE_LEVELS; level++)
		r = load_level(publisher, level, checkpoint->size);
	return r == 0 ? load_bundle(publisher, checkpoint->size) : r;
}

const char *publisher_read_ours(const struct publisher *publisher, const struct buf *bytes,
				struct checkpoint *out_checkpoint)
{
	const struct publisher_keys *keys = &publisher->keys;
	const struct note_verifier *ours = &keys->signer->verifier;
	enum note_verdict verdict;
	struct note note;
	size_t who;

	if (!note_read(buf_str(bytes), &note) || !checkpoint_read(note.text, out_checkpoint))
		return "is no checkpoint";
	if (!str_equal(out_checkpoint->origin, str_from(ours->name)))
		return "is the checkpoint of another log";
	verdict = note_check(&note, ours, 1, &who);
	if (verdict == NOTE_UNKNOWN)
		verdict = note_check(&note, keys->known, keys->known_count, &who);
	switch (verdict) {
	case NOTE_GOOD:
		return NULL;
	case NOTE_UNKNOWN:
		return "is not signed with this gate's key";
	case NOTE_BAD_SIGNATURE:
		return "has a signature that does not hold";
	}
	unreachable("a note is one of three");
}

static int load(struct publisher *publisher, const char *path, char *why, size_t why_size)
{
	struct checkpoint checkpoint;
	const char *fault;
	int r = publisher->folder.reader.read(&publisher->folder, "checkpoint",
					      &publisher->checkpoint);

	tip_init(&publisher->tip);
	if (r == LOG_ABSENT)
		return 0;
	if (r < 0)
		return explain(why, why_size, r, path, "cannot be read");
	fault = r ? "has a checkpoint that is too long"
		  : publisher_read_ours(publisher, &publisher->checkpoint, &checkpoint);
	if (fault) {
		snprintf(why, why_size, "%s/checkpoint %s; %s", path, fault, mend);
		return PUBLISHER_FORKED;
	}
	r = load_tree(publisher, &checkpoint);
	publisher->published = checkpoint.size;
	publisher->kept = publisher->bundle.index * TILE_WIDTH;
	if (r < 0)
		return explain(why, why_size, r, path, "cannot be read");
	if (r == 0)
		return 0;
	snprintf(why, why_size, "%s: its tiles are not what its checkpoint was signed over; %s",
		 path, mend);
	return PUBLISHER_FORKED;
}

/* The entries of a bundle from entry `from` on, up to before `to`. */
static int find_in(struct str bundle, uint64_t from, uint64_t to,
		   int (*take)(void *state, struct str entry), void *state)
{
	uint64_t seq = from - from % TILE_WIDTH;
	struct str entry;
	int r = 0;

	for (; r == 0 && seq < to && bundle_next(&bundle, &entry); seq++)
		if (seq >= from)
			r = take(state, entry);
	return r == 0 && seq < to ? LOG_ABSENT : r;
}

int publisher_find(struct publisher *publisher, uint64_t to,
		   int (*take)(void *state, struct str entry), void *state)
{
	struct tile tile = {.is_entries = true, .width = TILE_WIDTH};
	uint64_t from = publisher->published, end;
	struct buf bundle;
	int r = 0;

	buf_init(&bundle, TILE_BUNDLE_MAX);
	for (; r == 0 && from < to; from = end) {
		tile.index = from / TILE_WIDTH;
		end = (tile.index + 1) * TILE_WIDTH;
		buf_clear(&bundle);
		r = publisher_read_tile(publisher, &tile, &bundle);
		if (r == 0)
			r = find_in(buf_str(&bundle), from, end < to ? end : to, take, state);
	}
	buf_fini(&bundle);
	return r > 0 ? PUBLISHER_FORKED : r;
}

static void init_buffers(struct publisher *publisher)
{
	buf_init(&publisher->checkpoint, NOTE_SIZE_MAX);
	buf_init(&publisher->file, TILE_BUNDLE_MAX);
	buf_init(&publisher->bundle.bytes, TILE_BUNDLE_MAX);
	for (unsigned level = 0; level < TILE_LEVELS; level++)
		buf_init(&publisher->levels[level].bytes, TILE_SIZE_MAX);
}

int publisher_open(struct publisher *publisher, const char *path, const struct publisher_keys *keys,
		   char *why, size_t why_size)
{
	int r;

	*publisher = (struct publisher){.keys = *keys, .folder.fd = -1};
	init_buffers(publisher);
	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		r = fail_errno(FAIL_IO, errno);
		return explain(why, why_size, r, path, "cannot be made");
	}
	r = log_folder_open(&publisher->folder, path);
	if (r != 0)
		return explain(why, why_size, FAIL_IO, path, "cannot be opened as a folder");
	r = load(publisher, path, why, why_size);
	if (r != 0)
		publisher_close(publisher);
	return r;
}

void publisher_close(struct publisher *publisher)
{
	if (!publisher->keys.signer)
		return;
	disk_group_drop(&publisher->whole, publisher->folder.fd);
	log_folder_close(&publisher->folder);
	buf_fini(&publisher->checkpoint);
	buf_fini(&publisher->file);
	buf_fini(&publisher->bundle.bytes);
	for (unsigned level = 0; level < TILE_LEVELS; level++)
		buf_fini(&publisher->levels[level].bytes);
	publisher->keys.signer = NULL;
}
