/*
 * What moves the operations of the in-memory store, and adds to their histories.
 *
 * A change of state is followed by what hangs on it: a lock is free once its holder has ended or
 * is queued again, an amount is given back once it is certain that nothing was done, a request is
 * forgotten once it need not be sent, and whoever waited is told that its turn has come.
 */
#include "store/mem_internal.h"

#include "base/err.h"

int mem_send(struct memory *memory, struct record *record, int64_t now_ms)
{
	record_send(&record->operation, memory->doubts, now_ms);
	return record->rules.has_lock ? lock_take(memory, record, now_ms) : 0;
}

/* The lock of one that has changed its state. */
static int follow_lock(struct memory *memory, struct record *record, int64_t now_ms,
		       bool *out_makes_due)
{
	struct lock *lock = lock_by_hash(memory, &record->rules.lock);
	enum operation_state state = record->operation.state;
	int r = 0;

	if (lock && state != STATE_RUNNING && state != STATE_UNKNOWN)
		r = lock_free(memory, lock, record, state == STATE_COMPLETED);
	if (r == 0)
		r = lock_line(memory, &record->rules.lock, now_ms, out_makes_due);
	return r;
}

int record_follow(struct memory *memory, struct record *record, int64_t now_ms, bool *out_makes_due)
{
	enum operation_state state = record->operation.state;
	int r = 0;

	if (operation_is_terminal(state))
		record->request = (struct store_request){0};
	if (state == STATE_CANCELLED && record->approval.stand == APPROVAL_WAITS) {
		record->approval.stand = APPROVAL_WITHDRAWN;
		notices_add(record, NOTICE_WITHDRAWN, now_ms);
		*out_makes_due = true;
	}
	if (state == STATE_FAILED || state == STATE_CANCELLED)
		r = budget_give_back(memory, record);
	if (r == 0 && record->rules.has_lock)
		r = follow_lock(memory, record, now_ms, out_makes_due);
	if (record->operation.due_ms && record->operation.due_ms != INT64_MAX)
		*out_makes_due = true;
	return r;
}

static bool opens_a_budget(const struct record *record, const struct store_command *command)
{
	static const struct hash none;

	return record->operation.state == STATE_COMPLETED && record->rules.opens_budget &&
	       !hash_equal(&command->opens, &none);
}

/* A settlement ends the attempt it names; a move may record one of its own. */
static int change_attempts(struct record *record, const struct store_command *command)
{
	struct store_attempt *ended;

	if (command->kind == STORE_MOVE)
		return command->attempt.outcome ? record_add_attempt(record, &command->attempt) : 0;
	ended = record_attempt(record, command->attempt_number);
	if (ended)
		ended->outcome = command->attempt.outcome;
	return 0;
}

/* Has somebody else had its lock since? */
static bool has_been_followed(const struct memory *memory, const struct record *record)
{
	const struct lock *lock = lock_by_hash(memory, &record->rules.lock);

	return lock && lock->fence != record->fence;
}

/*
 * What the command makes of `next`, a copy of the record's operation. 0, STORE_LOST. Nothing is
 * sent past its lock: what is sent again has its lock still, or takes it anew, or is not sent
 * (STORE_LOCKED); what is queued is picked up by a claim or a take.
 */
static int move_copy(const struct memory *memory, const struct record *record,
		     const struct store_command *command, int64_t now_ms,
		     struct store_operation *next)
{
	struct record *before = NULL;
	int r = record_move(next, command, record->identity_until_ms, now_ms);

	if (r != 0)
		return r;
	if (command->answer.status)
		next->answer = command->answer;
	if (next->state != STATE_RUNNING)
		return 0;
	next->epoch = claim_epoch(&record->operation, memory->doubts);
	if (!record->rules.has_lock)
		return 0;
	if (record->operation.state == STATE_QUEUED)
		return STORE_LOST;
	return lock_judge(memory, &record->rules, record, &before) == STORE_LOCKED ||
			       has_been_followed(memory, record)
		       ? STORE_LOCKED
		       : 0;
}

/* Sent again by force of its key: under the lock it has, or has back. */
static int keep_lock(struct memory *memory, struct record *record, int64_t now_ms)
{
	const struct lock *lock = lock_by_hash(memory, &record->rules.lock);

	return lock && lock->holder == record ? 0 : lock_take(memory, record, now_ms);
}

/* Put `next` in the record's place, and all that hangs on it. */
static int replace(struct memory *memory, struct store_command *command, struct record *record,
		   struct store_operation next)
{
	int64_t now_ms = next.updated_ms;
	int r = record_touch(memory, record);

	if (r < 0)
		return r;
	if (!take_operation(record->mem, &next))
		return fail(FAIL_UNPLANNED);
	record->operation = next;
	r = change_attempts(record, command);
	if (r == 0 && next.state == STATE_RUNNING && record->rules.has_lock)
		r = keep_lock(memory, record, now_ms);
	if (r == 0)
		r = record_follow(memory, record, now_ms, &command->makes_due);
	if (r == 0 && opens_a_budget(record, command))
		r = budget_open(memory, record, &command->opens, now_ms,
				lapse_now(&memory->lapse, memory->env));
	return r;
}

