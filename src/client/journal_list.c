/*
 * Looking into the journal, and forgetting.
 *
 * Always true: looking changes nothing; what may still happen is forgotten only by who insists.
 * Can fail: the file cannot be read or written, or memory ends; nothing is forgotten then.
 */
#include "client/journal_internal.h"

#include "base/err.h"

static int no_memory(struct journal_error *err)
{
	return journal_say(err, FAIL_MEMORY, "there is no memory for the journal's entries");
}

/* Step through a statement's rows with `add`, and finish with it. */
static int read_rows(struct journal *journal, sqlite3_stmt *statement,
		     int (*add)(void *into, sqlite3_stmt *row, struct arena *mem), void *into,
		     struct arena *mem, struct journal_error *err)
{
	int rc = statement ? sqlite3_step(statement) : SQLITE_ERROR, r = 0;

	while (rc == SQLITE_ROW && r == 0) {
		r = add(into, statement, mem);
		rc = sqlite3_step(statement);
	}
	if (r != 0)
		r = no_memory(err);
	else if (rc != SQLITE_DONE)
		r = journal_broken(journal, err);
	sqlite3_finalize(statement);
	return r;
}

struct entry_list {
	struct journal_entry *entries;
	size_t count;
};

static int add_entry(void *into, sqlite3_stmt *row, struct arena *mem)
{
	struct entry_list *list = into;

	return journal_row(row, mem, &list->entries[list->count++]);
}

int journal_list(struct journal *journal, const struct journal_filter *filter, struct arena *mem,
		 struct journal_entry **out_entries, size_t *out_count, struct journal_error *err)
{
	struct entry_list list = {.entries =
					  arena_alloc(mem, filter->limit * sizeof(*list.entries))};
	sqlite3_stmt *statement;
	int r;

	if (!list.entries)
		return no_memory(err);
	statement = journal_sql(
		journal,
		"SELECT id, task, step, method, url, token, is_current, state, owner, "
		"payload, NULL, credential, is_gate, outcome, operation, status, NULL, NULL, "
		"body_file, advice, after_s, reason, attempts, created_ms, changed_ms "
		"FROM entry WHERE (?1 IS NULL OR task = ?1) AND (?2 IS NULL OR step = ?2) "
		"AND (?3 IS NULL OR token = ?3) AND (NOT ?4 OR state NOT IN ('done', 'failed')) "
		"AND (NOT ?5 OR is_current) ORDER BY id DESC LIMIT ?6");
	journal_bind_text(statement, 1, filter->task);
	journal_bind_text(statement, 2, filter->step);
	journal_bind_text(statement, 3, filter->token);
	sqlite3_bind_int(statement, 4, filter->is_open_only);
	sqlite3_bind_int(statement, 5, filter->is_current_only);
	sqlite3_bind_int64(statement, 6, (int64_t)filter->limit);
	r = read_rows(journal, statement, add_entry, &list, mem, err);
	if (r == 0) {
		*out_entries = list.entries;
		*out_count = list.count;
	}
	return r;
}

struct event_list {
	struct journal_event *events;
	size_t count;
};

static int add_event(void *into, sqlite3_stmt *row, struct arena *mem)
{
	struct event_list *list = into;
	struct journal_event *event = &list->events[list->count++];

	event->at_ms = sqlite3_column_int64(row, 0);
	event->what = arena_str(mem, str_from((const char *)sqlite3_column_text(row, 1)));
	event->note = arena_str(mem, str_from((const char *)sqlite3_column_text(row, 2)));
	return event->what.at && event->note.at ? 0 : FAIL_MEMORY;
}

static int read_events(struct journal *journal, int64_t id, struct arena *mem,
		       struct journal_event **out_events, size_t *out_count,
		       struct journal_error *err)
{
	struct event_list list = {
		.events = arena_alloc(mem, JOURNAL_EVENTS_MAX * sizeof(*list.events))};
	sqlite3_stmt *statement = journal_sql(
		journal, "SELECT at_ms, what, note FROM (SELECT rowid AS n, * FROM event WHERE "
			 "entry = ?1 ORDER BY rowid DESC LIMIT ?2) ORDER BY n");
	int r;

