/*
 * The rules of an operation: what its claim is judged by, and what goes with every change of its
 * state.
 *
 * A claim is judged first, by looks alone, and only then carried out: a refusal leaves nothing
 * behind. What was decided is one appended row of `rule`, which later changes read. Operations
 * without rules have no such row, and their keys are even, so that nobody looks for one.
 *
 * An identity is an entry of the token index that leads to the newest operation that has it. One
 * that has failed, or is gone, does not stand in the way; the next claim takes its place.
 */
#include "store/ledger.h"

#include "base/err.h"

static int judge_lock(struct ledger *ledger, struct store_command *command,
		      struct ledger_plan *plan);
static int judge_budget(struct ledger *ledger, struct store_command *command,
			struct ledger_plan *plan);
static int judge_room(struct ledger *ledger, struct store_command *command,
		      struct ledger_plan *plan);
static int insert_rule(struct ledger *ledger, const struct store_command *command,
		       const struct ledger_rule *rule);
static int view_claim(struct ledger *ledger, const struct ledger_plan *plan,
		      struct store_command *command);

bool op_has_rule(int64_t op)
{
	return op & 1;
}

bool claim_has_rule(const struct store_command *command)
{
	const struct rule_facts *rules = &command->rules;

	return rules->has_unique || rules->has_lock || rules->has_budget || rules->opens_budget ||
	       command->operation.is_dispatched || command->operation.probe.len ||
	       command->operation.retry_of.len || command->request.method.len ||
	       command->approval.needed || command->operation.state == STATE_QUEUED ||
	       command->operation.state == STATE_AWAITING_APPROVAL;
}

