/*
 * What others keep of the log: copies of its checkpoints, and cosignatures under them.
 *
 * An anchor's checkpoint must be ours and its tree the beginning of the published one; a witness is
 * shown the same with a proof. A cosignature comes later than the checkpoint that it stands under,
 * whose file is then replaced: text and signature of ours are as they were.
 */
#include "audit/publisher_internal.h"

#include "audit/cosignature.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>

static int explain(char *why, size_t why_size, const char *path, const char *what)
{
	snprintf(why, why_size, "%s %s", path, what);
	return FAIL_IO;
}

/* Is the anchor's tree the beginning of ours? */
static int compare_roots(struct publisher *publisher, const struct checkpoint *anchor)
{
	struct tree_nodes nodes;
	struct tile_nodes tiles;
	struct hash root;
	int r;

	tile_nodes_init(&tiles, publisher->published, publisher_read_tile, publisher);
	nodes = (struct tree_nodes){tile_nodes_read, &tiles};
	r = tree_root_at(&nodes, anchor->size, &root);
	tile_nodes_fini(&tiles);
	if (r != 0)
		return r < 0 ? r : PUBLISHER_FORKED;
	return hash_equal(&root, &anchor->root) ? 0 : PUBLISHER_FORKED;
}

int publisher_compare_bytes(struct publisher *publisher, const char *anchor,
			    const struct buf *bytes, char *why, size_t why_size)
{
	struct checkpoint checkpoint;
	const char *fault = publisher_read_ours(publisher, bytes, &checkpoint);
	int r;

	if (fault) {
		snprintf(why, why_size, "%s/checkpoint %s; name an anchor of this gate alone",
			 anchor, fault);
		return PUBLISHER_FORKED;
	}
	if (checkpoint.size > publisher->published) {
		snprintf(why, why_size,
			 "rolled back: %s/checkpoint was signed over %" PRIu64
			 " entries, and the data directory has published %" PRIu64
			 ": it is an older copy, which has forgotten operations; put the newest "
			 "one back",
			 anchor, checkpoint.size, publisher->published);
		return PUBLISHER_FORKED;
	}
	r = compare_roots(publisher, &checkpoint);
	if (r > 0)
		snprintf(why, why_size,
			 "forked: %s/checkpoint was signed over another history than the data "
			 "directory has; put back the data directory that it belongs to",
			 anchor);
	return r;
}

int publisher_compare(struct publisher *publisher, const char *anchor, char *why, size_t why_size)
{
	struct log_folder folder;
	struct buf bytes;
	int r;

	if (log_folder_open(&folder, anchor) != 0)
		return explain(why, why_size, anchor, "cannot be opened as a folder");
	buf_init(&bytes, NOTE_SIZE_MAX);
	r = folder.reader.read(&folder, "checkpoint", &bytes);
	if (r == 0)
		r = publisher_compare_bytes(publisher, anchor, &bytes, why, why_size);
	else if (r == LOG_ABSENT)
		r = 0;
	else
		r = explain(why, why_size, anchor, "has a checkpoint that cannot be read");
	buf_fini(&bytes);
	log_folder_close(&folder);
	return r;
}

int publisher_anchor(struct publisher *publisher, const char *anchor)
{
	struct log_folder folder;
	size_t history = 0;
	int r;

	if (!publisher->published)
		return 0;
	if (log_folder_open(&folder, anchor) != 0)
		return FAIL_IO;
	r = publisher_put_checkpoint(folder.fd, publisher->published,
				     buf_str(&publisher->checkpoint));
	if (r == 0)
		publisher_thin(&folder, &history);
	log_folder_close(&folder);
	return r;
}

/* -- witnesses --------------------------------------------------------------------- */

int publisher_prove(struct publisher *publisher, uint64_t old_size, uint64_t size,
		    struct tree_proof *out_proof)
{
	struct tree_nodes nodes;
	struct tile_nodes tiles;
	int r;

	out_proof->count = 0;
	if (old_size > size || size > publisher->published)
		return LOG_ABSENT;
	if (old_size == 0 || old_size == size)
		return 0;
	tile_nodes_init(&tiles, publisher->published, publisher_read_tile, publisher);
	nodes = (struct tree_nodes){tile_nodes_read, &tiles};
	r = tree_prove_consistency(&nodes, old_size, size, out_proof);
	tile_nodes_fini(&tiles);
	return r > 0 ? LOG_ABSENT : r;
}

/* Where it is not the newest, its file may be gone. */
static int read_published(struct publisher *publisher, uint64_t size, const char *path,
			  struct buf *out)
{
	int r;

	if (size == publisher->published)
		return buf_append_str(out, buf_str(&publisher->checkpoint));
	r = publisher->folder.reader.read(&publisher->folder, path, out);
	return r > 0 ? LOG_ABSENT : r;
}

int publisher_cosign(struct publisher *publisher, uint64_t size, struct str line,
		     bool *out_is_newest)
{
	bool is_newest = size == publisher->published;
	struct buf old, cosigned;
	struct note note;
	char path[48];
	int r;

	if (publisher->is_behind)
		return FAIL_IO;
	buf_init(&old, NOTE_SIZE_MAX);
	buf_init(&cosigned, NOTE_SIZE_MAX);
	snprintf(path, sizeof(path), "checkpoints/%" PRIu64, size);
	r = read_published(publisher, size, path, &old);
	if (r == 0 && !note_read(buf_str(&old), &note))
		r = LOG_ABSENT;
	if (r == 0)
		r = cosignature_add(buf_str(&old), line, &cosigned) == 0 ? 0 : LOG_ABSENT;
	if (r == 0 && is_newest)
		r = publisher_put_checkpoint(publisher->folder.fd, size, buf_str(&cosigned));
	else if (r == 0)
		r = publisher_put_file(publisher->folder.fd, path, buf_str(&cosigned));
	if (r == 0 && is_newest) {
		struct buf before = publisher->checkpoint;

		publisher->checkpoint = cosigned;
		cosigned = before;
	}
	*out_is_newest = is_newest;
	buf_fini(&cosigned);
	buf_fini(&old);
	return r;
}
