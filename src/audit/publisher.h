/*
 * Publishing a log: entries become files, and what is there is signed.
 *
 * The files are those of tiles.h and log_reader.h. Entries are taken one after another; a tile or
 * bundle that is whole is written at once and never again, and is durable a few of them later.
 * Sealing writes the parts that are not whole, then signs a checkpoint over everything taken, into
 * checkpoints/<size> and then under `checkpoint`. Each file is durable before the next one speaks
 * of it, so a crash leaves the last checkpoint and all that it needs, and publisher_open() goes on
 * from there; what whole bundles keep beyond it, publisher_find() finds again.
 *
 * Always true: an entry is taken only where it follows the one before it, and the first one taken
 * follows the published checkpoint, which is ours and is the root of its own tiles. So a checkpoint
 * is signed only over a tree that begins with the last one's.
 * Can fail: the disk (FAIL_IO, logged): what memory has is ahead of the files, and nothing more is
 * taken; close and open again. Somebody has changed entries or files (PUBLISHER_FORKED, `why`).
 *
 * Parts that are no longer needed are removed: those of a tile once it is whole, others two
 * checkpoints later, so that whoever reads the newest checkpoint finds what it names.
 *
 * One thread at a time.
 */
#ifndef AUDIT_PUBLISHER_H
#define AUDIT_PUBLISHER_H

#include "audit/disk.h"
#include "audit/log_reader.h"
#include "audit/note.h"
#include "audit/tiles.h"
#include "audit/tip.h"

enum { PUBLISHER_FORKED = 1 };

/* A tile of hashes, or the bundle, as far as it goes. */
struct publisher_part {
	struct buf bytes;
	uint64_t index;
	unsigned width;		 /* hashes, or entries, in `bytes`; below TILE_WIDTH */
	struct tile last, older; /* parts written for the last checkpoint and the one before */
	struct tile whole;	 /* the last whole one; width 0: its name lasts */
};

/* Who signs, and who else may have signed what is there: keys of other epochs. Borrowed. */
struct publisher_keys {
	const struct note_signer *signer;
	const struct note_verifier *known;
	size_t known_count;
};

struct publisher {
	struct log_folder folder;
	struct publisher_keys keys;
	struct tip tip;		     /* with all that has been taken */
	uint64_t published;	     /* size of the newest checkpoint */
	uint64_t kept;		     /* so many entries are in whole bundles that last */
	struct buf checkpoint, file; /* the newest one; scratch */
	struct publisher_part levels[TILE_LEVELS], bundle;
	struct disk_group whole; /* tiles and bundles that do not last yet */
	size_t history;		 /* checkpoints that are kept; 0: not counted yet */
	bool is_behind;		 /* a failure: the files are behind memory */
};

/*
 * Open the log in the folder `path`, made (0700) where it is not there. What `keys` points to is
 * borrowed. 0; PUBLISHER_FORKED or FAIL_IO, FAIL_MEMORY with `why`; nothing is open then.
 */
int publisher_open(struct publisher *publisher, const char *path, const struct publisher_keys *keys,
		   char *why, size_t why_size);
void publisher_close(struct publisher *publisher); /* safe on a zeroed one */

/* Move `tip` past this entry, where it follows. False, and nothing is changed, where not. `leaf` is
 * its leaf hash; NULL: it is made. */
bool publisher_follow(struct tip *tip, struct str entry, const struct hash *leaf,
		      struct tree_growth *out_growth);

/* Take the next entry, as publisher_follow() does. 0; PUBLISHER_FORKED: it does not follow;
 * FAIL_IO, FAIL_MEMORY. */
int publisher_take(struct publisher *publisher, struct str entry, const struct hash *leaf);

/*
 * Entries beyond the published ones, up to before entry `to`, as whole bundles keep them. `take` is
 * given each, and returns 0 to go on. 0; what it returned; PUBLISHER_FORKED: they are not there;
 * FAIL_IO, FAIL_MEMORY.
 */
int publisher_find(struct publisher *publisher, uint64_t to,
		   int (*take)(void *state, struct str entry), void *state);

/* Publish what has been taken. 0; PUBLISHER_FORKED, FAIL_IO, FAIL_MEMORY. */
int publisher_seal(struct publisher *publisher);

/* An epoch has ended, and all of it is published: the next one's key signs from now on. Borrowed.
 */
void publisher_turn(struct publisher *publisher, const struct note_signer *signer);

/*
 * Hold the published log against the checkpoint in another folder, an anchor. 0, also where there
 * is none yet; PUBLISHER_FORKED and `why`: it is another log's, newer than this one, or of another
 * history; FAIL_IO and `why`: it cannot be read now.
 */
int publisher_compare(struct publisher *publisher, const char *anchor, char *why, size_t why_size);

/* The same for the bytes of a checkpoint that an anchor keeps elsewhere. `anchor` is its name. */
int publisher_compare_bytes(struct publisher *publisher, const char *anchor,
			    const struct buf *bytes, char *why, size_t why_size);

/*
 * That the published tree of `size` entries begins with the one of `old_size`: nothing to show
 * where that is none, or the same. 0; LOG_ABSENT: not as large, or no longer to be read; FAIL_*.
 */
int publisher_prove(struct publisher *publisher, uint64_t old_size, uint64_t size,
		    struct tree_proof *out_proof);

/*
 * Put the line of a cosignature under the published checkpoint of that size, in its file of the
 * history and, where it is the newest, in `checkpoint`. *out_is_newest. 0; LOG_ABSENT: there is no
 * such checkpoint any more, or it can take no more; FAIL_IO, FAIL_MEMORY.
 */
int publisher_cosign(struct publisher *publisher, uint64_t size, struct str line,
		     bool *out_is_newest);

/* Copy the newest checkpoint there. 0, FAIL_IO and errno. */
int publisher_anchor(struct publisher *publisher, const char *anchor);

/*
 * A checkpoint has been added to the history of a log, or of an anchor: thin it out where it has
 * become long. *count is what is there, 0 where nobody has counted yet. Best effort.
 */
void publisher_thin(struct log_folder *folder, size_t *count);

/*
 * Take away the bundles of entries that lie wholly from entry `from` to before `to` and hold
 * nothing that verifying needs; an entry that is published must have said so. 0, FAIL_IO.
 */
int publisher_prune(struct publisher *publisher, uint64_t from, uint64_t to);

#endif