/* Not moved: where it is, and how its rules stand. */
static int refused(struct memory *memory, struct store_command *command,
		   const struct record *record, int result)
{
	if (mem_give(command, &record->operation) < 0 ||
	    rules_view(memory, &record->rules, record, lapse_now(&memory->lapse, memory->env),
		       command->mem, &command->view) < 0)
		return FAIL_MEMORY;
	return result;
}

int mem_change(struct memory *memory, struct store_command *command)
{
	struct record *record =
		record_by_id(memory, &command->operation.id, command->operation.account);
	struct store_operation next;
	int r;

	if (!record)
		return STORE_ABSENT;
	next = record->operation;
	r = move_copy(memory, record, command, env_wall_ms(memory->env), &next);
	if (r != 0)
		return refused(memory, command, record, r);
	r = replace(memory, command, record, next);
	if (r < 0)
		return r;
	if (record->operation.state == STATE_RUNNING)
		command->fence = record->fence;
	if (command->kind == STORE_MOVE)
		return mem_give(command, &record->operation) < 0 ||
				       mem_give_approval(command, record) < 0
			       ? FAIL_MEMORY
			       : 0;
	command->operation.state = record->operation.state;
	command->operation.attempts = record->operation.attempts;
	command->operation.updated_ms = record->operation.updated_ms;
	command->operation.expires_ms = record->operation.expires_ms;
	return 0;
}

int mem_postpone(struct memory *memory, struct store_command *command)
{
	const struct store_operation *given = &command->operation;
	struct record *record = record_by_id(memory, &given->id, given->account);
	struct store_operation next;
	int r;

	if (!record)
		return STORE_ABSENT;
	next = record->operation;
	if (record_postpone(&next, command) != 0)
		return mem_give(command, &record->operation) < 0 ? FAIL_MEMORY : STORE_LOST;
	r = record_touch(memory, record);
	if (r < 0)
		return r;
	record->operation = next;
	if (command->attempt.outcome)
		r = record_add_attempt(record, &command->attempt);
	if (r == 0)
		r = record_follow(memory, record, env_wall_ms(memory->env), &command->makes_due);
	return r == 0 ? mem_give(command, &record->operation) : r;
}

/* By force: the operation stays what it is, and no longer has the lock. */
int mem_release(struct memory *memory, struct store_command *command)
{
	struct record *record =
		record_by_id(memory, &command->operation.id, command->operation.account);
	struct lock *lock;
	int r;

	if (!record)
		return STORE_ABSENT;
	lock = record->rules.has_lock ? lock_by_hash(memory, &record->rules.lock) : NULL;
	if (!lock || lock->holder != record)
		return mem_give(command, &record->operation) < 0 ? FAIL_MEMORY : STORE_LOST;
	r = record_touch(memory, record);
	if (r == 0 && command->attempt.outcome)
		r = record_add_attempt(record, &command->attempt);
	if (r == 0)
		r = lock_free(memory, lock, record, false);
	if (r == 0)
		r = lock_line(memory, &lock->hash, env_wall_ms(memory->env), &command->makes_due);
	if (r == 0)
		r = mem_give(command, &record->operation);
	if (r < 0)
		return r;
	return rules_view(memory, &record->rules, record, lapse_now(&memory->lapse, memory->env),
			  command->mem, &command->view);
}

int mem_note(struct memory *memory, struct store_command *command)
{
	struct record *record = record_by_id(memory, &command->operation.id, STR(""));
	int r;

	if (!record)
		return STORE_ABSENT;
	r = record_touch(memory, record);
	return r == 0 ? record_add_attempt(record, &command->attempt) : r;
}

int mem_amend(struct memory *memory, struct store_command *command)
{
	struct record *record = record_by_id(memory, &command->operation.id, STR(""));
	struct store_attempt *attempt =
		record ? record_attempt(record, command->attempt_number) : NULL;
	int r;

	if (!attempt)
		return STORE_ABSENT;
	r = record_touch(memory, record);
	if (r == 0)
		attempt->delivered = command->attempt.delivered;
	return r;
}

static int forget(struct memory *memory, struct store_command *command, struct record *record,
		  int64_t now_ms)
{
	int r = record_touch(memory, record);

	if (r < 0)
		return r;
	if (record_is_there(record)) {
		record->is_forgotten = true;
		record->until_ms =
			command->tombstone_ms > 0
				? time_add(record->operation.expires_ms, command->tombstone_ms)
				: 0;
		record->is_gone = record->until_ms <= now_ms;
		command->purged++;
	} else {
		record->is_gone = true;
		command->tombstones++;
	}
	return 0;
}

int mem_purge(struct memory *memory, struct store_command *command)
{
	int64_t now_ms = lapse_now(&memory->lapse, memory->env);
	int r = 0;

	command->purged = command->tombstones = 0;
	command->has_more = false;
	for (size_t i = 0; r == 0 && i < record_count(memory); i++) {
		struct record *record = record_at(memory, i);
		bool is_due = record_is_there(record)
				      ? operation_is_terminal(record->operation.state) &&
						record->operation.expires_ms <= now_ms
				      : !record->is_gone && record->until_ms <= now_ms;
		uint64_t done = record_is_there(record) ? command->purged : command->tombstones;

		if (is_due && done < STORE_PURGE_MAX)
			r = forget(memory, command, record, now_ms);
		else if (is_due)
			command->has_more = true;
	}
	return r;
}
