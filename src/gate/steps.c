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

/* The two oldest become one, which has shown what either has, and was as far ahead as either. */
static void make_room_for_course(struct steps *steps)
{
	if (steps->course_count < STEPS_MAX)
		return;
	if (steps->courses[1].to_ms < steps->courses[0].to_ms)
		steps->courses[1].to_ms = steps->courses[0].to_ms;
	if (steps->courses[1].ahead_ms < steps->courses[0].ahead_ms)
		steps->courses[1].ahead_ms = steps->courses[0].ahead_ms;
	steps->courses[1].from_ms = INT64_MIN; /* as that of the first */
	for (size_t i = 1; i < STEPS_MAX; i++)
		steps->courses[i - 1] = steps->courses[i];
	steps->course_count--;
}

static void begin_course(struct steps *steps, int64_t from_ms, int64_t wall_ms, int64_t ahead_ms)
{
	make_room_for_course(steps);
	steps->courses[steps->course_count].from_ms = from_ms;
	steps->courses[steps->course_count].to_ms = wall_ms;
	steps->courses[steps->course_count].ahead_ms = ahead_ms;
	steps->course_count++;
}

/* It goes on as before, or takes another course, from some moment since we looked last. */
static void follow_course(struct steps *steps, int64_t wall_ms, int64_t monotonic_ms)
{
	int64_t ahead_ms = wall_ms - monotonic_ms;
	int64_t passed_ms = monotonic_ms - steps->monotonic_ms, by_ms;
	size_t last;

	if (!steps->course_count) {
		begin_course(steps, INT64_MIN, wall_ms, ahead_ms);
		return;
	}
	last = steps->course_count - 1;
	by_ms = ahead_ms - steps->courses[last].ahead_ms;
	if (by_ms > -STEPS_LEAST_MS && by_ms < STEPS_LEAST_MS) {
		steps->courses[last].to_ms = wall_ms;
		return;
	}
	steps->courses[last].to_ms = steps->wall_ms + passed_ms;
	begin_course(steps, wall_ms - passed_ms, wall_ms, ahead_ms);
}

void steps_see(struct steps *steps, int64_t wall_ms, int64_t monotonic_ms)
{
	int64_t passed_ms = monotonic_ms - steps->monotonic_ms;
	int64_t by_ms = wall_ms - steps->wall_ms - passed_ms;

	if (steps->monotonic_ms && by_ms >= STEPS_LEAST_MS)
		add(steps, by_ms, passed_ms);
	follow_course(steps, wall_ms, monotonic_ms);
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

int64_t steps_lost_since(const struct steps *steps, int64_t noted_ms)
{
	int64_t now_ahead_ms = steps->wall_ms - steps->monotonic_ms, most_ms = 0;

	for (size_t i = 0; i < steps->course_count; i++) {
		int64_t lost_ms = steps->courses[i].ahead_ms - now_ahead_ms;

		if (noted_ms >= steps->courses[i].from_ms && noted_ms <= steps->courses[i].to_ms &&
		    lost_ms > most_ms)
			most_ms = lost_ms;
	}
	return most_ms;
}
