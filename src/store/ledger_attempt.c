/*
 * The attempts of an operation: its history, for whoever reads it.
 *
 * The attempt that sends is written with its claim, in one transaction, before a byte leaves;
 * its settlement says how it ended, and an amendment what became of its answer. Those that met
 * what was there are notes, written once, when they are over.
 *
 * Numbers begin at 1 and go on when old rows are dropped: the last row has the count.
 */
#include "store/ledger.h"

#include "store/rules.h"

static int put_remark(struct ledger *ledger, int64_t op, uint32_t n,
		      const struct store_attempt *attempt);
static int trim(struct ledger *ledger, int64_t op, uint32_t n);

int ledger_add_attempt(struct ledger *ledger, int64_t op, uint32_t n, int64_t at_ms,
		       const struct store_attempt *attempt)
{
	sqlite3_stmt *insert = ledger_statement(ledger, SQL_ATTEMPT_INSERT);
	int r;

	sqlite3_bind_int64(insert, 1, op);
	sqlite3_bind_int64(insert, 2, n);
	sqlite3_bind_int64(insert, 3, at_ms);
	sqlite3_bind_int(insert, 4, (int)attempt->outcome);
	bind_str(insert, 5, attempt->agent);
	bind_str(insert, 6, attempt->task);
	bind_str(insert, 7, attempt->step);
	bind_str(insert, 8, attempt->request_id);
	sqlite3_bind_int(insert, 9, attempt->delivered);
	bind_str(insert, 10, attempt->credential);
	r = ledger_run(ledger, insert);
	if (r == 0 && (attempt->by || attempt->note.len))
		r = put_remark(ledger, op, n, attempt);
	return r < 0 || n <= STORE_HISTORY_MAX ? r : trim(ledger, op, n);
}

static int put_remark(struct ledger *ledger, int64_t op, uint32_t n,
		      const struct store_attempt *attempt)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_ATTEMPT_REMARK);

	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int64(put, 2, n);
	sqlite3_bind_int(put, 3, (int)attempt->by);
	bind_str(put, 4, attempt->note);
	return ledger_run(ledger, put);
}

/* Keep the first and the newest, of which `n` is the last. */
static int trim(struct ledger *ledger, int64_t op, uint32_t n)
{
	sqlite3_stmt *trim_old = ledger_statement(ledger, SQL_ATTEMPT_TRIM);

	sqlite3_bind_int64(trim_old, 1, op);
	sqlite3_bind_int64(trim_old, 2, n - STORE_HISTORY_MAX + 1);
	return ledger_run(ledger, trim_old);
}

int ledger_end_attempt(struct ledger *ledger, int64_t op, uint32_t n, enum outcome outcome)
{
	sqlite3_stmt *end = ledger_statement(ledger, SQL_ATTEMPT_END);

	if (!n)
		return 0;
	sqlite3_bind_int64(end, 1, op);
	sqlite3_bind_int64(end, 2, n);
	sqlite3_bind_int(end, 3, (int)outcome);
	return ledger_run(ledger, end);
}

static int last_attempt(struct ledger *ledger, int64_t op, uint32_t *out_n)
{
	sqlite3_stmt *last = ledger_statement(ledger, SQL_ATTEMPT_LAST);
	int64_t n;
	int r;

	sqlite3_bind_int64(last, 1, op);
	r = ledger_number(ledger, last, 0, &n);
	if (r == 0)
		*out_n = (uint32_t)n;
	return r;
}

int ledger_count_attempts(struct ledger *ledger, struct store_operation *record)
{
	return last_attempt(ledger, id_op(&record->id), &record->attempts);
}

/* `row`: the operation's. */
static int note(struct ledger *ledger, const struct store_command *command, sqlite3_stmt *row)
{
	struct store_operation record = {.id = command->operation.id};
	int r = last_attempt(ledger, id_op(&record.id), &record.attempts);

	ledger_audit_columns(row, 1, &record);
	record.epoch = (uint32_t)sqlite3_column_int64(row, 10);
	record.attempts++;
	if (r == 0)
		r = ledger_add_attempt(
			ledger, id_op(&record.id), record.attempts,
			attempt_time(&command->attempt, sqlite3_column_int64(row, 11)),
			&command->attempt);
	return r == 0 ? ledger_say_noted(ledger, command, &record) : r;
}

int ledger_note(struct ledger *ledger, struct store_command *command)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_OPERATION_GET);
	int r;

	sqlite3_bind_int64(get, 1, id_op(&command->operation.id));
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	if (sqlite3_column_int64(get, 0) == id_random(&command->operation.id))
		r = note(ledger, command, get);
	else
		r = STORE_ABSENT;
	sqlite3_reset(get);
	return r;
}

int ledger_amend(struct ledger *ledger, struct store_command *command)
{
	sqlite3_stmt *amend = ledger_statement(ledger, SQL_ATTEMPT_AMEND);
	const struct operation_id *id = &command->operation.id;
	int r;

	sqlite3_bind_int64(amend, 1, id_op(id));
	sqlite3_bind_int64(amend, 2, command->attempt_number);
	sqlite3_bind_int(amend, 3, command->attempt.delivered);
	sqlite3_bind_int64(amend, 4, id_random(id));
	r = ledger_run(ledger, amend);
	if (r < 0)
		return r;
	return sqlite3_changes(ledger->db) == 1 ? 0 : STORE_ABSENT;
}