int ledger_judge(struct ledger *ledger, struct store_command *command, struct ledger_plan *out_plan)
{
	static int (*const checks[])(struct ledger *, struct store_command *,
				     struct ledger_plan *) = {
		ledger_judge_asking, ledger_judge_identity, judge_lock, judge_budget, judge_room};
	int r = 0;

	*out_plan = (struct ledger_plan){0};
	for (size_t i = 0; r == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		r = checks[i](ledger, command, out_plan);
	return r;
}

/* The operation that has the identity: 0 and *out_record; STORE_ABSENT: it is free. */
static int find_owner(struct ledger *ledger, struct store_command *command,
		      const struct ledger_plan *plan, struct store_operation **out_record)
{
	int64_t now_ms = lapse_now(&ledger->lapse, ledger->env), op;
	struct store_operation *record;
	struct ledger_rule rule;
	int r = ledger_find_token(ledger, &plan->identity_hash, &op);

	if (r == 0)
		r = ledger_read_rule(ledger, op, &rule);
	if (r == 0 &&
	    (!(rule.flags & RULE_IDENTITY) || !hash_equal(&rule.identity, &command->rules.unique)))
		return STORE_ABSENT;
	if (r == 0)
		r = ledger_read(ledger, op, command->mem, &record);
	if (r == 0 && !identity_is_taken(record, rule.until_ms, now_ms))
		return STORE_ABSENT;
	if (r == 0)
		*out_record = record;
	return r;
}

int ledger_judge_identity(struct ledger *ledger, struct store_command *command,
			  struct ledger_plan *plan)
{
	struct store_operation *record = NULL;
	int r;

	if (!command->rules.has_unique)
		return 0;
	tokens_hash_kind(ledger->key, KIND_IDENTITY, &command->rules.unique, &plan->identity_hash);
	r = find_owner(ledger, command, plan, &record);
	if (r == STORE_ABSENT)
		return 0;
	if (r == 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0)
		r = ledger_read_answer(ledger, command->mem, record);
	if (r < 0)
		return r;
	r = ledger_tell_approval(ledger, record, command);
	if (r < 0)
		return r;
	command->record = record;
	return STORE_REUSED;
}

/* Refused: tell how the rules stand, and who is before us (0: nobody). */
static int refuse(struct ledger *ledger, struct store_command *command,
		  const struct ledger_plan *plan, int64_t before, int outcome)
{
	struct store_operation *record = NULL;
	int r = 0;

	if (before)
		r = ledger_read(ledger, before, command->mem, &record);
	if (r == STORE_ABSENT)
		return fail(FAIL_UNPLANNED); /* open operations are never forgotten */
	if (r == 0 && record)
		r = ledger_count_attempts(ledger, record);
	if (r == 0)
		r = view_claim(ledger, plan, command);
	if (r < 0)
		return r;
	command->record = record;
	return outcome;
}

static int judge_lock(struct ledger *ledger, struct store_command *command,
		      struct ledger_plan *plan)
{
	const struct rule_facts *rules = &command->rules;
	int64_t before;
	bool fits;
	int r;

	if (!rules->has_lock)
		return 0;
	r = ledger_find_lock(ledger, &rules->lock, &plan->lock_hash, &plan->lock);
	if (r >= 0)
		r = ledger_lock_before(ledger, &plan->lock, &before);
	if (r < 0 || plan->asks || command->operation.state == STATE_AWAITING_APPROVAL)
		return r; /* its turn comes when it has been agreed to */
	if (before && !rules->lock_queues)
		return refuse(ledger, command, plan, before, STORE_LOCKED);
	if (before)
		require(command->operation.is_dispatched);
	plan->must_wait = before != 0;
	fits = before ? version_may_come(rules->version, plan->lock.version)
		      : version_is(rules->version, plan->lock.version);
	if (!rules->has_version || fits)
		return 0;
	return refuse(ledger, command, plan, 0, STORE_VERSION);
}

static int judge_budget(struct ledger *ledger, struct store_command *command,
			struct ledger_plan *plan)
{
	const struct rule_facts *rules = &command->rules;
	struct token_hash index;
	int r;

	if (!rules->has_budget)
		return 0;
	r = ledger_find_budget(ledger, &rules->budget, lapse_now(&ledger->lapse, ledger->env),
			       &index, &plan->budget);
	if (r < 0)
		return r;
	if (plan->budget.key)
		r = budget_judge_spending(&plan->budget.facts, &rules->spends);
	else
		r = rules->lets_unknown_budget ? 0 : STORE_NO_BUDGET;
	return r ? refuse(ledger, command, plan, 0, r) : 0;
}

static int judge_room(struct ledger *ledger, struct store_command *command,
		      struct ledger_plan *plan)
{
	bool will_wait = plan->must_wait || command->operation.state == STATE_QUEUED;

	if (command->waiting_max && plan->asks)
		return ledger->counts[STATE_AWAITING_APPROVAL] >= command->waiting_max ? STORE_FULL
										       : 0;
	if (!command->waiting_max || !will_wait || !command->operation.is_dispatched)
		return 0;
	return ledger->waiting >= command->waiting_max ? STORE_FULL : 0;
}

static unsigned flags_of(const struct store_command *command)
{
	const struct rule_facts *rules = &command->rules;

	return (rules->has_unique ? RULE_IDENTITY : 0u) | (rules->has_lock ? RULE_LOCK : 0u) |
	       (rules->has_lock && rules->has_version ? RULE_VERSION : 0u) |
	       (rules->has_budget ? RULE_BUDGET : 0u) | (rules->opens_budget ? RULE_OPENS : 0u) |
	       (command->operation.is_dispatched ? RULE_DISPATCHED : 0u) |
	       (command->request.method.len ? RULE_REQUEST : 0u) |
	       (command->operation.is_asked ? RULE_APPROVAL : 0u);
}

static void add_to_index(struct ledger *ledger, const struct token_hash *hash, int64_t key)
{
	tokens_add(&ledger->tokens, hash, key);
	ledger->added++;
}

/* The lock of a new operation: taken, or stood in line for. */
static int begin_lock(struct ledger *ledger, struct store_command *command,
		      const struct ledger_plan *plan, struct ledger_rule *rule)
{
	const struct store_operation *record = &command->operation;
	bool is_new = plan->lock.key == 0, takes = record->state == STATE_RUNNING;
	int64_t op = id_op(&record->id);
	int r = 0;

	rule->lock = is_new ? op : plan->lock.key;
	if (is_new)
		r = ledger_add_lock(ledger, command, plan, op, record->created_ms);
	else if (takes)
		r = ledger_take_lock(ledger, &plan->lock, op, record->created_ms, &rule->fence);
	if (is_new && takes)
		rule->fence = 1;
	command->fence = rule->fence;
	if (r == 0 && record->state == STATE_QUEUED && record->is_dispatched)
		r = ledger_join_line(ledger, rule->lock, op);
	return r;
}

int ledger_begin_rules(struct ledger *ledger, struct store_command *command,
		       const struct ledger_plan *plan)
{
	const struct store_operation *record = &command->operation;
	const struct rule_facts *rules = &command->rules;
	int64_t op = id_op(&record->id);
	struct ledger_rule rule = {
		.flags = flags_of(command),
		.plain_ms = command->plain_retention_ms ? command->plain_retention_ms
							: command->retention_ms,
		.identity = rules->unique,
		.until_ms = time_add(record->created_ms, rules->unique_ms),
		.version = rules->version,
		.budget = plan->budget.key,
		.spends = rules->spends,
		.opens = rules->opens,
		.budget_ms = rules->budget_ms,
	};
	int r = 0;

	if (rule.flags & RULE_LOCK)
		r = begin_lock(ledger, command, plan, &rule);
	if (r == 0 && rule.budget)
		r = ledger_use_budget(ledger, rule.budget, rule.spends.minor_units);
	if (r == 0 && rule.flags & RULE_REQUEST)
		r = ledger_put_request(ledger, op, &command->request);
	if (r == 0)
		r = insert_rule(ledger, command, &rule);
	if (r == 0 && rule.flags & RULE_APPROVAL)
		r = ledger_begin_approval(ledger, command);
	if (r < 0)
		return r;
	if (rule.flags & RULE_IDENTITY)
		add_to_index(ledger, &plan->identity_hash, op);
	if (rule.flags & RULE_LOCK && !plan->lock.key)
		add_to_index(ledger, &plan->lock_hash, op);
	if (record->state == STATE_QUEUED && record->is_dispatched)
		ledger->waiting++;
	return 0;
}

static int insert_rule(struct ledger *ledger, const struct store_command *command,
		       const struct ledger_rule *rule)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_RULE_PUT);
	struct operation_id retried;
	bool has_retried = operation_id_read(command->operation.retry_of, &retried);
	struct vault_place place = {"probe", id_op(&command->operation.id), STR("")};
	int r = 0;

	sqlite3_bind_int64(put, 1, id_op(&command->operation.id));
	sqlite3_bind_int64(put, 2, rule->flags);
	sqlite3_bind_int64(put, 3, rule->plain_ms);
	if (rule->flags & RULE_IDENTITY)
		bind_hash(put, 4, &rule->identity);
	else
		sqlite3_bind_blob(put, 4, "", 0, SQLITE_STATIC);
	sqlite3_bind_int64(put, 5, rule->flags & RULE_IDENTITY ? rule->until_ms : 0);
	sqlite3_bind_int64(put, 6, rule->lock);
	sqlite3_bind_int64(put, 7, (int64_t)rule->fence);
	sqlite3_bind_int64(put, 8, rule->version);
	sqlite3_bind_int64(put, 9, rule->budget);
	sqlite3_bind_int64(put, 10, rule->spends.minor_units);
	bind_str(put, 11, str_from(rule->spends.currency));
	sqlite3_bind_int64(put, 12, rule->opens.minor_units);
	bind_str(put, 13, str_from(rule->opens.currency));
	sqlite3_bind_int64(put, 14, rule->budget_ms);
	sqlite3_bind_int64(put, 15, command->operation.sent_ms);
	bind_str(put, 16, STR("")); /* which is looked for: it has none */
	if (command->operation.probe.len)
		r = ledger_bind_sealed(ledger, put, 16, place, command->operation.probe);
	sqlite3_bind_int64(put, 17, has_retried ? id_op(&retried) : 0);
	return r == 0 ? ledger_run(ledger, put) : r;
}

