/*
 * Steps of the wall clock, forward, as far as this process has seen them.
 *
 * What must have lasted so long before something may be done is judged by the wall clock, since it
 * outlives the process. A clock that is set forward would end it early: from a time that was noted
 * before the step, it says that more has passed than has. How much more is remembered here. In
 * doubt whether a time was noted before a step it is taken to have been.
 */
#ifndef GATE_STEPS_H
#define GATE_STEPS_H

#include <stddef.h>
#include <stdint.h>

enum {
	STEPS_MAX = 8,	      /* that are told apart; older ones are counted as one */
	STEPS_LEAST_MS = 200, /* less is two clocks read one after the other, or one being set
				 right */
};

/* Zeroed: nothing has been seen yet. */
struct steps {
	struct {
		int64_t before_ms; /* what was noted at a time before this was so before the step */
		int64_t by_ms;
	} list[STEPS_MAX]; /* oldest first */
	size_t count;
	int64_t wall_ms, monotonic_ms; /* as they were last seen; monotonic 0: never yet */
};

/* Both clocks as they are now. To be called every few seconds: what happens in between is one. */
void steps_see(struct steps *steps, int64_t wall_ms, int64_t monotonic_ms);

/* How much too far the wall clock is ahead of a time that it was noted at. */
int64_t steps_since(const struct steps *steps, int64_t noted_ms);

#endif
