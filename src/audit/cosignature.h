/*
 * Cosignatures (c2sp.org/tlog-cosignature, with Ed25519): what a witness adds to a checkpoint.
 *
 * A line among a note's signatures, of a key whose byte is 4: base64 of the key's id, a time in
 * seconds (64-bit big-endian) and Ed25519 over
 *
 *   cosignature/v1
 *   time 1679315147
 *   <the checkpoint's text>
 *
 * It says that at that time this was the largest tree of the log that the witness had seen, and
 * that it begins with all that it saw before. The time is the witness's word: it is told, never
 * judged. Cosignatures with ML-DSA-44 (byte 6) are others' and passed over.
 *
 * Any thread; no I/O.
 */
#ifndef AUDIT_COSIGNATURE_H
#define AUDIT_COSIGNATURE_H

#include "audit/note.h"

struct cosignature {
	struct str line; /* of the note, with its newline */
	uint64_t time_s; /* since 1970, as the witness says */
};

/* A witness's key, "name+id+base64" with the byte 4. All of `text`. */
bool cosignature_key_read(struct str text, struct note_verifier *out_witness);

/*
 * Has the witness cosigned the note? NOTE_GOOD and *out_cosignature, the first of them;
 * NOTE_UNKNOWN: it has not; NOTE_BAD_SIGNATURE: by its name and id, and it does not hold.
 */
enum note_verdict cosignature_check(const struct note *note, const struct note_verifier *witness,
				    struct cosignature *out_cosignature);

/*
 * Write `checkpoint` (a note) with the line `added`, in place of what the same key had signed
 * before. FAIL_LIMIT: no reader would take so many.
 * `out` is empty before, and after a failure of no use. Else as buf_append().
 */
int cosignature_add(struct str checkpoint, struct str added, struct buf *out);

#endif
