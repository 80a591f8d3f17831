/*
 * A drill's report, in the forms that people and their tools read.
 *
 * Each function appends the whole report; a refusal of the buffer shows in out->is_spoiled. What
 * servers said is made harmless for the form it goes into.
 */
#ifndef DRILL_REPORT_H
#define DRILL_REPORT_H

#include "base/buf.h"
#include "drill/result.h"

/* For a terminal: a line for each case, a paragraph for each that did not hold. */
void report_table(const struct drill_report *report, bool has_colour, struct buf *out);

/* Test Anything Protocol, version 14: a subtest for each scenario. */
void report_tap(const struct drill_report *report, struct buf *out);

/* JUnit's XML: a suite for each scenario; not applicable is skipped. */
void report_junit(const struct drill_report *report, struct buf *out);

/* One JSON object; docs/guide/drill.md has its members. */
void report_json(const struct drill_report *report, struct buf *out);

/* A page of its own, with the time line of each case drawn; nothing in it is fetched. */
void report_html(const struct drill_report *report, struct buf *out);

/* "client", "wire", "server", "count". */
const char *report_actor(enum drill_actor actor);

/* How many cases ended so. */
struct report_counts {
	size_t of[DRILL_VERDICTS];
};
struct report_counts report_count(const struct drill_report *report);
struct report_counts report_count_scenario(const struct drill_scenario_result *scenario);

/* "3 effects, as wanted", "2 effects where 1 was wanted"; empty where nothing was counted. */
void report_effects(const struct drill_case_result *result, struct buf *out);

/*
 * A text as all forms but JSON show it: on one line, controls and what is no UTF-8 as escapes (see
 * base/terminal.h), cut where it is too long. Initialises `out`; the caller ends it.
 */
enum { REPORT_TEXT_MAX = 384 * 1024 };
void report_clean(struct buf *out, struct str text);

/* Append a text for XML and HTML: cleaned, markup escaped, and what XML may not have as U+FFFD. */
void report_escape(struct buf *out, struct str text);

#endif
