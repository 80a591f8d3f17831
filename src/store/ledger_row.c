/* Running statements, and reading rows into records. */
#include "store/ledger.h"

#include "base/err.h"

sqlite3_stmt *ledger_statement(struct ledger *ledger, enum ledger_statement which)
{
	return ledger->statements[which];
}

void bind_str(sqlite3_stmt *statement, int column, struct str text)
{
	require(text.len <= INT32_MAX);
	sqlite3_bind_text(statement, column, text.len ? text.at : "", (int)text.len, SQLITE_STATIC);
}

void bind_hash(sqlite3_stmt *statement, int column, const struct hash *hash)
{
	sqlite3_bind_blob(statement, column, hash->bytes, HASH_SIZE, SQLITE_STATIC);
}

/* The disk's fault is everybody's; anything else is laid to the command that met it. */
static int failure_of(struct ledger *ledger, int rc)
{
	log_note(ledger->log, LOG_ERROR, "store_statement_failed", "why",
		 sqlite3_errmsg(ledger->db));
	switch (rc & 0xff) {
	case SQLITE_CONSTRAINT:
	case SQLITE_TOOBIG:
	case SQLITE_NOMEM:
	case SQLITE_CORRUPT:
		return fail(FAIL_UNPLANNED);
	default:
		return fail(FAIL_STORE);
	}
}

int ledger_step(struct ledger *ledger, sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE) {
		sqlite3_reset(statement);
		return 0;
	}
	rc = failure_of(ledger, rc);
	sqlite3_reset(statement);
	return rc;
}

int ledger_run(struct ledger *ledger, sqlite3_stmt *statement)
{
	int r = ledger_step(ledger, statement);

	if (r > 0)
		sqlite3_reset(statement);
	return r < 0 ? r : 0;
}

int ledger_number(struct ledger *ledger, sqlite3_stmt *statement, int64_t absent, int64_t *out)
{
	int r = ledger_step(ledger, statement);

	if (r < 0)
		return r;
	*out = absent;
	if (r > 0) {
		*out = sqlite3_column_int64(statement, 0);
		sqlite3_reset(statement);
	}
	return 0;
}

int ledger_run_on(struct ledger *ledger, enum ledger_statement which, int64_t op)
{
	sqlite3_stmt *statement = ledger_statement(ledger, which);

	sqlite3_bind_int64(statement, 1, op);
	return ledger_run(ledger, statement);
}

void ledger_counter_put(struct ledger *ledger, int counter, int64_t value, int *r)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_COUNTER_PUT);

	if (*r < 0)
		return;
	sqlite3_bind_int(put, 1, counter);
	sqlite3_bind_int64(put, 2, value);
	*r = ledger_run(ledger, put);
}

static uint64_t read_u64(const uint8_t *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

static void write_u64(uint8_t *at, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

bool ledger_column_token(sqlite3_stmt *row, int column, struct token_hash *out_hash)
{
	const void *bytes = sqlite3_column_blob(row, column);

	if (!bytes || sqlite3_column_bytes(row, column) != TOKEN_HASH)
		return false;
	memcpy(out_hash->bytes, bytes, TOKEN_HASH);
	return true;
}

int64_t id_op(const struct operation_id *id)
{
	return (int64_t)read_u64(id->bytes);
}

int64_t id_random(const struct operation_id *id)
{
	return (int64_t)read_u64(id->bytes + 8);
}

void id_make(int64_t op, int64_t random, struct operation_id *out_id)
{
	write_u64(out_id->bytes, (uint64_t)op);
	write_u64(out_id->bytes + 8, (uint64_t)random);
}

struct str column_bytes(sqlite3_stmt *row, int column)
{
	const char *at = sqlite3_column_blob(row, column);

	return str_of(at, (size_t)sqlite3_column_bytes(row, column));
}

struct str column_str(sqlite3_stmt *row, int column, struct arena *mem, bool *is_full)
{
	struct str there = column_bytes(row, column), copy;

	if (!there.len)
		return str_of("", 0);
	copy = arena_str(mem, there);
	if (!copy.at)
		*is_full = true;
	return copy;
}

void column_hash(sqlite3_stmt *row, int column, struct hash *out_hash)
{
	const void *bytes = sqlite3_column_blob(row, column);

	*out_hash = (struct hash){0};
	if (bytes && sqlite3_column_bytes(row, column) == HASH_SIZE)
		memcpy(out_hash->bytes, bytes, HASH_SIZE);
}

void column_currency(sqlite3_stmt *row, int column, char out[4])
{
	const void *bytes = sqlite3_column_blob(row, column);

	memset(out, 0, 4);
	if (bytes && sqlite3_column_bytes(row, column) == 3)
		memcpy(out, bytes, 3);
}

static bool read_row(sqlite3_stmt *row, int64_t op, struct arena *mem,
		     struct store_operation *record)
{
	bool is_full = false;
	int64_t due;

	id_make(op, sqlite3_column_int64(row, 0), &record->id);
	record->account = column_str(row, 1, mem, &is_full);
	record->token = column_str(row, 2, mem, &is_full);
	column_hash(row, 3, &record->fingerprint);
	record->method = column_str(row, 4, mem, &is_full);
	record->path = column_str(row, 5, mem, &is_full);
	record->action = column_str(row, 6, mem, &is_full);
	record->upstream = column_str(row, 7, mem, &is_full);
	record->retry_of = column_str(row, 8, mem, &is_full);
	record->state = (enum operation_state)sqlite3_column_int(row, 9);
	record->epoch = (uint32_t)sqlite3_column_int64(row, 10);
	record->created_ms = sqlite3_column_int64(row, 11);
	record->updated_ms = sqlite3_column_int64(row, 12);
	record->expires_ms = sqlite3_column_int64(row, 13);
	record->reference = column_str(row, 14, mem, &is_full);
	record->reason = column_str(row, 15, mem, &is_full);
	record->decided_by = column_str(row, 16, mem, &is_full);
	record->tries = (uint32_t)sqlite3_column_int64(row, 17);
	due = sqlite3_column_int64(row, 18);
	record->due_ms = due < 0 ? -due : due;
	record->resource = column_str(row, 19, mem, &is_full);
	record->probe = str_of("", 0);
	record->sent_ms = record->created_ms; /* one without a rule begins with its sending */
	return !is_full;
}

/* What a row of `rule` knows of its operation. */
static int read_part(struct ledger *ledger, int64_t op, struct arena *mem,
		     struct store_operation *record)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_RULE_PART);
	int r;

	if (!op_has_rule(op))
		return 0;
	sqlite3_bind_int64(get, 1, op);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r;
	record->is_dispatched = sqlite3_column_int(get, 0) & RULE_DISPATCHED;
	record->is_asked = sqlite3_column_int(get, 0) & RULE_APPROVAL;
	record->sent_ms = sqlite3_column_int64(get, 1);
	r = ledger_column_unsealed(ledger, get, 2, (struct vault_place){"probe", op, STR("")}, mem,
				   &record->probe);
	sqlite3_reset(get);
	return r;
}

