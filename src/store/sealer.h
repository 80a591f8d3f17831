/*
 * The thread that publishes the audit log, so that no writer waits for its files.
 *
 * The store's thread hands it committed entries, a slice at a time and in their order; it takes
 * them (audit/publisher.h), seals when told to, and copies each checkpoint to the anchors that are
 * folders; those that are not, and witnesses, have a courier (courier.h). What is published was
 * committed before, so a crash at any point leaves files that are the beginning of the store's log.
 * What whole bundles keep the store need not have any more, published or not.
 *
 * Can fail: the disk. It says so once in the log, waits, opens the files again and goes on from
 * their checkpoint; `next` says from where. Entries that do not follow what is published, or files
 * that are not what was signed, end publishing for this process: a person has to look.
 */
#ifndef STORE_SEALER_H
#define STORE_SEALER_H

#include "audit/publisher.h"
#include "base/log.h"

#include <stdbool.h>

/* An epoch ends: entries from `first` on, and checkpoints of more entries, are the next key's. */
struct sealer_turn {
	uint64_t first;
	struct note_signer signer;
};

struct sealer_order {
	const char *path;		       /* of the log's folder; copied, as all of this */
	const struct note_signer *signer;      /* of the epoch that is being published */
	const struct sealer_turn *turn;	       /* where that one ends; NULL: it has not */
	const struct note_verifier *verifiers; /* of all epochs */
	size_t verifier_count;
	const struct str *anchors; /* folders and web addresses */
	size_t anchor_count;
	const struct str *witnesses; /* "URL KEY" */
	size_t witness_count;
	struct log *log;
};

struct sealer;

/*
 * Open the files and hold them against the anchors; nothing runs yet. *out_published is the tip of
 * what is published. 0; PUBLISHER_FORKED, FAIL_IO, FAIL_MEMORY with `why`. An anchor that cannot be
 * read is a warning.
 */
int sealer_open(const struct sealer_order *order, struct sealer **out_sealer,
		struct tip *out_published, char *why, size_t why_size);

/*
 * Before it is started: take what is not published, and only whole bundles keep, up to before entry
 * `to`. *out_tip follows. 0; PUBLISHER_FORKED, FAIL_IO, FAIL_MEMORY with `why`.
 */
int sealer_find(struct sealer *sealer, uint64_t to, struct tip *out_tip, char *why,
		size_t why_size);

/* Start the thread. 0, FAIL_MEMORY. */
int sealer_start(struct sealer *sealer);

struct sealer_look {
	bool has_room;	 /* for a slice that begins with entry `next` */
	bool is_stopped; /* it waits after a failure, or has ended for good */
	uint64_t next;
	uint64_t sealed; /* entries that are published */
	uint64_t kept;	 /* entries that whole bundles keep */
};
void sealer_look(struct sealer *sealer, struct sealer_look *out_look);

/* How many anchors could not be given the last checkpoint that they were offered, and how many
 * witnesses did not cosign theirs. Any thread. */
void sealer_failing(struct sealer *sealer, size_t *out_anchors, size_t *out_witnesses);

/* Wait until there is room, or it is stopped. */
void sealer_wait(struct sealer *sealer, struct sealer_look *out_look);

/* Entries, one after another, and the leaf hash of each; none where those are to be made. */
struct sealer_slice {
	struct buf entries, leaves;
};
void sealer_slice_init(struct sealer_slice *slice);
void sealer_slice_fini(struct sealer_slice *slice);
void sealer_slice_clear(struct sealer_slice *slice);

/* Hand over a slice; only where there is room. It becomes another, empty one. */
void sealer_give(struct sealer *sealer, struct sealer_slice *slice, bool then_seal);

/*
 * Tell of the end of an epoch, before entries from there on are given; only where there is room.
 * What is up to there is published by itself and by the old key, which may then be erased. Nothing
 * is changed where that turn has been told of already.
 */
void sealer_turn(struct sealer *sealer, const struct sealer_turn *turn);

/*
 * Take away the entries of an epoch (publisher_prune()), beside what is given. Only where
 * sealer_has_pruned() says that the last ones are gone.
 */
void sealer_prune(struct sealer *sealer, uint64_t from, uint64_t to);
bool sealer_has_pruned(struct sealer *sealer);

/* Finish what was given, end the thread. Safe on NULL. */
void sealer_close(struct sealer *sealer);

#endif
