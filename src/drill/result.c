/*
 * Events of a case, in the order they are told.
 *
 * Always true: no more than DRILL_EVENTS_MAX are kept. Cannot fail: what has no room is left out.
 */
#include "drill/result.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

enum { EVENT_TEXT_MAX = 1024 };

struct drill_way drill_way(enum drill_move move)
{
	static const struct drill_way ways[DRILL_MOVES] = {
		[DRILL_AT_CLIENT] = {DRILL_CLIENT, DRILL_CLIENT, DRILL_CLIENT, false},
		[DRILL_AT_WIRE] = {DRILL_WIRE, DRILL_WIRE, DRILL_WIRE, false},
		[DRILL_AT_SERVER] = {DRILL_SERVER, DRILL_SERVER, DRILL_SERVER, false},
		[DRILL_AT_COUNT] = {DRILL_COUNT, DRILL_COUNT, DRILL_COUNT, false},
		[DRILL_CLIENT_TO_WIRE] = {DRILL_CLIENT, DRILL_CLIENT, DRILL_WIRE, false},
		[DRILL_CLIENT_TO_SERVER] = {DRILL_CLIENT, DRILL_CLIENT, DRILL_SERVER, false},
		[DRILL_WIRE_TO_SERVER] = {DRILL_WIRE, DRILL_WIRE, DRILL_SERVER, false},
		[DRILL_SERVER_TO_WIRE] = {DRILL_WIRE, DRILL_SERVER, DRILL_WIRE, false},
		[DRILL_WIRE_TO_CLIENT] = {DRILL_WIRE, DRILL_WIRE, DRILL_CLIENT, false},
		[DRILL_SERVER_TO_CLIENT] = {DRILL_CLIENT, DRILL_SERVER, DRILL_CLIENT, false},
		[DRILL_SERVER_TO_COUNT] = {DRILL_COUNT, DRILL_SERVER, DRILL_COUNT, false},
		[DRILL_LOST_TO_SERVER] = {DRILL_WIRE, DRILL_WIRE, DRILL_SERVER, true},
		[DRILL_LOST_TO_WIRE] = {DRILL_WIRE, DRILL_SERVER, DRILL_WIRE, true},
		[DRILL_LOST_TO_CLIENT] = {DRILL_WIRE, DRILL_WIRE, DRILL_CLIENT, true},
		[DRILL_LOST_ON_THE_WAY] = {DRILL_CLIENT, DRILL_SERVER, DRILL_CLIENT, true},
	};

	require((unsigned)move < DRILL_MOVES);
	return ways[move];
}

void drill_event_add(struct drill_case_result *result, struct arena *mem, int64_t at_us,
		     enum drill_move move, int lane, const char *format, ...)
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
	event->move = move;
	event->lane = lane;
	event->text = arena_str(mem, str_from(text));
	if (result->last_event)
		result->last_event->next = event;
	else
		result->events = event;
	result->last_event = event;
	result->event_count++;
}
