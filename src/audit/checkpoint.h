/*
 * Checkpoints (c2sp.org/tlog-checkpoint): the size and root of a log, in three lines, signed.
 *
 *   example.com/log
 *   2
 *   OklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM=
 *
 *   — example.com/log VHQgBvQu…
 *
 * The log's key has the name of its origin. Lines after the third are others' extensions: read,
 * passed over, never written. Any thread; no I/O.
 */
#ifndef AUDIT_CHECKPOINT_H
#define AUDIT_CHECKPOINT_H

#include "audit/note.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	CHECKPOINT_HASH_TEXT = 44, /* base64 of a hash */
	CHECKPOINT_TEXT_MAX = NOTE_NAME_MAX + 20 + CHECKPOINT_HASH_TEXT + 3
};

struct checkpoint {
	struct str origin;
	uint64_t size;
	struct hash root;
};

/*
 * Append the signed checkpoint; the origin is the signer's name. As buf_append().
 *
 * Whoever signs must never sign two that are not the beginning of one another: the root comes from
 * what the store has committed.
 */
int checkpoint_sign(uint64_t size, const struct hash *root, const struct note_signer *signer,
		    struct buf *out);

/* The text of a note; *out_checkpoint points into it. Says nothing of signatures. */
bool checkpoint_read(struct str text, struct checkpoint *out_checkpoint);

/* A hash as 44 characters and back, in the one spelling that there is; all of `text`. */
void checkpoint_hash_write(const struct hash *hash, char out[CHECKPOINT_HASH_TEXT + 1]);
bool checkpoint_hash_read(struct str text, struct hash *out_hash);

/* Decimal, no zero in front, at most TREE_SIZE_MAX; all of `text`. */
bool checkpoint_number_read(struct str text, uint64_t *out_number);

#endif
