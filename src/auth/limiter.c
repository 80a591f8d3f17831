/*
 * Buckets of failures. What is kept of one is its debt: how long it takes until it is full again,
 * as of its last failure. A failure adds LIMITER_REFILL_MS to it, time takes off.
 */
#include "auth/limiter.h"

#include "base/err.h"

#include <stdio.h>
#include <string.h>

enum { DEBT_MAX_MS = LIMITER_BURST * LIMITER_REFILL_MS, GROUPS_OF_A_NETWORK = 4 };

void limiter_init(struct limiter *limiter)
{
	memset(limiter, 0, sizeof(*limiter));
	require(pthread_mutex_init(&limiter->lock, NULL) == 0);
}

void limiter_fini(struct limiter *limiter)
{
	pthread_mutex_destroy(&limiter->lock);
}

#define MAPPED "::ffff:" /* an IPv4 address, as a listener for both has it */

/* Of an IPv6 address as inet_ntop() writes it, its first four groups, or those before "::". */
static void name_of(const char *address, char out[LIMITER_ADDRESS_TEXT])
{
	int groups = 0;

	snprintf(out, LIMITER_ADDRESS_TEXT, "%s", address);
	if (strncmp(out, MAPPED, sizeof(MAPPED) - 1) == 0)
		return;
	for (size_t i = 0; out[i]; i++) {
		if (out[i] != ':')
			continue;
		if (out[i + 1] == ':' || ++groups == GROUPS_OF_A_NETWORK) {
			out[i + 1] = '\0';
			return;
		}
	}
}

static struct limiter_bucket *find(struct limiter *limiter, const char *name)
{
	for (size_t i = 0; i < limiter->count; i++) {
		if (strcmp(limiter->buckets[i].address, name) == 0)
			return &limiter->buckets[i];
	}
	return NULL;
}

static struct limiter_bucket *oldest(struct limiter *limiter)
{
	struct limiter_bucket *oldest = &limiter->buckets[0];

	for (size_t i = 1; i < limiter->count; i++) {
		if (limiter->buckets[i].failed_ms < oldest->failed_ms)
			oldest = &limiter->buckets[i];
	}
	return oldest;
}

static struct limiter_bucket *make(struct limiter *limiter, const char *name)
{
	struct limiter_bucket *bucket = limiter->count < LIMITER_ADDRESSES
						? &limiter->buckets[limiter->count++]
						: oldest(limiter);

	*bucket = (struct limiter_bucket){0};
	memcpy(bucket->address, name, LIMITER_ADDRESS_TEXT);
	return bucket;
}

static int64_t debt_at(const struct limiter_bucket *bucket, int64_t now_ms)
{
	int64_t debt_ms = bucket->debt_ms - (now_ms - bucket->failed_ms);

	return debt_ms > 0 ? debt_ms : 0;
}

int limiter_wait_s(struct limiter *limiter, const char *address, int64_t now_ms)
{
	char name[LIMITER_ADDRESS_TEXT];
	const struct limiter_bucket *bucket;
	int64_t over_ms = 0;

	name_of(address, name);
	require(pthread_mutex_lock(&limiter->lock) == 0);
	bucket = find(limiter, name);
	if (bucket)
		over_ms = debt_at(bucket, now_ms) + LIMITER_REFILL_MS - DEBT_MAX_MS;
	pthread_mutex_unlock(&limiter->lock);
	return over_ms > 0 ? (int)((over_ms + 999) / 1000) : 0;
}

bool limiter_failed(struct limiter *limiter, const char *address, int64_t now_ms)
{
	char name[LIMITER_ADDRESS_TEXT];
	struct limiter_bucket *bucket;
	int64_t debt_ms;

	name_of(address, name);
	require(pthread_mutex_lock(&limiter->lock) == 0);
	bucket = find(limiter, name);
	if (!bucket)
		bucket = make(limiter, name);
	debt_ms = debt_at(bucket, now_ms) + LIMITER_REFILL_MS;
	bucket->failed_ms = now_ms;
	bucket->debt_ms = debt_ms < DEBT_MAX_MS ? debt_ms : DEBT_MAX_MS;
	pthread_mutex_unlock(&limiter->lock);
	return debt_ms <= DEBT_MAX_MS;
}
