/*
 * What the journal's files share, and nobody else sees.
 */
#ifndef CLIENT_JOURNAL_INTERNAL_H
#define CLIENT_JOURNAL_INTERNAL_H

#include "client/journal.h"
#include "client/owner.h"

#include <sqlite3.h>

struct journal {
	sqlite3 *db;
	const struct env *env;
	char *path;
	char owner[OWNER_TEXT]; /* this process */
	uint64_t device, file;	/* the file, whatever its path */
	int64_t held;		/* the entry that was claimed here and is not settled; 0: none */
};

/*
 * Is somebody else at it? Another journal of this process is somebody else; what was claimed here
 * and not settled, because that failed, is not; nor is what any other one has left behind.
 */
bool journal_is_busy(const struct journal *journal, const struct journal_entry *entry);

/* This journal is at it from now on; what it held before is left. */
void journal_hold(struct journal *journal, int64_t id);

/* Nobody is at what was claimed here and could not be settled: this process may claim it again. */
void journal_leave(struct journal *journal);

/* A sentence into *err. Returns `code`. */
int journal_say(struct journal_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What SQLite has just said, as a sentence. Returns FAIL_STORE. */
int journal_broken(struct journal *journal, struct journal_error *err);

/* One statement, ready to be bound; NULL after a failure, which binding and stepping then repeat.
 */
sqlite3_stmt *journal_sql(struct journal *journal, const char *sql);

/* Bind the next parameters; an empty text is NULL. */
void journal_bind_text(sqlite3_stmt *statement, int at, struct str text);

/* Run it to its end. 0, or FAIL_STORE with *err. */
int journal_run(struct journal *journal, sqlite3_stmt *statement, struct journal_error *err);

/*
 * A transaction that nobody else's comes between. journal_end() commits where `r` is 0, else
 * undoes; it returns r, or FAIL_STORE where committing failed.
 */
int journal_begin(struct journal *journal, struct journal_error *err);
int journal_end(struct journal *journal, int r, struct journal_error *err);

/* The folder for answers that are too large for the file. False: its path would be too long. */
bool journal_answers(const struct journal *journal, char out_folder[JOURNAL_PATH_MAX]);

/* The columns that journal_row() reads. */
#define JOURNAL_COLUMNS                                                                            \
	"id, task, step, method, url, token, is_current, state, owner, payload, members, "         \
	"credential, is_gate, outcome, operation, status, headers, body, body_file, advice, "      \
	"after_s, reason, attempts, created_ms, changed_ms"

/* The row that a statement stands on, without its body where that is NULL. 0, FAIL_MEMORY. */
int journal_row(sqlite3_stmt *statement, struct arena *mem, struct journal_entry *out_entry);

/* The first row of a statement, which is finished with. 0, JOURNAL_NONE, FAIL_STORE, FAIL_MEMORY.
 */
int journal_one(struct journal *journal, sqlite3_stmt *statement, struct arena *mem,
		struct journal_entry *out_entry, struct journal_error *err);

/* Add an event of an entry; those over JOURNAL_EVENTS_MAX go, the oldest first. 0, FAIL_STORE. */
int journal_event(struct journal *journal, int64_t id, const char *what, struct str note,
		  struct journal_error *err);

#endif
