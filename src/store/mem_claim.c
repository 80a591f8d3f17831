/*
 * Claims in the in-memory store.
 *
 * A claim meets the record of its token, or makes a new one. What is new is judged in the order
 * of store.h: what it retries, its identity, its lock and the version of that, its budget, and
 * how many wait already. One that is picked up is judged by its lock alone: its identity and its
 * budget have been its own since its claim. A refusal leaves nothing behind.
 */
#include "store/mem_internal.h"

#include "base/err.h"

/* Where a claim stands while it is judged. */
struct judging {
	struct memory *memory;
	struct store_command *command;
	int64_t now_ms, lapse_ms;
	bool asks;	/* people, before anything else */
	bool must_wait; /* for its lock */
};

static int claim_new(struct judging *judging);
static int pick_up(struct judging *judging, struct record *record);

int mem_claim(struct memory *memory, struct store_command *command, bool only_look,
	      bool *out_changes)
{
	const struct store_operation *asked = &command->operation;
	struct record *record = record_by_token(memory, asked->account, asked->token);
	struct judging judging = {
		.memory = memory,
		.command = command,
		.now_ms = env_wall_ms(memory->env),
		.lapse_ms = lapse_now(&memory->lapse, memory->env),
	};
	enum claim_way way = CLAIM_IS_NEW;

	if (record)
		way = record->is_forgotten
			      ? claim_way_tombstone(command, record->until_ms, judging.lapse_ms)
			      : claim_way(command, &record->operation, judging.lapse_ms);
	*out_changes = way == CLAIM_IS_NEW || way == CLAIM_PICKS_UP;
	if (only_look && *out_changes)
		return 0;
	if (way == CLAIM_IS_EXPIRED)
		return STORE_EXPIRED;
	if (way == CLAIM_IS_NEW)
		return claim_new(&judging);
	if (way == CLAIM_PICKS_UP)
		return pick_up(&judging, record);
	if (mem_give(command, &record->operation) < 0 || mem_give_approval(command, record) < 0)
		return FAIL_MEMORY;
	if (!hash_equal(&asked->fingerprint, &record->operation.fingerprint))
		command->record->answer = (struct store_answer){0};
	return STORE_EXISTS;
}

static int check_retry(struct judging *judging)
{
	struct store_command *command = judging->command;
	const struct store_operation nobody = {0};
	struct record *record = NULL;
	struct operation_id id;

	if (!command->operation.retry_of.len)
		return 0;
	if (operation_id_read(command->operation.retry_of, &id))
		record = record_by_id(judging->memory, &id, command->operation.account);
	if (record && claim_may_retry(&record->operation))
		return 0;
	if (mem_give(command, record ? &record->operation : &nobody) < 0)
		return FAIL_MEMORY;
	return STORE_RETRY_REFUSED;
}

static int scripted(const struct memory *memory, const struct store_command *command)
{
	const struct store_mem_script *script = memory->script;

	if (script && script->full_after && record_count(memory) >= script->full_after)
		return FAIL_STORE;
	if (script && script->poison &&
	    str_equal(command->operation.token, str_from(script->poison)))
		return FAIL_UNPLANNED;
	return 0;
}

static int check_unique(struct judging *judging)
{
	const struct rule_facts *rules = &judging->command->rules;
	const struct record *owner =
		rules->has_unique
			? identity_owner(judging->memory, &rules->unique, judging->lapse_ms)
			: NULL;

	if (!owner)
		return 0;
	if (mem_give(judging->command, &owner->operation) < 0 ||
	    mem_give_approval(judging->command, owner) < 0)
		return FAIL_MEMORY;
	return STORE_REUSED;
}

/* Refused by its lock: who is before it, and how the lock is. */
static int refused(struct judging *judging, const struct rule_facts *rules,
		   const struct record *self, const struct record *before, int result)
{
	struct store_command *command = judging->command;

	if (before && mem_give(command, &before->operation) < 0)
		return FAIL_MEMORY;
	if (before)
		command->record->answer = (struct store_answer){0};
	if (rules_view(judging->memory, rules, self, judging->lapse_ms, command->mem,
		       &command->view) < 0)
		return FAIL_MEMORY;
	return result;
}

static int check_lock(struct judging *judging)
{
	const struct rule_facts *rules = &judging->command->rules;
	struct record *before = NULL;
	int r;

	if (!rules->has_lock || judging->asks ||
	    judging->command->operation.state == STATE_AWAITING_APPROVAL)
		return 0;
	r = lock_judge(judging->memory, rules, NULL, &before);
	if (r == STORE_LOCKED && rules->lock_queues) {
		require(judging->command->operation.is_dispatched);
		judging->must_wait = true;
		before = NULL;
		r = !rules->has_version ||
				    version_may_come(rules->version,
						     lock_version(judging->memory, &rules->lock))
			    ? 0
			    : STORE_VERSION;
	}
	return r ? refused(judging, rules, NULL, before, r) : 0;
}

static int check_budget(struct judging *judging)
{
	const struct rule_facts *rules = &judging->command->rules;
	int r = rules->has_budget ? budget_judge(judging->memory, rules, judging->lapse_ms) : 0;

	return r ? refused(judging, rules, NULL, NULL, r) : 0;
}

