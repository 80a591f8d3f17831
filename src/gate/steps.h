/*
 * Steps of the wall clock, as far as this process has seen them.
 *
 * How long ago something was is judged by the wall clock, since that outlives the process. Two
 * errors of it are remembered here, each for the judgement that it would make unsafe:
 *
 *   set forward   from a time that was noted before, it says that more has passed than has: what
 *                 must have lasted so long before something may be done would end early
 *   set back      it says that less has passed than has: what may be done for so long only would
 *                 be done late
 *
 * In doubt whether a time was noted before a step it is taken to have been, and what was noted
 * before this process is taken to have been noted by the clock as it was when that began.
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
	} list[STEPS_MAX]; /* forward, oldest first */
	size_t count;
	struct {
		int64_t from_ms, to_ms; /* what it has shown, at most */
		int64_t ahead_ms;	/* of the monotonic clock */
	} courses[STEPS_MAX]; /* of the wall clock, between steps either way, oldest first */
	size_t course_count;
	int64_t wall_ms, monotonic_ms; /* as they were last seen; monotonic 0: never yet */
};

/* Both clocks as they are now. To be called every few seconds: what happens in between is one. */
void steps_see(struct steps *steps, int64_t wall_ms, int64_t monotonic_ms);

/* How much too far the wall clock is ahead of a time that it was noted at. */
int64_t steps_since(const struct steps *steps, int64_t noted_ms);

/* How much has passed, at most, since a time that was noted, beyond what the wall clock says. */
int64_t steps_lost_since(const struct steps *steps, int64_t noted_ms);

#endif
