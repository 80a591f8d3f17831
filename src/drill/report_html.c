/*
 * The report as a page of its own.
 *
 * For each scenario a list of its cases; each opens to what it does, what was seen, why that
 * matters, and its time line: a row for each event, with a dot in the lane of whoever it happened
 * to, or an arrow from one to another. One that was lost is dashed and ends in a cross. Nothing is
 * fetched and nothing runs: style, text and drawings are all there is.
 *
 * Always true: every text goes through report_escape(); what is drawn is also said, for whoever
 * cannot see it. Cannot fail but by the buffer.
 */
#include "drill/report.h"

#include "base/env.h"

/* Of a row's drawing; it is as wide as the lanes are together. */
enum {
	LANE = 40,
	HEIGHT = 16,
	MIDDLE = HEIGHT / 2,
	DOT = 5,
	TIP = 7,   /* of an arrow: as long, and half as wide to each side */
	CROSS = 4, /* of one that was lost: half its width */
};
_Static_assert(DRILL_ACTORS *LANE == 160 && HEIGHT == 16, "the style has the drawing's size");

static const char head[] =
	"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n<title>Drill</title>\n<style>\n"
	":root{color-scheme:light dark;--paper:#fdfcf9;--ink:#23211d;--soft:#6d685f;--line:#ddd7cb;"
	"--card:#fff;--pass:#2b7a4b;--fail:#b3261e;--error:#8a5a00;--na:#77726a;--dot:#3d5a99}\n"
	"@media(prefers-color-scheme:dark){:root{--paper:#191816;--ink:#ece8e0;--soft:#a39d92;"
	"--line:#3a3732;--card:#22201d;--pass:#7cc99a;--fail:#f2938b;--error:#e0b25c;--na:#a39d92;"
	"--dot:#9db7ee}}\n"
	"body{margin:0 auto;max-width:60rem;padding:1.5rem 1rem 4rem;background:var(--paper);"
	"color:var(--ink);font:1rem/1.5 system-ui,sans-serif}\n"
	"h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .25rem}\n"
	"p{margin:.35rem 0}.soft{color:var(--soft);font-size:.9rem;overflow-wrap:anywhere}\n"
	".sum{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;margin:1rem 0;font-size:1.05rem}\n"
	"details{background:var(--card);border:1px solid var(--line);border-radius:.4rem;"
	"margin:.4rem 0}\n"
	"summary{display:grid;grid-template-columns:8.5rem 12rem 1fr;gap:.25rem 1rem;"
	"padding:.55rem .8rem;cursor:pointer;list-style-position:inside}\n"
	"summary b{font-weight:600}details>div{padding:.2rem .8rem .9rem;overflow-x:auto}\n"
	".pass{color:var(--pass)}.fail{color:var(--fail)}.error{color:var(--error)}"
	".not_applicable{color:var(--na)}\n"
	"table{border-collapse:collapse;width:100%;margin-top:.7rem;font-size:.9rem}\n"
	"th{font-weight:500;color:var(--soft);text-align:center;padding:.1rem .3rem}\n"
	"th:first-child,th:last-child{text-align:left}\n"
	"td{padding:.18rem .5rem;vertical-align:top}td:first-child{white-space:nowrap;"
	"color:var(--soft);font-variant-numeric:tabular-nums;text-align:right}\n"
	"td:last-child{overflow-wrap:anywhere;min-width:14rem}\n"
	"th.lane{width:4.2rem}td.lanes{padding:0;--rule:linear-gradient(var(--line),var(--line));"
	"background:var(--rule) 12.5%/1px 100% no-repeat,var(--rule) 37.5%/1px 100% no-repeat,"
	"var(--rule) 62.5%/1px 100% no-repeat,var(--rule) 87.5%/1px 100% no-repeat}\n"
	"svg{display:block;width:100%;aspect-ratio:160/16;fill:none;stroke:var(--dot);"
	"stroke-width:1.6;stroke-linecap:round;margin:.1rem 0}svg .full{fill:var(--dot)}"
	"svg.lost{stroke:var(--fail)}svg.lost .way{stroke-dasharray:3 4}"
	"svg.lost .cross{stroke-width:2.4}\n"
	"@media(max-width:40rem){summary{grid-template-columns:1fr}table,tbody{display:block}"
	"tr{display:grid;grid-template-columns:4.6rem repeat(4,1fr);margin-top:.3rem}"
	"th,th.lane{width:auto;padding:0}td.lanes{grid-column:2/6}"
	"th:last-child,td:last-child{grid-column:1/-1;min-width:0;padding-left:0}"
	"td:first-child{text-align:left;padding:.18rem 0}}\n"
	"</style>\n";

/* How a verdict is written for people. */
static struct str verdict_words(enum drill_verdict verdict)
{
	static const struct str words[DRILL_VERDICTS] = {
		[DRILL_PASS] = {"✓ passed", 10},
		[DRILL_FAIL] = {"✗ failed", 10},
		[DRILL_NOT_APPLICABLE] = {"– not applicable", 18},
		[DRILL_ERROR] = {"? not judged", 12},
	};

	return words[verdict];
}

static void put_verdict(enum drill_verdict verdict, struct buf *out)
{
	buf_printf(out, "<span class=\"%s\">", drill_verdict_text(verdict));
	buf_append_str(out, verdict_words(verdict));
	buf_append_str(out, STR("</span>"));
}

static void put_paragraph(const char *title, struct str text, struct buf *out)
{
	if (!text.len)
		return;
	buf_printf(out, "<p><b>%s</b> ", title);
	report_escape(out, text);
	buf_append_str(out, STR("</p>\n"));
}

static int middle_of(enum drill_actor actor)
{
	return (int)actor * LANE + LANE / 2;
}

