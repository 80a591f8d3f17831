/*
 * Queries of the practice API's lists: which records are meant.
 */
#ifndef SANDBOX_QUERY_H
#define SANDBOX_QUERY_H

#include "base/arena.h"
#include "sandbox/shelf.h"

enum {
	QUERY_LIMIT_MAX = 100, /* records of one list */
	QUERY_MEMBERS_MAX = 8, /* that one query compares */
};

/*
 * The value of a query's member, decoded into `mem`; empty when there is none. Of two with one
 * name the first.
 */
struct str query_member(struct str query, struct str name, struct arena *mem);

struct query_filter {
	struct str name;  /* a member of the record itself, not deeper */
	struct str value; /* its text; of numbers and booleans their JSON */
};

/* What a list is asked for. Texts live in the request's memory. */
struct query {
	struct str reference; /* the record's own, or the key it came with; empty: any */
	struct query_filter filters[QUERY_MEMBERS_MAX];
	size_t filter_count;
	size_t limit;
};

/* Read all of a query. False: *out_why, a constant text, says what is wrong with it. */
bool query_read(struct str text, struct arena *mem, struct query *out_query, const char **out_why);

/* Is the record one that is asked for? The limit is the caller's matter. */
bool query_wants(const struct query *query, const struct record *record);

#endif