int ledger_read(struct ledger *ledger, int64_t op, struct arena *mem,
		struct store_operation **out_record)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_OPERATION_GET);
	struct store_operation *record;
	bool has_room;
	int r;

	sqlite3_bind_int64(get, 1, op);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	record = arena_zalloc(mem, sizeof(*record));
	has_room = record && read_row(get, op, mem, record);
	sqlite3_reset(get);
	r = has_room ? read_part(ledger, op, mem, record) : FAIL_MEMORY;
	if (r == 0)
		*out_record = record;
	return r;
}

int ledger_id_of(struct ledger *ledger, int64_t op, struct operation_id *out_id)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_OPERATION_GET);
	int r;

	sqlite3_bind_int64(get, 1, op);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	id_make(op, sqlite3_column_int64(get, 0), out_id);
	sqlite3_reset(get);
	return 0;
}

int ledger_read_id(struct ledger *ledger, const struct operation_id *id, struct str account,
		   struct arena *mem, struct store_operation **out_record)
{
	struct store_operation *record;
	int r = ledger_read(ledger, id_op(id), mem, &record);

	if (r != 0)
		return r;
	if (memcmp(record->id.bytes, id->bytes, OPERATION_ID_SIZE) != 0)
		return STORE_ABSENT;
	if (account.len && !str_equal(account, record->account))
		return STORE_ABSENT;
	*out_record = record;
	return 0;
}

/*
 * The body, or none where `mem` has no room for one as large: the settings under which it was
 * kept allowed for more. It is told as one that is not kept, until they do so again.
 */
static void read_body(sqlite3_stmt *row, int column, struct arena *mem, struct store_answer *answer)
{
	bool is_full = false;

	answer->body = column_str(row, column, mem, &is_full);
	if (!is_full)
		return;
	answer->body = str_of("", 0);
	answer->is_kept = false;
}

static int unseal_answer(struct ledger *ledger, int64_t op, struct str sealed, struct arena *mem,
			 struct store_answer *answer)
{
	const struct vault_place place = {"answer", op, STR("")};
	struct str texts[2];
	struct arena large;
	int r = ledger_unseal(ledger, place, sealed, mem, texts, 2);

	if (r == 0) {
		answer->headers = texts[0];
		answer->body = texts[1];
	}
	if (r != FAIL_MEMORY)
		return r;
	arena_init(&large, INT32_MAX); /* no room for all of it: the headers alone, then */
	answer->is_kept = false;
	r = ledger_unseal(ledger, place, sealed, &large, texts, 2);
	if (r == 0) {
		answer->headers = arena_str(mem, texts[0]);
		r = answer->headers.at ? 0 : FAIL_MEMORY;
	}
	arena_fini(&large);
	return r;
}

int ledger_read_answer(struct ledger *ledger, struct arena *mem, struct store_operation *record)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_ANSWER_GET);
	struct store_answer *answer = &record->answer;
	bool is_full = false;
	int r;

	sqlite3_bind_int64(get, 1, id_op(&record->id));
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r;
	answer->status = sqlite3_column_int(get, 0);
	answer->is_kept = sqlite3_column_int(get, 1) != 0;
	answer->length = (uint64_t)sqlite3_column_int64(get, 2);
	column_hash(get, 3, &answer->digest);
	if (column_is_sealed(get, 4)) {
		r = unseal_answer(ledger, id_op(&record->id), column_bytes(get, 5), mem, answer);
	} else {
		answer->headers = column_str(get, 4, mem, &is_full);
		read_body(get, 5, mem, answer);
		r = is_full ? FAIL_MEMORY : 0;
	}
	sqlite3_reset(get);
	return r;
}
