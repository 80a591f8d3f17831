/*
 * counterfoil drill: rehearses contested writes against an API.
 *
 * All scenarios are read before anything is sent, and all that is wrong with them is said at
 * once. Reports are made when the last case is over, so one that cannot be written costs no run
 * halfway.
 */
#include "cli/command.h"
#include "cli/suggest.h"

#include "base/env.h"
#include "drill/case.h"
#include "drill/drill.h"
#include "drill/rehearsal.h"
#include "drill/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_JUDGED = 3 };
enum { REPORTS_MAX = 8, REPORT_BYTES_MAX = 64 * 1024 * 1024 };
enum {
	OPTION_TARGET,
	OPTION_KILL,
	OPTION_START,
	OPTION_CASE,
	OPTION_SKIP,
	OPTION_REPORT,
	OPTION_OUTPUT,
	OPTION_JSON,
	OPTION_CONFIG,
	OPTION_GATE,
};

static const struct command_option options[] = {
	{"--target", "URL", "where to send, instead of the scenario's target"},
	{"--kill", "COMMAND", "kills the server, instead of server.kill"},
	{"--start", "COMMAND", "starts the server, instead of server.start"},
	{"--case", "NAME", "only this case; may be given again", true},
	{"--skip", "NAME", "not this case; may be given again", true},
	{"--report", "FORM[=FILE]",
	 "table (default), tap, junit, json or html, to FILE or\n"
	 "stdout; may be given again",
	 true},
	{"--output", "FILE", "where a report without a file of its own goes"},
	{"--json", NULL, "the same as --report json"},
	{"--config", "FILE", "rehearse this configuration of a gate instead of scenarios"},
	{"--gate", "PROGRAM", "with --config: the counterfoil to start, instead of this one"},
};

/* -- reports ------------------------------------------------------------------------- */

static void write_plain_table(const struct drill_report *report, struct buf *out)
{
	report_table(report, false, out);
}

static const struct form {
	const char *name;
	void (*write)(const struct drill_report *report, struct buf *out);
} forms[] = {
	{"table", write_plain_table}, {"tap", report_tap},   {"junit", report_junit},
	{"json", report_json},	      {"html", report_html},
};

struct wanted {
	const struct form *form;
	const char *file; /* NULL: stdout */
};

struct wish {
	struct wanted reports[REPORTS_MAX];
	size_t report_count;
	struct drill_choice choice;
};

static int add_report(const struct command_call *call, const char *word, struct wish *wish)
{
	size_t len = strcspn(word, "=");
	const char *file = word[len] ? word + len + 1 : call->options[OPTION_OUTPUT];

	if (wish->report_count == REPORTS_MAX)
		return command_misused(call->command, "more than %d reports", REPORTS_MAX);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strlen(forms[i].name) == len && strncmp(forms[i].name, word, len) == 0) {
			wish->reports[wish->report_count++] = (struct wanted){&forms[i], file};
			return 0;
		}
	}
	return command_misused(call->command,
			       "there is no report \"%.*s\": table, tap, junit, json and html are",
			       (int)len, word);
}

static int read_reports(const struct command_call *call, struct wish *wish)
{
	const char *word;
	size_t at = 0;
	int r = 0;

	if (call->options[OPTION_JSON])
		r = add_report(call, "json", wish);
	while (r == 0 && (word = command_next_value(call, OPTION_REPORT, &at)))
		r = add_report(call, word, wish);
	if (r == 0 && !wish->report_count)
		r = add_report(call, "table", wish);
	return r;
}

static int read_names(const struct command_call *call, size_t option, const char **names,
		      size_t *count)
{
	struct suggestion suggestion;
	const char *name;
	size_t at = 0;

	while ((name = command_next_value(call, option, &at))) {
		if (*count == DRILL_NAMES_MAX)
			return command_misused(call->command, "more than %d names",
					       DRILL_NAMES_MAX);
		if (drill_case_find(str_from(name))) {
			names[(*count)++] = name;
			continue;
		}
		suggest_begin(&suggestion, name);
		for (size_t i = 0; drill_case_at(i); i++)
			suggest_offer(&suggestion, drill_case_at(i)->name);
		return command_misused(call->command, "there is no case \"%s\"%s%s%s", name,
				       suggestion.best ? "; did you mean \"" : "",
				       suggestion.best ? suggestion.best
						       : ": see counterfoil drill cases",
				       suggestion.best ? "\"?" : "");
	}
	return 0;
}

