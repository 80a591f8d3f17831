/* Reading the tables of a store that rests (see look.h). */
#include "store/look.h"

#include "base/err.h"
#include "store/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOOK_PATH_MAX = 4096 };

struct store_look {
	sqlite3 *db;
	int lock_fd;
};

static int take_lock(struct store_look *look, const char *directory, char *why, size_t why_size)
{
	char path[LOOK_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/lock", directory) >= (int)sizeof(path))
		path[0] = '\0';
	look->lock_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (look->lock_fd < 0) {
		snprintf(why, why_size, "there is no store of a gate in %s: %s", directory,
			 strerror(errno));
		return FAIL_STORE;
	}
	if (flock(look->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	snprintf(why, why_size, "%s is in use by a running gate: stop it, or look into a copy",
		 directory);
	return FAIL_STORE;
}

bool store_rests(const char *directory)
{
	struct store_look look;
	char why[LOOK_PATH_MAX];
	bool rests = take_lock(&look, directory, why, sizeof(why)) == 0;

	if (look.lock_fd >= 0)
		close(look.lock_fd);
	return rests;
}

int store_look_open(const char *directory, struct store_look **out_look, char *why, size_t why_size)
{
	struct store_look *look = calloc(1, sizeof(*look));
	char path[LOOK_PATH_MAX];
	int r;

	if (!look) {
		snprintf(why, why_size, "there is no memory to open %s", directory);
		return fail(FAIL_MEMORY);
	}
	r = take_lock(look, directory, why, why_size);
	if (r == 0) {
		snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
		if (sqlite3_open_v2(path, &look->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
			snprintf(why, why_size, "%s cannot be opened: %s", path,
				 sqlite3_errmsg(look->db));
			r = FAIL_STORE;
		}
	}
	if (r != 0) {
		store_look_close(look);
		return r;
	}
	*out_look = look;
	return 0;
}

void store_look_close(struct store_look *look)
{
	if (!look)
		return;
	sqlite3_close(look->db);
	if (look->lock_fd >= 0)
		close(look->lock_fd);
	free(look);
}

static struct str text_of(sqlite3_stmt *row, int column)
{
	const void *bytes = sqlite3_column_blob(row, column);

	return bytes ? str_of(bytes, (size_t)sqlite3_column_bytes(row, column)) : STR("");
}

static void read_row(sqlite3_stmt *row, struct store_operation *operation)
{
	*operation = (struct store_operation){
		.account = text_of(row, 2),
		.token = text_of(row, 3),
		.state = (enum operation_state)sqlite3_column_int(row, 5),
		.epoch = (uint32_t)sqlite3_column_int64(row, 6),
		.answer.status = sqlite3_column_int(row, 7),
	};
	id_make(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), &operation->id);
	column_hash(row, 4, &operation->fingerprint);
	if (operation->answer.status)
		column_hash(row, 8, &operation->answer.digest);
	operation->reference = text_of(row, 9);
	operation->resource = text_of(row, 10);
}

/* 0; what `visit` returned; FAIL_STORE. */
static int visit_rows(struct store_look *look, const char *sql, uint64_t from,
		      int (*visit)(void *state, sqlite3_stmt *row), void *state)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(look->db, sql, -1, &statement, NULL), r = 0;

	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
		sqlite3_bind_int64(statement, 1, (int64_t)from);
	while (rc == SQLITE_OK && r == 0) {
		int step = sqlite3_step(statement);

		if (step == SQLITE_ROW)
			r = visit(state, statement);
		else
			rc = step;
	}
	sqlite3_finalize(statement);
	return r == 0 && rc != SQLITE_DONE ? fail(FAIL_STORE) : r;
}

struct operation_visit {
	int (*visit)(void *state, const struct store_operation *operation);
	void *state;
};

static int visit_operation(void *state, sqlite3_stmt *row)
{
	const struct operation_visit *each = state;
	struct store_operation operation;

	read_row(row, &operation);
	return each->visit(each->state, &operation);
}

int store_look_operations(struct store_look *look,
			  int (*visit)(void *state, const struct store_operation *operation),
			  void *state)
{
	struct operation_visit each = {visit, state};

	return visit_rows(look,
			  "SELECT o.op, o.random, o.account, o.token, o.fingerprint, o.state,"
			  " o.epoch, coalesce(a.status, 0), a.digest, o.reference, o.resource"
			  " FROM operation o"
			  " LEFT JOIN answer a ON a.op = o.op ORDER BY o.op",
			  0, visit_operation, &each);
}

static int note_first(void *state, sqlite3_stmt *row)
{
	uint64_t *seq = state;

	*seq = (uint64_t)sqlite3_column_int64(row, 0);
	return 0;
}

int store_look_first_entry(struct store_look *look, uint64_t *out_seq)
{
	return visit_rows(look, "SELECT coalesce(min(seq), 0) FROM audit", 0, note_first, out_seq);
}

struct entry_visit {
	uint64_t from;
	int (*visit)(void *state, struct str bytes);
	void *state;
};

static int visit_entry(void *state, sqlite3_stmt *row)
{
	const struct entry_visit *each = state;
	uint64_t seq = (uint64_t)sqlite3_column_int64(row, 0);
	struct str rest = text_of(row, 1), entry;
	int r = 0;

	while (r == 0 && entry_next(&rest, &entry))
		if (seq++ >= each->from)
			r = each->visit(each->state, entry);
	return r;
}

int store_look_entries(struct store_look *look, uint64_t seq,
		       int (*visit)(void *state, struct str bytes), void *state)
{
	struct entry_visit each = {seq, visit, state};

	return visit_rows(
		look,
		"SELECT seq, entry FROM audit WHERE seq >="
		" coalesce((SELECT max(seq) FROM audit WHERE seq <= ?1), ?1) ORDER BY seq",
		seq, visit_entry, &each);
}
