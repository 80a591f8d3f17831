/*
 * What a worker, or the background, counts. Written by its own thread, read by whoever scrapes:
 * relaxed atomics, since each number stands for itself.
 */
#ifndef GATE_METRICS_H
#define GATE_METRICS_H

#include "core/outcome.h"

#include <stdatomic.h>
#include <stdint.h>

enum { METRICS_BUCKETS = 16 }; /* bucket i: up to 2^i × 250 µs */

struct histogram {
	_Atomic uint64_t buckets[METRICS_BUCKETS + 1]; /* the last: more than that */
	_Atomic uint64_t sum_us;
	_Atomic uint64_t count;
};

enum { METRICS_PROBLEMS = 64, METRICS_CLASSES = 6, METRICS_VERDICTS = 3 };

struct metrics {
	_Atomic uint64_t outcomes[OUTCOME_COUNT];    /* protected requests */
	_Atomic uint64_t problems[METRICS_PROBLEMS]; /* answers the gate made, by enum problem */
	_Atomic uint64_t passed[METRICS_CLASSES];    /* unprotected requests by class of status */
	_Atomic uint64_t passed_broken;		     /* broken off before their end */
	_Atomic uint64_t undelivered;		     /* answers that did not get out */
	_Atomic uint64_t waiters_refused;	     /* the room was full, or closed */
	_Atomic uint64_t dispatched[OUTCOME_COUNT];  /* sendings by the dispatcher */
	_Atomic uint64_t gave_up;		     /* that had failed to arrive too often */
	_Atomic uint64_t asked[METRICS_VERDICTS];    /* by enum inquiry_verdict */
	_Atomic uint64_t resent;		     /* unknown ones that were sent once more */
	_Atomic uint64_t notices_taken;		     /* told of a question, with a 2xx */
	_Atomic uint64_t notices_not_taken;	     /* tries that ended otherwise */
	_Atomic uint64_t notices_given_up;	     /* too old to be told any more */
	struct histogram upstream;		     /* protected calls */
	struct histogram request;		     /* protected requests as a whole */

	/* as the store said at the last look */
	_Atomic uint64_t oldest_asked_ms; /* when the question that waits longest was; 0: none */
	_Atomic uint64_t notices_waiting;

	/* copied at each sweep: from the worker, and from its server's counters */
	_Atomic uint64_t requests_open;
	_Atomic uint64_t connections_open, connections_accepted, connections_refused;
	_Atomic uint64_t messages_refused, timeouts;
};

static inline void metrics_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline void metrics_set(_Atomic uint64_t *gauge, uint64_t n)
{
	atomic_store_explicit(gauge, n, memory_order_relaxed);
}

static inline uint64_t metrics_get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit((_Atomic uint64_t *)counter, memory_order_relaxed);
}

static inline void histogram_add(struct histogram *histogram, int64_t us)
{
	int bucket = 0;

	while (bucket < METRICS_BUCKETS && us > (INT64_C(250) << bucket))
		bucket++;
	metrics_add(&histogram->buckets[bucket], 1);
	metrics_add(&histogram->sum_us, (uint64_t)(us > 0 ? us : 0));
	metrics_add(&histogram->count, 1);
}

#endif
