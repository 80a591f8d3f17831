/* Adding an entry: its place and its predecessor, its bytes, its leaf. */
#include "audit/tip.h"

#include "base/err.h"

void tip_init(struct tip *tip)
{
	tree_frontier_init(&tip->frontier);
	memset(&tip->last, 0, sizeof(tip->last));
}

int tip_append(struct tip *tip, const struct tip_entry *entry, const struct entry_key *key,
	       struct buf *out, struct tree_growth *out_growth)
{
	struct entry written = {
		.type = entry->type,
		.epoch = entry->epoch,
		.seq = tip->frontier.size,
		.time_ms = entry->time_ms,
		.prev = tip->last,
	};
	size_t begin = out->len;
	struct hash leaf;
	int r;

	if (tip->frontier.size >= TREE_SIZE_MAX)
		return FAIL_LIMIT;
	memcpy(written.nonce, entry->nonce, ENTRY_NONCE_SIZE);
	r = entry_write(&written, key, entry->text, out);
	if (r != 0)
		return r;
	tree_hash_leaf(str_of(out->at + begin, out->len - begin), &leaf);
	r = tree_append(&tip->frontier, &leaf, out_growth);
	require(r == 0);
	tip->last = leaf;
	return 0;
}

void tip_root(const struct tip *tip, struct hash *out_root)
{
	tree_root(&tip->frontier, out_root);
}

int tip_write(const struct tip *tip, struct buf *out)
{
	(void)buf_append(out, tip->last.bytes, HASH_SIZE);
	return tree_frontier_write(&tip->frontier, out);
}

bool tip_read(struct str bytes, struct tip *out_tip)
{
	if (bytes.len < HASH_SIZE ||
	    !tree_frontier_read(str_from_index(bytes, HASH_SIZE), &out_tip->frontier))
		return false;
	memcpy(out_tip->last.bytes, bytes.at, HASH_SIZE);
	return true;
}
