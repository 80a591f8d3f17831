/*
 * Epochs: how the log's key changes, so that today's key cannot rewrite yesterday.
 *
 * An epoch's key signs its checkpoints. At the end it vouches for the next key in a certificate
 * entry, says in a seal entry that this is the end, signs one last checkpoint, and is erased. The
 * writer's order, in one epoch e:
 *
 *   entries…  certificate (7)  seal (9)  checkpoint over all of it, by key e   erase key e
 *   entries of e + 1…
 *
 * A log that ends has a last seal without a certificate before it. An epoch may have no other
 * entries than these.
 *
 * Both payloads are one JSON object whose only member holds a signed note. It names size and root
 * of the tree before the entry, so whoever steals a later key and writes the log anew has to leave
 * out or to forge what an erased key has said:
 *
 *   {"certificate": note}           {"seal": note}
 *   counterfoil/epoch-certificate/1 counterfoil/epoch-seal/1
 *   <origin>                        <origin>
 *   <epoch>                         <epoch>
 *   <seq of this entry>             <seq of this entry>
 *   <root over all before, base64>  <root over all before, base64>
 *   <verifier key of epoch + 1>     <seq of the epoch's first entry>
 *
 * No such note can be taken for a checkpoint: its third line is no hash. Any thread; no I/O.
 */
#ifndef AUDIT_EPOCH_H
#define AUDIT_EPOCH_H

#include "audit/checkpoint.h"
#include "audit/note.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum { EPOCH_NOTE_MAX = 2048 }; /* bytes of such a note as we write it */

/* What a certificate or a seal says. */
struct epoch_note {
	uint32_t epoch;
	uint64_t seq;		   /* of the entry it stands in: the size of the tree before */
	struct hash root;	   /* of that tree */
	struct note_verifier next; /* a certificate's */
	uint64_t first_seq;	   /* a seal's */
	struct note note;	   /* to check its signature; filled by reading */
};

/* Append the payload of an entry. The origin is the signer's name. As buf_append(). */
int epoch_certificate_write(const struct epoch_note *said, const struct note_signer *signer,
			    struct buf *out);
int epoch_seal_write(const struct epoch_note *said, const struct note_signer *signer,
		     struct buf *out);

/* A payload, of the log of this origin; lives in `mem`. Says nothing of signatures. */
bool epoch_certificate_read(struct str payload, struct str origin, struct arena *mem,
			    struct epoch_note *out_said);
bool epoch_seal_read(struct str payload, struct str origin, struct arena *mem,
		     struct epoch_note *out_said);

#endif