int ledger_read_rule(struct ledger *ledger, int64_t op, struct ledger_rule *out_rule)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_RULE_GET);
	int r = 0;

	*out_rule = (struct ledger_rule){0};
	if (op_has_rule(op)) {
		sqlite3_bind_int64(get, 1, op);
		r = ledger_step(ledger, get);
	}
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	out_rule->flags = (unsigned)sqlite3_column_int(get, 0);
	out_rule->plain_ms = sqlite3_column_int64(get, 1);
	column_hash(get, 2, &out_rule->identity);
	out_rule->until_ms = sqlite3_column_int64(get, 3);
	out_rule->lock = sqlite3_column_int64(get, 4);
	out_rule->fence = (uint64_t)sqlite3_column_int64(get, 5);
	out_rule->version = sqlite3_column_int64(get, 6);
	out_rule->budget = sqlite3_column_int64(get, 7);
	out_rule->spends.minor_units = sqlite3_column_int64(get, 8);
	column_currency(get, 9, out_rule->spends.currency);
	out_rule->opens.minor_units = sqlite3_column_int64(get, 10);
	column_currency(get, 11, out_rule->opens.currency);
	out_rule->budget_ms = sqlite3_column_int64(get, 12);
	out_rule->sent_ms = sqlite3_column_int64(get, 13);
	sqlite3_reset(get);
	return 0;
}

