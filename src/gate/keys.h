/*
 * The gate's own keys while it runs: read at the start, changed as the store changes, and when each
 * was used last.
 */
#ifndef GATE_KEYS_H
#define GATE_KEYS_H

#include "auth/callers.h"
#include "gate/gate.h"

/*
 * Read all keys from the store; from the main thread, before anything is served. 0, or a failure
 * with `why`: a gate that cannot read its keys lets nobody in rather than somebody.
 */
int keys_load(struct gate *gate, char *why, size_t why_size);

/*
 * The store has committed a record: it is in force from now on. Where it revokes a key, everybody
 * who waits by it is called, and told so. On the control thread.
 */
int keys_take(struct gate *gate, const struct key_record *record);

/* Keep, once a minute, when keys were used last. On the control thread. */
void keys_start(struct gate *gate);
void keys_stop(struct gate *gate); /* once the store is closed */

#endif
