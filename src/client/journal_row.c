/*
 * The journal's rows and transactions.
 *
 * Statements are made where they are used: a journal is opened for one step, not for a stream of
 * them. A failure of any of the small calls shows when the statement is run.
 *
 * Always true: what was read lives in the caller's arena, so a statement can be finished with at
 * once.
 */
#include "client/journal_internal.h"

#include "base/err.h"
#include "client/left.h"

#include <stdarg.h>
#include <stdio.h>

enum { PRIMARY = 0xff /* of SQLite's codes, the part that names the kind */, UTF8_MAX = 4 };

int journal_say(struct journal_error *err, int code, const char *format, ...)
{
	va_list list;
	struct str whole;

	va_start(list, format);
	vsnprintf(err->text, sizeof(err->text), format, list);
	va_end(list);
	whole = str_cut(str_from(err->text), sizeof(err->text) - 1 - UTF8_MAX);
	err->text[whole.len] = '\0';
	return code;
}

static struct left_claim claim_of(const struct journal *journal, int64_t id)
{
	return (struct left_claim){journal->device, journal->file, id};
}

bool journal_is_busy(const struct journal *journal, const struct journal_entry *entry)
{
	struct left_claim claim = claim_of(journal, entry->id);
	bool is_ours = str_equal(entry->owner, str_from(journal->owner));

	return entry->is_owner_alive &&
	       !(is_ours && (journal->held == entry->id || left_has(&claim)));
}

void journal_hold(struct journal *journal, int64_t id)
{
	struct left_claim claim = claim_of(journal, id);

	if (journal->held != id)
		journal_leave(journal);
	left_remove(&claim);
	journal->held = id;
}

void journal_leave(struct journal *journal)
{
	struct left_claim claim = claim_of(journal, journal->held);

	if (journal->held)
		left_add(&claim);
	journal->held = 0;
}

int journal_broken(struct journal *journal, struct journal_error *err)
{
	const char *path = journal->path;

	switch (sqlite3_errcode(journal->db) & PRIMARY) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return journal_say(
			err, FAIL_STORE,
			"the journal %s was locked by another program for %d s: try again", path,
			JOURNAL_BUSY_MS / 1000);
	case SQLITE_FULL:
		return journal_say(
			err, FAIL_STORE,
			"the disk is full, so the journal %s cannot be written: make room", path);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return journal_say(err, FAIL_STORE,
				   "the journal %s, or its folder, cannot be written by this user",
				   path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return journal_say(
			err, FAIL_STORE,
			"%s is no journal, or is damaged: move it away, having looked at "
			"what it was for",
			path);
	default:
		return journal_say(err, FAIL_STORE, "the journal %s cannot be used: %s", path,
				   sqlite3_errmsg(journal->db));
	}
}

sqlite3_stmt *journal_sql(struct journal *journal, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	sqlite3_prepare_v2(journal->db, sql, -1, &statement, NULL);
	return statement;
}

void journal_bind_text(sqlite3_stmt *statement, int at, struct str text)
{
	if (text.len)
		sqlite3_bind_text64(statement, at, text.at, text.len, SQLITE_TRANSIENT,
				    SQLITE_UTF8);
	else
		sqlite3_bind_null(statement, at);
}

int journal_run(struct journal *journal, sqlite3_stmt *statement, struct journal_error *err)
{
	int rc = statement ? sqlite3_step(statement) : SQLITE_ERROR;
	int r = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : journal_broken(journal, err);

	sqlite3_finalize(statement);
	return r;
}

int journal_begin(struct journal *journal, struct journal_error *err)
{
	return journal_run(journal, journal_sql(journal, "BEGIN IMMEDIATE"), err);
}

