/*
 * "Did you mean …?": how far one name is from another.
 */
#ifndef CORE_NEAREST_H
#define CORE_NEAREST_H

#include "base/str.h"

#include <stdbool.h>

enum { NEAREST_LENGTH_MAX = 64 }; /* longer names resemble nothing */

/*
 * The slips of the hand between two names: characters added, left out, changed or swapped with
 * their neighbour; letters without case. SIZE_MAX when one is too long to compare.
 */
size_t nearest_distance(struct str a, struct str b);

/* How many slips a name of this length is forgiven. */
size_t nearest_allowance(struct str name);

#endif
