/*
 * The journal: which token stands for which step, on disk before the first byte is sent.
 *
 * One SQLite file that every program of one user shares, whatever language it is written in;
 * docs/journal.md has its format. An entry is what is remembered of one token: what was sent under
 * it, who is at it, what is known of its end.
 *
 * Always true: a token is committed before anybody is told it; an entry has one owner at most that
 * is alive; what is done or has failed is never sent again; an entry whose owner died while it was
 * sending is uncertain, and stays so until somebody finds out.
 * Can fail: the file is somebody else's or can be read by others (JOURNAL_REFUSED), the disk is
 * full or the file stays locked (FAIL_STORE); nothing has changed then, and *err says why.
 *
 * One thread at a time for one open journal; any number of processes for one file.
 */
#ifndef CLIENT_JOURNAL_H
#define CLIENT_JOURNAL_H

#include "base/arena.h"
#include "base/env.h"
#include "base/str.h"
#include "client/identity.h"
#include "client/payload.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	JOURNAL_REFUSED = 1, /* not to be used as it is: the file, or what was asked */
	JOURNAL_BUSY = 2,    /* somebody who is alive is at it */
	JOURNAL_CHANGED = 3, /* another payload stands under the token */
	JOURNAL_ENDED = 4,   /* done or failed: the kept answer is what there is to tell */
	JOURNAL_NONE = 5,    /* there is no such entry */
};

enum {
	JOURNAL_BUSY_MS = 10000,	/* how long a locked file is waited for */
	JOURNAL_EVENTS_MAX = 200,	/* events kept of one entry, the newest */
	JOURNAL_BODY_MAX = 1024 * 1024, /* bytes of an answer's body in the file itself */
	JOURNAL_NOTE_MAX = 500,		/* bytes of an event's note; the rest is cut */
	JOURNAL_PATH_MAX = 4095,	/* bytes of the file's path */
};

enum entry_state {
	ENTRY_NEW,     /* certainly nothing has happened */
	ENTRY_SENDING, /* a sending has begun; once its owner is dead, nobody knows */
	ENTRY_OPEN,    /* a gate has it: running, queued, or waiting for people */
	ENTRY_UNKNOWN, /* nobody knows whether it happened */
	ENTRY_DONE,
	ENTRY_FAILED,
	ENTRY_STATES
};
const char *entry_state_text(enum entry_state state); /* "new", … */

/* A sentence for people, with how to mend it. */
struct journal_error {
	char text[1024]; /* room for the longest payload_difference() */
};

/* An answer that is final. */
struct kept_answer {
	int64_t status;	    /* 0: there is none */
	struct str headers; /* "Name: value\n" lines */
	struct str body;
	bool has_body;
	struct str body_file; /* where the body is, when it is not here; or empty */
};

/* What the journal remembers. Texts live in the arena it was read into; empty: NULL there. */
struct journal_entry {
	int64_t id;
	struct step step; /* its token is the entry's, always */
	bool is_current;
	enum entry_state state;
	struct str owner;
	bool is_owner_alive; /* at the time it was read */
	struct str payload, members, credential;
	bool is_gate;
	struct str outcome, operation;
	struct kept_answer answer;
	struct str advice;
	int64_t after_s;
	struct str reason;
	int64_t attempts;
	int64_t created_ms, changed_ms;
	struct str retry_of; /* of what is made anew: the operation of the entry before, where that
				failed; else empty. Not kept: told by journal_token() alone */
};

struct journal_event {
	int64_t at_ms;
	struct str what, note;
};

struct journal;

/*
 * The path that is meant where none is given: $COUNTERFOIL_JOURNAL, else
 * $XDG_STATE_HOME/counterfoil/journal.db, else ~/.local/state/counterfoil/journal.db. {NULL, 0}: no
 * memory, or there is no home; then *err says so.
 */
struct str journal_place(struct arena *mem, struct journal_error *err);

/*
 * Open the journal at `path` (NULL: journal_place()), and make it, with its folders, where there is
 * none. `env` is borrowed. 0; JOURNAL_REFUSED, FAIL_MEMORY, FAIL_STORE with *err.
 */
int journal_open(const char *path, const struct env *env, struct journal **out,
		 struct journal_error *err);
void journal_close(struct journal *journal); /* NULL is fine */

/* Where it is, and the clock it goes by. */
const char *journal_path(const struct journal *journal);
const struct env *journal_env(const struct journal *journal);

/*
 * The current entry of a step in its one spelling (step_read()); made where there is none.
 * `is_new`: a deliberate new action takes the place of the one that is there.
 *   0                committed: *out_entry
 *   JOURNAL_REFUSED  `is_new` for a token given by hand, which stands for one action only
 *   JOURNAL_BUSY     `is_new`, and somebody who is alive is at the one that is there
 *   FAIL_STORE, FAIL_MEMORY
 */
