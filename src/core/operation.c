/*
 * The table of an operation's life.
 *
 * One row a state, one column an event; a cell names the state it leads to, an empty cell
 * is a move that does not exist. Three rows at the end are empty: what is terminal stays.
 * Only FOUND_* and RESENT lead out of `unknown`: none of them is the passing of time.
 */
#include "core/operation.h"

#include "base/err.h"

static const uint8_t moves[STATE_COUNT][EVENT_COUNT] = {
	[STATE_AWAITING_APPROVAL] =
		{
			[EVENT_APPROVED] = STATE_QUEUED, /* whoever sends picks it up from there */
			[EVENT_DENIED] = STATE_CANCELLED,
			[EVENT_CANCELLED] = STATE_CANCELLED,
			[EVENT_ASKED_AGAIN] = STATE_AWAITING_APPROVAL,
		},
	[STATE_QUEUED] =
		{
			[EVENT_PICKED_UP] = STATE_RUNNING,
			[EVENT_CANCELLED] = STATE_CANCELLED,
			[EVENT_ASKED_AGAIN] = STATE_AWAITING_APPROVAL,
		},
	[STATE_RUNNING] =
		{
			[EVENT_SUCCEEDED] = STATE_COMPLETED,
			[EVENT_REFUSED] = STATE_FAILED,
			[EVENT_NOT_SENT] = STATE_QUEUED,
			[EVENT_LOST_SIGHT] = STATE_UNKNOWN,
			[EVENT_ASKED_AGAIN] = STATE_AWAITING_APPROVAL,
		},
	[STATE_UNKNOWN] =
		{
			[EVENT_FOUND_DONE] = STATE_COMPLETED,
			[EVENT_FOUND_FAILED] = STATE_FAILED,
			[EVENT_FOUND_NOT_DONE] = STATE_QUEUED,
			[EVENT_RESENT] = STATE_RUNNING,
		},
	[STATE_COMPLETED] = {0},
	[STATE_FAILED] = {0},
	[STATE_CANCELLED] = {0},
};

static const char *const state_names[STATE_COUNT] = {
	[STATE_AWAITING_APPROVAL] = "awaiting_approval",
	[STATE_QUEUED] = "queued",
	[STATE_RUNNING] = "running",
	[STATE_UNKNOWN] = "unknown",
	[STATE_COMPLETED] = "completed",
	[STATE_FAILED] = "failed",
	[STATE_CANCELLED] = "cancelled",
};

static const char *const event_names[EVENT_COUNT] = {
	[EVENT_APPROVED] = "approved",
	[EVENT_DENIED] = "denied",
	[EVENT_PICKED_UP] = "picked_up",
	[EVENT_CANCELLED] = "cancelled",
	[EVENT_SUCCEEDED] = "succeeded",
	[EVENT_REFUSED] = "refused",
	[EVENT_NOT_SENT] = "not_sent",
	[EVENT_LOST_SIGHT] = "lost_sight",
	[EVENT_FOUND_DONE] = "found_done",
	[EVENT_FOUND_FAILED] = "found_failed",
	[EVENT_FOUND_NOT_DONE] = "found_not_done",
	[EVENT_RESENT] = "resent",
	[EVENT_ASKED_AGAIN] = "asked_again",
};

static bool is_state(enum operation_state state)
{
	return (unsigned)state >= STATE_AWAITING_APPROVAL && (unsigned)state < STATE_COUNT;
}

int operation_move(enum operation_state state, enum operation_event event,
		   enum operation_state *out_next)
{
	if (!is_state(state) || (unsigned)event >= EVENT_COUNT || moves[state][event] == 0)
		return OPERATION_REFUSED_MOVE;
	*out_next = (enum operation_state)moves[state][event];
	return 0;
}

bool operation_is_open(enum operation_state state)
{
	require(is_state(state));
	return state < STATE_COMPLETED;
}

bool operation_is_terminal(enum operation_state state)
{
	return !operation_is_open(state);
}

const char *operation_state_name(enum operation_state state)
{
	require(is_state(state));
	return state_names[state];
}

bool operation_state_from(struct str name, enum operation_state *out_state)
{
	for (unsigned state = STATE_AWAITING_APPROVAL; state < STATE_COUNT; state++) {
		if (str_equal(name, str_from(state_names[state]))) {
			*out_state = (enum operation_state)state;
			return true;
		}
	}
	return false;
}

const char *operation_event_name(enum operation_event event)
{
	require((unsigned)event < EVENT_COUNT);
	return event_names[event];
}
