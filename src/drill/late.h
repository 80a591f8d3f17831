/*
 * Counting again at the end of a run, for effects that come late.
 *
 * A second effect may come after its case was judged: from a queue, or from a client's own retry
 * somewhere behind. So what was counted by its marker is kept, and looked at once more when all
 * cases are over.
 */
#ifndef DRILL_LATE_H
#define DRILL_LATE_H

#include "drill/names.h"
#include "drill/result.h"
#include "drill/scenario.h"

struct late_count {
	struct drill_case_result *result;
	const struct scenario_effects *effects;
	struct names names;
	int64_t count; /* as it was seen, what was there before with it */
	struct late_count *next;
};

struct late {
	struct late_count *counts;
};

/*
 * Keep a count; nothing where it is a total, in which the next case's effects would be found.
 * False: no memory.
 */
bool late_keep(struct late *late, struct drill_case_result *result,
	       const struct scenario_effects *effects, const struct names *names, int64_t count,
	       struct arena *mem);

/* Look again: a case that passed and has more effects now fails. `mem` is the report's. */
void late_check(const struct late *late, const struct scenario *scenario, struct arena *mem);

#endif
