/*
 * What the gate sees to by itself: operations that are due, and the requests they are sent with.
 *
 * Taking is picking up: state, lock, attempt and epoch in one transaction, before a byte leaves.
 * Where nobody knows whether it was committed, whoever took has the errands nevertheless: it does
 * not send them, and settles each as not sent until it is certain. An epoch is never given twice
 * (claim_epoch()), so this cannot end somebody else's sending.
 *
 * Looking leases: an unknown operation that has been handed out is not due again for
 * STORE_LEASE_MS, unless whoever has it says otherwise. If it dies, that is how long the operation
 * is left alone.
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/approvals.h"

#include <stdio.h>

enum {
	ROUNDS_MAX = 16, /* of one take, each over STORE_ERRANDS_MAX operations at most */
	CANCELLED_MAX = 2 * STORE_ERRANDS_MAX, /* a round is begun while half of it is free */
};

/* 1: it is an errand; 0: it is none; < 0. */
static int take_one(struct ledger *ledger, struct store_command *command, int64_t op,
		    int64_t now_ms, struct store_errand *errand);

static struct vault_place place_of(int64_t op)
{
	return (struct vault_place){"request", op, STR("")};
}

int ledger_put_request(struct ledger *ledger, int64_t op, const struct store_request *request)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_REQUEST_PUT);

	const struct str texts[] = {request->target, request->headers, request->body,
				    request->lookup};
	struct str body = request->body;
	bool is_sealed = ledger->vault;
	int r = 0;

	require(request->body.len <= INT32_MAX);
	if (is_sealed)
		r = ledger_seal(ledger, place_of(op), texts, 4, &body);
	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, op);
	bind_str(put, 2, request->method);
	if (is_sealed)
		bind_blob(put, 3, STR(""));
	else
		bind_str(put, 3, request->target);
	bind_str(put, 4, is_sealed ? STR("") : request->headers);
	sqlite3_bind_int(put, 5, request->has_body);
	bind_blob(put, 6, body);
	bind_str(put, 7, is_sealed ? STR("") : request->lookup);
	bind_str(put, 8, request->key_place);
	return ledger_run(ledger, put);
}

static int read_sealed(struct ledger *ledger, int64_t op, struct str sealed, struct arena *mem,
		       struct store_request *request)
{
	struct str texts[4];
	int r = ledger_unseal(ledger, place_of(op), sealed, mem, texts, 4);

	if (r < 0)
		return r;
	request->target = texts[0];
	request->headers = texts[1];
	request->body = texts[2];
	request->lookup = texts[3];
	return 0;
}

static int read_clear(sqlite3_stmt *row, struct arena *mem, struct store_request *request)
{
	bool is_full = false;

	request->target = column_str(row, 1, mem, &is_full);
	request->headers = column_str(row, 2, mem, &is_full);
	request->body = column_str(row, 4, mem, &is_full);
	request->lookup = column_str(row, 5, mem, &is_full);
	return is_full ? FAIL_MEMORY : 0;
}

/* None is no failure: *out_request is zeroed. */
int ledger_read_request(struct ledger *ledger, int64_t op, struct arena *mem,
			struct store_request *out_request)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_REQUEST_GET);
	bool is_full = false;
	int r = 0;

	*out_request = (struct store_request){0};
	if (op_has_rule(op)) {
		sqlite3_bind_int64(get, 1, op);
		r = ledger_step(ledger, get);
	}
	if (r <= 0)
		return r;
	out_request->method = column_str(get, 0, mem, &is_full);
	out_request->has_body = sqlite3_column_int(get, 3) != 0;
	out_request->key_place = column_str(get, 6, mem, &is_full);
	r = column_is_sealed(get, 1)
		    ? read_sealed(ledger, op, column_bytes(get, 4), mem, out_request)
		    : read_clear(get, mem, out_request);
	sqlite3_reset(get);
	return is_full ? FAIL_MEMORY : r;
}

