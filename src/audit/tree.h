/*
 * The tree over the log's entries (RFC 6962 § 2.1).
 *
 * A leaf is the hash of an entry, an inner node the hash of two below it; the root says what
 * all entries are and in which order. What it takes to add a leaf is the frontier: one hash for
 * each bit that is set in the number of leaves. What it takes to prove something are the roots
 * of whole subtrees, asked for through a table, from wherever they are kept (tiles.h).
 *
 * A node is named by level and index: the root over leaves index << level to
 * ((index + 1) << level) - 1, all of which are there.
 *
 * Nothing here does I/O or allocates; any thread.
 */
#ifndef AUDIT_TREE_H
#define AUDIT_TREE_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TREE_LEVELS = 63,	      /* of whole subtrees, for any size */
	TREE_PROOF_MAX = 64,	      /* hashes of one proof, for any size */
	TREE_FRONTIER_SIZE_MAX = 2024 /* bytes of a written frontier */
};

/* No tree is larger: sizes fit a signed 64-bit column everywhere. */
#define TREE_SIZE_MAX INT64_MAX

/*
 * A plain value of some 2 KiB: to undo what was appended, assign a copy taken before. Written
 * down it has 8 bytes and 32 for each set bit of `size`.
 */
struct tree_frontier {
	uint64_t size;			/* leaves so far */
	struct hash nodes[TREE_LEVELS]; /* [l]: the last whole subtree of 2^l leaves; counts
					   where bit l of `size` is set */
};

/* The nodes that became whole by one leaf: levels 0 to count - 1. */
struct tree_growth {
	uint64_t leaf; /* the leaf's index; node `level` has the index leaf >> level */
	size_t count;  /* at least 1 */
	struct hash nodes[TREE_LEVELS];
};

struct tree_proof {
	size_t count;
	struct hash hashes[TREE_PROOF_MAX]; /* from the leaf's end to the root's */
};

/* Where the roots of whole subtrees come from. */
struct tree_nodes {
	/* 0 and *out_hash; anything else ends what asked, which returns it. */
	int (*read)(void *state, unsigned level, uint64_t index, struct hash *out_hash);
	void *state;
};

void tree_hash_leaf(struct str entry, struct hash *out_hash);
void tree_hash_node(const struct hash *left, const struct hash *right, struct hash *out_hash);

/* The frontier of no leaves. */
void tree_frontier_init(struct tree_frontier *frontier);

/*
 * Add a leaf: two hashes on average, 63 at most. What became whole is in *out_growth (NULL: not
 * wanted). 0; FAIL_LIMIT at TREE_SIZE_MAX, nothing is changed.
 */
int tree_append(struct tree_frontier *frontier, const struct hash *leaf,
		struct tree_growth *out_growth);

/* The root of what is there. */
void tree_root(const struct tree_frontier *frontier, struct hash *out_root);

/* Append the written form: size (64-bit big-endian), then the hashes that count, high ones first.
 * As buf_append(). */
int tree_frontier_write(const struct tree_frontier *frontier, struct buf *out);

/* All of `bytes` must be one written frontier. False, and nothing is changed, when it is not. */
bool tree_frontier_read(struct str bytes, struct tree_frontier *out_frontier);

/* The root over the first `size` leaves from stored nodes. 0, or what nodes->read returned. */
int tree_root_at(const struct tree_nodes *nodes, uint64_t size, struct hash *out_root);

/*
 * The way from leaf `index` to the root over `size` leaves (RFC 6962 § 2.1.1); index < size.
 * 0, or what nodes->read returned.
 */
int tree_prove_inclusion(const struct tree_nodes *nodes, uint64_t index, uint64_t size,
			 struct tree_proof *out_proof);

/*
 * That the tree over `size` leaves begins with the one over `old_size` (RFC 6962 § 2.1.2);
 * 0 < old_size <= size. 0, or what nodes->read returned.
 */
int tree_prove_consistency(const struct tree_nodes *nodes, uint64_t old_size, uint64_t size,
			   struct tree_proof *out_proof);

/* Does the proof lead from `leaf` at `index` to the root? Of any arguments. */
bool tree_inclusion_holds(const struct tree_proof *proof, uint64_t index, uint64_t size,
			  const struct hash *leaf, const struct hash *root);

/*
 * Does the proof lead from the old root to the new one? Of any arguments; a proof from the empty
 * tree says nothing and never holds.
 */
bool tree_consistency_holds(const struct tree_proof *proof, uint64_t old_size, uint64_t size,
			    const struct hash *old_root, const struct hash *root);

#endif
