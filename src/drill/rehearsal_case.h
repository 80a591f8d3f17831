/*
 * The cases of a rehearsal: what the gate claims of an action, tried.
 */
#ifndef DRILL_REHEARSAL_CASE_H
#define DRILL_REHEARSAL_CASE_H

#include "drill/scene.h"

struct rehearsal_case {
	const char *name, *what, *why;
	void (*run)(struct scene *scene); /* gives a verdict */
};

/* NULL past the last one. */
const struct rehearsal_case *rehearsal_case_at(size_t index);

#endif
