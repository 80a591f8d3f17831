/*
 * What is true, whatever was said: counts and the resource.
 *
 * Every success that a case saw is held against the effects that are there; an answer alone never
 * passes a case. Where a count or the resource cannot be had the case cannot be judged.
 */
#include "drill/bench.h"

#include "base/env.h"
#include "drill/count.h"
#include "drill/place.h"

#include <stdio.h>
#include <unistd.h>

enum { LOOK_PAUSE_MS = 100, EFFECT_PAUSE_MS = 2 };

static void add(int64_t *sum, int64_t number)
{
	*sum = (*sum < 0 ? 0 : *sum) + number;
}

/* What the report says of a case is the sum over its strands; `wanted` -1: there is no one number.
 */
static bool keep_counts(struct bench *bench, const struct strand *strand, int64_t effects,
			int64_t wanted)
{
	bool is_kept;

	add(&bench->result->effects_before, strand->before);
	add(&bench->result->effects_after, strand->before + effects);
	if (wanted >= 0)
		add(&bench->result->effects_wanted, wanted);
	pthread_mutex_lock(&bench->mutex);
	is_kept = late_keep(bench->late, bench->result, strand->effects, &strand->names,
			    strand->before + effects, bench->out);
	pthread_mutex_unlock(&bench->mutex);
	return is_kept || bench_error(bench, "the drill has no memory left");
}

static bool look(struct bench *bench, const struct strand *strand, int64_t hoped,
		 int64_t *out_effects)
{
	char why[COUNT_WHY_MAX];
	int64_t count = 0;
	int r = count_settle(bench->scenario, strand->effects, &strand->names, strand->before,
			     hoped, &bench->mem, &count, why);

	if (r == COUNT_FAILED)
		return bench_error(bench, "effects could not be counted: %s", why);
	if (r != 0)
		return bench_error(bench, "the drill has no memory left");
	*out_effects = count - strand->before;
	bench_event(bench, DRILL_SERVER_TO_COUNT, 0, "effects of %.*s: %lld",
		    STR_ARG(strand->names.marker), (long long)*out_effects);
	return true;
}

/* In memory of its own, since it looks often; that it cannot count shows when it has to. */
static bool has_effect(struct bench *bench, const struct strand *strand)
{
	char why[COUNT_WHY_MAX];
	struct arena mem;
	int64_t count;
	bool has_one;

	arena_init(&mem, SCENARIO_MEMORY_MAX * 4);
	has_one = count_look(bench->scenario, strand->effects, &strand->names, &mem, &count, why) ==
			  0 &&
		  count > strand->before;
	arena_fini(&mem);
	return has_one;
}

void bench_await_effect(struct bench *bench, const struct strand *strand)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + bench->scenario->settle_ms;

	while (!has_effect(bench, strand) && env_monotonic_ms(&env_machine) < until_ms)
		usleep(EFFECT_PAUSE_MS * 1000);
}

bool bench_count(struct bench *bench, const struct strand *strand, int64_t hoped,
		 int64_t *out_effects)
{
	if (!look(bench, strand, hoped, out_effects))
		return false;
	return keep_counts(bench, strand, *out_effects, -1);
}

bool bench_effects(struct bench *bench, const struct strand *strand, int64_t wanted)
{
	int64_t effects;

	if (!look(bench, strand, wanted, &effects) || !keep_counts(bench, strand, effects, wanted))
		return false;
	if (effects != wanted)
		return bench_fail(bench, "effects: %lld where there should be %lld",
				  (long long)effects, (long long)wanted);
	return true;
}

bool bench_same(struct bench *bench, const struct target_answer *first,
		const struct target_answer *again)
{
	const char *difference = judge_difference(first, again, bench->scenario->id, &bench->mem);

	return difference ? bench_fail(bench, "the retry %s", difference) : true;
}

/* -- the resource -------------------------------------------------------------------- */

static bool fill_equals(struct bench *bench, const struct names *names,
			struct scenario_pairs *out_equals)
{
	const struct scenario_pairs *equals = &bench->scenario->resource.equals;
	struct scenario_pair *items =
		arena_alloc(&bench->mem, (equals->count + 1) * sizeof(*items));

