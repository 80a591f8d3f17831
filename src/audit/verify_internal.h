/*
 * What the parts of verification share: one walk along a log.
 *
 *   verify.c          begins it, and judges at its end
 *   verify_entries.c  goes along bundles and tiles
 *   verify_signed.c   compares what is signed with the tree as it is at that size
 */
#ifndef AUDIT_VERIFY_INTERNAL_H
#define AUDIT_VERIFY_INTERNAL_H

#include "audit/checkpoint.h"
#include "audit/tiles.h"
#include "audit/tree.h"
#include "audit/verify.h"
#include "base/arena.h"

enum { WALK_NOTE_MEMORY = 4 << 20 }; /* for the JSON of a certificate or seal: 32 times its bytes */

/* Something signed that the log did not choose the moment of. */
struct walk_anchor {
	bool is_there;
	struct checkpoint checkpoint;
	struct note note;
	struct buf bytes;
};

/* A tile of hashes that entries are compared with. */
struct walk_tile {
	bool is_loaded; /* its index has been asked for */
	uint64_t index;
	struct buf bytes; /* empty: it is not there */
};

struct walk_epoch {
	uint32_t number;
	uint64_t first_seq;
	bool has_key; /* the key is known */
	struct note_verifier key;
	bool has_next;	    /* a certificate has named the next one */
	bool next_is_known; /* …and may be believed */
	struct note_verifier next;
	bool is_sealed; /* its last entry has been seen */
};

/* Entries from `from` to before `to`: a gap, or one that entry `seq` allows. */
struct walk_gap {
	uint64_t from, to, seq;
};
enum { WALK_GAPS_MAX = 8192 };

struct walk {
	const struct verify_order *order;
	struct verify_report *report;

	/* Set when it begins. */
	struct walk_anchor tip, since;
	uint64_t *sizes; /* of the history, in order */
	size_t size_count, size_room;
	uint64_t size_max; /* the largest that anything signed claims */

	/* As far as it has come. */
	struct tree_frontier frontier;
	struct hash last;     /* the last entry's leaf */
	bool last_is_vouched; /* its tile agrees */
	struct walk_epoch epoch;
	size_t next_size;    /* of `sizes` */
	unsigned last_width; /* of the bundle that was walked last, as its name says */
	struct walk_tile tiles[TILE_LEVELS];
	struct buf bundle, file, newer;
	struct arena mem;

	struct walk_gap *gaps, *allowed;
	size_t gap_count, allowed_count;

	/* What was found. `why` of each is a constant text. */
	bool is_assumed; /* that the operator's key is the first epoch's: nothing said so yet */
	const char *bad_why;
	const char *signature_why;
	const char *early_why; /* a key that is unknown, if the operator's is not a later one */
	uint64_t early_count;
	uint64_t early_mismatch; /* the first such root that differs: its size and one; 0: none */
	const char *key_why;
	bool has_mismatch; /* a root that a key signed is not this tree's */
	uint64_t mismatch_size,
		mismatch_after; /* the first one's, and the last good one's before */
	uint64_t good_size;	/* of the last signed root that is this tree's */
};

/* An entry is wrong, or one of these; the first that is found counts. */
void walk_blame(struct walk *walk, uint64_t from, uint64_t to, const char *why);

/*
 * Read the newest checkpoint again, which a gate that runs replaces. *out_has_moved: it is of a
 * larger tree than the one that was known, and takes its place. 0, or a failure.
 */
int walk_read_tip(struct walk *walk, bool *out_has_moved);

/* Go along all entries. 0, or a failure. */
int walk_entries(struct walk *walk);

/* Compare what speaks of the tree of the size that the walk has reached. */
int walk_meet_signed(struct walk *walk);

/* An entry of the next place, before it joins the tree: epochs, certificates and seals. */
int walk_meet_entry(struct walk *walk, const struct entry *entry);

/* The same for one that is not there. */
void walk_meet_pruned(struct walk *walk);

/* Note a gap, or what allows one. 0; FAIL_LIMIT, FAIL_MEMORY. */
int walk_note_gap(struct walk_gap **gaps, size_t *count, struct walk_gap gap);

/* What speaks of a tree that is larger than what is there. */
int walk_meet_beyond(struct walk *walk);

#endif
