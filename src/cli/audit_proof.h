/*
 * Proofs of the audit log as files: written from its tiles, checked with a public key and nothing
 * else.
 *
 *   entry-<N>.tlog-proof         that entry N is in the log (c2sp.org/tlog-proof); the entry itself
 *                                is its extra data
 *   since-<size>.tlog-consistency that the log begins with a checkpoint that was kept elsewhere:
 * what c2sp.org/tlog-witness sends, "old <size>", hashes, the checkpoint
 */
#ifndef CLI_AUDIT_PROOF_H
#define CLI_AUDIT_PROOF_H

#include "audit/note.h"
#include "audit/proof.h"

/* What a file proves, for whoever reads it. */
struct audit_proof_facts {
	bool is_consistency;
	uint64_t size;	   /* of the newer checkpoint */
	uint64_t old_size; /* consistency: of the older one */
	uint64_t index;	   /* inclusion: the entry's */
};

/*
 * A file as bytes. PROOF_HOLDS and *out_facts; else what is wrong. `since` is the older checkpoint
 * of a consistency proof, whole; `at` NULL: there is none, which is PROOF_MALFORMED there.
 */
enum proof_verdict audit_proof_check(struct str bytes, struct str since,
				     const struct note_verifier *key,
				     struct audit_proof_facts *out_facts);

/* Append the proof that the tree of `checkpoint` (a signed one) begins with `old_size` leaves. */
int audit_consistency_write(const struct tree_proof *proof, uint64_t old_size,
			    struct str checkpoint, struct buf *out);

#endif
