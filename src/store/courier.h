/*
 * The thread that carries checkpoints to where this machine's owner cannot rewrite them: anchors
 * that take them by HTTP PUT, and witnesses that cosign them.
 *
 * The sealer hands it each checkpoint when it is published; it carries the newest, and what came in
 * between is left out. An anchor gets it under <url>/checkpoints/<size> and <url>/checkpoint. A
 * witness is shown that the log has only grown since it saw it last, and its cosignature goes back
 * to the sealer, into the published files, and to the anchors. Neither the store nor the sealer
 * ever waits for any of them.
 *
 * An anchor is asked what it has before it is first written to: what is there and is newer, or of
 * another history, is what tells that this data directory is not the newest one, and is never
 * written over. At the start that ends the start; later, when an anchor could not be reached
 * before, it is told in the log.
 *
 * Can fail: everything that is asked. It is told once in the log and tried again, after a pause
 * that grows to PAUSE_MAX_S, and with each newer checkpoint that comes after the pause.
 */
#ifndef STORE_COURIER_H
#define STORE_COURIER_H

#include "audit/tree.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum { COURIER_PLACES_MAX = 16 }; /* anchors, and witnesses */

/* What it asks of the published log; called from its thread, and from courier_compare(). */
struct courier_log {
	/* publisher_compare_bytes(), publisher_prove(), publisher_cosign(). */
	int (*compare)(void *state, const char *anchor, const struct buf *bytes, char *why,
		       size_t why_size);
	int (*prove)(void *state, uint64_t old_size, uint64_t size, struct tree_proof *out_proof);
	int (*cosign)(void *state, uint64_t size, struct str line);
	void *state;
};

struct courier_order {
	const struct str *anchors; /* addresses; copied, as all of this */
	size_t anchor_count;
	const struct str *witnesses; /* "URL KEY" each (audit/witness.h) */
	size_t witness_count;
	struct courier_log published;
	struct log *log;
};

struct courier;

/* Nothing runs yet. 0; FAIL_LIMIT: too many, or one that is malformed; FAIL_MEMORY. */
int courier_open(const struct courier_order *order, struct courier **out_courier);

/*
 * Hold the published log against the anchors, for START_MS at most. 0, also where some cannot be
 * reached now, which is a warning; PUBLISHER_FORKED with `why`.
 */
int courier_compare(struct courier *courier, char *why, size_t why_size);

/* Start the thread. 0, FAIL_MEMORY. */
int courier_start(struct courier *courier);

/* Of how many the last call ended badly. Any thread. */
struct courier_troubles {
	size_t anchors, witnesses;
};
void courier_troubles(struct courier *courier, struct courier_troubles *out_troubles);

/* A checkpoint of that size has been published; copied. Any thread; does not block. */
void courier_give(struct courier *courier, uint64_t size, struct str checkpoint);

/* Carry what was given, for LINGER_S at most, and end the thread. Safe on NULL. */
void courier_close(struct courier *courier);

#endif
