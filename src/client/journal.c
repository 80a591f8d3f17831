/*
 * Tokens, claims and what was learnt: the journal's changes, each in one transaction.
 *
 * A claim is what keeps two processes from sending one step twice; it is on disk before the
 * first byte leaves, so whoever comes after a crash sees that something may have happened.
 *
 *   new ─claim─► sending ─settle─► done | failed | open | unknown | new (certainly nothing)
 *                   ▲─────────────────send again────────┘
 *
 * Always true: what is done or has failed has no way out but being forgotten.
 * Can fail: the file cannot be read or written. Nothing has changed then, but where committing
 * itself failed: then something may have, and it is of the kind that makes the next one ask first.
 */
#include "client/journal_internal.h"

#include "base/err.h"

static int find_current(struct journal *journal, const struct step *step, struct arena *mem,
			struct journal_entry *out, struct journal_error *err);
static int make_entry(struct journal *journal, const struct step *step, struct arena *mem,
		      struct journal_entry *out, struct journal_error *err);
static int replace_entry(struct journal *journal, const struct journal_entry *old,
			 struct arena *mem, struct journal_entry *out, struct journal_error *err);

static int token_in_turn(struct journal *journal, const struct step *step, bool is_new,
			 struct arena *mem, struct journal_entry *out, struct journal_error *err)
{
	struct journal_entry found;
	int r = find_current(journal, step, mem, &found, err);

	if (r == 0 && !is_new)
		*out = found;
	else if (r == 0)
		r = replace_entry(journal, &found, mem, out, err);
	else if (r == JOURNAL_NONE)
		r = make_entry(journal, step, mem, out, err);
	return r;
}

int journal_token(struct journal *journal, const struct step *step, bool is_new, struct arena *mem,
		  struct journal_entry *out_entry, struct journal_error *err)
{
	struct step wanted = *step;
	char token[STEP_TOKEN_TEXT + 1];
	int r;

	if (is_new && !step->task.len)
		return journal_say(err, JOURNAL_REFUSED,
				   "a token given by hand stands for one action: for a new action, "
				   "give another one");
	if (step->task.len) {
		token_derive(step, token);
		/* Derived only where it is the first: one that is drawn is like no other. */
		if (is_new)
			token_draw(journal->env, token);
		wanted.token = str_from(token);
	}
	r = journal_begin(journal, err);
	if (r == 0)
		r = token_in_turn(journal, &wanted, is_new, mem, out_entry, err);
	return journal_end(journal, r, err);
}

static void bind_step(sqlite3_stmt *statement, const struct step *step)
{
	journal_bind_text(statement, 1, step->task);
	journal_bind_text(statement, 2, step->step);
	journal_bind_text(statement, 3, step->method);
	journal_bind_text(statement, 4, step->url);
	journal_bind_text(statement, 5, step->token);
}

/* That of the step; else the one that has its first token already: it was given by hand. */
static int find_current(struct journal *journal, const struct step *step, struct arena *mem,
			struct journal_entry *out, struct journal_error *err)
{
	sqlite3_stmt *statement = journal_sql(
		journal,
		"SELECT " JOURNAL_COLUMNS " FROM entry WHERE method = ?3 AND url = ?4 AND "
		"((task = ?1 AND step = ?2 AND is_current = 1) OR "
		"token = ?5) ORDER BY (task IS ?1 AND step IS ?2 AND is_current = 1) DESC LIMIT 1");

	bind_step(statement, step);
	return journal_one(journal, statement, mem, out, err);
}

static int read_entry(struct journal *journal, int64_t id, struct arena *mem,
		      struct journal_entry *out, struct journal_error *err)
{
	sqlite3_stmt *statement =
		journal_sql(journal, "SELECT " JOURNAL_COLUMNS " FROM entry WHERE id = ?1");
	int r;

	sqlite3_bind_int64(statement, 1, id);
	r = journal_one(journal, statement, mem, out, err);
	return r == JOURNAL_NONE
		       ? journal_say(err, r,
				     "the journal's entry is gone: somebody has forgotten it")
		       : r;
}