int64_t due_column(enum operation_state state, int64_t due_ms)
{
	return state == STATE_UNKNOWN ? -due_ms : due_ms;
}

int ledger_put_due(struct ledger *ledger, int64_t op, enum operation_state state, int64_t due_ms)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_OPERATION_DUE_PUT);

	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int64(put, 2, due_column(state, due_ms));
	return ledger_run(ledger, put);
}

/* When the operation of a row is due: `column` has its time, the next one that of its last change.
 */
static int64_t due_of(const struct store_command *command, sqlite3_stmt *row, int column,
		      int64_t now_ms)
{
	int64_t due_ms = sqlite3_column_int64(row, column);
	int64_t changed_ms = sqlite3_column_int64(row, column + 1);

	return command->kind == STORE_TAKE ? queued_due(due_ms, changed_ms, now_ms) : due_ms;
}

static int read_next_due(struct ledger *ledger, struct store_command *command, int64_t now_ms)
{
	bool is_take = command->kind == STORE_TAKE;
	sqlite3_stmt *next = ledger_statement(ledger, is_take ? SQL_QUEUED_NEXT : SQL_UNKNOWN_NEXT);
	int r;

	command->due_ms = 0;
	bind_str(next, 1, command->operation.upstream);
	r = ledger_step(ledger, next);
	if (r <= 0)
		return r;
	command->due_ms = due_of(command, next, 0, now_ms);
	sqlite3_reset(next);
	return 0;
}

int ledger_has_errand(struct ledger *ledger, struct store_command *command)
{
	int64_t now_ms = env_wall_ms(ledger->env);
	int r = read_next_due(ledger, command, now_ms);

	command->errand_count = 0;
	if (r < 0)
		return r;
	return command->due_ms && command->due_ms <= now_ms;
}

/* Their keys, longest due first, before any of them is changed. */
static int read_due(struct ledger *ledger, const struct store_command *command, int64_t now_ms,
		    int64_t *out_ops, size_t *out_count)
{
	bool is_take = command->kind == STORE_TAKE;
	sqlite3_stmt *due = ledger_statement(ledger, is_take ? SQL_QUEUED_DUE : SQL_UNKNOWN_DUE);
	int r;

	require(command->limit >= 1 && command->limit <= STORE_ERRANDS_MAX);
	*out_count = 0;
	bind_str(due, 1, command->operation.upstream);
	sqlite3_bind_int64(due, 2, (int64_t)(command->limit - command->errand_count));
	while ((r = ledger_step(ledger, due)) > 0) {
		if (due_of(command, due, 1, now_ms) > now_ms)
			break;
		out_ops[(*out_count)++] = sqlite3_column_int64(due, 0);
	}
	sqlite3_reset(due);
	return r < 0 ? r : 0;
}

/* What its owner needs of it. All texts are read before anything is changed, so that an arena
 * which has no room leaves the operation as it is. */
static int fill_errand(struct ledger *ledger, struct store_command *command, int64_t op,
		       struct ledger_rule *out_rule, struct store_errand *errand)
{
	struct store_operation *record;
	int r = ledger_read_rule(ledger, op, out_rule);

	*errand = (struct store_errand){0};
	if (r >= 0)
		r = ledger_read(ledger, op, command->mem, &record);
	if (r == 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0)
		r = ledger_read_request(ledger, op, command->mem, &errand->request);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	errand->operation = *record;
	errand->fence = out_rule->fence;
	return 0;
}

typedef int errand_maker(struct ledger *ledger, struct store_command *command, int64_t op,
			 int64_t now_ms, struct store_errand *errand);

/* Errands of what is due now. *out_seen: how many were looked at; what has failed is none. */
static int make_round(struct ledger *ledger, struct store_command *command, errand_maker *make,
		      size_t *out_seen)
{
	int64_t ops[STORE_ERRANDS_MAX], now_ms = env_wall_ms(ledger->env);
	size_t count = 0;
	int r = read_due(ledger, command, now_ms, ops, &count);

	*out_seen = 0;
	while (r >= 0 && *out_seen < count) {
		r = make(ledger, command, ops[*out_seen], now_ms,
			 &command->errands[command->errand_count]);
		if (r > 0)
			command->errand_count++;
		if (r >= 0)
			++*out_seen;
	}
	return r < 0 ? r : 0;
}