/* From the edge of one lane's line to that of another; a lost one ends half-way, in a cross. */
static void put_arrow(const struct drill_way *way, struct buf *out)
{
	int from = middle_of(way->from), to = middle_of(way->to);
	int ahead = from < to ? 1 : -1, half = (from + to) / 2;

	if (way->is_lost)
		buf_printf(out,
			   "<path class=\"way\" d=\"M%d %dH%d\"/>"
			   "<path class=\"cross\" d=\"M%d %dl%d %dm0 %dl%d %d\"/>",
			   from, MIDDLE, half - ahead * (CROSS + 3), half - CROSS, MIDDLE - CROSS,
			   2 * CROSS, 2 * CROSS, -2 * CROSS, -2 * CROSS, 2 * CROSS);
	else
		buf_printf(out,
			   "<path class=\"way\" d=\"M%d %dH%d\"/>"
			   "<path class=\"full\" d=\"M%d %dl%d %dv%dz\"/>",
			   from, MIDDLE, to - ahead * TIP, to - ahead, MIDDLE, -ahead * TIP,
			   -TIP / 2, 2 * (TIP / 2));
}

/* What is drawn of an event, and the same in words. */
static void put_drawing(const struct drill_way *way, struct buf *out)
{
	buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"%s aria-label=\"",
		   DRILL_ACTORS * LANE, HEIGHT, way->is_lost ? " class=\"lost\"" : "");
	if (way->from == way->to)
		buf_printf(out, "%s\"><circle class=\"full\" cx=\"%d\" cy=\"%d\" r=\"%d\"/></svg>",
			   report_actor(way->from), middle_of(way->from), MIDDLE, DOT);
	else {
		buf_printf(out, "%s to %s%s\">", report_actor(way->from), report_actor(way->to),
			   way->is_lost ? ", lost" : "");
		put_arrow(way, out);
		buf_append_str(out, STR("</svg>"));
	}
}

static void put_event(const struct drill_event *event, struct buf *out)
{
	struct drill_way way = drill_way(event->move);

	buf_printf(out, "<tr><td>%.1f ms</td><td class=\"lanes\" colspan=\"%d\">",
		   (double)event->at_us / 1000, DRILL_ACTORS);
	put_drawing(&way, out);
	buf_append_str(out, STR("</td><td>"));
	report_escape(out, event->text);
	if (event->lane > 0)
		buf_printf(out, " <span class=\"soft\">(request %d)</span>", event->lane + 1);
	buf_append_str(out, STR("</td></tr>\n"));
}

static void put_time_line(const struct drill_case_result *result, struct buf *out)
{
	if (!result->events)
		return;
	buf_append_str(out, STR("<table>\n<tr><th scope=\"col\">when</th>"));
	for (int actor = 0; actor < DRILL_ACTORS; actor++)
		buf_printf(out, "<th scope=\"col\" class=\"lane\">%s</th>",
			   report_actor((enum drill_actor)actor));
	buf_append_str(out, STR("<th scope=\"col\">what</th></tr>\n"));
	for (const struct drill_event *event = result->events; event; event = event->next)
		put_event(event, out);
	if (result->event_count == DRILL_EVENTS_MAX)
		buf_append_str(out, STR("<tr><td></td><td colspan=\"5\">(more is left out)"
					"</td></tr>\n"));
	buf_append_str(out, STR("</table>\n"));
}

static void put_case(const struct drill_case_result *result, struct buf *out)
{
	bool is_open = result->verdict == DRILL_FAIL || result->verdict == DRILL_ERROR;
	struct buf effects;

	buf_init(&effects, 256);
	report_effects(result, &effects);
	buf_printf(out, "<details%s><summary>", is_open ? " open" : "");
	put_verdict(result->verdict, out);
	buf_printf(out, "<b>%s</b><span>", result->name);
	report_escape(out, result->seen);
	buf_append_str(out, STR("</span></summary>\n<div>\n"));
	put_paragraph("Does:", str_from(result->what), out);
	put_paragraph("Counted:", buf_str(&effects), out);
	put_paragraph("Why it matters:", str_from(result->why), out);
	put_time_line(result, out);
	buf_append_str(out, STR("</div></details>\n"));
	buf_fini(&effects);
}

static void put_scenario(const struct drill_scenario_result *scenario, struct buf *out)
{
	buf_append_str(out, STR("<section>\n<h2>"));
	report_escape(out, scenario->name);
	buf_append_str(out, STR("</h2>\n<p class=\"soft\">"));
	report_escape(out, scenario->target);
	if (scenario->file.len)
		buf_append_str(out, STR(" · "));
	report_escape(out, scenario->file);
	buf_append_str(out, STR("</p>\n"));
	for (size_t i = 0; i < scenario->case_count; i++)
		put_case(&scenario->cases[i], out);
	buf_append_str(out, STR("</section>\n"));
}

void report_html(const struct drill_report *report, struct buf *out)
{
	struct report_counts counts = report_count(report);
	char began[25];

	time_format(report->began_ms, began);
	buf_append_str(out, str_from(head));
	buf_append_str(out, STR("<h1>Drill</h1>\n<p class=\"soft\">counterfoil "));
	report_escape(out, report->program_version);
	buf_printf(out, " · %s</p>\n<p class=\"sum\">", began);
	for (int verdict = 0; verdict < DRILL_VERDICTS; verdict++) {
		buf_printf(out, "<span><b>%zu</b> ", counts.of[verdict]);
		put_verdict((enum drill_verdict)verdict, out);
		buf_append_str(out, STR("</span>"));
	}
	buf_append_str(out, STR("</p>\n"));
	for (size_t i = 0; i < report->scenario_count; i++)
		put_scenario(&report->scenarios[i], out);
	buf_append_str(out, STR("</html>\n"));
}
