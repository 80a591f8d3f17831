/*
 * Signed notes (c2sp.org/signed-note): a text, an empty line, one signature a line.
 *
 *   a text of lines
 *
 *   — name base64(key id, signature)
 *
 * A key is known by its name and its id together: the first four bytes of SHA-256(name, newline,
 * 1, public key), where 1 says Ed25519. Signatures by others (witnesses, other algorithms, the
 * log's next key) may stand beside ours and are passed over. Until note_check() has said NOTE_GOOD
 * a text is worth nothing.
 *
 * Any thread; no I/O.
 */
#ifndef AUDIT_NOTE_H
#define AUDIT_NOTE_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NOTE_SIZE_MAX = 1 << 20,
	NOTE_SIGNATURES_MAX = 128, /* readers must take 16; one with ML-DSA has 5 kB */
	NOTE_NAME_MAX = 255,	   /* bytes of a key's name */
	NOTE_KEY_MAX = 320,	   /* bytes of a written verifier key, its NUL with it */
	NOTE_SEED_SIZE = 32,
	NOTE_PUBLIC_SIZE = 32,
	NOTE_SECRET_SIZE = 64,
};

/* The byte of a key that says what it signs. */
enum note_algorithm {
	NOTE_ED25519 = 1,     /* the text */
	NOTE_COSIGNATURE = 4, /* a time and the text, with Ed25519 too (cosignature.h) */
};

/* A public key that signatures are checked with. A plain value. */
struct note_verifier {
	char name[NOTE_NAME_MAX + 1];
	uint32_t id;
	uint8_t public_key[NOTE_PUBLIC_SIZE];
};

/* A key to sign with, and its public half. */
struct note_signer {
	struct note_verifier verifier;
	uint8_t secret[NOTE_SECRET_SIZE];
};

/* A note taken apart; points into its bytes. */
struct note {
	struct str text;       /* with its last newline */
	struct str signatures; /* the lines; each is well-formed */
	size_t count;	       /* of them, at least 1 */
};

/* One line of a note's signatures; points into them. */
struct note_signature {
	struct str line;  /* with its newline */
	struct str name;  /* of the key */
	uint32_t id;	  /* of the key */
	struct str coded; /* base64 of the id and what was signed with it */
};

enum note_verdict {
	NOTE_GOOD,	    /* at least one known key signed it, and all known ones hold */
	NOTE_UNKNOWN,	    /* no known key's */
	NOTE_BAD_SIGNATURE, /* by a known key's name and id, and it does not hold */
};

/* Not empty, UTF-8, no white space, control characters or +, at most NOTE_NAME_MAX bytes. */
bool note_name_is_good(struct str name);

/* From the seed that is kept. False when the name is not good. */
bool note_signer_init(struct note_signer *signer, struct str name,
		      const uint8_t seed[NOTE_SEED_SIZE]);
void note_signer_fini(struct note_signer *signer); /* wipes it; safe on NULL */

/* "name+id+base64": all of `text`, with the id that belongs to name and key. */
bool note_verifier_read(struct str text, struct note_verifier *out_verifier);
/* The same for a key of that algorithm. */
bool note_verifier_read_as(struct str text, enum note_algorithm algorithm,
			   struct note_verifier *out_verifier);
void note_verifier_write(const struct note_verifier *verifier, char out[NOTE_KEY_MAX]);
bool note_verifier_equal(const struct note_verifier *a, const struct note_verifier *b);

/*
 * Append `text` (lines, ended by a newline, without an empty one at the end), the empty line and
 * one signature. As buf_append().
 */
int note_sign(struct str text, const struct note_signer *signer, struct buf *out);

/* All of `bytes` must be one note. Nothing is said of its signatures. */
bool note_read(struct str bytes, struct note *out_note);

/* Take the next line off `signatures`, which are a note's. False: none is left. */
bool note_next(struct str *signatures, struct note_signature *out_signature);

/* Is it the signature of the key with this name and id? */
bool note_is_by(const struct note_signature *signature, const struct note_verifier *verifier);

/* *out_index is the first of the `count` verifiers that signed it; set with NOTE_GOOD only. */
enum note_verdict note_check(const struct note *note, const struct note_verifier *verifiers,
			     size_t count, size_t *out_index);

#endif
