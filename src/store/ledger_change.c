/*
 * What happens to an operation after its claim: settling and moving.
 *
 * Settling is the hot one, and is one guarded UPDATE: the row moves only from the state and
 * epoch that the settler knows. Only where it did not is the row read, to say why.
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/rules.h"

static int settle_missed(struct ledger *ledger, struct store_command *command);
static int write_answer(struct ledger *ledger, int64_t op, const struct store_answer *answer);
static int record_attempt(struct ledger *ledger, struct store_operation *record,
			  const struct store_attempt *attempt);

static void bind_str_or_null(sqlite3_stmt *statement, int column, struct str text)
{
	if (text.len)
		bind_str(statement, column, text);
	else
		sqlite3_bind_null(statement, column);
}

static int settle_row(struct ledger *ledger, const struct store_command *command,
		      enum operation_state next, int64_t now_ms, int64_t expires_ms)
{
	sqlite3_stmt *settle = ledger_statement(ledger, SQL_OPERATION_SETTLE);
	const struct store_operation *given = &command->operation;
	int r;

	sqlite3_bind_int64(settle, 1, id_op(&given->id));
	sqlite3_bind_int64(settle, 2, id_random(&given->id));
	sqlite3_bind_int(settle, 3, STATE_RUNNING);
	sqlite3_bind_int64(settle, 4, given->epoch);
	sqlite3_bind_int(settle, 5, (int)next);
	sqlite3_bind_int64(settle, 6, now_ms);
	if (operation_is_terminal(next))
		sqlite3_bind_int64(settle, 7, expires_ms);
	else
		sqlite3_bind_null(settle, 7);
	bind_str_or_null(settle, 8, given->reference);
	bind_str_or_null(settle, 9, given->reason);
	bind_str_or_null(settle, 10, given->decided_by);
	bind_str_or_null(settle, 11, given->account);
	r = ledger_run(ledger, settle);
	if (r < 0)
		return r;
	return sqlite3_changes(ledger->db) == 1 ? 0 : STORE_LOST;
}

int ledger_settle(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *given = &command->operation;
	int64_t now_ms = env_wall_ms(ledger->env);
	int64_t expires_ms = time_add(now_ms, command->retention_ms);
	int64_t op = id_op(&given->id);
	enum operation_state next;
	int r;

	if (operation_move(STATE_RUNNING, command->event, &next) != 0)
		return settle_missed(ledger, command);
	r = settle_row(ledger, command, next, now_ms, expires_ms);
	if (r != 0)
		return r < 0 ? r : settle_missed(ledger, command);
	r = write_answer(ledger, op, &command->answer);
	if (r == 0)
		r = ledger_end_attempt(ledger, op, command->attempt_number,
				       command->attempt.outcome);
	if (r < 0)
		return r;
	ledger->counts[STATE_RUNNING]--;
	ledger->counts[next]++;
	given->state = next;
	given->updated_ms = now_ms;
	if (operation_is_terminal(next))
		given->expires_ms = expires_ms;
	return 0;
}

/* The operation that is named, as it stands, with its answer. */
static int read_whole(struct ledger *ledger, const struct store_command *command,
		      struct store_operation **out_record)
{
	struct store_operation *record;
	int r;

	r = ledger_read_id(ledger, &command->operation.id, command->operation.account, command->mem,
			   &record);
	if (r == 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0)
		r = ledger_read_answer(ledger, command->mem, record);
	if (r == 0)
		*out_record = record;
	return r;
}

/* Where is it, then? */
static int settle_missed(struct ledger *ledger, struct store_command *command)
{
	int r = read_whole(ledger, command, &command->record);

	return r == 0 ? STORE_LOST : r;
}

int ledger_move(struct ledger *ledger, struct store_command *command)
{
	enum operation_state before;
	struct store_operation *record;
	int r;

	r = read_whole(ledger, command, &record);
	if (r != 0)
		return r;
	before = record->state;
	command->record = record;
	r = record_move(record, command, env_wall_ms(ledger->env));
	if (r != 0)
		return r;
	r = ledger_update(ledger, record);
	if (r == 0)
		r = write_answer(ledger, id_op(&record->id), &command->answer);
	if (r == 0)
		r = record_attempt(ledger, record, &command->attempt);
	if (r < 0)
		return r;
	if (command->answer.status)
		record->answer = command->answer;
	ledger->counts[before]--;
	ledger->counts[record->state]++;
	return 0;
}

static int record_attempt(struct ledger *ledger, struct store_operation *record,
			  const struct store_attempt *attempt)
{
	if (!attempt->outcome)
		return 0;
	record->attempts++;
	return ledger_add_attempt(ledger, id_op(&record->id), record->attempts,
				  attempt_time(attempt, record->created_ms), attempt);
}

int ledger_update(struct ledger *ledger, const struct store_operation *record)
{
	sqlite3_stmt *move = ledger_statement(ledger, SQL_OPERATION_MOVE);

	sqlite3_bind_int64(move, 1, id_op(&record->id));
	sqlite3_bind_int(move, 2, (int)record->state);
	sqlite3_bind_int64(move, 3, record->epoch);
	sqlite3_bind_int64(move, 4, record->updated_ms);
	sqlite3_bind_int64(move, 5, record->expires_ms);
	bind_str(move, 6, record->reference);
	bind_str(move, 7, record->reason);
	bind_str(move, 8, record->decided_by);
	return ledger_run(ledger, move);
}

static int write_answer(struct ledger *ledger, int64_t op, const struct store_answer *answer)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_ANSWER_PUT);

	if (!answer->status)
		return 0;
	require(answer->body.len <= INT32_MAX);
	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int(put, 2, answer->status);
	sqlite3_bind_int(put, 3, answer->is_kept);
	sqlite3_bind_int64(put, 4, (int64_t)answer->length);
	sqlite3_bind_blob(put, 5, answer->digest.bytes, HASH_SIZE, SQLITE_STATIC);
	bind_str(put, 6, answer->headers);
	sqlite3_bind_blob(put, 7, answer->body.len ? answer->body.at : "", (int)answer->body.len,
			  SQLITE_STATIC);
	return ledger_run(ledger, put);
}
