/*
 * The report as JUnit XML, as CI systems read it.
 *
 * A scenario is a suite; what is not applicable is skipped, what could not be judged is an error.
 *
 * Always true: it is well-formed, whatever servers said. Cannot fail but by the buffer.
 */
#include "drill/report.h"

enum { US_PER_S = 1000000 };

static void put_attribute(struct buf *out, const char *name, struct str text)
{
	buf_printf(out, " %s=\"", name);
	report_escape(out, text);
	buf_append_byte(out, '"');
}

/* The element that says how a case ended; one that passed has none. */
static const char *element_of(enum drill_verdict verdict)
{
	switch (verdict) {
	case DRILL_FAIL:
		return "failure";
	case DRILL_ERROR:
		return "error";
	case DRILL_NOT_APPLICABLE:
		return "skipped";
	case DRILL_PASS:
	case DRILL_VERDICTS:
		break;
	}
	return NULL;
}

static void put_story(const struct drill_case_result *result, struct buf *out)
{
	buf_append_str(out, STR("      <system-out>"));
	for (const struct drill_event *event = result->events; event; event = event->next) {
		buf_printf(out, "%.1f ms: ", (double)event->at_us / 1000);
		report_escape(out, event->text);
		buf_append_byte(out, '\n');
	}
	buf_append_str(out, STR("</system-out>\n"));
}

static void put_case(const struct drill_scenario_result *scenario,
		     const struct drill_case_result *result, struct buf *out)
{
	const char *element = element_of(result->verdict);

	buf_append_str(out, STR("    <testcase"));
	put_attribute(out, "classname", scenario->name);
	put_attribute(out, "name", str_from(result->name));
	buf_printf(out, " time=\"%.6f\">\n", (double)result->duration_us / US_PER_S);
	if (element) {
		buf_printf(out, "      <%s", element);
		put_attribute(out, "message", result->seen);
		buf_append_byte(out, '>');
		if (result->verdict != DRILL_NOT_APPLICABLE) {
			report_effects(result, out);
			buf_append_byte(out, '\n');
			report_escape(out, str_from(result->why));
		}
		buf_printf(out, "</%s>\n", element);
	}
	if (result->events)
		put_story(result, out);
	buf_append_str(out, STR("    </testcase>\n"));
}

static void put_counts(const struct report_counts *counts, struct buf *out)
{
	size_t all = 0;

	for (size_t i = 0; i < DRILL_VERDICTS; i++)
		all += counts->of[i];
	buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"", all,
		   counts->of[DRILL_FAIL], counts->of[DRILL_ERROR],
		   counts->of[DRILL_NOT_APPLICABLE]);
}

void report_junit(const struct drill_report *report, struct buf *out)
{
	struct report_counts sum = report_count(report);

	buf_append_str(out, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites"
				" name=\"counterfoil drill\""));
	put_counts(&sum, out);
	buf_append_str(out, STR(">\n"));
	for (size_t i = 0; i < report->scenario_count; i++) {
		const struct drill_scenario_result *scenario = &report->scenarios[i];
		struct report_counts counts = report_count_scenario(scenario);

		buf_append_str(out, STR("  <testsuite"));
		put_attribute(out, "name", scenario->name);
		put_counts(&counts, out);
		buf_append_str(out, STR(">\n"));
		for (size_t k = 0; k < scenario->case_count; k++)
			put_case(scenario, &scenario->cases[k], out);
		buf_append_str(out, STR("  </testsuite>\n"));
	}
	buf_append_str(out, STR("</testsuites>\n"));
}
