/*
 * Does a credential still hold at its service? Asked before anything of a record is shown
 * (auth.check): the service would have turned away a revoked one, and a replay never gets there.
 *
 * One GET with the caller's own Authorization. That it holds is remembered for auth.check.cache, on
 * each worker by itself, in CHECK_CACHE_SLOTS places where a newer one takes an older one's; that
 * it does not hold is not remembered.
 */
#ifndef GATE_CREDENTIAL_CHECK_H
#define GATE_CREDENTIAL_CHECK_H

#include "base/hash.h"
#include "gate/gate.h"

enum { CHECK_CACHE_SLOTS = 1024 };

enum check_verdict {
	CHECK_HOLDS,   /* 2xx, or it is allowed where nobody says */
	CHECK_ENDED,   /* 401, 403 */
	CHECK_UNKNOWN, /* neither: the service was not reached, or said something else */
};

/* What a worker remembers. Zeroed: nothing. */
struct check_cache {
	struct {
		struct hash key;
		int64_t until_ms; /* monotonic */
	} slots[CHECK_CACHE_SLOTS];
};

struct credential_check {
	/* the owner's to fill; borrowed until `done` */
	struct worker *worker;
	struct generation *generation;	 /* which the owner holds */
	const struct exchange *exchange; /* whose credential it is */
	size_t upstream;		 /* which service is asked */
	void *owner;
	void (*done)(struct credential_check *check); /* once, never inside the start */

	/* out */
	enum check_verdict verdict;

	/* its own */
	struct hash key;
	struct loop_task soon;
	struct call call;
	struct buf lines;
};

/* Is that service asked at all? */
bool credential_check_is_asked(const struct settings *settings, size_t upstream);

/* Is any of them? */
bool credential_check_is_in_force(const struct settings *settings);

/* On the worker's own thread. */
void credential_check_start(struct credential_check *check);

/* After `done`. Fine for a zeroed one. */
void credential_check_fini(struct credential_check *check);

#endif
