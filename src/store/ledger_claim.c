/*
 * Claiming a token.
 *
 * A new token costs two appended rows, the operation's and its attempt's: the filter says nobody
 * has it, and the index on disk is written later, in runs (see tokens.h). A token that is known
 * costs a look, and a change only where a queued operation is picked up.
 *
 * Always true: two claims of one token in one batch see each other, since the second looks
 * in memory where the first has just been added.
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/rules.h"

static int claim_new(struct ledger *ledger, struct store_command *command,
		     const struct token_hash *hash, int64_t now_ms);
static int claim_pick_up(struct ledger *ledger, struct store_command *command,
			 struct store_operation *record, int64_t now_ms);
static int claim_taken(struct ledger *ledger, struct store_command *command,
		       struct store_operation *record);
static int find_way(struct ledger *ledger, struct store_command *command,
		    const struct token_hash *hash, int64_t now_ms, enum claim_way *out_way,
		    struct store_operation **out_record);
static int look_for_twin(struct ledger *ledger, struct store_command *command, bool *out_changes);

/*
 * `only_look`: outside of a transaction; *out_changes says that one is needed, and then
 * nothing has been answered.
 */
int ledger_claim(struct ledger *ledger, struct store_command *command, bool only_look,
		 bool *out_changes)
{
	int64_t now_ms = env_wall_ms(ledger->env);
	struct store_operation *record = NULL;
	struct token_hash hash;
	enum claim_way way;
	int r;

	tokens_hash(ledger->key, command->operation.account, command->operation.token, &hash);
	r = find_way(ledger, command, &hash, lapse_now(&ledger->lapse, ledger->env), &way, &record);
	if (r != 0)
		return r;
	*out_changes = way == CLAIM_IS_NEW || way == CLAIM_PICKS_UP;
	if (only_look && *out_changes)
		return way == CLAIM_IS_NEW ? look_for_twin(ledger, command, out_changes) : 0;
	switch (way) {
	case CLAIM_IS_NEW:
		return claim_new(ledger, command, &hash, now_ms);
	case CLAIM_PICKS_UP:
		return claim_pick_up(ledger, command, record, now_ms);
	case CLAIM_IS_EXPIRED:
		return STORE_EXPIRED;
	case CLAIM_IS_TAKEN:
		return claim_taken(ledger, command, record);
	}
	unreachable("a claim goes one of four ways");
}

/* A new token of a business that has had its effect: told without waiting for anybody's fsync. */
static int look_for_twin(struct ledger *ledger, struct store_command *command, bool *out_changes)
{
	struct ledger_plan unused = {0};
	int r;

	if (command->operation.retry_of.len)
		return 0; /* judged first, and inside the transaction */
	r = ledger_judge_identity(ledger, command, &unused);
	*out_changes = r == 0;
	return r;
}

static int find_way(struct ledger *ledger, struct store_command *command,
		    const struct token_hash *hash, int64_t now_ms, enum claim_way *out_way,
		    struct store_operation **out_record)
{
	sqlite3_stmt *tombstone = ledger_statement(ledger, SQL_TOMBSTONE_GET);
	int64_t op, until_ms;
	int r;

	*out_way = CLAIM_IS_NEW;
	r = ledger_find_token(ledger, hash, &op);
	if (r != 0)
		return r == STORE_ABSENT ? 0 : r;
	r = ledger_read(ledger, op, command->mem, out_record);
	if (r < 0)
		return r;
	if (r == 0) {
		*out_way = claim_way(command, *out_record, now_ms);
		return 0;
	}
	sqlite3_bind_int64(tombstone, 1, op);
	r = ledger_number(ledger, tombstone, INT64_MIN, &until_ms);
	if (r == 0)
		*out_way = claim_way_tombstone(command, until_ms, now_ms);
	return r;
}

int ledger_find_token(struct ledger *ledger, const struct token_hash *hash, int64_t *out_op)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_TOKEN_GET);
	int r;

	if (!tokens_may_know(&ledger->tokens, hash))
		return STORE_ABSENT;
	*out_op = tokens_find(&ledger->tokens, hash);
	if (*out_op)
		return 0;
	sqlite3_bind_blob(get, 1, hash->bytes, TOKEN_HASH, SQLITE_STATIC);
	r = ledger_number(ledger, get, 0, out_op);
	if (r < 0)
		return r;
	return *out_op ? 0 : STORE_ABSENT;
}