	if (!list.events) {
		sqlite3_finalize(statement);
		return no_memory(err);
	}
	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_int64(statement, 2, JOURNAL_EVENTS_MAX);
	r = read_rows(journal, statement, add_event, &list, mem, err);
	if (r == 0) {
		*out_events = list.events;
		*out_count = list.count;
	}
	return r;
}

int journal_show(struct journal *journal, struct str token, struct arena *mem,
		 struct journal_entry *out_entry, struct journal_event **out_events,
		 size_t *out_count, struct journal_error *err)
{
	sqlite3_stmt *statement =
		journal_sql(journal, "SELECT " JOURNAL_COLUMNS
				     " FROM entry WHERE token = ?1 ORDER BY id DESC LIMIT 1");
	int r;

	journal_bind_text(statement, 1, token);
	r = journal_one(journal, statement, mem, out_entry, err);
	if (r == JOURNAL_NONE)
		return journal_say(err, r, "the journal knows no such token");
	return r == 0 ? read_events(journal, out_entry->id, mem, out_events, out_count, err) : r;
}

/* May it be forgotten? */
static int judge_forgetting(const struct journal *journal, const struct journal_entry *entry,
			    bool is_forced, struct journal_error *err)
{
	bool is_open = entry->state != ENTRY_NEW && entry->state != ENTRY_DONE &&
		       entry->state != ENTRY_FAILED;

	if (journal_is_busy(journal, entry))
		return journal_say(err, JOURNAL_BUSY, "another process is at this step");
	if (is_open && !is_forced)
		return journal_say(err, JOURNAL_REFUSED,
				   "it is %s: who forgets its token can make it happen twice",
				   entry_state_text(entry->state));
	return 0;
}

/* Delete it; the newest of its step that is left, if any, is the step's again. */
static int delete_entry(struct journal *journal, const struct journal_entry *entry,
			struct journal_error *err)
{
	sqlite3_stmt *statement = journal_sql(journal, "DELETE FROM entry WHERE id = ?1");
	int r;

	sqlite3_bind_int64(statement, 1, entry->id);
	r = journal_run(journal, statement, err);
	if (r != 0 || !entry->is_current || !entry->step.task.len)
		return r;
	statement = journal_sql(
		journal, "UPDATE entry SET is_current = 1 WHERE id = (SELECT max(id) FROM entry "
			 "WHERE task = ?1 AND step = ?2 AND method = ?3 AND url = ?4)");
	journal_bind_text(statement, 1, entry->step.task);
	journal_bind_text(statement, 2, entry->step.step);
	journal_bind_text(statement, 3, entry->step.method);
	journal_bind_text(statement, 4, entry->step.url);
	return journal_run(journal, statement, err);
}

int journal_forget(struct journal *journal, int64_t id, bool is_forced, struct journal_error *err)
{
	enum { ENTRY_BYTES_MAX = 8 * JOURNAL_BODY_MAX };
	struct journal_entry entry;
	sqlite3_stmt *statement;
	struct arena mem;
	int r = journal_begin(journal, err);

	arena_init(&mem, ENTRY_BYTES_MAX);
	statement = journal_sql(journal, "SELECT " JOURNAL_COLUMNS " FROM entry WHERE id = ?1");
	sqlite3_bind_int64(statement, 1, id);
	if (r == 0)
		r = journal_one(journal, statement, &mem, &entry, err);
	else
		sqlite3_finalize(statement);
	if (r == JOURNAL_NONE)
		journal_say(err, r, "the journal knows no such entry");
	if (r == 0)
		r = judge_forgetting(journal, &entry, is_forced, err);
	if (r == 0)
		r = delete_entry(journal, &entry, err);
	r = journal_end(journal, r, err);
	arena_fini(&mem);
	return r;
}
