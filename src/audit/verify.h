/*
 * Verifying a whole log from its files, with public keys only.
 *
 * All entries are hashed again, in their order; wherever something signed speaks of the tree of
 * that size (the checkpoint, the history of checkpoints, one that the operator kept elsewhere,
 * certificates and seals inside), the root is compared and the signature checked with the key of
 * that epoch. The key comes from the operator, never from the log; keys of later epochs come from
 * certificates signed by the epoch before. What is found is judged once, at the end.
 *
 *   result         means
 *   ok             every entry is as it was signed
 *   ok-unsealed    so it is, and entries follow that no checkpoint covers yet
 *   tampered       entries or tiles are not what was signed, or do not follow one another
 *   truncated      entries are missing that the log's own checkpoint, or tiles that it, speaks of
 *   rolled-back    the log agrees with its own checkpoint, and a newer one had been signed
 *   forked         the log's keys have signed two histories
 *   bad-signature  by a known key's name and id, and it does not hold; or no checkpoint at all
 *                  where one should be
 *   key-mismatch   signed by a key that neither the operator nor a certificate vouches for
 *   missing-anchor nothing signed is there to hold the entries against
 *   not-witnessed  a cosignature was asked for, and the newest checkpoint has none by that witness;
 *                  one by its name and id that does not hold is a bad-signature
 *
 * Entries of an epoch whose data key is erased may have been taken away. Their hashes are in the
 * tiles still, and are what was signed; an entry under a checkpoint must have said so, else it is
 * tampering.
 *
 * Of several findings the one that says most of what happened to the entries is told: they are
 * tampered with before a signature is bad, that before a key is unknown, before a root differs,
 * before something is missing.
 *
 * The operator's key may be of any epoch. What earlier keys have signed is then compared by its
 * root and counted as unchecked; only the first epoch's key protects all history from the thief of
 * a later one. A checkpoint to start from must be of the key's epoch or later.
 */
#ifndef AUDIT_VERIFY_H
#define AUDIT_VERIFY_H

#include "audit/entry.h"
#include "audit/log_reader.h"
#include "audit/note.h"
#include "base/hash.h"
#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum { VERIFY_CHECKPOINTS_MAX = 1 << 24, VERIFY_WHY_MAX = 240 };

enum verify_result {
	VERIFY_OK,
	VERIFY_OK_UNSEALED,
	VERIFY_TAMPERED,
	VERIFY_TRUNCATED,
	VERIFY_FORKED,
	VERIFY_ROLLED_BACK,
	VERIFY_BAD_SIGNATURE,
	VERIFY_MISSING_ANCHOR,
	VERIFY_KEY_MISMATCH,
	VERIFY_NOT_WITNESSED,
	VERIFY_RESULTS
};

struct verify_order {
	const struct log_reader *log;
	const struct note_verifier *key; /* the operator's; its name is the log's origin */
	struct str since;		 /* a checkpoint kept elsewhere, whole; `at` NULL: none */
	const struct note_verifier
		*witness; /* who must have cosigned the newest checkpoint; NULL */
	/*
	 * NULL, or told of every entry in its order, also of wrong ones; `entry` is NULL for one
	 * that is malformed. 0 to go on; anything else ends verification and is returned.
	 */
	int (*on_entry)(void *state, uint64_t index, struct str bytes, const struct entry *entry);
	void *state;
};

struct verify_report {
	enum verify_result result;
	char why[VERIFY_WHY_MAX]; /* a sentence; empty with VERIFY_OK */
	uint64_t entries;	  /* that are there, or were pruned */
	uint64_t
		pruned; /* of them, taken away after an entry had said so: their hashes are there */
	uint64_t erased;   /* epochs whose data key is erased, as entries say */
	uint64_t unsealed; /* of them, covered by no checkpoint that holds */
	bool has_head;
	uint64_t head_size;    /* of the newest checkpoint that holds */
	struct hash head_root; /* its root */
	bool is_witnessed;     /* the newest checkpoint is cosigned by the witness asked for */
	uint64_t witnessed_s;  /* when, as it says; since 1970 */
	bool has_bad;
	uint64_t bad_from, bad_to; /* the first bad entry; between these where they differ */
	uint64_t unreadable;	   /* entries that are signed for and malformed */
	uint64_t first_unreadable;
	uint64_t checkpoints; /* that hold; the newest counts again as part of the history */
	uint64_t unchecked;   /* signed before the operator's key; only their roots were compared */
	uint64_t epochs;      /* that have begun */
	uint64_t seals;	      /* of them, that have ended */
	uint64_t missing_tiles;
};

/* "ok-unsealed", … */
const char *verify_result_text(enum verify_result result);

/* Is it ok, or ok-unsealed? */
static inline bool verify_result_is_good(enum verify_result result)
{
	return result == VERIFY_OK || result == VERIFY_OK_UNSEALED;
}

/* Write all of it as members of the object that is open. */
void verify_report_write(const struct verify_report *report, struct json_writer *json);

/*
 * Verify. Reads one file at a time, at most TILE_BUNDLE_MAX bytes of it.
 * 0 and *out_report, whatever it says; FAIL_IO, FAIL_MEMORY, FAIL_LIMIT (more than
 * VERIFY_CHECKPOINTS_MAX checkpoints), or what on_entry returned.
 */
int verify_log(const struct verify_order *order, struct verify_report *out_report);

#endif
