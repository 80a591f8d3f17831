/*
 * Events of a case, in the order they are told.
 *
 * Always true: no more than DRILL_EVENTS_MAX are kept. Cannot fail: what has no room is left out.
 */
#include "drill/result.h"

#include <stdarg.h>
#include <stdio.h>

enum { EVENT_TEXT_MAX = 1024 };

void drill_event_add(struct drill_case_result *result, struct arena *mem, int64_t at_us,
		     enum drill_actor actor, int lane, const char *format, ...)
{
	struct drill_event *event;
	char text[EVENT_TEXT_MAX];
	va_list arguments;

	if (result->event_count >= DRILL_EVENTS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	event = arena_zalloc(mem, sizeof(*event));
	if (!event)
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
}
