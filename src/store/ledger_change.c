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

static void bind_str_or_null(sqlite3_stmt *statement, int column, struct str text)
{
	if (text.len)
		bind_str(statement, column, text);
	else
		sqlite3_bind_null(statement, column);
}

static int64_t taken_until(const struct ledger_rule *rule)
{
	return rule->flags & RULE_IDENTITY ? rule->until_ms : 0;
}

static int settle_row(struct ledger *ledger, const struct store_command *command,
		      const struct ledger_step *step, int64_t expires_ms)
{
	sqlite3_stmt *settle = ledger_statement(ledger, SQL_OPERATION_SETTLE);
	const struct store_operation *given = &command->operation;
	int r;

	sqlite3_bind_int64(settle, 1, id_op(&given->id));
	sqlite3_bind_int64(settle, 2, id_random(&given->id));
	sqlite3_bind_int(settle, 3, STATE_RUNNING);
	sqlite3_bind_int64(settle, 4, given->epoch);
	sqlite3_bind_int(settle, 5, (int)step->next);
	sqlite3_bind_int64(settle, 6, step->now_ms);
	if (operation_is_terminal(step->next))
		sqlite3_bind_int64(settle, 7, expires_ms);
	else
		sqlite3_bind_null(settle, 7);
	bind_str_or_null(settle, 8, given->reference);
	bind_str_or_null(settle, 9, given->reason);
	bind_str_or_null(settle, 10, given->decided_by);
	bind_str_or_null(settle, 11, given->account);
	bind_str_or_null(settle, 12, given->resource);
	sqlite3_bind_int(settle, 13, record_says_anew(command, step->next));
	r = ledger_run(ledger, settle);
	if (r < 0)
		return r;
	return sqlite3_changes(ledger->db) == 1 ? 0 : STORE_LOST;
}

int ledger_settle(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *given = &command->operation;
	int64_t op = id_op(&given->id), due_ms, expires_ms;
	struct ledger_step step = {
		.op = op, .before = STATE_RUNNING, .now_ms = env_wall_ms(ledger->env)};
	struct ledger_rule rule;
	int r;

	command->makes_due = false;
	if (command->event == EVENT_ASKED_AGAIN ||
	    operation_move(STATE_RUNNING, command->event, &step.next) != 0)
		return settle_missed(ledger, command);
	r = ledger_read_rule(ledger, op, &rule);
	if (r < 0)
		return r;
	due_ms = record_due(rule.flags & RULE_DISPATCHED, step.next, command->next_ms);
	expires_ms = record_expiry(command, step.next, taken_until(&rule), step.now_ms);
	r = settle_row(ledger, command, &step, expires_ms);
	if (r != 0)
		return r < 0 ? r : settle_missed(ledger, command);
	command->makes_due = due_ms && due_ms != INT64_MAX;
	r = write_answer(ledger, op, &command->answer);
	if (r == 0 && due_ms)
		r = ledger_put_due(ledger, op, step.next, due_ms);
	if (r == 0 && record_tries_anew(command, step.next))
		r = ledger_run_on(ledger, SQL_OPERATION_TRIES_ANEW, op);
	if (r == 0 && record_was_untried(command, step.next))
		r = ledger_run_on(ledger, SQL_OPERATION_TRIES_LESS, op);
	if (r == 0)
		r = ledger_end_attempt(ledger, op, command->attempt_number,
				       command->attempt.outcome);
	if (r == 0 && rule.flags)
		r = ledger_follow(ledger, &rule, &step, command);
	if (r < 0)
		return r;
	ledger->counts[STATE_RUNNING]--;
	ledger->counts[step.next]++;
	given->state = step.next;
	given->updated_ms = step.now_ms;
	if (operation_is_terminal(step.next))
		given->expires_ms = expires_ms;
	return ledger_say_settled(ledger, command);
}

int ledger_read_whole(struct ledger *ledger, const struct store_command *command,
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
	int r = ledger_read_whole(ledger, command, &command->record);

	return r == 0 ? STORE_LOST : r;
}

/* Does one that is sent again still have its lock? One that lost it by force has it back where
 * nobody else has come. Beside another it would make two of them, and after another it would bring
 * back what that one replaced, under the newer number. */
static int judge_resending(struct ledger *ledger, struct store_command *command,
			   const struct store_operation *record, const struct ledger_rule *rule,
			   struct ledger_lock *out_lock)
{
	int64_t op = id_op(&record->id), before;
	int r = ledger_read_lock(ledger, rule->lock, out_lock);

	if (r == 0)
		r = ledger_lock_before(ledger, out_lock, &before);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	command->fence = rule->fence;
	if (before == op || (!before && out_lock->fence == rule->fence))
		return 0;
	r = ledger_view(ledger, record, rule, command);
	return r < 0 ? r : STORE_LOCKED;
}

