/*
 * What readers are told by the in-memory store: one operation with all that belongs to it, a page
 * of them, the locks, the budgets.
 */
#include "store/mem_internal.h"

#include "base/err.h"

static int give_attempts(struct store_command *command, const struct record *record)
{
	size_t size = record->attempt_count * sizeof(struct store_attempt);

	command->attempts = arena_zalloc(command->mem, size ? size : 1);
	if (!command->attempts)
		return FAIL_MEMORY;
	if (size)
		memcpy(command->attempts, record->attempts, size);
	command->attempt_count = record->attempt_count;
	for (size_t i = 0; i < record->attempt_count; i++)
		if (!take_attempt(command->mem, &command->attempts[i]))
			return FAIL_MEMORY;
	return 0;
}

static bool retries(const struct record *record, const struct store_operation *first)
{
	struct operation_id id;

	return record_is_there(record) && str_equal(record->operation.account, first->account) &&
	       operation_id_read(record->operation.retry_of, &id) &&
	       memcmp(id.bytes, first->id.bytes, OPERATION_ID_SIZE) == 0;
}

static int give_retries(const struct memory *memory, struct store_command *command,
			const struct store_operation *first)
{
	command->retry_count = 0;
	command->retries =
		arena_zalloc(command->mem, STORE_WAITERS_LISTED * sizeof(*command->retries));
	if (!command->retries)
		return FAIL_MEMORY;
	for (size_t i = 0; i < record_count(memory); i++)
		if (command->retry_count < STORE_WAITERS_LISTED &&
		    retries(record_at(memory, i), first))
			command->retries[command->retry_count++] =
				record_at(memory, i)->operation.id;
	return 0;
}

int mem_find(struct memory *memory, struct store_command *command)
{
	const struct store_operation *asked = &command->operation;
	struct record *record = command->by_id
					? record_by_id(memory, &asked->id, asked->account)
					: record_by_token(memory, asked->account, asked->token);
	int r;

	if (!record || !record_is_there(record))
		return STORE_ABSENT;
	r = give_attempts(command, record);
	if (r == 0)
		r = give_retries(memory, command, &record->operation);
	if (r == 0)
		r = rules_view(memory, &record->rules, record,
			       lapse_now(&memory->lapse, memory->env), command->mem,
			       &command->view);
	command->request = (struct store_request){0};
	if (r == 0 && command->by_id) {
		command->request = record->request;
		r = take_request(command->mem, &command->request) ? 0 : FAIL_MEMORY;
	}
	if (r == 0)
		r = mem_find_approval(memory, command, record);
	return r == 0 ? mem_give(command, &record->operation) : r;
}

static bool has_task(const struct record *record, struct str task)
{
	for (size_t i = 0; i < record->attempt_count; i++)
		if (str_equal(record->attempts[i].task, task))
			return true;
	return task.len == 0;
}

static bool matches(const struct record *record, const struct store_command *command)
{
	const struct store_operation *operation = &record->operation;

	return record_is_there(record) &&
	       (!command->filter_account.len ||
		str_equal(command->filter_account, operation->account)) &&
	       (!command->filter_token.len || str_equal(command->filter_token, operation->token)) &&
	       (!command->filter_action.len ||
		str_equal(command->filter_action, operation->action)) &&
	       (!command->filter_state || command->filter_state == operation->state) &&
	       is_referred_to(&operation->id, operation->reference, command->filter_reference) &&
	       has_task(record, command->filter_task);
}

/* Of the one that is listed just now. */
static bool list_approval(struct store_command *command, const struct record *record)
{
	struct store_approval *approval = &command->approvals[command->found_count];

	*approval = record->approval;
	approval->shown = STR("");
	return take_approval(command->mem, approval);
}

int mem_list(struct memory *memory, struct store_command *command)
{
	static const struct operation_id newest;
	bool from_newest = memcmp(&command->before, &newest, sizeof(newest)) == 0;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->found_count = 0;
	command->has_more = false;
	command->found = arena_zalloc(command->mem, command->limit * sizeof(*command->found));
	command->approvals =
		arena_zalloc(command->mem, command->limit * sizeof(*command->approvals));
	if (!command->found || !command->approvals)
		return FAIL_MEMORY;
	for (size_t i = record_count(memory); i-- > 0;) {
		const struct record *record = record_at(memory, i);
		struct store_operation *found = &command->found[command->found_count];

		if (!matches(record, command) ||
		    (!from_newest &&
		     memcmp(record->operation.id.bytes, command->before.bytes, 8) >= 0))
			continue;
		if (command->found_count == command->limit) {
			command->has_more = true;
			command->next_before = found[-1].id;
			break;
		}
		*found = record->operation;
		found->answer = (struct store_answer){0};
		if (!take_operation(command->mem, found) || !list_approval(command, record))
			return FAIL_MEMORY;
		command->found_count++;
	}
	return 0;
}

