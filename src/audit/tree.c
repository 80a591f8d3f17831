/*
 * Hashing, growing and proving (RFC 6962 § 2.1).
 *
 * A tree over n leaves is a row of whole subtrees, one for each set bit of n, the largest on the
 * left; its root folds them from the right. Proofs walk down from the root: at each fork they note
 * the side that is not taken, which is such a row again. Checking a proof walks up (RFC 9162
 * § 2.1.3.2, § 2.1.4.2) and never needs more than the proof itself.
 */
#include "audit/tree.h"

#include "base/err.h"

enum { SIZE_BYTES = 8 };

/* So that a leaf is never taken for a node. */
static const uint8_t leaf_tag = 0, node_tag = 1;

void tree_hash_leaf(struct str entry, struct hash *out_hash)
{
	struct hasher hasher;

	hasher_init(&hasher);
	hasher_add(&hasher, &leaf_tag, 1);
	hasher_add(&hasher, entry.at, entry.len);
	hasher_end(&hasher, out_hash);
}

void tree_hash_node(const struct hash *left, const struct hash *right, struct hash *out_hash)
{
	struct hasher hasher;

	hasher_init(&hasher);
	hasher_add(&hasher, &node_tag, 1);
	hasher_add(&hasher, left->bytes, HASH_SIZE);
	hasher_add(&hasher, right->bytes, HASH_SIZE);
	hasher_end(&hasher, out_hash);
}

void tree_frontier_init(struct tree_frontier *frontier)
{
	memset(frontier, 0, sizeof(*frontier));
}

int tree_append(struct tree_frontier *frontier, const struct hash *leaf,
		struct tree_growth *out_growth)
{
	struct hash node = *leaf;
	size_t level = 0;

	if (frontier->size >= TREE_SIZE_MAX)
		return FAIL_LIMIT;
	if (out_growth) {
		out_growth->leaf = frontier->size;
		out_growth->nodes[0] = node;
	}
	while (frontier->size >> level & 1) {
		tree_hash_node(&frontier->nodes[level], &node, &node);
		level++;
		if (out_growth)
			out_growth->nodes[level] = node;
	}
	frontier->nodes[level] = node;
	frontier->size++;
	if (out_growth)
		out_growth->count = level + 1;
	return 0;
}

void tree_root(const struct tree_frontier *frontier, struct hash *out_root)
{
	bool is_first = true;

	if (frontier->size == 0)
		hash_bytes(NULL, 0, out_root);
	for (size_t level = 0; level < TREE_LEVELS; level++) {
		if (!(frontier->size >> level & 1))
			continue;
		if (is_first)
			*out_root = frontier->nodes[level];
		else
			tree_hash_node(&frontier->nodes[level], out_root, out_root);
		is_first = false;
	}
}

int tree_frontier_write(const struct tree_frontier *frontier, struct buf *out)
{
	int r = 0;

	for (int shift = 56; shift >= 0 && r == 0; shift -= 8)
		r = buf_append_byte(out, (char)(uint8_t)(frontier->size >> shift));
	for (size_t level = TREE_LEVELS; level-- > 0 && r == 0;) {
		if (frontier->size >> level & 1)
			r = buf_append(out, frontier->nodes[level].bytes, HASH_SIZE);
	}
	return r;
}

bool tree_frontier_read(struct str bytes, struct tree_frontier *out_frontier)
{
	uint64_t size = 0;
	const char *at;

	if (bytes.len < SIZE_BYTES)
		return false;
	at = bytes.at + SIZE_BYTES;
	for (size_t i = 0; i < SIZE_BYTES; i++)
		size = size << 8 | (uint8_t)bytes.at[i];
	if (size > TREE_SIZE_MAX ||
	    bytes.len != SIZE_BYTES + (size_t)__builtin_popcountll(size) * HASH_SIZE)
		return false;
	tree_frontier_init(out_frontier);
	out_frontier->size = size;
	for (size_t level = TREE_LEVELS; level-- > 0;) {
		if (!(size >> level & 1))
			continue;
		memcpy(out_frontier->nodes[level].bytes, at, HASH_SIZE);
		at += HASH_SIZE;
	}
	return true;
}

/* The largest power of two below `count`; count > 1. */
static uint64_t split_of(uint64_t count)
{
	return (uint64_t)1 << (63 - __builtin_clzll(count - 1));
}

/*
 * The root over leaves from `begin` to before `end`, where begin is a multiple of a power of two
 * that is at least end - begin: a part that a fork of the tree leads to.
 */
static int read_part(const struct tree_nodes *nodes, uint64_t begin, uint64_t end,
		     struct hash *out_hash)
{
	uint64_t count = end - begin;
	bool is_first = true;
	struct hash node;

	for (unsigned level = 0; level < TREE_LEVELS; level++) {
		int r;

		if (!(count >> level & 1))
			continue;
		end -= (uint64_t)1 << level;
		r = nodes->read(nodes->state, level, end >> level, &node);
		if (r != 0)
			return r;
		if (is_first)
			*out_hash = node;
		else
			tree_hash_node(&node, out_hash, out_hash);
		is_first = false;
	}
	return 0;
}

