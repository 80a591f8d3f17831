/*
 * Forgetting what ended long ago.
 *
 * The journal grows by an entry a step. What is done or has failed, has no owner and has not
 * changed for so long is taken out, some of them in each transaction, with the file beside the
 * journal that has its answer's body.
 *
 * Always true: which entry is the step's does not change by it. So the current one of a step goes
 * last, and stays where an older one stays, which would be sent or asked about in its place.
 * Can fail: the file cannot be written, or memory ends; what was taken out before is gone then.
 */
#include "client/journal_internal.h"

#include "base/err.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUND_MAX = 1000, /* entries in one transaction */ ROUNDS_MAX = 1000 };

/* Has it ended, long ago? Whose owner died is not sent again either, but that is for a claim. */
#define ENDED "(state IN ('done', 'failed') AND owner IS NULL AND changed_ms < ?1)"

/* The steps that have an older entry which stays. */
#define STAYING                                                                                    \
	"WITH staying AS (SELECT task, step, method, url FROM entry WHERE is_current = 0 "         \
	"AND task IS NOT NULL AND NOT " ENDED ") "
#define PRUNABLE                                                                                   \
	ENDED " AND (is_current = 0 OR task IS NULL OR "                                           \
	      "(task, step, method, url) NOT IN (SELECT * FROM staying))"

struct round {
	struct old_entry {
		int64_t id;
		struct str body_file;
	} * entries;
	size_t count;
};

static int find_old(struct journal *journal, int64_t before_ms, struct arena *mem,
		    struct round *out, struct journal_error *err);
static int delete_round(struct journal *journal, const struct round *round,
			struct journal_error *err);
static void remove_files(const struct journal *journal, const struct round *round);

/* One transaction; how many it took out. */
static int prune_some(struct journal *journal, int64_t before_ms, size_t *out_count,
		      struct journal_error *err)
{
	enum { PATHS_MAX = ROUND_MAX * (JOURNAL_PATH_MAX + 64) };
	struct round round = {.entries = NULL};
	struct arena mem;
	int r;

	arena_init(&mem, PATHS_MAX);
	r = journal_begin(journal, err);
	if (r == 0)
		r = find_old(journal, before_ms, &mem, &round, err);
	if (r == 0)
		r = delete_round(journal, &round, err);
	r = journal_end(journal, r, err);
	if (r == 0)
		remove_files(journal, &round);
	*out_count = round.count;
	arena_fini(&mem);
	return r;
}

int journal_prune(struct journal *journal, int64_t before_ms, uint64_t *out_count,
		  struct journal_error *err)
{
	size_t count = ROUND_MAX;
	uint64_t all = 0;
	int r = 0;

	for (int i = 0; i < ROUNDS_MAX && r == 0 && count == ROUND_MAX; i++) {
		r = prune_some(journal, before_ms, &count, err);
		if (r == 0)
			all += count;
	}
	if (r == 0)
		*out_count = all;
	return r;
}

static int count_of(struct journal *journal, const char *sql, int64_t before_ms, uint64_t *out,
		    struct journal_error *err)
{
	sqlite3_stmt *statement = journal_sql(journal, sql);
	int r = 0;

	sqlite3_bind_int64(statement, 1, before_ms);
	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		*out = (uint64_t)sqlite3_column_int64(statement, 0);
	else
		r = journal_broken(journal, err);
	sqlite3_finalize(statement);
	return r;
}

int journal_count_old(struct journal *journal, int64_t before_ms, uint64_t *out_prunable,
		      uint64_t *out_open, struct journal_error *err)
{
	int r = count_of(journal, STAYING "SELECT count(*) FROM entry WHERE " PRUNABLE, before_ms,
			 out_prunable, err);

	if (r == 0)
		r = count_of(journal,
			     "SELECT count(*) FROM entry WHERE changed_ms < ?1 "
			     "AND state NOT IN ('done', 'failed')",
			     before_ms, out_open, err);
	return r;
}

static int find_old(struct journal *journal, int64_t before_ms, struct arena *mem,
		    struct round *out, struct journal_error *err)
{
	sqlite3_stmt *statement =
		journal_sql(journal, STAYING "SELECT id, body_file FROM entry WHERE " PRUNABLE
					     " ORDER BY is_current, id LIMIT ?2");
	int rc = SQLITE_NOMEM, r;

	out->entries = arena_alloc(mem, ROUND_MAX * sizeof(*out->entries));
	sqlite3_bind_int64(statement, 1, before_ms);
	sqlite3_bind_int64(statement, 2, ROUND_MAX);
	while (out->entries && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		struct old_entry *entry = &out->entries[out->count++];
		const char *file = (const char *)sqlite3_column_text(statement, 1);

		entry->id = sqlite3_column_int64(statement, 0);
		entry->body_file = arena_str(mem, str_from(file));
		if (!entry->body_file.at)
			break;
	}
	r = rc == SQLITE_DONE ? 0 : journal_broken(journal, err);
	sqlite3_finalize(statement);
	return rc == SQLITE_ROW || !out->entries
		       ? journal_say(err, FAIL_MEMORY,
				     "there is no memory for the journal's entries")
		       : r;
}

static int delete_round(struct journal *journal, const struct round *round,
			struct journal_error *err)
{
	int r = 0;

	for (size_t i = 0; i < round->count && r == 0; i++) {
		sqlite3_stmt *statement = journal_sql(journal, "DELETE FROM entry WHERE id = ?1");

		sqlite3_bind_int64(statement, 1, round->entries[i].id);
		r = journal_run(journal, statement, err);
	}
	return r;
}

/* Is it the very file, by whatever path it was written down? */
static bool is_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Those that were made beside the journal; one that a caller named is the caller's. */
static void remove_files(const struct journal *journal, const struct round *round)
{
	char folder[JOURNAL_PATH_MAX], own[JOURNAL_PATH_MAX + 32];

	if (!journal_answers(journal, folder))
		return;
	for (size_t i = 0; i < round->count; i++) {
		const struct old_entry *entry = &round->entries[i];

		snprintf(own, sizeof(own), "%s/%lld", folder, (long long)entry->id);
		if (entry->body_file.len && is_same_file(entry->body_file.at, own))
			unlink(own);
	}
}
