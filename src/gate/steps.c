/* Seeing the wall clock step, by the monotonic one (see steps.h). */
#include "gate/steps.h"

/* The two oldest become one, as large as both and as late as the later. */
static void make_room(struct steps *steps)
{
	if (steps->count < STEPS_MAX)
		return;
	steps->list[1].by_ms += steps->list[0].by_ms;
	if (steps->list[1].before_ms < steps->list[0].before_ms)
		steps->list[1].before_ms = steps->list[0].before_ms;
	for (size_t i = 1; i < STEPS_MAX; i++)
		steps->list[i - 1] = steps->list[i];
	steps->count--;
}

/* It may have been at the beginning of the time since we looked last, or at its end. */
static void add(struct steps *steps, int64_t by_ms, int64_t passed_ms)
{
	int64_t least_ms = by_ms > passed_ms ? by_ms : passed_ms + 1;

	make_room(steps);
	steps->list[steps->count].before_ms = steps->wall_ms + least_ms;
	steps->list[steps->count].by_ms = by_ms;
	steps->count++;
}

void steps_see(struct steps *steps, int64_t wall_ms, int64_t monotonic_ms)
{
	int64_t passed_ms = monotonic_ms - steps->monotonic_ms;
	int64_t by_ms = wall_ms - steps->wall_ms - passed_ms;

	if (steps->monotonic_ms && by_ms >= STEPS_LEAST_MS)
		add(steps, by_ms, passed_ms);
	steps->wall_ms = wall_ms;
	steps->monotonic_ms = monotonic_ms;
}

int64_t steps_since(const struct steps *steps, int64_t noted_ms)
{
	int64_t all_ms = 0;

	for (size_t i = 0; i < steps->count; i++) {
		if (noted_ms < steps->list[i].before_ms)
			all_ms += steps->list[i].by_ms;
	}
	return all_ms;
}
