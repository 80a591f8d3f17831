/*
 * Locks, and the lines before them.
 *
 * A lock is a row that is there for good: the version that the next one may expect and the number
 * that fences the last one off only ever grow. Its holder is the key of an operation. Who waits is
 * a row of `line`; what is queued and the dispatcher's stands there, and nothing else.
 *
 * Always true after a command: of a line only the first is due, and only while nobody holds the
 * lock. So the dispatcher, which takes what is due, never finds one whose turn it is not.
 */
#include "store/ledger.h"

#include "base/err.h"

int ledger_read_lock(struct ledger *ledger, int64_t key, struct ledger_lock *out_lock)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_LOCK_GET);
	int r;

	*out_lock = (struct ledger_lock){0};
	sqlite3_bind_int64(get, 1, key);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	out_lock->key = key;
	out_lock->version = (uint64_t)sqlite3_column_int64(get, 1);
	out_lock->fence = (uint64_t)sqlite3_column_int64(get, 2);
	out_lock->holder = sqlite3_column_int64(get, 3);
	out_lock->since_ms = sqlite3_column_int64(get, 4);
	sqlite3_reset(get);
	return 0;
}

int ledger_find_lock(struct ledger *ledger, const struct hash *hash, struct token_hash *out_index,
		     struct ledger_lock *out_lock)
{
	int64_t key;
	int r;

	*out_lock = (struct ledger_lock){0};
	tokens_hash_kind(ledger->key, KIND_LOCK, hash, out_index);
	r = ledger_find_token(ledger, out_index, &key);
	return r == 0 ? ledger_read_lock(ledger, key, out_lock) : r;
}

int ledger_lock_before(struct ledger *ledger, const struct ledger_lock *lock, int64_t *out_op)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_LINE_LIST);

	*out_op = lock->holder;
	if (lock->holder || !lock->key || !ledger->waiting)
		return 0;
	sqlite3_bind_int64(list, 1, lock->key);
	sqlite3_bind_int(list, 2, 1);
	return ledger_number(ledger, list, 0, out_op);
}

int ledger_add_lock(struct ledger *ledger, const struct store_command *command,
		    const struct ledger_plan *plan, int64_t op, int64_t since_ms)
{
	bool takes = command->operation.state == STATE_RUNNING;
	sqlite3_stmt *put = ledger_statement(ledger, SQL_LOCK_PUT);

	sqlite3_bind_int64(put, 1, op);
	bind_hash(put, 2, &command->rules.lock);
	bind_str(put, 3, command->operation.account);
	bind_str(put, 4, command->rules.lock_name);
	sqlite3_bind_int(put, 5, takes);
	sqlite3_bind_int64(put, 6, takes ? op : 0);
	sqlite3_bind_int64(put, 7, takes ? since_ms : 0);
	return ledger_run(ledger, put);
}

int ledger_take_lock(struct ledger *ledger, const struct ledger_lock *lock, int64_t op,
		     int64_t now_ms, uint64_t *out_fence)
{
	sqlite3_stmt *take = ledger_statement(ledger, SQL_LOCK_TAKE);

	require(!lock->holder);
	*out_fence = lock->fence + 1;
	sqlite3_bind_int64(take, 1, lock->key);
	sqlite3_bind_int64(take, 2, (int64_t)*out_fence);
	sqlite3_bind_int64(take, 3, op);
	sqlite3_bind_int64(take, 4, now_ms);
	return ledger_run(ledger, take);
}

int ledger_free_lock(struct ledger *ledger, int64_t key, int64_t op, bool has_succeeded)
{
	sqlite3_stmt *let_go = ledger_statement(ledger, SQL_LOCK_FREE);

	sqlite3_bind_int64(let_go, 1, key);
	sqlite3_bind_int64(let_go, 2, op);
	sqlite3_bind_int(let_go, 3, has_succeeded);
	return ledger_run(ledger, let_go);
}

static int change_line(struct ledger *ledger, enum ledger_statement which, int64_t key, int64_t op)
{
	sqlite3_stmt *change = ledger_statement(ledger, which);

	sqlite3_bind_int64(change, 1, key);
	sqlite3_bind_int64(change, 2, op);
	return ledger_run(ledger, change);
}

int ledger_join_line(struct ledger *ledger, int64_t key, int64_t op)
{
	return change_line(ledger, SQL_LINE_PUT, key, op);
}