	for (size_t i = 0; items && i < equals->count; i++) {
		items[i].name = equals->items[i].name;
		items[i].value =
			names_fill(equals->items[i].value, names, NAMES_PLAIN, &bench->mem);
		if (!items[i].value.at)
			return bench_error(bench, "the drill has no memory left");
	}
	*out_equals = (struct scenario_pairs){items, equals->count};
	return items ? true : bench_error(bench, "the drill has no memory left");
}

static bool ask_resource(struct bench *bench, const struct names *names,
			 struct target_answer *out_answer)
{
	const struct scenario *scenario = bench->scenario;
	struct str place = names_fill(scenario->resource.get, names, NAMES_URL, &bench->mem);
	struct target_request request = {.method = STR("GET"),
					 .timeout_ms = scenario->timeout_ms,
					 .ca_file = scenario->tls.ca_file,
					 .verify = scenario->tls.verify};

	request.url = place_url(scenario, place, &bench->mem);
	request.headers = place_question_headers(scenario, scenario->resource.get,
						 &scenario->resource.headers, &bench->mem);
	if (!request.url.at || !request.headers.at ||
	    target_ask(&request, &bench->mem, out_answer) != 0)
		return bench_error(bench, "the drill has no memory left");
	return true;
}

bool bench_resource(struct bench *bench, const struct strand *strand,
		    const struct target_answer *answer)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + bench->scenario->settle_ms;
	struct names names = strand->names;
	struct target_answer found;
	struct scenario_pairs equals;
	struct str at, words;

	if (!bench->scenario->resource.get.len)
		return true;
	names.id = judge_id(answer, bench->scenario->id, &bench->mem);
	if (!fill_equals(bench, &names, &equals))
		return false;
	for (;;) {
		if (!ask_resource(bench, &names, &found))
			return false;
		if (judge(&found) == JUDGED_SUCCESS &&
		    judge_equals(found.body, &equals, &bench->mem, &at))
			return true;
		if (env_monotonic_ms(&env_machine) >= until_ms)
			break;
		usleep(LOOK_PAUSE_MS * 1000);
	}
	words = judge_words(&found, &bench->mem);
	if (found.end != TARGET_ANSWERED)
		return bench_error(bench, "the resource could not be looked at: %.*s",
				   STR_ARG(words));
	if (judge(&found) != JUDGED_SUCCESS)
		return bench_fail(bench, "the resource %.60s is not there: %.*s", names.id.at,
				  STR_ARG(words));
	return bench_fail(bench, "the resource %.60s has something else at \"%.*s\"", names.id.at,
			  STR_ARG(at));
}

/* -- after an answer was lost -------------------------------------------------------- */

static bool settled_success(struct bench *bench, const struct strand *strand,
			    const struct target_answer *last, const struct target_answer *again,
			    const char *story)
{
	if (!bench_effects(bench, strand, 1) || (again && !bench_same(bench, last, again)) ||
	    !bench_resource(bench, strand, last))
		return false;
	bench_pass(bench, "%s; the retry was told %d; effects: 1", story, last->status);
	return true;
}

bool bench_settled(struct bench *bench, const struct strand *strand,
		   const struct target_answer *last, const struct target_answer *again,
		   const char *story)
{
	struct str words = judge_words(last, &bench->mem);
	int64_t effects;

	if (judge(last) == JUDGED_SUCCESS)
		return settled_success(bench, strand, last, again, story);
	if (!bench_count(bench, strand, 1, &effects))
		return false;
	if (effects > 1)
		return bench_fail(bench, "%s; the retry was told %.*s; effects: %lld", story,
				  STR_ARG(words), (long long)effects);
	if (judge(last) != JUDGED_UNKNOWN)
		return bench_fail(bench, "%s; the retry was told %.*s for good; effects: %lld",
				  story, STR_ARG(words), (long long)effects);
	bench_pass(bench, "%s; the retry is told %d, that nobody knows; effects: %lld", story,
		   last->status, (long long)effects);
	return true;
}