int tree_root_at(const struct tree_nodes *nodes, uint64_t size, struct hash *out_root)
{
	require(size <= TREE_SIZE_MAX);
	if (size == 0)
		hash_bytes(NULL, 0, out_root);
	return read_part(nodes, 0, size, out_root);
}

static int note_part(const struct tree_nodes *nodes, uint64_t begin, uint64_t end,
		     struct tree_proof *proof)
{
	require(proof->count < TREE_PROOF_MAX);
	return read_part(nodes, begin, end, &proof->hashes[proof->count++]);
}

/* Noted on the way down, told on the way up. */
static void reverse(struct tree_proof *proof)
{
	for (size_t i = 0; i < proof->count / 2; i++) {
		struct hash hash = proof->hashes[i];

		proof->hashes[i] = proof->hashes[proof->count - 1 - i];
		proof->hashes[proof->count - 1 - i] = hash;
	}
}

int tree_prove_inclusion(const struct tree_nodes *nodes, uint64_t index, uint64_t size,
			 struct tree_proof *out_proof)
{
	uint64_t begin = 0, end = size;
	int r = 0;

	require(index < size && size <= TREE_SIZE_MAX);
	out_proof->count = 0;
	while (end - begin > 1 && r == 0) {
		uint64_t middle = begin + split_of(end - begin);

		if (index < middle) {
			r = note_part(nodes, middle, end, out_proof);
			end = middle;
		} else {
			r = note_part(nodes, begin, middle, out_proof);
			begin = middle;
		}
	}
	reverse(out_proof);
	return r;
}

int tree_prove_consistency(const struct tree_nodes *nodes, uint64_t old_size, uint64_t size,
			   struct tree_proof *out_proof)
{
	uint64_t begin = 0, end = size;
	int r = 0;

	require(old_size > 0 && old_size <= size && size <= TREE_SIZE_MAX);
	out_proof->count = 0;
	while (end != old_size && r == 0) {
		uint64_t middle = begin + split_of(end - begin);

		if (old_size <= middle) {
			r = note_part(nodes, middle, end, out_proof);
			end = middle;
		} else {
			r = note_part(nodes, begin, middle, out_proof);
			begin = middle;
		}
	}
	/* The old root itself is known to who checks; a part of it is not. */
	if (begin != 0 && r == 0)
		r = note_part(nodes, begin, end, out_proof);
	reverse(out_proof);
	return r;
}

bool tree_inclusion_holds(const struct tree_proof *proof, uint64_t index, uint64_t size,
			  const struct hash *leaf, const struct hash *root)
{
	uint64_t at = index, last = size - 1;
	struct hash node = *leaf;

	if (index >= size || size > TREE_SIZE_MAX || proof->count > TREE_PROOF_MAX)
		return false;
	for (size_t i = 0; i < proof->count; i++) {
		if (last == 0)
			return false; /* longer than the way */
		if (at & 1 || at == last) {
			tree_hash_node(&proof->hashes[i], &node, &node);
			while (!(at & 1) && at != 0) {
				at >>= 1;
				last >>= 1;
			}
		} else {
			tree_hash_node(&node, &proof->hashes[i], &node);
		}
		at >>= 1;
		last >>= 1;
	}
	return last == 0 && hash_equal(&node, root);
}

/* Up from a part that both trees have, building both roots. */
static bool climb(const struct tree_proof *proof, size_t next, uint64_t at, uint64_t last,
		  struct hash *old_node, struct hash *new_node)
{
	for (; next < proof->count; next++) {
		const struct hash *hash = &proof->hashes[next];

		if (last == 0)
			return false;
		if (at & 1 || at == last) {
			tree_hash_node(hash, old_node, old_node);
			tree_hash_node(hash, new_node, new_node);
			while (!(at & 1) && at != 0) {
				at >>= 1;
				last >>= 1;
			}
		} else {
			tree_hash_node(new_node, hash, new_node);
		}
		at >>= 1;
		last >>= 1;
	}
	return last == 0;
}

bool tree_consistency_holds(const struct tree_proof *proof, uint64_t old_size, uint64_t size,
			    const struct hash *old_root, const struct hash *root)
{
	uint64_t at = old_size - 1, last = size - 1;
	struct hash old_node, new_node;
	size_t next = 0;

	if (old_size == 0 || old_size > size || size > TREE_SIZE_MAX ||
	    proof->count > TREE_PROOF_MAX)
		return false;
	if (old_size == size)
		return proof->count == 0 && hash_equal(old_root, root);
	if (proof->count == 0)
		return false;
	while (at & 1) {
		at >>= 1;
		last >>= 1;
	}
	old_node = at ? proof->hashes[next++] : *old_root;
	new_node = old_node;
	return climb(proof, next, at, last, &old_node, &new_node) &&
	       hash_equal(&old_node, old_root) && hash_equal(&new_node, root);
}