static int give_waiters(const struct memory *memory, const struct lock *lock, struct arena *mem,
			struct store_lock *out)
{
	out->waiters = arena_zalloc(mem, STORE_WAITERS_LISTED * sizeof(*out->waiters));
	if (!out->waiters)
		return FAIL_MEMORY;
	for (size_t i = 0; i < record_count(memory); i++) {
		const struct record *record = record_at(memory, i);

		if (!lock_is_waited_for_by(record) || !hash_equal(&record->rules.lock, &lock->hash))
			continue;
		if (out->waiter_count < STORE_WAITERS_LISTED)
			out->waiters[out->waiter_count++] = record->operation.id;
		out->waiting++;
	}
	return 0;
}

/* A place behind the row of that number, from 0; and back: 0 is the place before all. */
static void place_make(size_t row, struct operation_id *out_place)
{
	*out_place = (struct operation_id){0};
	for (int i = 0; i < 8; i++)
		out_place->bytes[i] = (uint8_t)((uint64_t)(row + 1) >> (56 - 8 * i));
}

static size_t place_read(const struct operation_id *place)
{
	uint64_t row = 0;

	for (int i = 0; i < 8; i++)
		row = row << 8 | place->bytes[i];
	return (size_t)row;
}

static enum store_lock_part part_of(const struct lock *lock)
{
	if (!lock->holder)
		return LOCKS_AWAITED;
	return lock->holder->operation.state == STATE_RUNNING ? LOCKS_RUNNING : LOCKS_UNKNOWN;
}

/* `lock` as the next one listed, if it is of that part. */
static int give_lock(const struct memory *memory, const struct lock *lock,
		     enum store_lock_part part, struct store_command *command)
{
	struct store_lock told = {
		.account = lock->account,
		.name = lock->name,
		.version = lock->version,
		.fence = lock->fence,
		.is_held = lock->holder,
		.since_ms = lock->since_ms,
	};
	bool is_wanted =
		!command->filter_account.len || str_equal(command->filter_account, lock->account);

	if (!is_wanted || part_of(lock) != part)
		return 0;
	if (lock->holder) {
		told.holder = lock->holder->operation.id;
		told.holder_state = lock->holder->operation.state;
	}
	if (give_waiters(memory, lock, command->mem, &told) < 0 ||
	    !take_text(command->mem, &told.account) || !take_text(command->mem, &told.name))
		return FAIL_MEMORY;
	if (!told.is_held && !told.waiting)
		return 0;
	if (command->lock_count == command->limit)
		command->has_more = true;
	else
		command->locks[command->lock_count++] = told;
	return 0;
}

int mem_locks(struct memory *memory, struct store_command *command)
{
	size_t row = place_read(&command->before), count = memory->tables[TABLE_LOCKS].count;
	int r = 0;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	require(command->lock_part < LOCKS_PARTS);
	command->lock_count = 0;
	command->has_more = false;
	command->next_before = command->before;
	command->locks = arena_zalloc(command->mem, command->limit * sizeof(*command->locks));
	if (!command->locks)
		return FAIL_MEMORY;
	for (int part = (int)command->lock_part; part < LOCKS_PARTS; part++, row = 0) {
		for (; row < count; row++) {
			r = give_lock(memory, lock_at(memory, row), (enum store_lock_part)part,
				      command);
			if (r != 0 || command->has_more)
				return r;
			command->lock_part = (enum store_lock_part)part;
			place_make(row, &command->next_before);
		}
	}
	return 0;
}

/* `budget` as the next one listed, if it is asked for. */
static int give_budget(const struct budget *budget, int64_t lapse_ms, struct store_command *command)
{
	struct str account = command->filter_account;
	struct store_budget told = {
		.total = budget->facts.total,
		.used = budget->facts.used,
		.until_ms = budget->until_ms,
	};

	if (record_is_there(budget->opener)) {
		const struct store_operation *opener = &budget->opener->operation;

		told.opener = opener->id;
		told.account = opener->account;
		told.action = opener->action;
		told.reference = opener->reference;
	}
	memcpy(told.currency, budget->facts.currency, sizeof(told.currency));
	if (budget->until_ms <= lapse_ms || (account.len && !str_equal(account, told.account)))
		return 0;
	command->has_more = command->budget_count == command->limit;
	if (command->has_more)
		return 0;
	if (!take_text(command->mem, &told.account) || !take_text(command->mem, &told.action) ||
	    !take_text(command->mem, &told.reference))
		return FAIL_MEMORY;
	command->budgets[command->budget_count++] = told;
	return 0;
}

int mem_budgets(struct memory *memory, struct store_command *command)
{
	const struct table *table = &memory->tables[TABLE_BUDGETS];
	int64_t lapse_ms = lapse_now(&memory->lapse, memory->env);
	size_t before = place_read(&command->before);
	int r = 0;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->budget_count = 0;
	command->has_more = false;
	command->budgets = arena_zalloc(command->mem, command->limit * sizeof(*command->budgets));
	if (!command->budgets)
		return FAIL_MEMORY;
	for (size_t i = before && before <= table->count ? before - 1 : table->count; i-- > 0;) {
		r = give_budget(table->rows[i], lapse_ms, command);
		if (r != 0 || command->has_more)
			break;
		place_make(i, &command->next_before);
	}
	return r;
}
