/*
 * The life of an operation, as pure code.
 *
 * An operation is the durable record of one intended action. It is in one state at a
 * time; an event moves it along the table in operation.c, and a move that the table does
 * not have is refused. No age, restart or retry ever moves an operation out of `unknown`.
 *
 *      (claimed) ──► running ──► completed
 *                     │   ▲ └──► failed
 *        not sent     │   │ picked up
 *                     ▼   │
 *                    queued ───► cancelled
 *      running ──► unknown ──► completed | failed | queued   (somebody found out)
 *
 * `awaiting_approval` is open as `queued` is, and waits for a person.
 */
#ifndef CORE_OPERATION_H
#define CORE_OPERATION_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbers are stored; they never change. */
enum operation_state {
	STATE_AWAITING_APPROVAL = 1,
	STATE_QUEUED = 2,
	STATE_RUNNING = 3,
	STATE_UNKNOWN = 4,
	STATE_COMPLETED = 5,
	STATE_FAILED = 6,
	STATE_CANCELLED = 7,
	STATE_COUNT = 8,
};

enum operation_event {
	EVENT_APPROVED,	      /* a person agreed */
	EVENT_DENIED,	      /* a person said no, or the question expired */
	EVENT_PICKED_UP,      /* an attempt or the dispatcher takes a queued one */
	EVENT_CANCELLED,      /* by its caller or an operator */
	EVENT_SUCCEEDED,      /* final answer of the upstream, success class */
	EVENT_REFUSED,	      /* final answer of the upstream, failure class */
	EVENT_NOT_SENT,	      /* certain: the upstream did not act */
	EVENT_LOST_SIGHT,     /* sent, and no certain answer; or the gate died */
	EVENT_FOUND_DONE,     /* a probe or a person: it happened */
	EVENT_FOUND_FAILED,   /* a probe or a person: it did not, and is not to be tried again */
	EVENT_FOUND_NOT_DONE, /* a probe or a person: it did not; the caller may retry */
	EVENT_RESENT,	      /* sent again under the same downstream key */
	EVENT_ASKED_AGAIN,    /* certain: nothing of it was sent; people are asked anew */
	EVENT_COUNT,
};

enum { OPERATION_REFUSED_MOVE = 1 };

/* *out_next is where `event` leads from `state`: 0, or OPERATION_REFUSED_MOVE if nowhere. */
int operation_move(enum operation_state state, enum operation_event event,
		   enum operation_state *out_next);

bool operation_is_open(enum operation_state state);
bool operation_is_terminal(enum operation_state state);

/* The contract's word: "running", …; false for a word it does not have. */
const char *operation_state_name(enum operation_state state);
bool operation_state_from(struct str name, enum operation_state *out_state);
const char *operation_event_name(enum operation_event event);

/*
 * The id: 16 bytes, written as "op_" and 26 characters of Crockford's base32, upper case.
 * The first 48 bits are the milliseconds of its claim, so that ids sort by time; the last
 * 64 are random, so that none can be guessed; the 16 between are its maker's, to keep ids of
 * one millisecond in order.
 */
enum { OPERATION_ID_SIZE = 16, OPERATION_ID_TEXT = 29 };

struct operation_id {
	uint8_t bytes[OPERATION_ID_SIZE];
};

/* 29 characters and a NUL. */
void operation_id_write(const struct operation_id *id, char out[OPERATION_ID_TEXT + 1]);
/* Either case; false if it is not exactly one id (I, L, O and U are no digits). */
bool operation_id_read(struct str text, struct operation_id *out_id);

#endif