/* What becomes of the record, and whether it may: 0, STORE_LOST, STORE_LOCKED. */
static int judge_move(struct ledger *ledger, struct store_command *command,
		      struct store_operation *record, const struct ledger_rule *rule,
		      struct ledger_lock *out_lock)
{
	uint32_t epoch = claim_epoch(record, ledger->doubts);
	bool is_sent = command->event == EVENT_RESENT || command->event == EVENT_PICKED_UP;
	int r = 0;

	if (command->event == EVENT_PICKED_UP && rule->flags & RULE_LOCK)
		return STORE_LOST; /* by a claim or a take alone: nothing is sent past its lock */
	if (is_sent && record->state == STATE_UNKNOWN && rule->flags & RULE_LOCK)
		r = judge_resending(ledger, command, record, rule, out_lock);
	if (r == 0)
		r = record_move(record, command, taken_until(rule), env_wall_ms(ledger->env));
	if (r == 0 && is_sent)
		record->epoch = epoch;
	return r;
}

/* The lock again, where it had been lost. */
static int take_again(struct ledger *ledger, struct store_command *command,
		      const struct ledger_lock *lock, const struct ledger_step *step,
		      int64_t sent_ms)
{
	int r;

	if (!lock->key || lock->holder)
		return 0;
	r = ledger_take_lock(ledger, lock, step->op, step->now_ms, &command->fence);
	return r == 0 ? ledger_put_sending(ledger, step->op, command->fence, sent_ms) : r;
}

static int follow_move(struct ledger *ledger, struct store_command *command,
		       const struct ledger_rule *rule, const struct ledger_step *step,
		       struct store_operation *record)
{
	sqlite3_stmt *due = ledger_statement(ledger, SQL_OPERATION_DUE_GET);
	int r;

	if (!rule->flags)
		return 0;
	r = ledger_follow(ledger, rule, step, command);
	if (r < 0)
		return r;
	sqlite3_bind_int64(due, 1, step->op);
	return ledger_number(ledger, due, 0, &record->due_ms);
}

int ledger_move(struct ledger *ledger, struct store_command *command)
{
	struct ledger_step step = {.now_ms = env_wall_ms(ledger->env)};
	struct ledger_lock lock = {0};
	struct store_operation *record;
	struct ledger_rule rule;
	int r;

	command->makes_due = false;
	command->fence = 0;
	r = ledger_read_whole(ledger, command, &record);
	if (r == 0)
		r = ledger_tell_approval(ledger, record, command);
	if (r != 0)
		return r;
	command->record = record;
	step.op = id_op(&record->id);
	step.before = record->state;
	r = ledger_read_rule(ledger, step.op, &rule);
	if (r >= 0)
		r = judge_move(ledger, command, record, &rule, &lock);
	if (r != 0)
		return r;
	step.next = record->state;
	command->makes_due = record->due_ms && record->due_ms != INT64_MAX;
	r = ledger_update(ledger, record);
	if (r == 0)
		r = take_again(ledger, command, &lock, &step, record->sent_ms);
	if (r == 0)
		r = follow_move(ledger, command, &rule, &step, record);
	if (r == 0)
		r = write_answer(ledger, step.op, &command->answer);
	if (r == 0)
		r = ledger_record_attempt(ledger, record, &command->attempt);
	if (r == 0)
		r = ledger_say_moved(ledger, command, record, step.before);
	if (r < 0)
		return r;
	if (command->answer.status)
		record->answer = command->answer;
	if (record->is_asked && step.before == STATE_AWAITING_APPROVAL) {
		command->question->stand = APPROVAL_WITHDRAWN;
		command->makes_due = true;
	}
	ledger->counts[step.before]--;
	ledger->counts[step.next]++;
	return 0;
}

int ledger_record_attempt(struct ledger *ledger, struct store_operation *record,
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
	sqlite3_bind_int64(move, 9, record->tries);
	sqlite3_bind_int64(move, 10, due_column(record->state, record->due_ms));
	bind_str(move, 11, record->resource);
	return ledger_run(ledger, move);
}

static int write_answer(struct ledger *ledger, int64_t op, const struct store_answer *answer)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_ANSWER_PUT);
	const struct str texts[] = {answer->headers, answer->body};
	struct str body = answer->body;
	int r = 0;

	if (!answer->status)
		return 0;
	require(answer->body.len <= INT32_MAX);
	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int(put, 2, answer->status);
	sqlite3_bind_int(put, 3, answer->is_kept);
	sqlite3_bind_int64(put, 4, (int64_t)answer->length);
	sqlite3_bind_blob(put, 5, answer->digest.bytes, HASH_SIZE, SQLITE_STATIC);
	if (ledger->vault) {
		r = ledger_seal(ledger, (struct vault_place){"answer", op, STR("")}, texts, 2,
				&body);
		bind_blob(put, 6, STR(""));
	} else {
		bind_str(put, 6, answer->headers);
	}
	if (r < 0)
		return r;
	bind_blob(put, 7, body);
	return ledger_run(ledger, put);
}