static int check_room(struct judging *judging)
{
	const struct store_command *command = judging->command;
	bool will_wait = judging->must_wait || command->operation.state == STATE_QUEUED;
	enum operation_state wanted = judging->asks ? STATE_AWAITING_APPROVAL : STATE_QUEUED;
	size_t waiting = 0;

	if (!command->waiting_max ||
	    (!judging->asks && (!will_wait || !command->operation.is_dispatched)))
		return 0;
	for (size_t i = 0; i < record_count(judging->memory); i++) {
		const struct record *record = record_at(judging->memory, i);

		waiting += record_is_there(record) && record->operation.state == wanted &&
			   (judging->asks || record->operation.is_dispatched);
	}
	return waiting >= command->waiting_max ? STORE_FULL : 0;
}

static int judge(struct judging *judging)
{
	static int (*const checks[])(struct judging *) = {check_retry, check_unique, check_lock,
							  check_budget, check_room};
	int r = 0;

	judging->asks = approval_asks(judging->memory, judging->command);
	for (size_t i = 0; r == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		r = checks[i](judging);
	return r;
}

static void make_id(struct memory *memory, int64_t now_ms, struct operation_id *out_id)
{
	uint64_t op = now_ms > 0 ? (uint64_t)now_ms << 16 : 0;

	if (op <= memory->last_op)
		op = memory->last_op + 1;
	memory->last_op = op;
	for (int i = 7; i >= 0; i--, op >>= 8)
		out_id->bytes[i] = (uint8_t)op;
	env_random(memory->env, out_id->bytes + 8, 8);
}

/* How the operation of a claim that was let through begins. */
static struct store_operation start(struct judging *judging)
{
	struct store_operation operation = judging->command->operation;
	int64_t now_ms = judging->now_ms;

	operation.is_asked = judging->asks;
	if (judging->asks) {
		operation.state = STATE_AWAITING_APPROVAL;
		operation.is_dispatched = true;
	}
	if (judging->must_wait)
		operation.state = STATE_QUEUED;
	make_id(judging->memory, now_ms, &operation.id);
	record_start(&operation, now_ms, judging->command->retention_ms);
	if (judging->must_wait)
		operation.due_ms = INT64_MAX;
	operation.answer = (struct store_answer){0};
	operation.reference = operation.resource = STR("");
	operation.reason = operation.decided_by = STR("");
	return operation;
}

/* Its lock and its budget are its own from now on. */
static int take_rules(struct judging *judging, struct record *record)
{
	int r = 0;

	if (record->rules.has_lock && record->operation.state == STATE_RUNNING)
		r = lock_take(judging->memory, record, judging->now_ms);
	else if (record->rules.has_lock)
		r = lock_note(judging->memory, record);
	if (r == 0 && record->rules.has_budget)
		r = budget_reserve(judging->memory, record, judging->lapse_ms);
	return r;
}

static int fill_record(struct judging *judging, struct record *record)
{
	const struct store_command *command = judging->command;
	struct store_attempt attempt;

	record->operation = start(judging);
	record->rules = command->rules;
	record->identity_until_ms =
		command->rules.has_unique ? time_add(judging->now_ms, command->rules.unique_ms) : 0;
	record->plain_retention_ms =
		command->plain_retention_ms ? command->plain_retention_ms : command->retention_ms;
	record->request = command->request;
	record->keeps_request = command->request.method.len > 0;
	if (!take_operation(record->mem, &record->operation) ||
	    !take_text(record->mem, &record->rules.lock_name) ||
	    !take_request(record->mem, &record->request) || approval_begin(command, record) < 0)
		return fail(FAIL_UNPLANNED);
	attempt = attempt_of_claim(command, record->operation.state);
	return record_add_attempt(record, &attempt);
}

/* What the caller gets is put beside what it has asked, which may have to be judged again. */
static int claim_new(struct judging *judging)
{
	struct store_command *command = judging->command;
	struct record *record;
	int r = judge(judging);

	if (r == 0)
		r = scripted(judging->memory, command);
	if (r != 0)
		return r;
	record = record_add(judging->memory);
	if (!record)
		return fail(FAIL_UNPLANNED);
	r = fill_record(judging, record);
	if (r == 0)
		r = take_rules(judging, record);
	if (r == 0)
		r = mem_give(command, &record->operation);
	if (r == 0)
		r = mem_give_approval(command, record);
	if (r < 0)
		return r;
	command->fence = record->fence;
	command->attempt_number = record->operation.attempts;
	command->makes_due = record->operation.due_ms && record->operation.due_ms != INT64_MAX;
	return 0;
}

/* Where one is kept, it is what is sent now, maybe in other bytes. */
static int renew_request(struct record *record, const struct store_command *command)
{
	if (!record->keeps_request)
		return 0;
	record->request = command->request;
	return take_request(record->mem, &record->request) ? 0 : fail(FAIL_UNPLANNED);
}

static int pick_up(struct judging *judging, struct record *record)
{
	struct memory *memory = judging->memory;
	struct store_command *command = judging->command;
	struct record *before = NULL;
	int r = record->rules.has_lock ? lock_judge(memory, &record->rules, record, &before) : 0;

	if (r)
		return refused(judging, &record->rules, record, before, r);
	r = record_touch(memory, record);
	if (r == 0)
		r = mem_send(memory, record, judging->now_ms);
	if (r == 0)
		r = renew_request(record, command);
	if (r == 0)
		r = record_add_attempt(record, &command->attempt);
	if (r == 0)
		r = mem_give(command, &record->operation);
	if (r < 0)
		return r;
	command->fence = record->fence;
	command->attempt_number = record->operation.attempts;
	command->did_pick_up = true;
	return 0;
}
