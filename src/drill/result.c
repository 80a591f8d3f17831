/*
 * Events of a case.
 */
#include "drill/result.h"
#include "drill/proxy.h"
#include "drill/report.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
void drill_event_add(struct drill_case_result *result, struct arena *mem, int64_t at_us,
		     enum drill_actor actor, int lane, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	struct drill_event *event = arena_zalloc(mem, sizeof(*event));
	if (!event || result->event_count >= DRILL_EVENTS_MAX)
		return;
	event->at_us = at_us;
	event->actor = actor;
	event->lane = lane;
	event->text = arena_str(mem, str_from(text));
	if (result->last_event)
		result->last_event->next = event;
	else
		result->events = event;
	result->last_event = event;
	result->event_count++;
	if (getenv("DRILL_TRACE"))
		fprintf(stderr, "  %8.1f %d/%d %s\n", (double)at_us / 1000, actor, lane, text);
}
static const char *const verdicts[] = {"pass", "fail", "n/a", "error"};
void report_table(const struct drill_report *report, bool has_colour, struct buf *out)
{
	for (size_t i = 0; i < report->scenario_count; i++)
		for (size_t j = 0; j < report->scenarios[i].case_count; j++) {
			struct drill_case_result *c = &report->scenarios[i].cases[j];
			buf_printf(out, "%-6s %-20s %6.0f ms  %.*s\n", verdicts[c->verdict],
				   c->name, (double)c->duration_us / 1000, STR_ARG(c->seen));
		}
}
void report_tap(const struct drill_report *r, struct buf *out)
{
	report_table(r, 0, out);
}
void report_junit(const struct drill_report *r, struct buf *out)
{
	report_table(r, 0, out);
}
void report_json(const struct drill_report *r, struct buf *out)
{
	report_table(r, 0, out);
}
void report_html(const struct drill_report *r, struct buf *out)
{
	report_table(r, 0, out);
}
int proxy_start(const struct proxy_settings *s, struct proxy **out, char why[PROXY_WHY_MAX])
{
	snprintf(why, PROXY_WHY_MAX, "stub");
	return 1;
}
uint16_t proxy_port(const struct proxy *p)
{
	return 0;
}
void proxy_plan(struct proxy *p, struct proxy_plan q)
{
}
void proxy_watch(struct proxy *p, struct proxy_watch w)
{
}
int proxy_wait_sent(struct proxy *p, int64_t ms)
{
	return 1;
}
void proxy_release(struct proxy *p)
{
}
void proxy_stop(struct proxy *p)
{
}
