/*
 * A shelf: the newest records of one kind, in memory.
 *
 * Records are numbered as they come, from 1; numbers are never given twice. When the shelf
 * is full (records or bytes) the oldest go, so a client cannot make the practice API grow
 * without end.
 */
#ifndef SANDBOX_SHELF_H
#define SANDBOX_SHELF_H

#include "base/str.h"

#include <stdint.h>

enum {
	SHELF_RECORDS_MAX = 10000,
	SHELF_BYTES_MAX = 32 * 1024 * 1024,
};

struct record {
	uint64_t number;      /* the shelf's */
	struct str id;	      /* "tkt_1", or what the client called it */
	struct str members;   /* its JSON members, without the braces around them */
	struct str reference; /* body field `reference` */
	struct str key;	      /* header Idempotency-Key */
	int64_t amount;	      /* of a payment, minor units */
	int64_t refunded;     /* of it; may be more */
	char currency[4];     /* of it, with a NUL */
	int64_t version;      /* of an environment */
	int64_t visible_ms;   /* Unix time from which on it can be seen */
};

struct shelf {
	struct record *records[SHELF_RECORDS_MAX]; /* record n is at n % SHELF_RECORDS_MAX */
	uint64_t first;				   /* number of the oldest one kept */
	uint64_t next;				   /* number of the next one */
	size_t bytes;				   /* of all texts */
};

void shelf_init(struct shelf *shelf);
void shelf_fini(struct shelf *shelf); /* usable again after shelf_init() */

/* A record with copies of these texts; NULL without memory. */
struct record *record_new(struct str id, struct str members, struct str reference, struct str key);
void record_free(struct record *record);

/* Take `record` as the newest. */
void shelf_put(struct shelf *shelf, struct record *record);

/* Take `record` in the place of `old`, which is freed. */
void shelf_replace(struct shelf *shelf, struct record *old, struct record *record);

/* NULL: there never was one, or it has gone. */
struct record *shelf_numbered(const struct shelf *shelf, uint64_t number);
struct record *shelf_named(const struct shelf *shelf, struct str id);

#endif
