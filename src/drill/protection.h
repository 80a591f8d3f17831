/*
 * What protects an action, and what does not, in sentences. Pure: it sees the settings alone.
 */
#ifndef DRILL_PROTECTION_H
#define DRILL_PROTECTION_H

#include "config/settings.h"

enum { PROTECTION_LINES_MAX = 16 };

struct protection {
	struct str summary;			/* "token yes, business key none, …" */
	struct str holds[PROTECTION_LINES_MAX]; /* what the gate sees to; whole sentences */
	size_t hold_count;
	struct str gaps[PROTECTION_LINES_MAX]; /* what nobody sees to */
	size_t gap_count;
};

/* 0, and *out_protection with its texts in `mem`; FAIL_MEMORY. */
int protection_of(const struct settings *settings, const struct action *action, struct arena *mem,
		  struct protection *out_protection);

/* What becomes of writes that no action declares, in one sentence; a constant text. */
const char *protection_undeclared(const struct settings *settings);

#endif
