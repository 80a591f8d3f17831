/*
 * How many effects there are, asked of where they are kept.
 */
#ifndef DRILL_COUNT_H
#define DRILL_COUNT_H

#include "drill/names.h"
#include "drill/scenario.h"

enum { COUNT_FAILED = 1 };
enum { COUNT_WHY_MAX = 512 };

/*
 * Look once. 0 and *out_count; COUNT_FAILED with a sentence in `why`; FAIL_MEMORY. Blocks for
 * scenario->timeout_ms at most.
 */
int count_look(const struct scenario *scenario, const struct scenario_effects *effects,
	       const struct names *names, struct arena *mem, int64_t *out_count,
	       char why[COUNT_WHY_MAX]);

/*
 * Look until there are `wanted` more than `before`, twice in a row with a pause between; or until
 * scenario->settle_ms are over. As above; *out_count is what was seen last.
 */
int count_settle(const struct scenario *scenario, const struct scenario_effects *effects,
		 const struct names *names, int64_t before, int64_t wanted, struct arena *mem,
		 int64_t *out_count, char why[COUNT_WHY_MAX]);

/* The number that an answer's JSON tells at `pointer`: an array's length, or an integer. Pure. */
int count_read(struct str json, struct str pointer, struct arena *mem, int64_t *out_count,
	       char why[COUNT_WHY_MAX]);

/* The number that a command printed, and nothing else. Pure. */
int count_read_output(struct str output, int64_t *out_count, char why[COUNT_WHY_MAX]);

#endif