int ledger_put_sending(struct ledger *ledger, int64_t op, uint64_t fence, int64_t sent_ms)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_RULE_SENT);

	if (!op_has_rule(op))
		return 0;
	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int64(put, 2, (int64_t)fence);
	sqlite3_bind_int64(put, 3, sent_ms);
	return ledger_run(ledger, put);
}

static bool has_lock_in(enum operation_state state)
{
	return state == STATE_RUNNING || state == STATE_UNKNOWN;
}

static bool is_in_line(const struct ledger_rule *rule, enum operation_state state)
{
	return state == STATE_QUEUED && rule->flags & RULE_DISPATCHED;
}

static int follow_lock(struct ledger *ledger, const struct ledger_rule *rule,
		       const struct ledger_step *step, bool *out_makes_due)
{
	bool frees = has_lock_in(step->before) && !has_lock_in(step->next);
	bool was_in = is_in_line(rule, step->before), is_in = is_in_line(rule, step->next);
	int r = 0;

	if (frees)
		r = ledger_free_lock(ledger, rule->lock, step->op, step->next == STATE_COMPLETED);
	if (r == 0 && was_in && !is_in)
		r = ledger_leave_line(ledger, rule->lock, step->op);
	if (r == 0 && is_in && !was_in)
		r = ledger_join_line(ledger, rule->lock, step->op);
	if (r < 0 || !ledger->waiting || (!frees && was_in == is_in))
		return r;
	return ledger_order_line(ledger, rule->lock, is_in ? step->op : 0, step->now_ms,
				 out_makes_due);
}

static int follow_end(struct ledger *ledger, const struct ledger_rule *rule,
		      const struct ledger_step *step, const struct store_command *command)
{
	static const struct hash none;
	int r = 0;

	if (rule->flags & RULE_REQUEST)
		r = ledger_run_on(ledger, SQL_REQUEST_DELETE, step->op);
	if (r == 0 && rule->budget && step->next != STATE_COMPLETED)
		r = ledger_use_budget(ledger, rule->budget, -rule->spends.minor_units);
	if (r == 0 && rule->flags & RULE_OPENS && step->next == STATE_COMPLETED &&
	    !hash_equal(&command->opens, &none))
		r = ledger_open_budget(ledger, &command->opens, rule, step);
	return r;
}

