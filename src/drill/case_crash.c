/*
 * Cases of failing servers: killed at work, started anew, failing for a moment.
 *
 * What a killed server did cannot be known from its answers; so each moment of the sweep has a
 * strand of its own, and only its count says what happened.
 */
#include "drill/case.h"

#include <unistd.h>

enum { SENT_WITHIN_MS = 5000, MOMENTS_MAX = 8 };

/* -- killed at work ------------------------------------------------------------------ */

/*
 * Milliseconds after the request was wholly sent. The last moment is not one of the clock: as soon
 * as the effect can be seen, whatever the server still has to note or to say.
 */
enum { WHEN_DONE = -1 };
static const int moments_ms[] = {0, 1, 3, 10, 30, 100, WHEN_DONE};
enum { MOMENT_COUNT = sizeof(moments_ms) / sizeof(moments_ms[0]) };
_Static_assert((int)MOMENT_COUNT <= (int)MOMENTS_MAX, "a sweep is short");

struct sweep {
	int told_success; /* retries */
	int told_unknown;
};

static bool kill_and_start(struct bench *bench)
{
	char why[SHELL_WHY_MAX];

	bench_event(bench, DRILL_AT_SERVER, 0, "is killed");
	if (server_kill(bench->server, why) != 0)
		return bench_error(bench, "the server could not be killed: %s", why);
	bench_event(bench, DRILL_AT_SERVER, 0, "is started");
	if (server_start(bench->server, why) != 0)
		return bench_error(bench, "the server could not be started: %s", why);
	return true;
}

/* The first attempt, cut short by the kill. */
static bool send_and_kill(struct bench *bench, const struct strand *strand, int moment_ms,
			  struct target_answer *out_answer)
{
	const struct scenario_means *slow = &bench->scenario->slow;
	const struct attempt first = {.extra = &slow->headers};
	struct target_call *call;
	bool is_up;

	if (slow->command.len && !bench_command(bench, "slow.command", slow->command, strand))
		return false;
	if (!bench_begin(bench, strand, &first, &call))
		return false;
	target_wait_sent(call, SENT_WITHIN_MS);
	if (moment_ms == WHEN_DONE)
		bench_await_effect(bench, strand);
	else
		usleep((useconds_t)moment_ms * 1000);
	is_up = kill_and_start(bench);
	return bench_finish(bench, &first, call, out_answer) && is_up;
}

/* What the retry says against what is there. */
static bool judge_moment(struct bench *bench, const struct strand *strand,
			 const struct target_answer *first, const struct target_answer *last,
			 struct sweep *sweep)
{
	struct str words = judge_words(last, &bench->mem);
	int64_t effects;

	if (judge(last) == JUDGED_SUCCESS) {
		sweep->told_success++;
		return bench_effects(bench, strand, 1) &&
		       (judge(first) != JUDGED_SUCCESS || bench_same(bench, first, last)) &&
		       bench_resource(bench, strand, last);
	}
	if (!bench_count(bench, strand, 1, &effects))
		return false;
	if (effects > 1)
		return bench_fail(bench, "killed at work; effects: %lld", (long long)effects);
	if (judge(first) == JUDGED_SUCCESS)
		return bench_fail(bench, "told a success before the kill, the retry was told %.*s",
				  STR_ARG(words));
	if (judge(last) != JUDGED_UNKNOWN)
		return bench_fail(bench, "killed at work, it told every retry %.*s; effects: %lld",
				  STR_ARG(words), (long long)effects);
	sweep->told_unknown++;
	return true;
}

