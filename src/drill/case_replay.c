/*
 * Cases of the plain retry: after a success, and many at once.
 */
#include "drill/case.h"

bool case_replay(struct bench *bench)
{
	const struct attempt plain = {0};
	struct target_answer first, again;
	struct strand strand;

	if (!bench_strand(bench, &strand) || !bench_write(bench, &strand, &plain, &first) ||
	    !bench_send(bench, &strand, &plain, &again))
		return false;
	if (!bench_effects(bench, &strand, 1) || !bench_same(bench, &first, &again) ||
	    !bench_resource(bench, &strand, &first))
		return false;
	bench_pass(bench, "the retry was told the first answer, %d; effects: 1", again.status);
	return true;
}

/* -- copies -------------------------------------------------------------------------- */

struct copies {
	struct target_call *calls[SCENARIO_COPIES_MAX];
	struct attempt attempts[SCENARIO_COPIES_MAX];
	int begun;
	int successes;
	struct target_answer told; /* by the first success */
};

static bool begin_all(struct bench *bench, const struct strand *strand, struct target_line *line,
		      struct copies *copies)
{
	for (; copies->begun < bench->scenario->copies; copies->begun++) {
		copies->attempts[copies->begun] =
			(struct attempt){.lane = copies->begun, .line = line};
		if (!bench_begin(bench, strand, &copies->attempts[copies->begun],
				 &copies->calls[copies->begun]))
			return false;
	}
	return true;
}

/* Every call is finished, whatever has been said. */
static bool finish_all(struct bench *bench, struct copies *copies)
{
	bool is_one = true;

	for (int i = 0; i < copies->begun; i++) {
		struct target_answer answer = {0};

		if (!bench_finish(bench, &copies->attempts[i], copies->calls[i], &answer) ||
		    judge(&answer) != JUDGED_SUCCESS)
			continue;
		if (copies->successes++ == 0)
			copies->told = answer;
		else if (!str_equal(judge_id(&copies->told, bench->scenario->id, &bench->mem),
				    judge_id(&answer, bench->scenario->id, &bench->mem)))
			is_one = false;
	}
	return is_one;
}

bool case_copies(struct bench *bench)
{
	struct copies *copies = arena_zalloc(&bench->mem, sizeof(*copies));
	const struct attempt plain = {0};
	struct target_answer again;
	struct target_line *line;
	struct strand strand;
	bool is_begun, is_one;

	if (!copies)
		return bench_error(bench, "the drill has no memory left");
	if (!bench_strand(bench, &strand))
		return false;
	line = target_line_new((int)bench->scenario->copies);
	is_begun = line && begin_all(bench, &strand, line, copies);
	is_one = finish_all(bench, copies);
	target_line_free(line);
	if (!is_begun)
		return bench_error(bench, "the drill could not begin %lld requests at once",
				   (long long)bench->scenario->copies);
	if (!bench_retry(bench, &strand, &plain, &again) || !bench_effects(bench, &strand, 1))
		return false;
	if (!is_one)
		return bench_fail(bench, "successes of one key told different ids, with 1 effect");
	if (judge(&again) != JUDGED_SUCCESS)
		return bench_fail(bench, "of %d copies %d were told a success, a retry %d",
				  copies->begun, copies->successes, again.status);
	if (copies->successes && !bench_same(bench, &copies->told, &again))
		return false;
	if (!bench_resource(bench, &strand, &again))
		return false;
	bench_pass(bench, "%d copies at once, %d told a success, all of the same 1 effect",
		   copies->begun, copies->successes);
	return true;
}
