/*
 * What the stand-in has done: its effects, and answers made of them. One thread at a time.
 */
#ifndef DRILL_STANDIN_STORE_H
#define DRILL_STANDIN_STORE_H

#include "base/buf.h"
#include "drill/standin.h"

struct effect {
	char *path, *key; /* with a NUL; key: of the manner's header, or "" */
	char *body;
	size_t body_len;
};

struct standin_store {
	struct effect *effects; /* STANDIN_EFFECTS_MAX */
	size_t count;
};

bool standin_store_init(struct standin_store *store);
void standin_store_fini(struct standin_store *store);

/* The effect of a write: a new one, or one that the manner says it is again. -1: no room. */
int64_t standin_store_write(struct standin_store *store, const struct standin_manner *manner,
			    struct str path, struct str key, struct str body);

int64_t standin_store_count(const struct standin_store *store, struct str marker);

/* Append the JSON of an effect. */
void standin_store_show(const struct standin_store *store, size_t index, struct str id_at,
			struct buf *out);

/* Append what a GET of `target` answers; returns the status. */
int standin_store_find(const struct standin_store *store, const struct standin_manner *manner,
		       struct str target, struct buf *out);

#endif