static int write_to_file(const char *file, const struct buf *text)
{
	FILE *out = fopen(file, "we");
	bool is_written = out && fwrite(text->at, 1, text->len, out) == text->len;
	int error = errno;

	if (out && fclose(out) != 0 && is_written) {
		is_written = false;
		error = errno;
	}
	if (is_written)
		return EXIT_DONE;
	command_message("the report could not be written to %s: %s", file, strerror(error));
	return EXIT_NOT_JUDGED;
}

static int write_report(const struct drill_report *report, const struct wanted *wanted)
{
	int status = EXIT_DONE;
	struct buf text;

	buf_init(&text, REPORT_BYTES_MAX);
	if (wanted->form->write == write_plain_table && !wanted->file)
		report_table(report, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), &text);
	else
		wanted->form->write(report, &text);
	if (text.is_spoiled) {
		command_message("the report is too large");
		status = EXIT_NOT_JUDGED;
	} else if (wanted->file) {
		status = write_to_file(wanted->file, &text);
	} else {
		fwrite(text.at, 1, text.len, stdout);
	}
	buf_fini(&text);
	return status;
}

/* All reports that were asked for. The exit status: what the report means, or that one could not
 * be written. */
static int conclude(const struct drill_report *report, const struct wish *wish)
{
	int status = drill_status(report), written;

	for (size_t i = 0; i < wish->report_count; i++) {
		written = write_report(report, &wish->reports[i]);
		status = written == EXIT_DONE ? status : written;
	}
	return status;
}

/* -- the run ------------------------------------------------------------------------- */

/* 0, or the exit status: all errors of all files have been printed. */
static int load_scenarios(const struct command_call *call, struct arena *mem,
			  struct scenario *scenarios)
{
	const struct scenario_override override = {.target = call->options[OPTION_TARGET],
						   .kill = call->options[OPTION_KILL],
						   .start = call->options[OPTION_START]};
	int status = EXIT_DONE;

	for (size_t i = 0; i < call->operand_count; i++) {
		struct settings_report report;
		int r;

		settings_report_init(&report);
		r = scenario_load(call->operands[i], &override, mem, &scenarios[i], &report);
		settings_report_print(&report, stderr);
		settings_report_fini(&report);
		if (r != 0)
			status = EXIT_USAGE;
	}
	return status;
}

static int run_all(const struct scenario *scenarios, const struct wish *wish, size_t count,
		   struct arena *mem, struct drill_report *report)
{
	struct interrupt interrupt;
	int r = interrupt_begin(&interrupt) ? 0 : -1;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = drill_run(&scenarios[i], &wish->choice, &interrupt, mem, &report->scenarios[i]);
		report->scenario_count += r == 0;
	}
	interrupt_end(&interrupt);
	return r;
}

/* --config: the actions of a configuration instead of scenarios. */
static int rehearse(const struct command_call *call, const struct wish *wish, struct arena *mem)
{
	const struct rehearsal_options how = {.config = call->options[OPTION_CONFIG],
					      .gate = call->options[OPTION_GATE]};
	struct drill_report report = {.program_version = STR(COUNTERFOIL_VERSION),
				      .began_ms = env_wall_ms(&env_machine)};
	struct settings_report wrong;
	char why[REHEARSAL_WHY_MAX];
	struct interrupt interrupt;
	int r;

	if (!interrupt_begin(&interrupt))
		return EXIT_NOT_JUDGED;
	settings_report_init(&wrong);
	r = drill_rehearse(&how, &interrupt, mem, &report, &wrong, why);
	settings_report_print(&wrong, stderr);
	settings_report_fini(&wrong);
	interrupt_end(&interrupt);
	if (r == REHEARSAL_FAILED)
		command_message("%s", why);
	if (r == 0)
		return conclude(&report, wish);
	return r == REHEARSAL_WRONG ? EXIT_USAGE : EXIT_NOT_JUDGED;
}