int ledger_leave_line(struct ledger *ledger, int64_t key, int64_t op)
{
	return change_line(ledger, SQL_LINE_DELETE, key, op);
}

/* The first `limit` of a line, in their order. */
static int read_line(struct ledger *ledger, int64_t key, int limit, int64_t *out_ops,
		     size_t *out_count)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_LINE_LIST);
	int r;

	*out_count = 0;
	sqlite3_bind_int64(list, 1, key);
	sqlite3_bind_int(list, 2, limit);
	while ((r = ledger_step(ledger, list)) > 0)
		out_ops[(*out_count)++] = sqlite3_column_int64(list, 0);
	return r;
}

static int wait_on(struct ledger *ledger, int64_t op)
{
	return ledger_run_on(ledger, SQL_OPERATION_WAIT, op);
}

static int wake(struct ledger *ledger, int64_t op, int64_t now_ms, bool *out_makes_due)
{
	sqlite3_stmt *statement = ledger_statement(ledger, SQL_OPERATION_WAKE);
	int r;

	sqlite3_bind_int64(statement, 1, op);
	sqlite3_bind_int64(statement, 2, now_ms);
	r = ledger_run(ledger, statement);
	if (r == 0 && sqlite3_changes(ledger->db))
		*out_makes_due = true;
	return r;
}

/* Who was first until now can only be the second, and who came in with a time of its own is known:
 * nobody else needs to be told. */
int ledger_order_line(struct ledger *ledger, int64_t key, int64_t joined, int64_t now_ms,
		      bool *out_makes_due)
{
	struct ledger_lock lock;
	int64_t first[2];
	size_t count;
	bool is_first;
	int r = ledger_read_lock(ledger, key, &lock);

	if (r == 0)
		r = read_line(ledger, key, 2, first, &count);
	if (r != 0 || !count)
		return r < 0 ? r : 0;
	is_first = joined == first[0] && !lock.holder;
	if (joined && !is_first)
		r = wait_on(ledger, joined);
	if (r == 0 && count > 1)
		r = wait_on(ledger, first[1]);
	if (r < 0)
		return r;
	return lock.holder ? wait_on(ledger, first[0])
			   : wake(ledger, first[0], now_ms, out_makes_due);
}

/* The operation whose lock is taken away, if it holds one. */
static int find_holder(struct ledger *ledger, struct store_command *command,
		       struct store_operation **out_record, struct ledger_rule *out_rule,
		       struct ledger_lock *out_lock)
{
	struct store_operation *record;
	int r = ledger_read_whole(ledger, command, &record);

	if (r != 0)
		return r;
	command->record = *out_record = record;
	r = ledger_read_rule(ledger, id_op(&record->id), out_rule);
	if (r == 0 && out_rule->flags & RULE_LOCK)
		r = ledger_read_lock(ledger, out_rule->lock, out_lock);
	if (r < 0)
		return r;
	return out_lock->key && out_lock->holder == id_op(&record->id) ? 0 : STORE_LOST;
}

int ledger_release(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *record;
	struct ledger_lock lock = {0};
	struct ledger_rule rule;
	int64_t op;
	int r;

	command->makes_due = false;
	r = find_holder(ledger, command, &record, &rule, &lock);
	if (r == 0)
		r = ledger_view(ledger, record, &rule, command);
	if (r != 0)
		return r;
	op = id_op(&record->id);
	r = ledger_free_lock(ledger, lock.key, op, false);
	if (r == 0)
		r = ledger_order_line(ledger, lock.key, 0, env_wall_ms(ledger->env),
				      &command->makes_due);
	if (r == 0)
		r = ledger_record_attempt(ledger, record, &command->attempt);
	if (r == 0)
		r = ledger_say_released(ledger, command, record);
	command->view.holds_lock = false;
	command->view.holder = (struct operation_id){0};
	return r;
}

