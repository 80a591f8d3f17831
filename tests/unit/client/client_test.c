/*
 * Places for journals, and children that use them.
 *
 * A child never uses its parent's open journal: SQLite's files do not pass through fork().
 */
#include "client_test.h"

#include "client/journal_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t clock_ms(const struct env *env)
{
	return *(const int64_t *)env->state;
}

static int64_t clock_us(const struct env *env)
{
	return clock_ms(env) * 1000;
}

int place_setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	memcpy(place->folder, "/tmp/journal-XXXXXX", sizeof("/tmp/journal-XXXXXX"));
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/state/journal.db", place->folder);
	place->now_ms = 1769847300000;
	place->env = (struct env){.wall_ms = clock_ms,
				  .monotonic_us = clock_us,
				  .random = env_machine.random,
				  .state = &place->now_ms};
	arena_init(&place->mem, PLACE_MEMORY);
	*state = place;
	return 0;
}

int place_teardown(void **state)
{
	struct place *place = *state;
	char command[PLACE_PATH + 16];

	place_close(place);
	arena_fini(&place->mem);
	snprintf(command, sizeof(command), "rm -rf '%s'", place->folder);
	assert_int_equal(system(command), 0);
	free(place);
	return 0;
}

struct journal *place_open(struct place *place)
{
	int r = journal_open(place->path, &place->env, &place->journal, &place->err);

	if (r != 0)
		fail_msg("%d: %s", r, place->err.text);
	return place->journal;
}

void place_close(struct place *place)
{
	journal_close(place->journal);
	place->journal = NULL;
}

struct step place_step(const char *step)
{
	return (struct step){.task = STR("t"),
			     .step = str_from(step),
			     .method = STR("POST"),
			     .url = STR("http://h.test/")};
}

static struct journal_entry entry_of(struct place *place, const char *name, bool is_anew)
{
	struct step step = place_step(name);
	struct journal_entry entry = {.id = 0};
	int r = journal_token(place->journal, &step, is_anew, &place->mem, &entry, &place->err);

	if (r != 0)
		fail_msg("%d: %s", r, place->err.text);
	return entry;
}

struct journal_entry place_entry(struct place *place, const char *name)
{
	return entry_of(place, name, false);
}

struct journal_entry place_entry_anew(struct place *place, const char *name)
{
	return entry_of(place, name, true);
}

int place_claim(struct place *place, int64_t id, int n, struct journal_entry *out_entry)
{
	struct str body = arena_printf(&place->mem, "{\"n\": %d}", n);
	struct payload payload;

	assert_int_equal(
		payload_of(STR("application/json"), body, STR("token"), &place->mem, &payload), 0);
	return journal_claim(place->journal, id, &payload, "abcd", &place->mem, out_entry,
			     &place->err);
}

int place_settle(struct place *place, int64_t id, enum entry_state state)
{
	struct journal_settlement settlement = {.state = state, .what = "answered"};

	return journal_settle(place->journal, id, &settlement, &place->err);
}

void place_sql(struct place *place, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Through its own connection, which is where SQLite keeps both. */
static void pragma(struct place *place, const char *sql)
{
	assert_int_equal(sqlite3_exec(place->journal->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

void place_fill(struct place *place)
{
	pragma(place, "PRAGMA max_page_count = 1");
	/* What is left free in the last pages is taken too. */
	pragma(place, "CREATE TEMP TRIGGER fill AFTER INSERT ON main.event BEGIN "
		      "UPDATE entry SET reason = hex(zeroblob(100000)); END");
}

void place_make_readonly(struct place *place)
{
	pragma(place, "PRAGMA query_only = ON");
}

int child_start(int (*act)(void *given), void *given)
{
	pid_t child = fork();

	if (child == 0)
		_exit(act(given));
	assert_true(child > 0);
	return child;
}

int child_end(int pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
