/*
 * Other bodies out of a body: one that says the same in another order, one that says something
 * else. Pure code.
 */
#ifndef DRILL_BODY_H
#define DRILL_BODY_H

#include "drill/scenario.h"

enum { BODY_UNFIT = 1 };

/* The same JSON, members in reverse order, with other white space. 0; BODY_UNFIT: it is no JSON of
 * an object or array; FAIL_MEMORY. */
int body_reordered(struct str body, struct arena *mem, struct str *out_body);

/*
 * Another payload: at each pointer of `changes` its JSON text; without changes, the first text or
 * number is made another. As above; BODY_UNFIT also where there is nothing to change.
 */
int body_changed(struct str body, const struct scenario_pairs *changes, struct arena *mem,
		 struct str *out_body);

#endif
