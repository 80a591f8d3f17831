/*
 * Opening the journal: where it is, whose it is, and what is in it.
 *
 * The file is looked at by name before SQLite opens it, and made by us, so that it never exists
 * for a moment with more rights than it may have. Nobody but SQLite ever has a descriptor of it:
 * closing one would drop the locks that SQLite holds in this process (fcntl(2)). Hence mknod().
 *
 * Always true: an open journal is a file of this user's alone, in the one format that is known
 * here. Can fail: it is not; then nothing in it has been touched.
 */
#include "client/journal_internal.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x43464a31 /* "CFJ1" */, FORMAT = 1, OTHERS = 077, MODE = 0600 };

static const char schema[] =
	"CREATE TABLE entry ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT, step TEXT, method TEXT NOT NULL, url "
	"TEXT NOT NULL,"
	" token TEXT NOT NULL, is_current INTEGER NOT NULL DEFAULT 1, state TEXT NOT NULL,"
	" owner TEXT, payload TEXT, members TEXT, credential TEXT,"
	" is_gate INTEGER NOT NULL DEFAULT 0, outcome TEXT, operation TEXT, status INTEGER,"
	" headers TEXT, body BLOB, body_file TEXT, advice TEXT, after_s INTEGER, reason TEXT,"
	" attempts INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL,"
	" changed_ms INTEGER NOT NULL);"
	"CREATE UNIQUE INDEX entry_step ON entry (task, step, method, url)"
	" WHERE is_current = 1 AND task IS NOT NULL;"
	"CREATE UNIQUE INDEX entry_token ON entry (token, method, url);"
	"CREATE TABLE event ("
	" entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,"
	" at_ms INTEGER NOT NULL, what TEXT NOT NULL, note TEXT NOT NULL DEFAULT '');"
	"CREATE INDEX event_entry ON event (entry, at_ms);"
	"PRAGMA application_id = 1128679985;"
	"PRAGMA user_version = 1;";
_Static_assert(APPLICATION_ID == 1128679985, "the schema stamps another application");
_Static_assert(FORMAT == 1, "the schema stamps another format");

static const char pragmas[] = "PRAGMA journal_mode = DELETE;"
			      "PRAGMA synchronous = EXTRA;"
			      "PRAGMA foreign_keys = ON;"
			      "PRAGMA trusted_schema = OFF;";

static int make_folders(const char *path, struct journal_error *err);
static int look_at_folder(const char *path, struct journal_error *err);
static int make_file(const char *path, struct journal_error *err);
static int look_at_file(struct journal *journal, struct journal_error *err);
static int make_tables(struct journal *journal, struct journal_error *err);

struct str journal_place(struct arena *mem, struct journal_error *err)
{
	const char *chosen = getenv("COUNTERFOIL_JOURNAL");
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct str path = str_of(NULL, 0);

	if (chosen && *chosen)
		path = arena_str(mem, str_from(chosen));
	else if (state && *state == '/') /* one that is not absolute is ignored, as XDG has it */
		path = arena_printf(mem, "%s/counterfoil/journal.db", state);
	else if (home && *home == '/')
		path = arena_printf(mem, "%s/.local/state/counterfoil/journal.db", home);
	else
		journal_say(err, JOURNAL_REFUSED,
			    "there is no home for the journal: set HOME, or COUNTERFOIL_JOURNAL to "
			    "the path of a file");
	return path;
}

/* By a name that is a path for SQLite too: ":memory:" and "file:x" are none. */
static int open_database(struct journal *journal)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX;
	char path[JOURNAL_PATH_MAX + sizeof("./")];

	snprintf(path, sizeof(path), "%s%s", *journal->path == '/' ? "" : "./", journal->path);
	return sqlite3_open_v2(path, &journal->db, flags, NULL);
}

static int open_it(struct journal *journal, struct journal_error *err)
{
	int r = make_folders(journal->path, err);

	if (r == 0)
		r = look_at_folder(journal->path, err);
	if (r == 0)
		r = make_file(journal->path, err);
	if (r == 0)
		r = look_at_file(journal, err);
	if (r != 0)
		return r;
	if (open_database(journal) != SQLITE_OK)
		return journal_broken(journal, err);
	sqlite3_busy_timeout(journal->db, JOURNAL_BUSY_MS);
	return make_tables(journal, err);
}

int journal_open(const char *path, const struct env *env, struct journal **out,
		 struct journal_error *err)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	struct str place = str_from(path);
	struct arena mem;
	int r;

	if (!journal)
		return journal_say(err, FAIL_MEMORY, "there is no memory for the journal");
	arena_init(&mem, 4 * JOURNAL_PATH_MAX);
	*err->text = '\0';
	if (!path)
		place = journal_place(&mem, err);
	journal->env = env;
	journal->path =
		place.len && place.len <= JOURNAL_PATH_MAX ? strndup(place.at, place.len) : NULL;
	arena_fini(&mem);
	owner_of_self(journal->owner);
	if (journal->path)
		r = open_it(journal, err);
	else
		r = *err->text ? JOURNAL_REFUSED
			       : journal_say(err, JOURNAL_REFUSED,
					     "the journal's path is empty or too long");
	if (r == 0)
		*out = journal;
	else
		journal_close(journal);
	return r;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	journal_leave(journal);
	sqlite3_close(journal->db);
	free(journal->path);
	free(journal);
}

