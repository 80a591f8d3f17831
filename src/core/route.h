/*
 * Routes: "POST /v1/tickets", "PUT /v1/orders/{order_id}".
 *
 * A pattern is segments, literal or a {parameter} that matches one whole segment which is not
 * empty. Paths are compared as core/fingerprint.h normalises them. Of two patterns that match,
 * the more specific one wins: at the first segment where they differ in kind, the literal.
 * Two that match the same paths and are equally specific overlap: an error of the configuration.
 */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { ROUTE_SEGMENTS_MAX = 32 };
enum { ROUTE_WRONG = 1 };

struct route_segment {
	struct str text; /* the literal, normalised; or the parameter's name */
	bool is_parameter;
};

struct route {
	struct str pattern; /* as written, normalised */
	struct route_segment *segments;
	size_t count;
	bool has_slash; /* it ends in one, and so must the path */
};

/*
 * Read a pattern, without the method: 0, ROUTE_WRONG with *out_detail (a sentence, constant or
 * in `mem`), FAIL_MEMORY. Everything of the route lives in `mem`.
 */
int route_read(struct str pattern, struct arena *mem, struct route *out_route,
	       const char **out_detail);

/* Does the normalised path match? `values` (room for ROUTE_SEGMENTS_MAX) gets the parameters'
 * values in order, as they stand in the path; may be NULL. */
bool route_matches(const struct route *route, struct str path, struct str *values);

/*
 * Might a service that reads paths freely take the normalised `path` for `route`'s, though it is
 * spelled as `found`'s (which matches it; NULL: as that of none)?
 */
bool route_is_mistakable(const struct route *route, const struct route *found, struct str path);

/* Which parameter, counted along the route, has that name; false: none has. */
bool route_parameter(const struct route *route, struct str name, size_t *out_parameter);

/* < 0: a is more specific; > 0: b is; 0: neither, or no path could match both. Not an order to
 * sort by. */
int route_compare(const struct route *a, const struct route *b);

/* Is there a path that both match, while neither is more specific? */
bool route_overlaps(const struct route *a, const struct route *b);

#endif
