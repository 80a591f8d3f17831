/*
 * A gate's own verification of its log, while it goes on writing it.
 *
 * Picture an auditor in the back room: asked to look, they go through all that is published, as
 * `audit verify` does (verify.h), on a thread of their own; meanwhile nobody waits for them, and
 * they take no second order. What they found last stays on the board until the next time.
 *
 * The gate knows more than somebody with a copy of the files: how much it has published itself,
 * and a checkpoint that was good before. Where the files say less, that is `rolled-back` here,
 * though they agree with themselves. What it does not know is what another would: a thief of its
 * keys and its memory deceives it. So this is no substitute for verifying elsewhere.
 *
 * Always true: one run at a time; each ends, at the latest after VERIFICATION_MAX_MS or soon after
 * verification_free() asks for it. Files that the gate replaces meanwhile are no finding.
 * Can fail: files that cannot be read, memory; that is what the run is said to have come to.
 */
#ifndef AUDIT_VERIFICATION_H
#define AUDIT_VERIFICATION_H

#include "audit/verify.h"
#include "base/env.h"

#define VERIFICATION_MAX_MS (INT64_C(3600) * 1000)

enum { VERIFICATION_RUNS = 1 };

struct verification;

/* A run that has ended. */
struct verification_end {
	int64_t begun_ms, ended_ms; /* Unix time */
	bool is_whole;		    /* it came to the end; else only report.why says anything */
	struct verify_report report;
};

/* It found something that a person has to look at, or did not come to an end. A log in which nobody
 * has written yet is nothing of that kind. */
bool verification_is_bad(const struct verification_end *end);

struct verification_order {
	const char *data;		 /* the data directory: its keys, and its log; copied */
	const struct log_reader *reader; /* NULL: the files in there; borrowed, for tests */
	const struct env *env;
	/* Told of each run that ends by itself, on its thread. */
	void (*ended)(void *owner, const struct verification_end *end);
	void *owner;
};

struct verification_look {
	bool is_running;
	int64_t begun_ms;	/* of the one that runs (Unix time) */
	uint64_t walked;	/* entries that it has gone along */
	uint64_t changes;	/* goes up with each beginning and each end */
	bool has_key;		/* the log's verifier key is in the data directory… */
	char key[NOTE_KEY_MAX]; /* …as text: of the oldest epoch that has one there */
	bool has_last;
	struct verification_end last;
};

/*
 * For a log whose gate has just been opened, and has compared files and database: its verifier key
 * and its newest checkpoint are kept from then on. 0; FAIL_MEMORY, FAIL_LIMIT.
 */
int verification_new(const struct verification_order *order,
		     struct verification **out_verification);

/*
 * Begin a run; `published` entries are known to be under a checkpoint. 0; VERIFICATION_RUNS: one
 * runs, and goes on; FAIL_MEMORY. Never blocks. One thread at a time.
 */
int verification_start(struct verification *verification, uint64_t published);

/* How it stands. Any thread. */
void verification_look(struct verification *verification, struct verification_look *out_look);

/* End a run that is under way, wait for its thread (a file's reading), free all. Safe on NULL. */
void verification_free(struct verification *verification);

#endif
