/*
 * Queries of the practice API's lists: which records are meant.
 */
#ifndef SANDBOX_QUERY_H
#define SANDBOX_QUERY_H

#include "base/arena.h"
#include "base/str.h"

/*
 * The value of a query's member, decoded into `mem`; empty when there is none. Of two with one
 * name the first.
 */
struct str query_member(struct str query, struct str name, struct arena *mem);

#endif
