/*
 * What the parts of the courier share.
 *
 *   courier.c       its life, its thread, and when each place is asked again
 *   courier_call.c  what is said to an anchor and to a witness
 */
#ifndef STORE_COURIER_INTERNAL_H
#define STORE_COURIER_INTERNAL_H

#include "audit/note.h"
#include "audit/remote.h"
#include "store/courier.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { COURIER_WHY_MAX = 512 };

/* What became of a call. */
enum courier_end {
	COURIER_DONE,
	COURIER_AGAIN,	 /* it could not be reached, or did not understand */
	COURIER_REFUSED, /* what it knows contradicts this log, or it does not know the log */
};

/* An anchor, or a witness. */
struct courier_place {
	char url[REMOTE_URL_MAX];
	struct note_verifier key; /* a witness's */

	bool is_compared;      /* an anchor: it has nothing that contradicts the log */
	uint64_t known;	       /* a witness: the size that it cosigned last, as far as is known */
	uint64_t done;	       /* the revision that it has; a witness: the size */
	enum courier_end last; /* what became of the last call */
	int pause_s;	       /* 0: the last one was done */
	int64_t due_ms;	       /* not before */
};

struct courier {
	struct courier_log published;
	struct log *log;
	struct courier_place *anchors, *witnesses;
	size_t anchor_count, witness_count;

	pthread_t thread;
	bool is_started;
	atomic_bool is_stopping;			  /* calls that run are to end at once */
	atomic_size_t failing_anchors, failing_witnesses; /* whose last call ended badly */
	pthread_mutex_t lock;				  /* what follows, down to the next group */
	pthread_cond_t changed;
	bool is_closing, has_given;
	uint64_t given_size;
	struct buf given;

	/* The thread's own. */
	uint64_t size, revision; /* of `checkpoint`; a revision is new bytes of one */
	struct buf checkpoint;
	struct buf request, answer, scratch;
};

/* What is there already, held against the log. COURIER_REFUSED: it contradicts it. */
enum courier_end courier_compare_anchor(struct courier *courier, struct courier_place *anchor,
					char *why, size_t why_size);

/* The checkpoint, to an anchor. */
enum courier_end courier_put(struct courier *courier, struct courier_place *anchor, char *why,
			     size_t why_size);

/* A cosignature, from a witness; there is a new revision then. */
enum courier_end courier_ask(struct courier *courier, struct courier_place *witness, char *why,
			     size_t why_size);

#endif
