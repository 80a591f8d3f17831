/*
 * Questions to people, in the in-memory store.
 *
 * A question is a part of its operation's row. Agents that somebody has agreed to are looked for
 * in a table of their own, which outlives the operations.
 */
#include "store/approvals.h"
#include "store/mem_internal.h"

#include "base/err.h"

bool take_approval(struct arena *mem, struct store_approval *approval)
{
	return take_text(mem, &approval->shown) && take_text(mem, &approval->asked_by) &&
	       take_text(mem, &approval->asked_agent) && take_text(mem, &approval->answers);
}

static bool is_known(const struct memory *memory, const struct hash *agent)
{
	const struct table *table = &memory->tables[TABLE_KNOWN];

	for (size_t i = 0; i < table->count; i++)
		if (hash_equal(table->rows[i], agent))
			return true;
	return false;
}

static int make_known(struct memory *memory, const struct hash *agent)
{
	struct hash *row;

	if (is_known(memory, agent))
		return 0;
	row = mem_add(memory, TABLE_KNOWN, sizeof(*row));
	if (!row)
		return fail(FAIL_UNPLANNED);
	*row = *agent;
	return 0;
}

bool approval_asks(const struct memory *memory, const struct store_command *command)
{
	const struct store_approval *approval = &command->approval;

	if (!approval->needed)
		return false;
	require(command->request.method.len);
	return !approval->unless_known || command->operation.state == STATE_AWAITING_APPROVAL ||
	       !is_known(memory, &approval->agent_hash);
}

int mem_give_approval(struct store_command *command, const struct record *record)
{
	bool is_asked = record && record->operation.is_asked;
	struct store_approval *approval;

	if (!is_asked && !command->approval.needed)
		return 0;
	approval = arena_zalloc(command->mem, sizeof(*approval));
	if (!approval)
		return FAIL_MEMORY;
	if (is_asked)
		*approval = record->approval;
	if (!take_approval(command->mem, approval))
		return FAIL_MEMORY;
	command->question = approval;
	return 0;
}

int approval_begin(const struct store_command *command, struct record *record)
{
	if (!record->operation.is_asked)
		return 0;
	record->approval = command->approval;
	approval_ask(&record->approval, record->operation.created_ms);
	notices_begin(command, record);
	return take_approval(record->mem, &record->approval) ? 0 : fail(FAIL_UNPLANNED);
}

/* Its row has been touched. */
static int move(struct memory *memory, struct store_command *command, struct record *record,
		enum operation_event event, int64_t now_ms)
{
	struct store_operation *operation = &record->operation;

	if (operation_move(operation->state, event, &operation->state) != 0)
		return fail(FAIL_UNPLANNED);
	operation->updated_ms = now_ms;
	operation->due_ms = record_due(operation->is_dispatched, operation->state, now_ms);
	if (operation_is_terminal(operation->state))
		operation->expires_ms = time_add(now_ms, record->plain_retention_ms);
	return record_follow(memory, record, now_ms, &command->makes_due);
}

static int end(struct memory *memory, struct store_command *command, struct record *record,
	       int64_t now_ms)
{
	struct store_operation *operation = &record->operation;

	approval_say_end(&record->approval, command, operation);
	if (!take_text(record->mem, &operation->reason) ||
	    !take_text(record->mem, &operation->decided_by))
		return fail(FAIL_UNPLANNED);
	return move(memory, command, record, EVENT_DENIED, now_ms);
}

static int give(struct store_command *command, const struct record *record, int result)
{
	if (mem_give(command, &record->operation) < 0 || mem_give_approval(command, record) < 0)
		return FAIL_MEMORY;
	return result;
}

static int lapse(struct memory *memory, struct store_command *command, struct record *record,
		 int64_t now_ms)
{
	int r = record_touch(memory, record);

	if (r < 0)
		return r;
	record->approval.stand = APPROVAL_LAPSED;
	notices_add(record, NOTICE_EXPIRED, now_ms);
	return end(memory, command, record, now_ms);
}

