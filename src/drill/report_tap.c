/*
 * The report as TAP 14 (testanything.org).
 *
 * A scenario is a subtest, a case a test point; what is not applicable is a SKIP, and what could
 * not be judged is "not ok", as nobody may take it for a success. Diagnostics are YAML, of which
 * only double-quoted scalars are used: each is JSON, too.
 *
 * Always true: a text takes one line, and no description has a # of its own.
 * Cannot fail but by the buffer.
 */
#include "drill/report.h"

#include "base/terminal.h"
#include "json/json.h"

enum { JSON_GROWTH = 8 }; /* bytes that one byte of a text may become, and its quotes */

static void put_description(struct buf *out, struct str text)
{
	struct buf clean;

	report_clean(&clean, text);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.at[i] == '#' || clean.at[i] == '\\')
			buf_append_byte(out, '\\');
		buf_append_byte(out, clean.at[i]);
	}
	buf_fini(&clean);
}

static void put_member(struct buf *out, const char *name, struct str text)
{
	struct json_writer json;
	struct buf value;

	buf_printf(out, "      %s: ", name);
	buf_init(&value, REPORT_TEXT_MAX);
	json_writer_init(&json, &value);
	json_string(&json, str_cut(text, REPORT_TEXT_MAX / JSON_GROWTH));
	terminal_append_json(out, buf_str(&value));
	buf_append_byte(out, '\n');
	buf_fini(&value);
}

static void put_case(const struct drill_case_result *result, size_t number, struct buf *out)
{
	bool is_ok = result->verdict == DRILL_PASS || result->verdict == DRILL_NOT_APPLICABLE;
	struct buf effects;

	buf_printf(out, "    %s %zu - %s", is_ok ? "ok" : "not ok", number, result->name);
	if (result->verdict == DRILL_NOT_APPLICABLE) {
		buf_append_str(out, STR(" # SKIP "));
		put_description(out, result->seen);
	}
	buf_append_byte(out, '\n');
	if (result->verdict == DRILL_NOT_APPLICABLE)
		return;
	buf_init(&effects, 256);
	report_effects(result, &effects);
	buf_append_str(out, STR("      ---\n"));
	put_member(out, "verdict", str_from(drill_verdict_text(result->verdict)));
	put_member(out, "seen", result->seen);
	if (effects.len)
		put_member(out, "counted", buf_str(&effects));
	if (!is_ok)
		put_member(out, "matters", str_from(result->why));
	buf_printf(out, "      duration_ms: %.3f\n      ...\n", (double)result->duration_us / 1000);
	buf_fini(&effects);
}

void report_tap(const struct drill_report *report, struct buf *out)
{
	buf_printf(out, "TAP version 14\n1..%zu\n", report->scenario_count);
	for (size_t i = 0; i < report->scenario_count; i++) {
		const struct drill_scenario_result *scenario = &report->scenarios[i];
		struct report_counts counts = report_count_scenario(scenario);
		bool is_ok = !counts.of[DRILL_FAIL] && !counts.of[DRILL_ERROR];

		buf_append_str(out, STR("# Subtest: "));
		put_description(out, scenario->name);
		buf_printf(out, "\n    1..%zu\n", scenario->case_count);
		for (size_t k = 0; k < scenario->case_count; k++)
			put_case(&scenario->cases[k], k + 1, out);
		buf_printf(out, "%s %zu - ", is_ok ? "ok" : "not ok", i + 1);
		put_description(out, scenario->name);
		buf_append_byte(out, '\n');
	}
}
