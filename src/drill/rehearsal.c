/*
 * A rehearsal of a configuration.
 *
 * The file is read twice: as settings, which say what is claimed, and as a tree, of which the
 * configuration for the stage is made. Then each action is a scenario, with the cases of
 * rehearsal_case.c one after the other at a scene of its own.
 *
 * Always true: the gate on stage has the rules of the file and none of its addresses, folders or
 * secrets; it is ended, and its folder gone, when this returns.
 * Can fail: the file is wrong; the stage cannot be had.
 */
#include "drill/rehearsal.h"

#include "base/env.h"
#include "base/err.h"
#include "drill/protection.h"
#include "drill/rehearsal_case.h"

enum { CASES_MAX = 32, RUN_LETTERS = 4 };

struct rehearsal {
	const struct rehearsal_options *options;
	struct interrupt *interrupt;
	struct arena *mem;
	struct settings *settings;
	struct stage stage;
	unsigned number;
};

static int read_tree(const char *file, struct arena *mem, struct settings_report *wrong,
		     struct node **out_root);
static int rehearse_all(struct rehearsal *rehearsal, struct drill_report *out_report);

int drill_rehearse(const struct rehearsal_options *options, struct interrupt *interrupt,
		   struct arena *mem, struct drill_report *out_report,
		   struct settings_report *wrong, char why[REHEARSAL_WHY_MAX])
{
	struct rehearsal rehearsal = {
		.options = options, .interrupt = interrupt, .mem = mem, .stage.gate.output = -1};
	struct node *root;
	int r = settings_load(options->config, NULL, &rehearsal.settings, wrong);

	if (r != 0)
		return r == SETTINGS_WRONG ? REHEARSAL_WRONG : r;
	r = read_tree(options->config, mem, wrong, &root);
	if (r == 0) {
		r = stage_begin(&rehearsal.stage, root, options->gate, interrupt, mem, why);
		r = r == STAGE_FAILED ? REHEARSAL_FAILED : r;
		if (r == 0)
			r = rehearse_all(&rehearsal, out_report);
		stage_end(&rehearsal.stage);
	}
	settings_free(rehearsal.settings);
	return r;
}

static int read_tree(const char *file, struct arena *mem, struct settings_report *wrong,
		     struct node **out_root)
{
	char *text = arena_alloc(mem, SETTINGS_FILE_MAX);
	FILE *in = text ? fopen(file, "re") : NULL;
	size_t len;
	int r;

	if (!in)
		return fail(text ? FAIL_IO : FAIL_MEMORY);
	len = fread(text, 1, SETTINGS_FILE_MAX, in);
	fclose(in);
	r = yaml_read(str_of(text, len), file, mem, wrong, out_root);
	return r == SETTINGS_WRONG ? REHEARSAL_WRONG : r;
}

/* -- one action ---------------------------------------------------------------------- */

static void run_case(struct scene *scene, const struct rehearsal_case *row, const char *cannot)
{
	scene->began_us = env_monotonic_us(&env_machine);
	if (cannot && scene->result->effects_wanted == -1 && row != rehearsal_case_at(0) &&
	    row != rehearsal_case_at(1))
		scene_skip(scene, "%s", cannot);
	else
		row->run(scene);
	if (!scene->result->seen.len)
		scene_error(scene, "the case came to no verdict");
	scene->result->duration_us = env_monotonic_us(&env_machine) - scene->began_us;
}

/* Why none of an action's cases can be tried; NULL: they can. Opens the budget they live of. */
static const char *prepare(struct scene *scene, struct drill_case_result *aside)
{
	const struct action *action = scene->action;

	scene->result = aside;
	scene->began_us = env_monotonic_us(&env_machine);
	if (action->inbox.is_declared)
		return "events come from their service, signed with a secret that stays where it "
		       "is";
	scene_behave(scene, action);
	if (scene_open(scene, SCENE_ENOUGH, &scene->opened))
		return NULL;
	return aside->seen.len ? aside->seen.at : "no budget could be opened";
}