static int make_entry(struct journal *journal, const struct step *step, struct arena *mem,
		      struct journal_entry *out, struct journal_error *err)
{
	sqlite3_stmt *statement = journal_sql(
		journal, "INSERT INTO entry (task, step, method, url, token, state, created_ms, "
			 "changed_ms) VALUES (?1, ?2, ?3, ?4, ?5, 'new', ?6, ?6)");
	int64_t id;
	int r;

	bind_step(statement, step);
	sqlite3_bind_int64(statement, 6, env_wall_ms(journal->env));
	r = journal_run(journal, statement, err);
	id = sqlite3_last_insert_rowid(journal->db);
	if (r == 0)
		r = journal_event(journal, id, "made", STR(""), err);
	return r == 0 ? read_entry(journal, id, mem, out, err) : r;
}

static int replace_entry(struct journal *journal, const struct journal_entry *old,
			 struct arena *mem, struct journal_entry *out, struct journal_error *err)
{
	sqlite3_stmt *statement;
	struct step step = old->step;
	char token[STEP_TOKEN_TEXT + 1];
	int r;

	if (journal_is_busy(journal, old))
		return journal_say(err, JOURNAL_BUSY,
				   "another process is at this step: wait for its end before you "
				   "begin a new one");
	statement = journal_sql(journal, "UPDATE entry SET is_current = 0 WHERE id = ?1");
	sqlite3_bind_int64(statement, 1, old->id);
	r = journal_run(journal, statement, err);
	if (r != 0)
		return r;
	token_draw(journal->env, token);
	step.token = str_from(token);
	r = make_entry(journal, &step, mem, out, err);
	if (r == 0 && old->state == ENTRY_FAILED)
		out->retry_of = old->operation;
	return r;
}

/* May it be claimed with this payload? 0; or what journal_claim() says. */
static int judge_claim(const struct journal *journal, const struct journal_entry *entry,
		       const struct payload *payload, struct arena *mem, struct journal_error *err)
{
	struct str difference;

	if (payload && entry->payload.len && !str_equal(entry->payload, str_from(payload->hex))) {
		difference = payload_difference(entry->members, payload->members, mem);
		return journal_say(err, JOURNAL_CHANGED, "%.*s", STR_ARG(difference));
	}
	if (entry->state == ENTRY_DONE || entry->state == ENTRY_FAILED)
		return JOURNAL_ENDED;
	if (journal_is_busy(journal, entry))
		return journal_say(err, JOURNAL_BUSY, "another process is at this step");
	if (!payload && entry->state == ENTRY_NEW)
		return journal_say(err, JOURNAL_NONE, "nothing was sent under this token yet");
	return 0;
}

static int take(struct journal *journal, const struct journal_entry *entry,
		const struct payload *payload, const char *mark, struct journal_error *err)
{
	bool is_sending = entry->state == ENTRY_NEW;
	sqlite3_stmt *statement = journal_sql(
		journal,
		is_sending ? "UPDATE entry SET owner = ?2, changed_ms = ?3, state = 'sending', "
			     "attempts = attempts + 1, payload = ?4, members = ?5, credential = ?6 "
			     "WHERE id = ?1"
			   : "UPDATE entry SET owner = ?2, changed_ms = ?3 WHERE id = ?1");
	int r;

	sqlite3_bind_int64(statement, 1, entry->id);
	journal_bind_text(statement, 2, str_from(journal->owner));
	sqlite3_bind_int64(statement, 3, env_wall_ms(journal->env));
	if (is_sending) {
		journal_bind_text(statement, 4, str_from(payload->hex));
		journal_bind_text(statement, 5, payload->members);
		journal_bind_text(statement, 6, str_from(mark));
	}
	r = journal_run(journal, statement, err);
	journal_hold(journal, entry->id); /* also where committing fails: it may be ours then */
	if (r == 0)
		r = journal_event(journal, entry->id, is_sending ? "sent" : "taken_over", STR(""),
				  err);
	return r;
}

int journal_claim(struct journal *journal, int64_t id, const struct payload *payload,
		  const char *mark, struct arena *mem, struct journal_entry *out_entry,
		  struct journal_error *err)
{
	int r = journal_begin(journal, err);

