/*
 * The drill: every case of every scenario, one after the other, and what came of them.
 */
#ifndef DRILL_DRILL_H
#define DRILL_DRILL_H

#include "drill/interrupt.h"
#include "drill/result.h"
#include "drill/scenario.h"

enum {
	DRILL_SCENARIOS_MAX = 16,
	DRILL_NAMES_MAX = 32,
	DRILL_MEMORY_MAX = 256 * 1024 * 1024, /* of a report */
};

/* Which cases: those in `only` (none: all), without those in `skip`. Names of the table. */
struct drill_choice {
	const char *only[DRILL_NAMES_MAX], *skip[DRILL_NAMES_MAX];
	size_t only_count, skip_count;
};

/*
 * Run. Blocks, for minutes if need be; starts and ends processes as the scenario says. 0 and
 * *out_result, all of it in `mem`; FAIL_MEMORY. A case that could not be judged is in it as such.
 * `interrupt` has begun, or is NULL.
 */
int drill_run(const struct scenario *scenario, const struct drill_choice *choice,
	      struct interrupt *interrupt, struct arena *mem,
	      struct drill_scenario_result *out_result);

/* The exit status that a report means: 3 a case could not be judged, else 1 one failed, else 0. */
int drill_status(const struct drill_report *report);

#endif