/* Name, numbers and the line of a lock whose key and account are known. */
static int fill_lock(struct ledger *ledger, int64_t key, struct arena *mem, struct store_lock *lock)
{
	sqlite3_stmt *name = ledger_statement(ledger, SQL_LOCK_NAME);
	sqlite3_stmt *count = ledger_statement(ledger, SQL_LINE_COUNT);
	int64_t ops[STORE_WAITERS_LISTED], waiting = 0;
	struct ledger_lock row;
	bool is_full = false;
	int r;

	lock->waiters = arena_zalloc(mem, sizeof(ops) / sizeof(ops[0]) * sizeof(*lock->waiters));
	if (!lock->waiters)
		return FAIL_MEMORY;
	sqlite3_bind_int64(name, 1, key);
	r = ledger_step(ledger, name);
	if (r > 0) {
		lock->name = column_str(name, 0, mem, &is_full);
		lock->account = column_str(name, 1, mem, &is_full);
		sqlite3_reset(name);
		r = is_full ? FAIL_MEMORY : 0;
	}
	if (r == 0)
		r = ledger_read_lock(ledger, key, &row);
	if (r == 0)
		r = read_line(ledger, key, STORE_WAITERS_LISTED, ops, &lock->waiter_count);
	for (size_t i = 0; r == 0 && i < lock->waiter_count; i++)
		r = ledger_id_of(ledger, ops[i], &lock->waiters[i]);
	sqlite3_bind_int64(count, 1, key);
	if (r == 0)
		r = ledger_number(ledger, count, 0, &waiting);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	lock->waiting = (size_t)waiting;
	lock->version = row.version;
	lock->fence = row.fence;
	lock->is_held = row.holder != 0;
	lock->since_ms = row.holder ? row.since_ms : 0;
	return 0;
}

static bool is_wanted(sqlite3_stmt *row, const struct store_command *command)
{
	struct str account = command->filter_account;
	const void *at = sqlite3_column_blob(row, 1);
	size_t len = (size_t)sqlite3_column_bytes(row, 1);

	return !account.len || str_equal(account, str_of(at, len));
}

static sqlite3_stmt *locks_behind(struct ledger *ledger, enum store_lock_part part, int64_t place)
{
	bool are_held = part != LOCKS_AWAITED;
	sqlite3_stmt *list =
		ledger_statement(ledger, are_held ? SQL_LOCKS_HELD : SQL_LOCKS_AWAITED);

	if (are_held)
		sqlite3_bind_int(list, 1, part == LOCKS_RUNNING ? STATE_RUNNING : STATE_UNKNOWN);
	sqlite3_bind_int64(list, are_held ? 2 : 1, place);
	return list;
}

static int add_lock(struct ledger *ledger, struct store_command *command, sqlite3_stmt *row,
		    bool is_held)
{
	struct store_lock *lock = &command->locks[command->lock_count];
	int r;

	if (is_held) {
		id_make(sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3), &lock->holder);
		lock->holder_state = (enum operation_state)sqlite3_column_int(row, 4);
	}
	r = fill_lock(ledger, sqlite3_column_int64(row, 0), command->mem, lock);
	command->lock_count += r == 0;
	return r;
}

/* Those of one part, behind a place in it, while there is room for them; bounded like a list. */
static int list_locks(struct ledger *ledger, struct store_command *command,
		      enum store_lock_part part, int64_t place, size_t *scanned)
{
	sqlite3_stmt *list = locks_behind(ledger, part, place);
	int r = 0;

	while (r == 0 && (r = ledger_step(ledger, list)) > 0) {
		bool is_one = is_wanted(list, command);

		r = 0;
		command->has_more = (is_one && command->lock_count == command->limit) ||
				    ++*scanned > STORE_SCAN_MAX;
		if (command->has_more)
			break;
		command->lock_part = part;
		id_make(sqlite3_column_int64(list, 2), 0, &command->next_before);
		if (is_one)
			r = add_lock(ledger, command, list, part != LOCKS_AWAITED);
	}
	sqlite3_reset(list);
	return r;
}

int ledger_locks(struct ledger *ledger, struct store_command *command)
{
	int64_t place = id_op(&command->before);
	size_t scanned = 0;
	int r = 0;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	require(command->lock_part < LOCKS_PARTS);
	command->lock_count = 0;
	command->has_more = false;
	command->next_before = command->before;
	command->locks = arena_zalloc(command->mem, command->limit * sizeof(*command->locks));
	if (!command->locks)
		return FAIL_MEMORY;
	for (int part = (int)command->lock_part; r == 0 && !command->has_more && part < LOCKS_PARTS;
	     part++) {
		r = list_locks(ledger, command, (enum store_lock_part)part, place, &scanned);
		place = 0;
	}
	return r;
}
