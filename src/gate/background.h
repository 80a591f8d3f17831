/*
 * What the gate does by itself: the dispatcher and the reconciler, on a loop of their own.
 *
 *   dispatcher   sends what is queued and its own to send: outbox actions, operations whose turn
 *                for a lock has come, what could not be sent the last time
 *   reconciler   finds out about what is unknown: by its probe, or by sending again where the
 *                service knows the operation by its downstream key
 *
 * Both take what is due from the store, which alone remembers what there is to do: nothing here
 * outlives the process, and nothing is lost with it. Bounded: outbox.concurrency sendings and
 * BACKGROUND_ASKS_MAX questions an upstream at once, one for each operation.
 */
#ifndef GATE_BACKGROUND_H
#define GATE_BACKGROUND_H

#include "gate/gate.h"

enum {
	BACKGROUND_ASKS_MAX = 8,      /* questions to one upstream at once */
	BACKGROUND_WISHES_MAX = 1024, /* operations that somebody wants to know about now */
};

/* Something may have become due (store_command.makes_due). Any thread. */
void background_poke(struct gate *gate);

/*
 * Find out about this unknown operation now: somebody waits in the waiting room, and is called
 * once this try has ended, whatever came of it. Any thread. False: there are too many; nobody
 * will be called for it.
 */
bool background_find_out(struct gate *gate, const struct operation_id *id);

/*
 * Its life, all from the control thread and as a worker's (gate.h). Open: 0, or a failure, after
 * which it is to be closed all the same; from then on it may be poked. Start: the thread. Reload:
 * false while the last one is under way. Drain: take nothing new, finish what runs, then set
 * gate->is_background_drained. Close: after the store has been closed.
 */
int background_open(struct gate *gate);
int background_start(struct gate *gate);
bool background_reload(struct gate *gate, struct settings_hold *hold);
bool background_is_reloading(struct gate *gate);
void background_drain(struct gate *gate);
void background_give_up(struct gate *gate);
void background_stop(struct gate *gate);
void background_close(struct gate *gate);

/* What it counts; NULL: there is none. Any thread. */
const struct metrics *background_metrics(const struct gate *gate);

#endif