int journal_end(struct journal *journal, int r, struct journal_error *err)
{
	if (r == 0)
		r = journal_run(journal, journal_sql(journal, "COMMIT"), err);
	if (r != 0 && !sqlite3_get_autocommit(journal->db))
		sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

const char *entry_state_text(enum entry_state state)
{
	static const char *const texts[ENTRY_STATES] = {
		[ENTRY_NEW] = "new",	     [ENTRY_SENDING] = "sending", [ENTRY_OPEN] = "open",
		[ENTRY_UNKNOWN] = "unknown", [ENTRY_DONE] = "done",	  [ENTRY_FAILED] = "failed",
	};

	require(state < ENTRY_STATES);
	return texts[state];
}

/* A state that this program does not know is one of which nothing can be said. */
static enum entry_state state_from(struct str text)
{
	for (int i = 0; i < ENTRY_STATES; i++)
		if (str_equal(text, str_from(entry_state_text((enum entry_state)i))))
			return (enum entry_state)i;
	return ENTRY_UNKNOWN;
}

/* The reader of one row: the next column, and whether memory has been enough so far. */
struct columns {
	sqlite3_stmt *statement;
	int at;
	struct arena *mem;
	bool is_short;
};

static struct str next_text(struct columns *columns)
{
	const void *bytes = sqlite3_column_blob(columns->statement, columns->at);
	int len = sqlite3_column_bytes(columns->statement, columns->at++);
	struct str text = arena_str(columns->mem, str_of(bytes, (size_t)len));

	columns->is_short |= !text.at;
	return text;
}

static int64_t next_int(struct columns *columns)
{
	return sqlite3_column_int64(columns->statement, columns->at++);
}

int journal_row(sqlite3_stmt *statement, struct arena *mem, struct journal_entry *out_entry)
{
	struct columns columns = {.statement = statement, .mem = mem};
	struct journal_entry entry = {.id = next_int(&columns)};

	entry.step.task = next_text(&columns);
	entry.step.step = next_text(&columns);
	entry.step.method = next_text(&columns);
	entry.step.url = next_text(&columns);
	entry.step.token = next_text(&columns);
	entry.is_current = next_int(&columns) != 0;
	entry.state = state_from(next_text(&columns));
	entry.owner = next_text(&columns);
	entry.payload = next_text(&columns);
	entry.members = next_text(&columns);
	entry.credential = next_text(&columns);
	entry.is_gate = next_int(&columns) != 0;
	entry.outcome = next_text(&columns);
	entry.operation = next_text(&columns);
	entry.answer.status = next_int(&columns);
	entry.answer.headers = next_text(&columns);
	entry.answer.has_body = sqlite3_column_type(statement, columns.at) != SQLITE_NULL;
	entry.answer.body = next_text(&columns);
	entry.answer.body_file = next_text(&columns);
	entry.advice = next_text(&columns);
	entry.after_s = next_int(&columns);
	entry.reason = next_text(&columns);
	entry.attempts = next_int(&columns);
	entry.created_ms = next_int(&columns);
	entry.changed_ms = next_int(&columns);
	entry.is_owner_alive = entry.owner.len && owner_standing(entry.owner) == OWNER_ALIVE;
	*out_entry = entry;
	return columns.is_short ? FAIL_MEMORY : 0;
}

int journal_one(struct journal *journal, sqlite3_stmt *statement, struct arena *mem,
		struct journal_entry *out_entry, struct journal_error *err)
{
	int rc = statement ? sqlite3_step(statement) : SQLITE_ERROR, r = JOURNAL_NONE;

	if (rc == SQLITE_ROW)
		r = journal_row(statement, mem, out_entry);
	else if (rc != SQLITE_DONE)
		r = journal_broken(journal, err);
	sqlite3_finalize(statement);
	return r == FAIL_MEMORY
		       ? journal_say(err, r, "there is no memory for an entry of the journal")
		       : r;
}

int journal_event(struct journal *journal, int64_t id, const char *what, struct str note,
		  struct journal_error *err)
{
	sqlite3_stmt *statement = journal_sql(
		journal, "INSERT INTO event (entry, at_ms, what, note) VALUES (?1, ?2, ?3, ?4)");
	int r;

	note = str_cut(note, JOURNAL_NOTE_MAX);
	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_int64(statement, 2, env_wall_ms(journal->env));
	sqlite3_bind_text(statement, 3, what, -1, SQLITE_STATIC);
	sqlite3_bind_text64(statement, 4, note.len ? note.at : "", note.len, SQLITE_TRANSIENT,
			    SQLITE_UTF8);
	r = journal_run(journal, statement, err);
	if (r != 0)
		return r;
	statement = journal_sql(
		journal, "DELETE FROM event WHERE entry = ?1 AND rowid <= (SELECT rowid FROM event "
			 "WHERE entry = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)");
	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_int64(statement, 2, JOURNAL_EVENTS_MAX);
	return journal_run(journal, statement, err);
}
