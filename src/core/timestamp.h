/*
 * Instants: RFC 3339 date-times, brought to UTC and their shortest fraction.
 */
#ifndef CORE_TIMESTAMP_H
#define CORE_TIMESTAMP_H

#include "base/arena.h"
#include "base/str.h"

enum { TIMESTAMP_MALFORMED = 1 };

/*
 * "2026-01-01T01:00:00.50+01:00" becomes "2026-01-01T00:00:00.5Z", in `mem`. Leap seconds (:60) are
 * accepted where RFC 3339 allows them; -00:00 is UTC. Years 0000 to 9999 also after the shift. At
 * most 9 digits of fraction. 0, TIMESTAMP_MALFORMED, FAIL_MEMORY.
 */
int timestamp_read(struct str text, struct arena *mem, struct str *out_instant);

#endif