static int carry_out(struct memory *memory, struct store_command *command, struct record *record,
		     int64_t now_ms)
{
	struct store_approval *approval = &record->approval;
	int r = record_touch(memory, record);

	if (r == 0)
		r = approval_answer(approval, command, now_ms, record->mem);
	if (r == 0)
		record->agreed = command->consent.fingerprint;
	if (r == 0)
		notices_add(record, approval_notice(approval), now_ms);
	if (r == 0 && approval->stand == APPROVAL_GIVEN)
		r = make_known(memory, &approval->agent_hash);
	if (r == 0 && approval->stand == APPROVAL_GIVEN)
		r = move(memory, command, record, EVENT_APPROVED, now_ms);
	if (r == 0 && approval->stand == APPROVAL_DENIED)
		r = end(memory, command, record, now_ms);
	if (r == 0 && command->attempt.outcome)
		r = record_add_attempt(record, &command->attempt);
	return r < 0 ? fail(FAIL_UNPLANNED) : give(command, record, 0);
}

int mem_answer(struct memory *memory, struct store_command *command)
{
	struct record *record =
		record_by_id(memory, &command->operation.id, command->operation.account);
	int64_t now_ms = env_wall_ms(memory->env);
	int r;

	if (!record)
		return STORE_ABSENT;
	r = approval_judge(command, &record->operation, &record->approval, now_ms, command->mem);
	if (r == STORE_LAPSED) {
		r = lapse(memory, command, record, now_ms);
		return r < 0 ? r : give(command, record, STORE_LAPSED);
	}
	if (r != 0)
		return r < 0 ? r : give(command, record, r);
	return carry_out(memory, command, record, now_ms);
}

static int renew(struct memory *memory, struct store_command *command, struct record *record,
		 int64_t now_ms)
{
	const struct store_approval *asked = &command->approval;
	struct store_approval *approval = &record->approval;
	int r = record_touch(memory, record);

	if (r < 0)
		return r;
	approval->needed = asked->needed;
	approval->for_ms = asked->for_ms;
	approval->policy = asked->policy;
	approval->alike = asked->alike;
	approval->shown = asked->shown;
	approval_ask(approval, now_ms);
	notices_add(record, NOTICE_ASKED, now_ms);
	record->agreed = (struct hash){0};
	return take_approval(record->mem, approval) ? 0 : fail(FAIL_UNPLANNED);
}

int mem_ask_again(struct memory *memory, struct store_command *command)
{
	struct record *record =
		record_by_id(memory, &command->operation.id, command->operation.account);
	int64_t now_ms = env_wall_ms(memory->env);
	struct store_attempt *ended;
	bool was_running;
	int r;

	require(command->approval.needed);
	if (!record)
		return STORE_ABSENT;
	r = approval_judge_asking(command, &record->operation);
	if (r != 0)
		return give(command, record, r);
	was_running = record->operation.state == STATE_RUNNING;
	r = renew(memory, command, record, now_ms);
	if (r == 0)
		r = move(memory, command, record, EVENT_ASKED_AGAIN, now_ms);
	ended = was_running ? record_attempt(record, command->attempt_number) : NULL;
	if (r == 0 && ended)
		ended->outcome = OUTCOME_AWAITING_APPROVAL;
	if (r == 0 && command->attempt.outcome)
		r = record_add_attempt(record, &command->attempt);
	return r == 0 ? give(command, record, 0) : r;
}

/* -- what lapses ------------------------------------------------------------------- */

static bool waits(const struct record *record)
{
	return record_is_there(record) && record->operation.is_asked &&
	       record->approval.stand == APPROVAL_WAITS;
}

static struct record *next_over(const struct memory *memory, int64_t now_ms)
{
	for (size_t i = 0; i < record_count(memory); i++) {
		struct record *record = record_at(memory, i);

		if (waits(record) && approval_is_over(&record->approval, now_ms))
			return record;
	}
	return NULL;
}

static void take_earlier(int64_t *earliest_ms, int64_t ms)
{
	if (!*earliest_ms || ms < *earliest_ms)
		*earliest_ms = ms;
}

static void tell_next(const struct memory *memory, struct store_command *command)
{
	command->due_ms = command->oldest_ms = 0;
	for (size_t i = 0; i < record_count(memory); i++) {
		const struct record *record = record_at(memory, i);

		if (!waits(record))
			continue;
		take_earlier(&command->due_ms, record->approval.expires_ms);
		take_earlier(&command->oldest_ms, record->approval.asked_ms);
	}
}

bool mem_has_lapsed(struct memory *memory, struct store_command *command)
{
	command->cancelled_count = 0;
	command->has_more = false;
	tell_next(memory, command);
	return next_over(memory, env_wall_ms(memory->env)) != NULL;
}

