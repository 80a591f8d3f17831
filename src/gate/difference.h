/*
 * What is other in one JSON value than in another, as a person compares them.
 */
#ifndef GATE_DIFFERENCE_H
#define GATE_DIFFERENCE_H

#include "json/json.h"

enum { DIFFERENCES_MAX = 200 }; /* told; what follows is not looked for */

/*
 * An array: {"path", "from", "to"} for each place where `to` is not `from`; without "from" what is
 * new, without "to" what is gone. Objects are gone through member by member, everything else is
 * compared as a whole, numbers by what they are. NULL is nothing at all. Paths are JSON pointers,
 * in the order of `from`, then what is new. `mem` is used on the way; without it out is spoiled.
 */
void difference_json(struct json_writer *json, const struct json_value *from,
		     const struct json_value *to, struct arena *mem);

#endif
