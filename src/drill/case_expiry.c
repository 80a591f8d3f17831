/*
 * The case of expiry: what a key means when its time is over.
 *
 * Servers forget in the background, so what was promised may come a little later: until the time
 * to settle is over, a replay is asked again.
 */
#include "drill/case.h"

#include "base/env.h"

#include <unistd.h>

enum { LOOK_PAUSE_MS = 200 };

static bool let_time_pass(struct bench *bench, const struct strand *strand)
{
	const struct scenario *scenario = bench->scenario;

	if (scenario->expiry.clock.len)
		return bench_command(bench, "expiry.clock", scenario->expiry.clock, strand);
	bench_event(bench, DRILL_AT_CLIENT, 0, "waits %lld ms",
		    (long long)scenario->expiry.after_ms);
	usleep((useconds_t)(scenario->expiry.after_ms % 1000) * 1000);
	sleep((unsigned)(scenario->expiry.after_ms / 1000));
	return true;
}

static bool ask_until_expired(struct bench *bench, const struct strand *strand,
			      const struct target_answer *first, struct target_answer *out_answer)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + bench->scenario->settle_ms;
	const struct attempt plain = {0};

	for (;;) {
		if (!bench_send(bench, strand, &plain, out_answer))
			return false;
		if (judge_difference(first, out_answer, bench->scenario->id, &bench->mem) ||
		    env_monotonic_ms(&env_machine) >= until_ms)
			return true;
		usleep(LOOK_PAUSE_MS * 1000);
	}
}

bool case_expiry(struct bench *bench)
{
	bool is_new = bench->scenario->expiry.then == SCENARIO_NEW;
	const struct attempt plain = {0};
	struct target_answer first, late;
	struct strand strand;
	struct str words;

	if (!bench_strand(bench, &strand) || !bench_write(bench, &strand, &plain, &first) ||
	    !let_time_pass(bench, &strand) || !ask_until_expired(bench, &strand, &first, &late))
		return false;
	words = judge_words(&late, &bench->mem);
	if (!bench_effects(bench, &strand, is_new ? 2 : 1))
		return false;
	if (!judge_difference(&first, &late, bench->scenario->id, &bench->mem))
		return bench_fail(bench, "the key should have expired, and is still replayed");
	if (is_new ? judge(&late) != JUDGED_SUCCESS : judge(&late) == JUDGED_SUCCESS)
		return bench_fail(bench, "the expired key was told %.*s", STR_ARG(words));
	bench_pass(bench, "the expired key was told %.*s, and there %s", STR_ARG(words),
		   is_new ? "are 2 effects" : "is 1 effect");
	return true;
}