static bool may_go_on(const struct store_command *command)
{
	return command->errand_count < command->limit &&
	       command->cancelled_count + STORE_ERRANDS_MAX <= CANCELLED_MAX;
}

/*
 * Round after round, since one that is cancelled gives its turn to the next; as many as there is
 * memory for, the rest is still due.
 */
static int make_errands(struct ledger *ledger, struct store_command *command, errand_maker *make)
{
	size_t seen = 1, all = 0;
	int r = 0;

	command->errand_count = command->cancelled_count = 0;
	command->makes_due = false;
	command->errands = arena_zalloc(command->mem, command->limit * sizeof(*command->errands));
	command->cancelled =
		arena_zalloc(command->mem, CANCELLED_MAX * sizeof(*command->cancelled));
	if (!command->errands || !command->cancelled)
		return FAIL_MEMORY;
	for (int i = 0; i < ROUNDS_MAX && r == 0 && seen && may_go_on(command); i++) {
		r = make_round(ledger, command, make, &seen);
		all += seen;
	}
	if (r == FAIL_MEMORY && all)
		r = 0;
	return r < 0 ? r : read_next_due(ledger, command, env_wall_ms(ledger->env));
}

int ledger_take(struct ledger *ledger, struct store_command *command)
{
	return make_errands(ledger, command, take_one);
}

static int lease_one(struct ledger *ledger, struct store_command *command, int64_t op,
		     int64_t now_ms, struct store_errand *errand)
{
	int64_t until_ms = time_add(now_ms, STORE_LEASE_MS);
	struct ledger_rule rule;
	int r = fill_errand(ledger, command, op, &rule, errand);

	if (r == 0)
		r = ledger_put_due(ledger, op, STATE_UNKNOWN, until_ms);
	errand->operation.due_ms = until_ms;
	return r < 0 ? r : 1;
}

int ledger_due(struct ledger *ledger, struct store_command *command)
{
	return make_errands(ledger, command, lease_one);
}

/* The state changes, and with it everything that hangs on it. */
static int change_state(struct ledger *ledger, struct store_command *command,
			const struct store_operation *record, const struct ledger_rule *rule,
			int64_t now_ms)
{
	const struct ledger_step step = {.op = id_op(&record->id),
					 .before = STATE_QUEUED,
					 .next = record->state,
					 .now_ms = now_ms};
	int r = ledger_update(ledger, record);

	if (r == 0)
		r = ledger_follow(ledger, rule, &step, command);
	ledger->counts[step.before]--;
	ledger->counts[step.next]++;
	return r;
}

/* The resource has changed since its caller looked: sending it now would be a surprise. */
static int cancel_outdated(struct ledger *ledger, struct store_command *command,
			   struct store_operation *record, const struct ledger_rule *rule,
			   const struct ledger_lock *lock, int64_t now_ms)
{
	char reason[160];
	int r;

	snprintf(reason, sizeof(reason),
		 "when its turn came, the lock was at version %llu, and not %lld",
		 (unsigned long long)lock->version, (long long)rule->version);
	if (operation_move(record->state, EVENT_CANCELLED, &record->state) != 0)
		return fail(FAIL_UNPLANNED);
	record->updated_ms = now_ms;
	record->expires_ms = time_add(now_ms, rule->plain_ms);
	record->due_ms = 0;
	record->reason = str_from(reason);
	record->decided_by = STR("gate");
	command->cancelled[command->cancelled_count++] = record->id;
	r = change_state(ledger, command, record, rule, now_ms);
	return r == 0 ? ledger_say_outdated(ledger, record) : r;
}

