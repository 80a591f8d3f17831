/*
 * The stand-in: a service on loopback that takes the place of every upstream in a rehearsal.
 *
 * Each write to any path is an effect, answered 201 with an id and what was sent; each GET finds
 * what has all the texts of its query. Threads of its own; any thread may call.
 */
#ifndef DRILL_STANDIN_H
#define DRILL_STANDIN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	STANDIN_CONNECTIONS_MAX = 256,
	STANDIN_EFFECTS_MAX = 16384, /* more are answered 507 */
	STANDIN_REQUEST_MAX = 2 * 1024 * 1024,
	STANDIN_WHY_MAX = 256,
};

/* What the service is like, as the configuration says of it. Texts are borrowed. */
struct standin_manner {
	struct str key_header; /* the same one in it is the same effect; empty: no such header */
	bool knows_body;       /* the same path and body are the same effect */
	bool knows_path;       /* the same path is the same effect */
	struct str list_at;    /* pointer to the list, or the thing, in what a GET answers */
	bool is_one;	       /* the thing itself is there, or a 404 */
	struct str id_at;      /* pointer to the id in what a write answers; empty: /id */
};

struct standin;

/* 0, or -1 with `why`. */
int standin_start(struct standin **out_standin, char why[STANDIN_WHY_MAX]);
void standin_stop(struct standin *standin); /* NULL is fine */
uint16_t standin_port(const struct standin *standin);

void standin_behave(struct standin *standin, const struct standin_manner *manner);

/* Once: the next write is done, and its connection closed without an answer. False: it is not. */
void standin_drop_next(struct standin *standin, bool drops);

/* From now on each write takes so long; 0: none does. */
void standin_slow(struct standin *standin, int64_t delay_ms);

/* Effects with this in path or body; empty: all. */
int64_t standin_count(struct standin *standin, struct str marker);

/* How many writes were under way at once, since this was last asked. */
int standin_most_at_once(struct standin *standin);

#endif