bool case_server_killed(struct bench *bench)
{
	const struct attempt plain = {.lane = 1};
	struct sweep sweep = {0};

	for (int i = 0; i < MOMENT_COUNT; i++) {
		struct target_answer first, last;
		struct strand strand;

		if (!bench_strand(bench, &strand) ||
		    !send_and_kill(bench, &strand, moments_ms[i], &first) ||
		    !bench_retry(bench, &strand, &plain, &last) ||
		    !judge_moment(bench, &strand, &first, &last, &sweep))
			return false;
	}
	bench_pass(bench,
		   "killed at %d moments: %d retries were told a success with 1 effect, %d "
		   "that nobody knows, with 1 at most",
		   MOMENT_COUNT, sweep.told_success, sweep.told_unknown);
	return true;
}

/* -- started anew -------------------------------------------------------------------- */

bool case_restart_remembers(struct bench *bench)
{
	const struct attempt plain = {0};
	struct target_answer first, again;
	char why[SHELL_WHY_MAX];
	struct strand strand;

	if (!bench_strand(bench, &strand) || !bench_write(bench, &strand, &plain, &first))
		return false;
	bench_event(bench, DRILL_AT_SERVER, 0, "is stopped and started");
	if (server_stop(bench->server, why) != 0 || server_start(bench->server, why) != 0)
		return bench_error(bench, "the server could not be started anew: %s", why);
	if (!bench_retry(bench, &strand, &plain, &again) || !bench_effects(bench, &strand, 1) ||
	    !bench_same(bench, &first, &again) || !bench_resource(bench, &strand, &first))
		return false;
	bench_pass(bench, "started anew, it told the first answer, %d; effects: 1", again.status);
	return true;
}

/* -- failing for a moment ------------------------------------------------------------ */

/* Nothing of the first attempt reaches the server. */
static bool fail_on_the_wire(struct bench *bench)
{
	const struct attempt by_wire = {.is_by_proxy = true}, plain = {.lane = 1};
	struct target_answer lost, last;
	struct strand strand;
	struct str words;

	if (!bench_strand(bench, &strand) || !bench_fault(bench, PROXY_RESET_BEFORE, 0) ||
	    !bench_send(bench, &strand, &by_wire, &lost) ||
	    !bench_retry(bench, &strand, &plain, &last))
		return false;
	words = judge_words(&last, &bench->mem);
	if (judge(&last) != JUDGED_SUCCESS)
		return bench_fail(bench, "after a reset before the work the retry was told %.*s",
				  STR_ARG(words));
	return bench_effects(bench, &strand, 1) && bench_resource(bench, &strand, &last);
}

/* The service fails the first attempt, by the scenario's means. */
static bool fail_at_the_service(struct bench *bench, struct strand *strand,
				struct target_answer *out_failed, struct target_answer *out_last)
{
	const struct scenario_means *failing = &bench->scenario->failing;
	const struct attempt first = {.extra = &failing->headers}, plain = {.lane = 1};

	if (!bench_strand(bench, strand))
		return false;
	if (failing->command.len &&
	    !bench_command(bench, "failing.command", failing->command, strand))
		return false;
	if (!bench_send(bench, strand, &first, out_failed))
		return false;
	if (judge(out_failed) == JUDGED_SUCCESS)
		return bench_error(bench, "what `failing` says made no write fail: it was told %d",
				   out_failed->status);
	return bench_retry(bench, strand, &plain, out_last);
}

bool case_error_not_cached(struct bench *bench)
{
	struct target_answer failed, last;
	struct strand strand;
	struct str words, told;

	if (!fail_on_the_wire(bench))
		return false;
	if (!scenario_has_means(&bench->scenario->failing)) {
		bench_pass(bench, "after a reset before the work, the retry made 1 effect");
		return true;
	}
	if (!fail_at_the_service(bench, &strand, &failed, &last))
		return false;
	words = judge_words(&failed, &bench->mem);
	told = judge_words(&last, &bench->mem);
	if (judge(&last) == JUDGED_SUCCESS || judge(&last) == JUDGED_UNKNOWN)
		return bench_settled(bench, &strand, &last, NULL, "the first attempt failed");
	return bench_fail(bench, "the failed attempt was told %.*s, and every retry after it %.*s",
			  STR_ARG(words), STR_ARG(told));
}
