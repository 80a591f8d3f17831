/*
 * What the committer asks of an engine: one ledger, used by one thread.
 *
 * An engine applies commands inside a transaction that the committer begins and ends. It
 * decides nothing about batches, waiting or waking.
 */
#ifndef STORE_COMMITTER_H
#define STORE_COMMITTER_H

#include "store/store.h"

#include <stdatomic.h>

struct engine;
struct sealer;

struct engine_kind {
	/*
	 * Answer from what is durable, if that needs no change: true, and command->result is
	 * set. Outside of any transaction.
	 */
	bool (*look)(struct engine *engine, struct store_command *command);

	/* 0; FAIL_STORE. */
	int (*begin)(struct engine *engine);

	/*
	 * Carry out one command. 0: command->result is an outcome, or the failure of this
	 * command alone, which then has changed nothing. FAIL_STORE: the transaction is lost.
	 * FAIL_UNPLANNED: it is lost because of this command; others may do better without it.
	 */
	int (*apply)(struct engine *engine, struct store_command *command);

	/* 0: durable. FAIL_STORE: nothing changed. FAIL_UNCERTAIN: it cannot be told. */
	int (*commit)(struct engine *engine);

	void (*rollback)(struct engine *engine);

	/* After answers have been given: work that nobody waits for. */
	void (*tidy)(struct engine *engine);

	/* Milliseconds until tidy() has something to do by itself; -1: it has not. */
	int64_t (*tidy_due_ms)(struct engine *engine);

	/* Operations by state, as of the last commit. */
	void (*count)(struct engine *engine, uint64_t out_counts[STATE_COUNT]);

	void (*close)(struct engine *engine);
};

/* What an engine tells of its audit log while its thread works; any thread may read it. */
struct engine_log {
	_Atomic uint64_t entries;
	atomic_bool is_unreadable;	 /* to whoever publishes it, until the next start */
	_Atomic(struct sealer *) sealer; /* who publishes it; NULL: nobody does, yet */
};

struct engine {
	const struct engine_kind *kind;
	struct engine_log log;
};

/* Start the thread over `engine`, which the store then owns and closes. 0, FAIL_MEMORY. */
int committer_start(struct engine *take_engine, const struct env *env, struct log *log,
		    struct store **out_store);

#endif
