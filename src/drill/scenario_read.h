/*
 * Reading a scenario; shared by scenario*.c alone.
 */
#ifndef DRILL_SCENARIO_READ_H
#define DRILL_SCENARIO_READ_H

#include "config/yaml.h"
#include "drill/scenario.h"
#include "drill/scenario_table.h"

enum { SCENARIO_MEND_MAX = 256 };

struct scenario_reading {
	struct scenario *scenario;
	const struct node *root;
	struct settings_report *report;
	struct arena *mem;
};

/* A value into the member of its row; what is wrong with it is reported. 0 or FAIL_MEMORY. */
int scenario_read_value(struct scenario_reading *reading, const struct scenario_key *row,
			const struct node *node);

/* What must be there, and what does not go together. */
void scenario_check(struct scenario_reading *reading);

#endif