/* Now, or just after the last one where the clock has not moved on. */
int64_t ledger_next_op(struct ledger *ledger, int64_t now_ms, bool has_rule)
{
	int64_t op = now_ms > 0 ? (int64_t)((uint64_t)now_ms << 16) : 0;

	if (op <= ledger->last_op)
		op = ledger->last_op + 1;
	if (op_has_rule(op) != has_rule)
		op++;
	ledger->last_op = op;
	return op;
}

static int64_t next_random(struct ledger *ledger)
{
	if (!ledger->randoms_left) {
		env_random(ledger->env, ledger->randoms, sizeof(ledger->randoms));
		ledger->randoms_left = RANDOMS;
	}
	return ledger->randoms[--ledger->randoms_left];
}

/* 0: a retry may go on; STORE_RETRY_REFUSED; FAIL_MEMORY; failures of the ledger. */
static int check_retry(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *named = NULL;
	struct operation_id id;
	int r = STORE_ABSENT;

	if (!command->operation.retry_of.len)
		return 0;
	if (operation_id_read(command->operation.retry_of, &id))
		r = ledger_read_id(ledger, &id, command->operation.account, command->mem, &named);
	if (r < 0)
		return r;
	if (r == 0 && claim_may_retry(named))
		return 0;
	if (!named)
		named = arena_zalloc(command->mem, sizeof(*named));
	if (!named)
		return FAIL_MEMORY;
	command->record = named;
	return STORE_RETRY_REFUSED;
}

static int insert_operation(struct ledger *ledger, const struct store_operation *record,
			    const struct token_hash *hash)
{
	sqlite3_stmt *insert = ledger_statement(ledger, SQL_OPERATION_INSERT);

	sqlite3_bind_int64(insert, 1, id_op(&record->id));
	sqlite3_bind_int64(insert, 2, id_random(&record->id));
	sqlite3_bind_blob(insert, 3, hash->bytes, TOKEN_HASH, SQLITE_STATIC);
	bind_str(insert, 4, record->account);
	bind_str(insert, 5, record->token);
	sqlite3_bind_blob(insert, 6, record->fingerprint.bytes, HASH_SIZE, SQLITE_STATIC);
	bind_str(insert, 7, record->method);
	bind_str(insert, 8, record->path);
	bind_str(insert, 9, record->action);
	bind_str(insert, 10, record->upstream);
	bind_str(insert, 11, record->retry_of);
	sqlite3_bind_int(insert, 12, (int)record->state);
	sqlite3_bind_int64(insert, 13, record->epoch);
	sqlite3_bind_int64(insert, 14, record->created_ms);
	sqlite3_bind_int64(insert, 15, record->updated_ms);
	sqlite3_bind_int64(insert, 16, record->expires_ms);
	sqlite3_bind_int64(insert, 17, record->tries);
	sqlite3_bind_int64(insert, 18, due_column(record->state, record->due_ms));
	return ledger_run(ledger, insert);
}

/* The attempt that is about to send, durable with its claim. */
static int begin_attempt(struct ledger *ledger, struct store_command *command,
			 struct store_operation *record)
{
	struct store_attempt attempt = attempt_of_claim(command, record->state);

	command->attempt_number = ++record->attempts;
	return ledger_add_attempt(ledger, id_op(&record->id), record->attempts,
				  attempt_time(&attempt, record->created_ms), &attempt);
}

/* The record of a claim that was let through. */
static void start(struct ledger *ledger, struct store_command *command,
		  const struct ledger_plan *plan, int64_t now_ms)
{
	struct store_operation *record = &command->operation;

	record->is_asked = plan->asks;
	if (plan->asks) {
		record->state = STATE_AWAITING_APPROVAL;
		record->is_dispatched = true;
	}
	if (plan->must_wait)
		record->state = STATE_QUEUED;
	id_make(ledger_next_op(ledger, now_ms, claim_has_rule(command)), next_random(ledger),
		&record->id);
	record_start(record, now_ms, command->retention_ms);
	if (plan->must_wait)
		record->due_ms = INT64_MAX;
	command->makes_due = record->due_ms && !plan->must_wait;
}

static int claim_new(struct ledger *ledger, struct store_command *command,
		     const struct token_hash *hash, int64_t now_ms)
{
	struct store_operation *record = &command->operation;
	struct ledger_plan plan = {0};
	int r;

	command->fence = 0;
	r = check_retry(ledger, command);
	if (r == 0 && claim_has_rule(command))
		r = ledger_judge(ledger, command, &plan);
	if (r != 0)
		return r;
	start(ledger, command, &plan, now_ms);
	r = insert_operation(ledger, record, hash);
	if (r == 0 && claim_has_rule(command))
		r = ledger_begin_rules(ledger, command, &plan);
	if (r == 0)
		r = begin_attempt(ledger, command, record);
	if (r == 0)
		r = ledger_say_claim(ledger, command, record, 0);
	if (r == 0 && record->is_asked)
		r = ledger_say_approval(ledger, NULL, record, command->question, 0);
	if (r < 0)
		return r;
	tokens_add(&ledger->tokens, hash, id_op(&record->id));
	ledger->added++;
	ledger->counts[record->state]++;
	return 0;
}