int mem_lapse(struct memory *memory, struct store_command *command)
{
	int64_t now_ms = env_wall_ms(memory->env);
	struct record *record;
	int r = 0;

	require(command->limit >= 1 && command->limit <= STORE_ERRANDS_MAX);
	command->cancelled_count = 0;
	command->cancelled =
		arena_zalloc(command->mem, command->limit * sizeof(*command->cancelled));
	if (!command->cancelled)
		return FAIL_MEMORY;
	while (r == 0 && (record = next_over(memory, now_ms)) &&
	       command->cancelled_count < command->limit) {
		r = lapse(memory, command, record, now_ms);
		command->cancelled[command->cancelled_count++] = record->operation.id;
	}
	command->has_more = next_over(memory, now_ms) != NULL;
	tell_next(memory, command);
	return r;
}

/* -- reading ----------------------------------------------------------------------- */

static bool is_same_action(const struct record *record, const struct store_operation *operation)
{
	return str_equal(record->operation.account, operation->account) &&
	       str_equal(record->operation.action, operation->action);
}

int mem_find_approval(const struct memory *memory, struct store_command *command,
		      const struct record *record)
{
	command->alike_count = 0;
	command->previous = (struct operation_id){0};
	command->previous_ms = 0;
	command->previous_shown = STR("");
	if (mem_give_approval(command, record) < 0)
		return FAIL_MEMORY;
	if (!record->operation.is_asked)
		return 0;
	command->alike = arena_zalloc(command->mem, STORE_WAITERS_LISTED * sizeof(*command->alike));
	if (!command->alike)
		return FAIL_MEMORY;
	for (size_t i = 0; i < record_count(memory); i++) {
		const struct record *other = record_at(memory, i);

		if (other == record || !record_is_there(other) || !other->operation.is_asked)
			continue;
		if (waits(other) && command->alike_count < STORE_WAITERS_LISTED &&
		    hash_equal(&other->approval.alike, &record->approval.alike))
			command->alike[command->alike_count++] = other->operation.id;
		if (other->operation.state != STATE_COMPLETED ||
		    !is_same_action(other, &record->operation))
			continue;
		command->previous = other->operation.id;
		command->previous_ms = other->operation.updated_ms;
		command->previous_shown = other->approval.shown;
	}
	return take_text(command->mem, &command->previous_shown) ? 0 : FAIL_MEMORY;
}

static int add_found(struct store_command *command, const struct record *record)
{
	struct store_operation *found = &command->found[command->found_count];
	struct store_approval *approval = &command->approvals[command->found_count];

	*found = record->operation;
	found->answer = (struct store_answer){0};
	*approval = record->approval;
	if (!take_operation(command->mem, found) || !take_approval(command->mem, approval))
		return FAIL_MEMORY;
	command->found_count++;
	return 0;
}

static size_t shown_so_far(const struct store_command *command)
{
	size_t bytes = 0;

	for (size_t i = 0; i < command->found_count; i++)
		bytes += command->approvals[i].shown.len;
	return bytes;
}

static int fill_page(const struct memory *memory, struct store_command *command,
		     const struct operation_id *before)
{
	static const struct operation_id newest;
	bool from_newest = memcmp(before, &newest, sizeof(newest)) == 0;

	for (size_t i = record_count(memory); i-- > 0;) {
		const struct record *record = record_at(memory, i);
		const struct store_operation *operation = &record->operation;

		if (!record_is_there(record) || !operation->is_asked ||
		    waits(record) == command->is_past ||
		    (command->filter_account.len &&
		     !str_equal(operation->account, command->filter_account)) ||
		    (!from_newest && memcmp(operation->id.bytes, before->bytes, 8) >= 0))
			continue;
		if (command->found_count == command->limit ||
		    shown_so_far(command) >= STORE_SHOWN_MAX) {
			command->has_more = true;
			return 0;
		}
		if (add_found(command, record) < 0)
			return FAIL_MEMORY;
		command->next_before = operation->id;
	}
	return 0;
}

int mem_approvals(const struct memory *memory, struct store_command *command)
{
	static const struct operation_id newest;
	int r;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->found_count = 0;
	command->has_more = false;
	command->next_before = command->before;
	command->found = arena_zalloc(command->mem, command->limit * sizeof(*command->found));
	command->approvals =
		arena_zalloc(command->mem, command->limit * sizeof(*command->approvals));
	if (!command->found || !command->approvals)
		return FAIL_MEMORY;
	r = fill_page(memory, command, &command->before);
	if (r != 0 || command->has_more || command->is_past ||
	    command->filter_state == STATE_AWAITING_APPROVAL)
		return r;
	command->is_past = true;
	command->next_before = newest;
	return fill_page(memory, command, &newest);
}
