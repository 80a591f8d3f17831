/*
 * The growing end of a log: what the store keeps to add the next entry.
 *
 * For the store. One writer per log: the tip belongs to the thread that commits. Entry, growth and
 * tip are written in the transaction that changes the state the entry speaks of:
 *
 *   before = *tip;                               a plain copy, some 2 KiB
 *   tip_append(tip, …) once for each entry       entry bytes, and the nodes that became whole
 *   insert the bytes; write the tip (tip_write) once
 *   commit;   when that failed: *tip = before
 *
 * After a commit of which nobody knows whether it took place, the tip is read again from the
 * store. Two writers who each append to a copy fork the log: that is what must never be.
 *
 * An append costs four or so SHA-256 of short texts, one of the entry, and its encryption; it
 * allocates only in `out`. Nodes of levels that are multiples of 8 are what tiles hold; the others
 * need not be kept.
 */
#ifndef AUDIT_TIP_H
#define AUDIT_TIP_H

#include "audit/entry.h"
#include "audit/tree.h"
#include "base/buf.h"

enum { TIP_SIZE_MAX = HASH_SIZE + TREE_FRONTIER_SIZE_MAX };

struct tip {
	struct tree_frontier frontier; /* frontier.size is the next entry's seq */
	struct hash last;	       /* the last entry's leaf hash; zeros before the first */
};

/* What the caller knows of the next entry; seq and prev follow from the tip. */
struct tip_entry {
	enum entry_type type;
	uint32_t epoch;
	uint64_t time_ms;
	uint8_t nonce[ENTRY_NONCE_SIZE]; /* random, new for each entry */
	struct str text;		 /* one JSON object, at most ENTRY_TEXT_MAX */
};

/* The tip of an empty log. */
void tip_init(struct tip *tip);

/*
 * Append the entry's bytes to `out` and move the tip. *out_growth (NULL: not wanted) has the leaf
 * hash as its first node. `key` may be NULL for the types that are not encrypted.
 * 0; FAIL_LIMIT or FAIL_MEMORY as entry_write() and tree_append(): the tip is as it was.
 */
int tip_append(struct tip *tip, const struct tip_entry *entry, const struct entry_key *key,
	       struct buf *out, struct tree_growth *out_growth);

/* The root over everything, to be signed once it has been committed. */
void tip_root(const struct tip *tip, struct hash *out_root);

/* Append the written form, at most TIP_SIZE_MAX bytes: last, then the frontier. As buf_append(). */
int tip_write(const struct tip *tip, struct buf *out);

/* All of `bytes`. False, and nothing is changed, when they are no tip. */
bool tip_read(struct str bytes, struct tip *out_tip);

#endif