static int rehearse(struct rehearsal *rehearsal, const struct action *action, struct str run,
		    struct drill_scenario_result *out_result)
{
	struct scene scene = {.stage = &rehearsal->stage,
			      .settings = rehearsal->settings,
			      .action = action,
			      .run = run,
			      .number = &rehearsal->number,
			      .out = rehearsal->mem};
	struct drill_case_result aside = {0};
	const struct rehearsal_case *row;
	const char *cannot;

	arena_init(&scene.mem, SCENE_MEMORY_MAX);
	cannot = prepare(&scene, &aside);
	out_result->cases = arena_zalloc(rehearsal->mem, CASES_MAX * sizeof(*out_result->cases));
	for (size_t i = 0; out_result->cases && (row = rehearsal_case_at(i)); i++) {
		scene.result = &out_result->cases[out_result->case_count++];
		*scene.result = (struct drill_case_result){.name = row->name,
							   .what = row->what,
							   .why = row->why,
							   .effects_before = -1,
							   .effects_after = -1,
							   .effects_wanted = -1};
		run_case(&scene, row, cannot);
	}
	arena_fini(&scene.mem);
	return out_result->cases ? 0 : fail(FAIL_MEMORY);
}

/* -- all of it ----------------------------------------------------------------------- */

static struct str draw_run(struct arena *mem)
{
	unsigned char random[RUN_LETTERS];
	char text[RUN_LETTERS];

	env_random(&env_machine, random, sizeof(random));
	for (size_t i = 0; i < RUN_LETTERS; i++)
		text[i] = (char)('a' + random[i] % 26);
	return arena_str(mem, str_of(text, sizeof(text)));
}

/* What holds for writes that no action declares is a scenario of its own, with one line. */
static int say_undeclared(struct rehearsal *rehearsal, struct drill_scenario_result *out_result)
{
	struct drill_case_result *said = arena_zalloc(rehearsal->mem, sizeof(*said));

	if (!said)
		return fail(FAIL_MEMORY);
	*said = (struct drill_case_result){
		.name = "undeclared",
		.what = "says what becomes of writes that no action declares",
		.why = "a write that nobody thought of is the one without a rule",
		.verdict = DRILL_NOT_APPLICABLE,
		.seen = str_from(protection_undeclared(rehearsal->settings)),
		.effects_before = -1,
		.effects_after = -1,
		.effects_wanted = -1};
	*out_result = (struct drill_scenario_result){.name = STR("all other writes"),
						     .file = str_from(rehearsal->options->config),
						     .target = STR("any route"),
						     .cases = said,
						     .case_count = 1};
	return 0;
}

static int rehearse_all(struct rehearsal *rehearsal, struct drill_report *out_report)
{
	const struct settings *settings = rehearsal->settings;
	struct str run = draw_run(rehearsal->mem);
	int r = 0;

	out_report->scenarios = arena_zalloc(
		rehearsal->mem, (settings->action_count + 1) * sizeof(*out_report->scenarios));
	if (!out_report->scenarios || !run.at)
		return fail(FAIL_MEMORY);
	for (size_t i = 0; r == 0 && i < settings->action_count; i++) {
		const struct action *action = &settings->actions[i];
		struct drill_scenario_result *result =
			&out_report->scenarios[out_report->scenario_count++];

		result->name = arena_str(rehearsal->mem, action->name);
		result->file = str_from(rehearsal->options->config);
		result->target = arena_printf(rehearsal->mem, "%.*s %.*s", STR_ARG(action->method),
					      STR_ARG(action->route.pattern));
		r = rehearse(rehearsal, action, run, result);
	}
	if (r == 0)
		r = say_undeclared(rehearsal, &out_report->scenarios[out_report->scenario_count++]);
	return r;
}