int journal_token(struct journal *journal, const struct step *step, bool is_new, struct arena *mem,
		  struct journal_entry *out_entry, struct journal_error *err);

/*
 * Become the owner of an entry, to send or to find out; `payload` NULL: to find out only. What
 * this very journal has claimed and not settled is not busy for it: whoever was at it has given up.
 *   0                ours, committed: *out_entry is as it was before. state ENTRY_NEW: it is now
 *                    ENTRY_SENDING with this payload and mark, one attempt more, and may be sent;
 *                    any other: something may have happened, so ask first
 *   JOURNAL_BUSY     *out_entry; its owner is alive
 *   JOURNAL_CHANGED  *out_entry; err names the difference
 *   JOURNAL_ENDED    *out_entry has the kept answer
 *   JOURNAL_NONE     it is gone; or it is new, and there is nothing to find out
 *   FAIL_STORE, FAIL_MEMORY
 */
int journal_claim(struct journal *journal, int64_t id, const struct payload *payload,
		  const char *credential_mark, struct arena *mem, struct journal_entry *out_entry,
		  struct journal_error *err);

/*
 * A claimed entry is about to be sent once more: committed before its first byte. `mark` NULL:
 * without a credential. 0; JOURNAL_NONE: it is not ours (any more); FAIL_STORE.
 */
int journal_send_again(struct journal *journal, int64_t id, const char *mark, const char *note,
		       struct journal_error *err);

/*
 * What was learnt. Texts are borrowed. An empty outcome or operation leaves what is there; advice
 * and reason are of the last word only.
 */
struct journal_settlement {
	enum entry_state state;
	bool is_still_ours; /* we go on; else the entry has no owner any more */
	bool is_forgotten;  /* nothing was recorded anywhere: payload and mark may be others */
	bool is_gate;	    /* a gate answered (never taken back) */
	struct str outcome, operation, advice, reason;
	int64_t after_s;
	struct kept_answer answer; /* with ENTRY_DONE and ENTRY_FAILED */
	const char *what; /* of the event: "answered", "asked", "lost", "not_sent", "refused" */
	struct str note;  /* of the event */
};

/* 0, committed; JOURNAL_NONE: it is not ours; FAIL_STORE. */
int journal_settle(struct journal *journal, int64_t id, const struct journal_settlement *settlement,
		   struct journal_error *err);

/* Which entries are meant. */
struct journal_filter {
	struct str task, step, token; /* empty: any */
	bool is_open_only;	      /* neither done nor failed */
	bool is_current_only;
	size_t limit; /* at most so many */
};

/* The newest first, without answers' bodies. 0 with *out_entries in `mem`; FAIL_STORE, FAIL_MEMORY.
 */
int journal_list(struct journal *journal, const struct journal_filter *filter, struct arena *mem,
		 struct journal_entry **out_entries, size_t *out_count, struct journal_error *err);

/* The newest entry of a token, whole, with its events. 0, JOURNAL_NONE, FAIL_STORE, FAIL_MEMORY. */
int journal_show(struct journal *journal, struct str token, struct arena *mem,
		 struct journal_entry *out_entry, struct journal_event **out_events,
		 size_t *out_count, struct journal_error *err);

/*
 * Forget an entry and its answer; a file that has the body stays where it is. Where it had taken
 * the place of another one, that one is the step's again.
 *   0                gone
 *   JOURNAL_NONE     there is none
 *   JOURNAL_BUSY     somebody who is alive is at it: also with `is_forced`
 *   JOURNAL_REFUSED  it is open, and `is_forced` is not set: who forgets it can make it happen
 *                    twice
 *   FAIL_STORE
 */
int journal_forget(struct journal *journal, int64_t id, bool is_forced, struct journal_error *err);

/*
 * Forget what ended and has not changed since `before_ms` (wall clock), with the files beside the
 * journal that have its answers. Never: what is new, or has no known end; what somebody is at; the
 * current entry of a step of which an older one stays. 0 with how many; FAIL_STORE, FAIL_MEMORY:
 * some may be gone.
 */
int journal_prune(struct journal *journal, int64_t before_ms, uint64_t *out_count,
		  struct journal_error *err);

/*
 * How many journal_prune() would forget, and how many are as old and have not ended. 0, FAIL_STORE.
 */
int journal_count_old(struct journal *journal, int64_t before_ms, uint64_t *out_prunable,
		      uint64_t *out_open, struct journal_error *err);

#endif
