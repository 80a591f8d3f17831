/*
 * One entry of the audit log, as bytes.
 *
 *   offset  size  field
 *        0     4  magic "CFA1"
 *        4     1  type
 *        5     1  flags: bit 0, the payload is encrypted; the others are zero
 *        6     4  epoch
 *       10     8  seq, the leaf's index
 *       18     8  time, Unix milliseconds
 *       26    32  prev: the leaf hash of seq - 1, zeros for the first
 *       58    32  commitment to the data key
 *       90    24  nonce, random (a counter would come again with a restored backup)
 *      114     4  length of the payload
 *      118     n  XChaCha20-Poly1305-IETF of the JSON object, with its tag; bytes 0 to 117 are
 *                 the associated data
 *
 * Integers are big-endian. The plaintext is one JSON object, which is not looked at here.
 *
 * The cipher alone does not say which key a text was sealed with: one text can be made that two
 * keys open differently. The commitment does, so an entry has one reading at most.
 *
 * Entries that verification without a key must read (certificates, seals, erased keys) are plain:
 * flag 0, commitment and nonce zero, the payload as it is. Exactly those types are; all others are
 * encrypted.
 *
 * Strict: an entry has one spelling, and anything else is ENTRY_MALFORMED. Any thread; no I/O.
 */
#ifndef AUDIT_ENTRY_H
#define AUDIT_ENTRY_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum entry_type {
	ENTRY_CLAIM = 1,
	ENTRY_APPROVAL = 2,
	ENTRY_SEND = 3,
	ENTRY_OUTCOME = 4,
	ENTRY_RESOLUTION = 5,
	ENTRY_LOCK = 6,
	ENTRY_CERTIFICATE = 7, /* the epoch's key vouches for the next one (epoch.h) */
	ENTRY_KEY_ERASED = 8,
	ENTRY_SEAL = 9, /* the last entry of an epoch (epoch.h) */
	ENTRY_REPLAY = 10,
	ENTRY_ADMINISTRATION = 11,
	ENTRY_TYPES = 12 /* one more than the last */
};

enum {
	ENTRY_HEAD_SIZE = 118,
	ENTRY_TAG_SIZE = 16,
	ENTRY_SIZE_MAX = 65535, /* what a bundle's length can say */
	ENTRY_KEY_SIZE = 32,
	ENTRY_NONCE_SIZE = 24,
	/* Longer payloads stay outside, by SHA-256 and length. */
	ENTRY_TEXT_MAX = ENTRY_SIZE_MAX - ENTRY_HEAD_SIZE - ENTRY_TAG_SIZE
};

/* What reading an entry may say instead of 0. */
enum {
	ENTRY_MALFORMED = 1, /* no entry in its one spelling */
	ENTRY_OTHER_KEY,     /* sealed with another data key */
	ENTRY_FORGED	     /* not what was sealed with this key */
};

struct entry {
	enum entry_type type;
	bool is_encrypted; /* as its type says */
	uint32_t epoch;
	uint64_t seq;
	uint64_t time_ms;
	struct hash prev;
	struct hash commitment;
	uint8_t nonce[ENTRY_NONCE_SIZE];
	struct str payload; /* ciphertext and tag, or the plain text */
};

/* A data key with its commitment, which takes a hash to make. */
struct entry_key {
	uint8_t secret[ENTRY_KEY_SIZE];
	struct hash commitment;
};

void entry_key_init(struct entry_key *key, const uint8_t secret[ENTRY_KEY_SIZE]);
void entry_key_fini(struct entry_key *key); /* wipes it; safe on NULL */

/* Has this type an encrypted payload? */
bool entry_type_is_encrypted(enum entry_type type);

/* "claim", …; "?" for no type. */
const char *entry_type_text(enum entry_type type);

/*
 * Append the entry. The caller gives type, epoch, seq, time, prev and, for an encrypted type, a
 * nonce of random bytes; is_encrypted, commitment and payload follow from type, key and text.
 * 0; FAIL_LIMIT (not logged) for a text over ENTRY_TEXT_MAX or a full buffer; FAIL_MEMORY. After
 * a failure `out` is as it was, but spoiled where the buffer was what failed.
 */
int entry_write(const struct entry *entry, const struct entry_key *key, struct str text,
		struct buf *out);

/*
 * The next of entries that stand one after another. False at their end. What is left and is no
 * entry is given out whole, for entry_read() to refuse.
 */
bool entry_next(struct str *rest, struct str *out_bytes);

/* All of `bytes` as an entry; the payload points into them. 0, ENTRY_MALFORMED with *out_why. */
int entry_read(struct str bytes, struct entry *out_entry, const char **out_why);

/*
 * Append the JSON text of an entry; `bytes` is the whole of it. `key` may be NULL for a plain
 * one. 0, ENTRY_MALFORMED, ENTRY_OTHER_KEY, ENTRY_FORGED, FAIL_LIMIT, FAIL_MEMORY.
 */
int entry_open(struct str bytes, const struct entry_key *key, struct buf *out);

#endif
