/*
 * Notices: what somebody outside is to be told of a question.
 *
 * A row of `notice` is written in the transaction of what it tells of, so neither is there without
 * the other, and it is due until it has been told. The first one of a question says that it was
 * asked; where that one is not there, nobody is told of the others. Rows stay until the question is
 * forgotten, so that a number is never used twice.
 */
#include "store/ledger.h"

#include "base/err.h"

int ledger_begin_notices(struct ledger *ledger, const struct store_command *command)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_NOTICE_PUT);
	const struct store_operation *record = &command->operation;

	if (!command->approval.is_told)
		return 0;
	sqlite3_bind_int64(put, 1, id_op(&record->id));
	sqlite3_bind_int(put, 2, NOTICE_ASKED);
	sqlite3_bind_int64(put, 3, record->created_ms);
	return ledger_run(ledger, put);
}

int ledger_add_notice(struct ledger *ledger, int64_t op, enum notice_event event, int64_t now_ms)
{
	sqlite3_stmt *add = ledger_statement(ledger, SQL_NOTICE_ADD);

	sqlite3_bind_int64(add, 1, op);
	sqlite3_bind_int(add, 2, (int)event);
	sqlite3_bind_int64(add, 3, now_ms);
	sqlite3_bind_int(add, 4, STORE_NOTICES_OF_ONE_MAX);
	return ledger_run(ledger, add);
}

static struct store_notice column_notice(sqlite3_stmt *row)
{
	struct store_notice notice = {
		.number = (uint32_t)sqlite3_column_int(row, 2),
		.event = (enum notice_event)sqlite3_column_int(row, 3),
		.at_ms = sqlite3_column_int64(row, 4),
		.due_ms = sqlite3_column_int64(row, 5),
		.tries = (uint32_t)sqlite3_column_int(row, 6),
	};

	id_make(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), &notice.id);
	return notice;
}

int ledger_notices(struct ledger *ledger, struct store_command *command)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_NOTICE_DUE);
	sqlite3_stmt *next = ledger_statement(ledger, SQL_NOTICE_NEXT);
	sqlite3_stmt *count = ledger_statement(ledger, SQL_NOTICE_COUNT);
	int64_t now_ms = env_wall_ms(ledger->env), waiting = 0;
	int r;

	require(command->limit >= 1 && command->limit <= STORE_ERRANDS_MAX);
	command->notice_count = 0;
	command->notices = arena_zalloc(command->mem, command->limit * sizeof(*command->notices));
	if (!command->notices)
		return FAIL_MEMORY;
	sqlite3_bind_int64(list, 1, now_ms);
	sqlite3_bind_int64(list, 2, (int64_t)command->limit);
	while ((r = ledger_step(ledger, list)) > 0)
		command->notices[command->notice_count++] = column_notice(list);
	if (r < 0)
		return r;
	sqlite3_bind_int(count, 1, STORE_NOTICES_COUNTED);
	r = ledger_number(ledger, count, 0, &waiting);
	command->notices_waiting = (size_t)waiting;
	sqlite3_bind_int64(next, 1, now_ms);
	return r == 0 ? ledger_number(ledger, next, 0, &command->due_ms) : r;
}

int ledger_noticed(struct ledger *ledger, struct store_command *command)
{
	sqlite3_stmt *done = ledger_statement(ledger, SQL_NOTICE_DONE);

	sqlite3_bind_int64(done, 1, id_op(&command->notice.id));
	sqlite3_bind_int64(done, 2, command->notice.number);
	sqlite3_bind_int64(done, 3, command->next_ms);
	return ledger_run(ledger, done);
}
