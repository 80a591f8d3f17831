/*
 * Where a scenario's requests go: URLs and header lines.
 */
#ifndef DRILL_PLACE_H
#define DRILL_PLACE_H

#include "drill/scenario.h"

/* The URL of a path of the target; a URL stays what it is. {NULL, 0} without memory. */
struct str place_url(const struct scenario *scenario, struct str place, struct arena *mem);

/*
 * Header lines ("Name: value\n"): `base`, of which `over` takes the place where names are equal.
 * Either may be NULL.
 */
struct str place_headers(const struct scenario_pairs *base, const struct scenario_pairs *over,
			 struct arena *mem);

/* Those of a question: `own`, else the write's (none that speak of its body) where the place is of
 * the target: credentials go nowhere else. */
struct str place_question_headers(const struct scenario *scenario, struct str place,
				  const struct scenario_pairs *own, struct arena *mem);

#endif