int ledger_follow(struct ledger *ledger, const struct ledger_rule *rule,
		  const struct ledger_step *step, struct store_command *command)
{
	int r = 0;

	ledger->waiting += is_in_line(rule, step->next);
	ledger->waiting -= is_in_line(rule, step->before);
	if (operation_is_terminal(step->next))
		r = follow_end(ledger, rule, step, command);
	if (r == 0 && rule->flags & RULE_APPROVAL)
		r = ledger_follow_approval(ledger, step);
	if (r == 0 && rule->flags & RULE_LOCK)
		r = follow_lock(ledger, rule, step, &command->makes_due);
	return r;
}

/* What rows say of a lock, whoever asks. */
static int view_lock(struct ledger *ledger, const struct ledger_lock *lock,
		     struct store_rule_view *view)
{
	int r;

	view->lock_version = lock->version;
	if (!lock->holder)
		return 0;
	r = ledger_id_of(ledger, lock->holder, &view->holder);
	return r < 0 ? r : 0;
}

static void view_budget(const struct ledger_budget *budget, const struct money *spends,
			struct store_rule_view *view)
{
	view->spends = spends->minor_units;
	memcpy(view->currency, budget->key ? budget->facts.currency : spends->currency,
	       sizeof(view->currency));
	view->budget_total = budget->facts.total;
	view->budget_used = budget->facts.used;
}

static int view_claim(struct ledger *ledger, const struct ledger_plan *plan,
		      struct store_command *command)
{
	const struct rule_facts *rules = &command->rules;
	struct store_rule_view *view = &command->view;

	*view = (struct store_rule_view){
		.has_unique = rules->has_unique,
		.has_lock = rules->has_lock,
		.has_budget = rules->has_budget,
		.opens_budget = rules->opens_budget,
		.lock_name = arena_str(command->mem, rules->lock_name),
	};
	if (!view->lock_name.at)
		return FAIL_MEMORY;
	if (rules->has_budget)
		view_budget(&plan->budget, &rules->spends, view);
	return rules->has_lock ? view_lock(ledger, &plan->lock, view) : 0;
}

static int read_name(struct ledger *ledger, int64_t key, struct arena *mem, struct str *out_name)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_LOCK_NAME);
	bool is_full = false;
	int r;

	sqlite3_bind_int64(get, 1, key);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r;
	*out_name = column_str(get, 0, mem, &is_full);
	sqlite3_reset(get);
	return is_full ? FAIL_MEMORY : 0;
}

int ledger_view(struct ledger *ledger, const struct store_operation *record,
		const struct ledger_rule *rule, struct store_command *command)
{
	struct store_rule_view *view = &command->view;
	struct ledger_budget budget = {0};
	struct ledger_lock lock = {0};
	int r = 0;

	*view = (struct store_rule_view){
		.has_unique = rule->flags & RULE_IDENTITY,
		.has_lock = rule->flags & RULE_LOCK,
		.has_budget = rule->flags & RULE_BUDGET,
		.opens_budget = rule->flags & RULE_OPENS,
		.unique_until_ms = rule->until_ms,
		.lock_name = str_of("", 0),
		.fence = rule->fence,
	};
	if (view->has_lock) {
		view->waits_for_lock = is_in_line(rule, record->state);
		r = ledger_read_lock(ledger, rule->lock, &lock);
		if (r == 0)
			r = read_name(ledger, rule->lock, command->mem, &view->lock_name);
		if (r == 0)
			r = view_lock(ledger, &lock, view);
		view->holds_lock = lock.holder == id_op(&record->id);
	}
	if (r >= 0 && view->has_budget) {
		r = rule->budget ? ledger_read_budget(ledger, rule->budget, &budget) : 0;
		view_budget(&budget, &rule->spends, view);
	}
	return r < 0 ? r : 0;
}
