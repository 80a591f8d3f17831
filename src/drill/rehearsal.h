/*
 * A rehearsal of a configuration: its own gate, with its own rules, in front of a stand-in.
 */
#ifndef DRILL_REHEARSAL_H
#define DRILL_REHEARSAL_H

#include "config/settings.h"
#include "drill/interrupt.h"
#include "drill/result.h"

enum { REHEARSAL_WRONG = 1, REHEARSAL_FAILED = 2, REHEARSAL_WHY_MAX = 512 };

struct rehearsal_options {
	const char *config; /* the file */
	const char *gate;   /* the program that is the gate; NULL: this one */
};

/*
 * Rehearse every action of the configuration. Blocks; starts and ends one gate, in a folder of its
 * own that is gone afterwards; nothing but loopback is spoken to. Begin `interrupt` first.
 *   0                 *out_report has a scenario for each action, all of it in `mem`
 *   REHEARSAL_WRONG   the configuration is wrong: `wrong` says how
 *   REHEARSAL_FAILED  `why` says what could not be had (a folder, a port, the gate)
 *   FAIL_MEMORY
 */
int drill_rehearse(const struct rehearsal_options *options, struct interrupt *interrupt,
		   struct arena *mem, struct drill_report *out_report,
		   struct settings_report *wrong, char why[REHEARSAL_WHY_MAX]);

#endif
