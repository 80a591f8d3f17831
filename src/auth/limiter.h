/*
 * Failed attempts to authenticate, by address.
 *
 * Each address has a bucket of LIMITER_BURST failures, which fills up again by one each
 * LIMITER_REFILL_MS. Only failures take from it, and only failures are told to wait: whoever shows
 * a good credential is let in whatever others at the same address do. The table is bounded: when it
 * is full, the address that failed longest ago makes room. An IPv6 address counts by its /64, which
 * one guesser may have whole.
 */
#ifndef AUTH_LIMITER_H
#define AUTH_LIMITER_H

#include "base/str.h"

#include <pthread.h>
#include <stdbool.h>

enum {
	LIMITER_BURST = 20,
	LIMITER_REFILL_MS = 3000,
	LIMITER_ADDRESSES = 1024,
	LIMITER_ADDRESS_TEXT = 46,
};

struct limiter_bucket {
	char address[LIMITER_ADDRESS_TEXT];
	int64_t failed_ms; /* the last time; monotonic */
	int64_t debt_ms;   /* at that time: how long until it is full again */
};

struct limiter {
	pthread_mutex_t lock;
	struct limiter_bucket buckets[LIMITER_ADDRESSES];
	size_t count;
};

void limiter_init(struct limiter *limiter);
void limiter_fini(struct limiter *limiter);

/* Any thread. Seconds until the address may try again; 0: now. */
int limiter_wait_s(struct limiter *limiter, const char *address, int64_t now_ms);

/*
 * Any thread. It failed. True: this failure is one to tell of in the audit log; those beyond the
 * burst are not, so that a guesser cannot fill it.
 */
bool limiter_failed(struct limiter *limiter, const char *address, int64_t now_ms);

#endif