	if (r == 0)
		r = read_entry(journal, id, mem, out_entry, err);
	if (r == 0)
		r = judge_claim(journal, out_entry, payload, mem, err);
	if (r == 0)
		r = take(journal, out_entry, payload, mark, err);
	return journal_end(journal, r, err);
}

/* Did the last statement change the one entry that is ours? */
static int was_ours(struct journal *journal, struct journal_error *err)
{
	return sqlite3_changes(journal->db) == 1
		       ? 0
		       : journal_say(
				 err, JOURNAL_NONE,
				 "the journal's entry is not ours any more: it was forgotten, or "
				 "taken over");
}

int journal_send_again(struct journal *journal, int64_t id, const char *mark, const char *note,
		       struct journal_error *err)
{
	sqlite3_stmt *statement;
	int r = journal_begin(journal, err);

	if (r != 0)
		return journal_end(journal, r, err);
	statement = journal_sql(journal,
				"UPDATE entry SET state = 'sending', attempts = attempts + 1, "
				"credential = ?3, changed_ms = ?4 WHERE id = ?1 AND owner = ?2");
	sqlite3_bind_int64(statement, 1, id);
	journal_bind_text(statement, 2, str_from(journal->owner));
	journal_bind_text(statement, 3, str_from(mark));
	sqlite3_bind_int64(statement, 4, env_wall_ms(journal->env));
	r = journal_run(journal, statement, err);
	if (r == 0)
		r = was_ours(journal, err);
	if (r == 0)
		r = journal_event(journal, id, "sent", str_from(note), err);
	return journal_end(journal, r, err);
}

static const char settle_sql[] =
	"UPDATE entry SET state = ?3, owner = iif(?4, owner, NULL), "
	"payload = iif(?5, NULL, payload), members = iif(?5, NULL, members), "
	"credential = iif(?5, NULL, credential), is_gate = max(is_gate, ?6), "
	"outcome = coalesce(?7, outcome), operation = coalesce(?8, operation), advice = ?9, "
	"after_s = ?10, reason = ?11, status = nullif(?12, 0), headers = ?13, body = ?14, "
	"body_file = ?15, changed_ms = ?16 WHERE id = ?1 AND owner = ?2";

static void bind_settlement(sqlite3_stmt *statement, const struct journal_settlement *settlement)
{
	const struct kept_answer *answer = &settlement->answer;

	journal_bind_text(statement, 3, str_from(entry_state_text(settlement->state)));
	sqlite3_bind_int(statement, 4, settlement->is_still_ours);
	sqlite3_bind_int(statement, 5, settlement->is_forgotten);
	sqlite3_bind_int(statement, 6, settlement->is_gate);
	journal_bind_text(statement, 7, settlement->outcome);
	journal_bind_text(statement, 8, settlement->operation);
	journal_bind_text(statement, 9, settlement->advice);
	sqlite3_bind_int64(statement, 10, settlement->after_s);
	journal_bind_text(statement, 11, settlement->reason);
	sqlite3_bind_int64(statement, 12, answer->status);
	journal_bind_text(statement, 13, answer->headers);
	if (answer->has_body)
		sqlite3_bind_blob64(statement, 14, answer->body.len ? answer->body.at : "",
				    answer->body.len, SQLITE_TRANSIENT);
	journal_bind_text(statement, 15, answer->body_file);
}

int journal_settle(struct journal *journal, int64_t id, const struct journal_settlement *settlement,
		   struct journal_error *err)
{
	sqlite3_stmt *statement;
	int r = journal_begin(journal, err);

	if (r != 0)
		return journal_end(journal, r, err);
	statement = journal_sql(journal, settle_sql);
	sqlite3_bind_int64(statement, 1, id);
	journal_bind_text(statement, 2, str_from(journal->owner));
	bind_settlement(statement, settlement);
	sqlite3_bind_int64(statement, 16, env_wall_ms(journal->env));
	r = journal_run(journal, statement, err);
	if (r == 0)
		r = was_ours(journal, err);
	if (r == 0)
		r = journal_event(journal, id, settlement->what, settlement->note, err);
	r = journal_end(journal, r, err);
	if (r == 0 && !settlement->is_still_ours)
		journal->held = 0;
	return r;
}
