/*
 * Running the cases of one scenario.
 *
 * Cases are run one after the other, each at a bench of its own with a marker and keys of its own,
 * so that none meets what another one left. The server of the scenario is begun before the first
 * and ended after the last, whatever happens between. A case that gives no verdict is one that
 * could not be judged.
 */
#include "drill/drill.h"

#include "base/env.h"
#include "base/err.h"
#include "drill/case.h"

enum { RUN_LETTERS = 6 };

static void run_case(const struct drill_case *row, const struct scenario *scenario,
		     struct server *server, struct late *late, struct str run, struct arena *mem,
		     struct drill_case_result *result);

static bool has_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool is_chosen(const struct drill_choice *choice, const char *name)
{
	if (choice->only_count && !has_name(choice->only, choice->only_count, name))
		return false;
	return !has_name(choice->skip, choice->skip_count, name);
}

/* A short name for one run, so that the markers of two never meet. */
static struct str draw_run(struct arena *mem)
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
	unsigned char random[RUN_LETTERS];
	char text[RUN_LETTERS];

	env_random(&env_machine, random, sizeof(random));
	for (size_t i = 0; i < RUN_LETTERS; i++)
		text[i] = letters[random[i] % (sizeof(letters) - 1)];
	return arena_str(mem, str_of(text, sizeof(text)));
}

static size_t count_chosen(const struct drill_choice *choice)
{
	const struct drill_case *row;
	size_t count = 0;

	for (size_t i = 0; (row = drill_case_at(i)); i++)
		count += is_chosen(choice, row->name);
	return count;
}

/* When the server cannot be had no case can be judged, and each says so. */
static void refuse_case(const struct drill_case *row, const char *why, struct arena *mem,
			struct drill_case_result *result)
{
	result->verdict = DRILL_ERROR;
	result->seen = arena_str(mem, str_from(why));
	if (!result->seen.at)
		result->seen = STR("(no memory left to say more)");
}

int drill_run(const struct scenario *scenario, const struct drill_choice *choice,
	      struct interrupt *interrupt, struct arena *mem,
	      struct drill_scenario_result *out_result)
{
	struct drill_scenario_result result = {
		.name = scenario->name, .file = scenario->file, .target = scenario->target};
	size_t room = count_chosen(choice) + 1;
	struct str run = draw_run(mem);
	const struct drill_case *row;
	char why[SHELL_WHY_MAX];
	struct server server;
	struct late late = {0};
	int r;

	result.cases = arena_zalloc(mem, room * sizeof(*result.cases));
	if (!result.cases || !run.at)
		return fail(FAIL_MEMORY);
	r = server_begin(&server, scenario, interrupt, why);
	for (size_t i = 0; (row = drill_case_at(i)); i++) {
		struct drill_case_result *of_case = &result.cases[result.case_count];

		if (!is_chosen(choice, row->name))
			continue;
		result.case_count++;
		*of_case = (struct drill_case_result){.name = row->name,
						      .what = row->what,
						      .why = row->why,
						      .effects_before = -1,
						      .effects_after = -1,
						      .effects_wanted = -1};
		if (r == 0)
			run_case(row, scenario, &server, &late, run, mem, of_case);
		else
			refuse_case(row, why, mem, of_case);
	}
	late_check(&late, scenario, mem);
	server_end(&server);
	*out_result = result;
	return 0;
}

static void try_case(const struct drill_case *row, struct bench *bench)
{
	const char *cannot = row->cannot ? row->cannot(bench) : NULL;
	char why[SHELL_WHY_MAX];
	int r;

	if (cannot) {
		bench_not_applicable(bench, "%s", cannot);
		return;
	}
	r = server_reset(bench->server, why);
	if (r != 0)
		bench_error(bench, "%s", r == SERVER_FAILED ? why : "no memory left");
	else
		row->run(bench);
	if (!bench->is_judged)
		bench_error(bench, "the case came to no verdict");
}

static void run_case(const struct drill_case *row, const struct scenario *scenario,
		     struct server *server, struct late *late, struct str run, struct arena *mem,
		     struct drill_case_result *result)
{
	struct bench bench = {.scenario = scenario,
			      .server = server,
			      .late = late,
			      .run = run,
			      .out = mem,
			      .test_case = str_from(row->name),
			      .result = result};

	bench.began_us = env_monotonic_us(&env_machine);
	arena_init(&bench.mem, BENCH_MEMORY_MAX);
	pthread_mutex_init(&bench.mutex, NULL);
	try_case(row, &bench);
	if (bench.proxy)
		proxy_stop(bench.proxy);
	result->duration_us = env_monotonic_us(&env_machine) - bench.began_us;
	pthread_mutex_destroy(&bench.mutex);
	arena_fini(&bench.mem);
}

int drill_status(const struct drill_report *report)
{
	int status = 0;

	for (size_t i = 0; i < report->scenario_count; i++) {
		const struct drill_scenario_result *result = &report->scenarios[i];

		for (size_t j = 0; j < result->case_count; j++) {
			if (result->cases[j].verdict == DRILL_ERROR)
				return 3;
			if (result->cases[j].verdict == DRILL_FAIL)
				status = 1;
		}
	}
	return status;
}
