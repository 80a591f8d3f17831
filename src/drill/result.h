/*
 * What came of a drill: scenarios, cases, and the events of each.
 *
 * Plain values, filled by the engine and read by the reports. Texts live in the arena of the
 * whole report; those of a case's name, what and why are constant.
 */
#ifndef DRILL_RESULT_H
#define DRILL_RESULT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum drill_verdict {
	DRILL_PASS,
	DRILL_FAIL,
	DRILL_NOT_APPLICABLE,
	DRILL_ERROR, /* it could not be judged */
	DRILL_VERDICTS
};
const char *drill_verdict_text(enum drill_verdict verdict); /* "pass", … */

enum drill_actor { DRILL_CLIENT, DRILL_WIRE, DRILL_SERVER, DRILL_COUNT, DRILL_ACTORS };

/* What an event is: something at one of them, or on its way from one to another. */
enum drill_move {
	DRILL_AT_CLIENT,
	DRILL_AT_WIRE,
	DRILL_AT_SERVER,
	DRILL_AT_COUNT,
	DRILL_CLIENT_TO_WIRE,
	DRILL_CLIENT_TO_SERVER, /* there is no wire between */
	DRILL_WIRE_TO_SERVER,
	DRILL_SERVER_TO_WIRE,
	DRILL_WIRE_TO_CLIENT,
	DRILL_SERVER_TO_CLIENT,
	DRILL_SERVER_TO_COUNT,
	DRILL_LOST_TO_SERVER,  /* the request, on the wire */
	DRILL_LOST_TO_WIRE,    /* the answer, or a part of it */
	DRILL_LOST_TO_CLIENT,  /* the answer, on the wire */
	DRILL_LOST_ON_THE_WAY, /* the answer, where there is no wire */
	DRILL_MOVES
};

/* Of a move. Who it is told of, and its way; where nothing moves, both ends are the same. */
struct drill_way {
	enum drill_actor actor, from, to;
	bool is_lost; /* it does not arrive */
};
struct drill_way drill_way(enum drill_move move);

enum { DRILL_EVENTS_MAX = 500 }; /* of a case; more are left out */

struct drill_event {
	int64_t at_us; /* since the case began */
	enum drill_move move;
	int lane; /* which request of several, from 0 */
	struct str text;
	struct drill_event *next;
};

struct drill_case_result {
	const char *name;
	const char *what; /* it does, in one sentence */
	const char *why;  /* it matters */
	enum drill_verdict verdict;
	struct str seen;				       /* one sentence, with counts */
	int64_t effects_before, effects_after, effects_wanted; /* -1: not counted */
	int64_t duration_us;
	struct drill_event *events, *last_event;
	size_t event_count;
};

struct drill_scenario_result {
	struct str name, file, target;
	struct drill_case_result *cases;
	size_t case_count;
};

struct drill_report {
	struct str program_version;
	int64_t began_ms;
	struct drill_scenario_result *scenarios;
	size_t scenario_count;
};

/*
 * Add an event; text and event live in `mem`, and without room for them it is left out. One thread
 * at a time for one case.
 */
void drill_event_add(struct drill_case_result *result, struct arena *mem, int64_t at_us,
		     enum drill_move move, int lane, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

#endif
