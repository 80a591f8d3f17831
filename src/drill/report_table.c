/*
 * The report for a terminal.
 *
 * First what came of each case, a line each; then, for each that did not hold, what was seen and
 * why it matters; last one line that counts.
 *
 * Always true: what servers said moves no cursor. Cannot fail but by the buffer.
 */
#include "base/terminal.h"
#include "drill/report.h"

enum { NAME_WIDTH = 20 };

static const struct mark {
	struct str text;
	struct str colour;
} marks[DRILL_VERDICTS] = {
	[DRILL_PASS] = {{"ok  ", 4}, {"\x1b[32m", 5}},
	[DRILL_FAIL] = {{"FAIL", 4}, {"\x1b[31m", 5}},
	[DRILL_NOT_APPLICABLE] = {{"n/a ", 4}, {"\x1b[2m", 4}},
	[DRILL_ERROR] = {{"????", 4}, {"\x1b[33m", 5}},
};

static void put_mark(enum drill_verdict verdict, bool has_colour, struct buf *out)
{
	if (has_colour)
		buf_append_str(out, marks[verdict].colour);
	buf_append_str(out, marks[verdict].text);
	if (has_colour)
		buf_append_str(out, STR("\x1b[0m"));
}

static void put_scenario(const struct drill_scenario_result *scenario, bool has_colour,
			 struct buf *out)
{
	terminal_append(out, scenario->name);
	buf_append_str(out, STR("  →  "));
	terminal_append(out, scenario->target);
	buf_append_byte(out, '\n');
	for (size_t i = 0; i < scenario->case_count; i++) {
		const struct drill_case_result *result = &scenario->cases[i];

		buf_append_str(out, STR("  "));
		put_mark(result->verdict, has_colour, out);
		buf_printf(out, "  %-*s  ", NAME_WIDTH, result->name);
		terminal_append(out, result->seen);
		buf_append_byte(out, '\n');
	}
	buf_append_byte(out, '\n');
}

static void put_finding(const struct drill_scenario_result *scenario,
			const struct drill_case_result *result, bool has_colour, struct buf *out)
{
	put_mark(result->verdict, has_colour, out);
	buf_printf(out, " %s: ", result->name);
	terminal_append(out, scenario->name);
	buf_printf(out, "\n  does     %s\n  seen     ", result->what);
	terminal_append(out, result->seen);
	if (result->effects_before >= 0 && result->effects_after >= 0) {
		buf_append_str(out, STR("\n  counted  "));
		report_effects(result, out);
	}
	buf_printf(out, "\n  matters  %s\n", result->why);
	for (const struct drill_event *event = result->events; event; event = event->next) {
		buf_printf(out, "  %8.1f ms  %-6s  ", (double)event->at_us / 1000,
			   report_actor(drill_way(event->move).actor));
		terminal_append(out, event->text);
		buf_append_byte(out, '\n');
	}
	buf_append_byte(out, '\n');
}

void report_table(const struct drill_report *report, bool has_colour, struct buf *out)
{
	struct report_counts counts = report_count(report);

	for (size_t i = 0; i < report->scenario_count; i++)
		put_scenario(&report->scenarios[i], has_colour, out);
	for (size_t i = 0; i < report->scenario_count; i++) {
		const struct drill_scenario_result *scenario = &report->scenarios[i];

		for (size_t k = 0; k < scenario->case_count; k++)
			if (scenario->cases[k].verdict == DRILL_FAIL ||
			    scenario->cases[k].verdict == DRILL_ERROR)
				put_finding(scenario, &scenario->cases[k], has_colour, out);
	}
	buf_printf(out, "%zu passed, %zu failed, %zu not applicable, %zu not judged\n",
		   counts.of[DRILL_PASS], counts.of[DRILL_FAIL], counts.of[DRILL_NOT_APPLICABLE],
		   counts.of[DRILL_ERROR]);
}