/* Is it this one's turn? 1 yes; 0 no, and it waits on; < 0. */
static int has_turn(struct ledger *ledger, const struct ledger_rule *rule, int64_t op,
		    struct ledger_lock *out_lock)
{
	int64_t before;
	int r = ledger_read_lock(ledger, rule->lock, out_lock);

	if (r == 0)
		r = ledger_lock_before(ledger, out_lock, &before);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	if (before == op)
		return 1;
	return ledger_put_due(ledger, op, STATE_QUEUED, INT64_MAX);
}

static int begin_sending(struct ledger *ledger, struct store_command *command,
			 const struct ledger_rule *rule, const struct ledger_lock *lock,
			 int64_t now_ms, struct store_errand *errand)
{
	struct store_operation *record = &errand->operation;
	int64_t op = id_op(&record->id);
	int r = 0;

	record_send(record, ledger->doubts, now_ms);
	if (lock->key)
		r = ledger_take_lock(ledger, lock, op, now_ms, &errand->fence);
	if (r == 0)
		r = ledger_put_sending(ledger, op, errand->fence, record->sent_ms);
	if (r == 0)
		r = change_state(ledger, command, record, rule, now_ms);
	errand->attempt_number = ++record->attempts;
	if (r == 0)
		r = ledger_add_attempt(ledger, op, record->attempts,
				       attempt_time(&command->attempt, record->created_ms),
				       &command->attempt);
	return r == 0 ? ledger_say_taken(ledger, errand, &command->attempt) : r;
}

/*
 * Looked at once more where it would be sent, whatever brought it into the queue: 1; 0: it was not
 * agreed to, and stays where it is until somebody cancels it; < 0.
 */
static int is_agreed_to(struct ledger *ledger, struct store_command *command,
			struct store_errand *errand)
{
	char id[OPERATION_ID_TEXT + 1];
	int64_t op = id_op(&errand->operation.id);
	struct hash agreed;
	int r = ledger_read_approval(ledger, op, command->mem, false, &errand->approval, &agreed);

	if (r < 0)
		return r;
	if (r == 0 && approval_lets(&errand->approval, &agreed, &errand->operation.fingerprint))
		return 1;
	operation_id_write(&errand->operation.id, id);
	log_note(ledger->log, LOG_ERROR, "store_not_agreed", "operation", id);
	return ledger_put_due(ledger, op, STATE_QUEUED, INT64_MAX);
}

static int take_one(struct ledger *ledger, struct store_command *command, int64_t op,
		    int64_t now_ms, struct store_errand *errand)
{
	struct ledger_lock lock = {0};
	struct ledger_rule rule;
	int r = fill_errand(ledger, command, op, &rule, errand);

	if (r < 0)
		return r;
	if (errand->operation.state != STATE_QUEUED || !errand->operation.is_dispatched)
		return ledger_put_due(ledger, op, errand->operation.state, 0);
	if (rule.flags & RULE_APPROVAL) {
		r = is_agreed_to(ledger, command, errand);
		if (r <= 0)
			return r;
	}
	if (rule.flags & RULE_LOCK) {
		r = has_turn(ledger, &rule, op, &lock);
		if (r <= 0)
			return r;
	}
	if (rule.flags & RULE_VERSION && !version_is(rule.version, lock.version))
		return cancel_outdated(ledger, command, &errand->operation, &rule, &lock, now_ms);
	r = begin_sending(ledger, command, &rule, &lock, now_ms, errand);
	return r < 0 ? r : 1;
}

int ledger_postpone(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *record;
	int r = ledger_read_whole(ledger, command, &record);

	command->makes_due = false;
	if (r != 0)
		return r;
	command->record = record;
	if (record_postpone(record, command) != 0)
		return STORE_LOST;
	command->makes_due = record->due_ms && record->due_ms != INT64_MAX;
	r = ledger_update(ledger, record);
	return r < 0 ? r : ledger_record_attempt(ledger, record, &command->attempt);
}