const char *journal_path(const struct journal *journal)
{
	return journal->path;
}

bool journal_answers(const struct journal *journal, char out_folder[JOURNAL_PATH_MAX])
{
	return snprintf(out_folder, JOURNAL_PATH_MAX, "%s.answers", journal->path) <
	       JOURNAL_PATH_MAX;
}

const struct env *journal_env(const struct journal *journal)
{
	return journal->env;
}

static int make_folders(const char *path, struct journal_error *err)
{
	char *folder = strdup(path);
	int r = 0;

	if (!folder)
		return journal_say(err, FAIL_MEMORY, "there is no memory for the journal");
	for (char *slash = strchr(folder + 1, '/'); slash && r == 0;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(folder, 0700) != 0 && errno != EEXIST)
			r = journal_say(err, FAIL_STORE,
					"the folder %s for the journal cannot be made: %s", folder,
					strerror(errno));
		*slash = '/';
	}
	free(folder);
	return r;
}

/* Who may write to the folder can put a file there that SQLite takes for an unfinished change. */
static int look_at_folder(const char *path, struct journal_error *err)
{
	char folder[JOURNAL_PATH_MAX + 1];
	const char *slash = strrchr(path, '/');
	struct stat file;
	int len = slash ? (int)(slash - path) : 0;

	snprintf(folder, sizeof(folder), "%.*s", len ? len : 1, len || slash ? path : ".");
	if (stat(folder, &file) != 0)
		return journal_say(err, FAIL_STORE,
				   "the journal's folder %s cannot be looked at: %s", folder,
				   strerror(errno));
	if (file.st_mode & S_IWOTH)
		return journal_say(err, JOURNAL_REFUSED,
				   "everybody can write to the journal's folder %s: name a file in "
				   "a folder of your own",
				   folder);
	return 0;
}

static int make_file(const char *path, struct journal_error *err)
{
	if (mknod(path, S_IFREG | MODE, 0) != 0 && errno != EEXIST)
		return journal_say(err, FAIL_STORE, "the journal %s cannot be made: %s", path,
				   strerror(errno));
	return 0;
}

static int look_at_file(struct journal *journal, struct journal_error *err)
{
	const char *path = journal->path;
	struct stat file;

	if (stat(path, &file) != 0)
		return journal_say(err, FAIL_STORE, "the journal %s cannot be looked at: %s", path,
				   strerror(errno));
	if (!S_ISREG(file.st_mode))
		return journal_say(err, JOURNAL_REFUSED, "the journal %s is no file", path);
	if (file.st_uid != geteuid())
		return journal_say(err, JOURNAL_REFUSED,
				   "the journal %s belongs to another user: name one of your own",
				   path);
	if (file.st_mode & OTHERS)
		return journal_say(err, JOURNAL_REFUSED,
				   "the journal %s can be read by others: chmod 600 it", path);
	journal->device = (uint64_t)file.st_dev;
	journal->file = (uint64_t)file.st_ino;
	return 0;
}

static int64_t number_of(struct journal *journal, const char *sql)
{
	sqlite3_stmt *statement = journal_sql(journal, sql);
	int64_t number = -1;

	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

/* Is it ours, or empty? Only then anything is written. */
static int make_tables_in_turn(struct journal *journal, struct journal_error *err)
{
	int64_t id = number_of(journal, "PRAGMA application_id");
	int64_t format = number_of(journal, "PRAGMA user_version");

	if (id < 0 || format < 0)
		return journal_broken(journal, err);
	if (id == 0 && format == 0 && number_of(journal, "SELECT count(*) FROM sqlite_schema") == 0)
		return sqlite3_exec(journal->db, schema, NULL, NULL, NULL) == SQLITE_OK
			       ? 0
			       : journal_broken(journal, err);
	if (id != APPLICATION_ID)
		return journal_say(err, JOURNAL_REFUSED,
				   "%s is a database of another program: name another file for the "
				   "journal",
				   journal->path);
	if (format != FORMAT)
		return journal_say(
			err, JOURNAL_REFUSED,
			"the journal %s was written by a newer counterfoil: use that one",
			journal->path);
	return 0;
}

static int make_tables(struct journal *journal, struct journal_error *err)
{
	int r = journal_begin(journal, err);

	if (r == 0)
		r = make_tables_in_turn(journal, err);
	r = journal_end(journal, r, err);
	/* Only now: setting the mode of somebody else's database would write to it. */
	if (r == 0 && sqlite3_exec(journal->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		r = journal_broken(journal, err);
	return r;
}
