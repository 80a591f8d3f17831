/*
 * What the files of the reconciler share: one trial, from the look at an operation to its end.
 *
 *   reconciler_wishes.c   which operations are tried, and when there is room for it
 *   reconciler.c          a trial: look, ask, decide
 *   reconciler_resend.c   sending again
 */
#ifndef GATE_RECONCILER_INTERNAL_H
#define GATE_RECONCILER_INTERNAL_H

#include "gate/background_internal.h"
#include "gate/errand.h"

struct trial {
	struct list link; /* among the background's */
	struct background *background;
	struct operation_id id;
	bool is_wished;	   /* by a caller; else it was due */
	struct lane *lane; /* whose room it has; NULL: it has none yet */
	struct generation *generation;
	struct store_command found; /* the find; what it brought is read until the end */
	struct arena mem;	    /* of the find */
	struct policy policy;
	struct ask ask;
	struct arena ask_mem;
	int64_t asked_ms;	   /* Unix time: when the question began */
	struct store_command move; /* or postpone, or the look after a doubt */
	struct arena move_mem;
	struct errand errand;
	struct loop_timer pause;
	int64_t pause_ms;

	/* for the history and the log */
	enum outcome outcome; /* 0: none was reached */
	const char *why;
};

/* Begin one whose first fields are filled, `generation` not among them: how does it stand? */
void trial_start(struct trial *trial);

/* It is over: it goes, whoever waits for it is called, and there is room for another. */
void trial_end(struct trial *trial);

/* Nothing was learned, as `why` says: later again. The trial ends when that is recorded. */
void trial_postpone_in_vain(struct trial *trial, const char *why);

/* Send it again, if the store says that it may be: the trial ends with that sending. */
void trial_resend(struct trial *trial);

/* trial->move, about the operation as it was found; what is asked of it is the caller's to add. */
struct store_command *trial_command(struct trial *trial, enum store_kind kind, store_done done);
void trial_submit(struct trial *trial);

/* A wish whose lane has no room waits there, by its id alone. */
void wish_wait_in(struct lane *lane, const struct operation_id *id);

static inline void call_waiters(struct background *background, const struct operation_id *id)
{
	waiting_call(&background->gate->waiting, id);
}

#endif
