/*
 * Proofs that stand alone (c2sp.org/tlog-proof): that one entry is in the log, in a file that is
 * checked with the log's public key and nothing else.
 *
 *   c2sp.org/tlog-proof@v1
 *   extra <base64>              (optional; nobody vouches for it)
 *   index 1
 *   <hash, base64>              (from the leaf's sibling up)
 *
 *   <the checkpoint, signed>
 *
 * The files end in .tlog-proof. Any thread; no I/O.
 */
#ifndef AUDIT_PROOF_H
#define AUDIT_PROOF_H

#include "audit/checkpoint.h"
#include "audit/note.h"
#include "audit/tree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROOF_EXTRA_MAX = 65535, PROOF_SIZE_MAX = NOTE_SIZE_MAX + 100000 };

struct proof {
	struct str extra; /* bytes; `at` NULL: no such line */
	uint64_t index;
	struct tree_proof path;
	struct str checkpoint; /* the whole signed note */
};

enum proof_verdict {
	PROOF_HOLDS,
	PROOF_MALFORMED,     /* the checkpoint is none */
	PROOF_UNKNOWN,	     /* nobody known has signed the checkpoint, or it is another log's */
	PROOF_BAD_SIGNATURE, /* the checkpoint's signature does not hold */
	PROOF_FALSE	     /* the path does not lead from the entry to the checkpoint */
};

/* Append the file. FAIL_LIMIT where extra is over PROOF_EXTRA_MAX; else as buf_append(). */
int proof_write(const struct proof *proof, struct buf *out);

/* All of `bytes`; what is found points into them or into `mem`. False: malformed, or no room. */
bool proof_read(struct str bytes, struct arena *mem, struct proof *out_proof);

/* Is the entry with this leaf hash in the log of `verifier`? */
enum proof_verdict proof_check(const struct proof *proof, const struct hash *leaf,
			       const struct note_verifier *verifier);

#endif