/* May a queued one have its lock back? It holds nothing, and waits in no line. */
static int judge_pick_up(struct ledger *ledger, struct store_command *command,
			 const struct store_operation *record, const struct ledger_rule *rule,
			 struct ledger_lock *out_lock)
{
	struct store_operation *holder;
	int64_t before;
	int r = ledger_read_lock(ledger, rule->lock, out_lock);

	if (r == 0)
		r = ledger_lock_before(ledger, out_lock, &before);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	if (before) {
		r = ledger_read(ledger, before, command->mem, &holder);
		if (r == 0)
			r = ledger_count_attempts(ledger, holder);
		if (r == 0)
			r = ledger_view(ledger, record, rule, command);
		if (r != 0)
			return r < 0 ? r : fail(FAIL_UNPLANNED);
		command->record = holder;
		return STORE_LOCKED;
	}
	if (!(rule->flags & RULE_VERSION) || version_is(rule->version, out_lock->version))
		return 0;
	r = ledger_view(ledger, record, rule, command);
	return r < 0 ? r : STORE_VERSION;
}

static int claim_pick_up(struct ledger *ledger, struct store_command *command,
			 struct store_operation *record, int64_t now_ms)
{
	enum operation_state before = record->state, next;
	struct ledger_lock lock = {0};
	struct ledger_rule rule;
	int64_t op = id_op(&record->id);
	int r;

	command->fence = 0;
	if (operation_move(before, EVENT_PICKED_UP, &next) != 0)
		return claim_taken(ledger, command, record);
	r = ledger_read_rule(ledger, op, &rule);
	if (r >= 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0 && rule.flags & RULE_LOCK)
		r = judge_pick_up(ledger, command, record, &rule, &lock);
	if (r != 0)
		return r;
	record_send(record, ledger->doubts, now_ms);
	r = ledger_update(ledger, record);
	if (r == 0 && lock.key)
		r = ledger_take_lock(ledger, &lock, op, now_ms, &command->fence);
	if (r == 0)
		r = ledger_put_sending(ledger, op, command->fence, record->sent_ms);
	if (r == 0 && rule.flags & RULE_REQUEST) /* what is sent now, maybe in other bytes */
		r = ledger_put_request(ledger, op, &command->request);
	if (r == 0)
		r = begin_attempt(ledger, command, record);
	if (r == 0)
		r = ledger_say_claim(ledger, command, record, before);
	if (r < 0)
		return r;
	ledger->counts[before]--;
	ledger->counts[record->state]++;
	command->record = record;
	command->did_pick_up = true;
	return 0;
}

static int claim_taken(struct ledger *ledger, struct store_command *command,
		       struct store_operation *record)
{
	int r = ledger_count_attempts(ledger, record);

	if (r == 0 && hash_equal(&record->fingerprint, &command->operation.fingerprint))
		r = ledger_read_answer(ledger, command->mem, record);
	if (r == 0)
		r = ledger_tell_approval(ledger, record, command);
	if (r < 0)
		return r;
	command->record = record;
	return STORE_EXISTS;
}

static int finish_run(struct ledger *ledger)
{
	int r = 0;

	ledger_counter_put(ledger, COUNTER_INDEXED, ledger->tokens.frozen.newest, &r);
	if (r == 0)
		ledger->has_thawed = true;
	return r;
}

/* Write up to `entries` of the frozen run into the index. */
int ledger_merge(struct ledger *ledger, size_t entries)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_TOKEN_PUT);
	const struct token_entry *entry;
	int r;

	if (!ledger->tokens.frozen.used || ledger->has_thawed)
		return 0;
	while (entries--) {
		entry = tokens_next(&ledger->tokens);
		if (!entry)
			return finish_run(ledger);
		sqlite3_bind_blob(put, 1, entry->hash.bytes, TOKEN_HASH, SQLITE_STATIC);
		sqlite3_bind_int64(put, 2, entry->op);
		r = ledger_run(ledger, put);
		if (r < 0)
			return r;
	}
	return 0;
}