static int drill_all(const struct command_call *call, const struct wish *wish, struct arena *mem)
{
	struct scenario *scenarios = arena_zalloc(mem, call->operand_count * sizeof(*scenarios));
	struct drill_report report = {.program_version = STR(COUNTERFOIL_VERSION),
				      .began_ms = env_wall_ms(&env_machine)};
	int status;

	report.scenarios = arena_zalloc(mem, call->operand_count * sizeof(*report.scenarios));
	if (!scenarios || !report.scenarios)
		return EXIT_NOT_JUDGED;
	status = load_scenarios(call, mem, scenarios);
	if (status != EXIT_DONE)
		return status;
	if (run_all(scenarios, wish, call->operand_count, mem, &report) != 0)
		return EXIT_NOT_JUDGED;
	return conclude(&report, wish);
}

static bool has_scenario_options(const struct command_call *call)
{
	return call->options[OPTION_TARGET] || call->options[OPTION_KILL] ||
	       call->options[OPTION_START] || call->options[OPTION_CASE] ||
	       call->options[OPTION_SKIP];
}

/* Scenarios or a configuration, each with its own options. 0, or the exit status. */
static int check_line(const struct command_call *call)
{
	bool has_config = call->options[OPTION_CONFIG];

	if (!has_config && !call->operand_count)
		return command_misused(call->command, "drill needs SCENARIO, or --config FILE");
	if (has_config && call->operand_count)
		return command_misused(call->command, "name scenarios, or one --config FILE");
	if (has_config && has_scenario_options(call))
		return command_misused(call->command,
				       "--target, --kill, --start, --case and --skip are of "
				       "scenarios, not of --config");
	if (!has_config && call->options[OPTION_GATE])
		return command_misused(call->command, "--gate goes with --config");
	return EXIT_DONE;
}

static int run(const struct command_call *call)
{
	struct wish wish = {0};
	struct arena mem;
	int status = check_line(call);

	if (status == 0)
		status = read_reports(call, &wish);
	if (status == 0)
		status = read_names(call, OPTION_CASE, wish.choice.only, &wish.choice.only_count);
	if (status == 0)
		status = read_names(call, OPTION_SKIP, wish.choice.skip, &wish.choice.skip_count);
	if (status != 0)
		return status;
	arena_init(&mem, DRILL_MEMORY_MAX);
	status = call->options[OPTION_CONFIG] ? rehearse(call, &wish, &mem)
					      : drill_all(call, &wish, &mem);
	arena_fini(&mem);
	return status;
}

static int run_cases(const struct command_call *call)
{
	const struct drill_case *row;

	for (size_t i = 0; (row = drill_case_at(i)); i++)
		printf("%s%s\n  %s.\n  Why: %s.\n", i ? "\n" : "", row->name, row->what, row->why);
	return EXIT_DONE;
}

static const struct command command_cases = {
	.name = "drill cases",
	.summary = "lists the cases, what each proves and why it matters",
	.usage = "",
	.run = run_cases,
};

static const struct command *const drill_commands[] = {&command_cases, &command_drill_init, NULL};

const struct command command_drill = {
	.name = "drill",
	.summary = "rehearses contested writes against an API, and counts what it did",
	.usage = "SCENARIO... [OPTIONS] | --config FILE [OPTIONS]",
	.text = "A scenario is a YAML file: the write, how to count its effects, where the id is.\n"
		"Every case is judged by counts and by the resource itself, never by answers\n"
		"alone. With --config the actions of a gate's configuration are rehearsed at a\n"
		"gate of their own, with a stand-in for every service. Exit status: 0 all passed\n"
		"or did not apply, 1 a case failed, 2 a scenario or the configuration is wrong,\n"
		"3 a case could not be judged.\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.operands_max = DRILL_SCENARIOS_MAX,
	.commands = drill_commands,
	.run = run,
};
