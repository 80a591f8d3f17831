/*
 * What the gate has to see to by itself, from the in-memory store.
 *
 * What is due is handed out oldest due time first, the earlier claim first among equals. A lock's
 * line keeps only its first one due (see mem_rules.c), so that nobody is taken out of turn.
 */
#include "store/approvals.h"
#include "store/mem_internal.h"

#include "base/err.h"

static bool is_errand(const struct record *record, const struct store_command *command)
{
	const struct store_operation *operation = &record->operation;
	bool is_wanted = command->kind == STORE_TAKE
				 ? operation->state == STATE_QUEUED && operation->is_dispatched
				 : operation->state == STATE_UNKNOWN;

	return record_is_there(record) && is_wanted && operation->due_ms > 0 &&
	       operation->due_ms < INT64_MAX &&
	       str_equal(operation->upstream, command->operation.upstream);
}

/* The first one due; NULL: none ever is. */
static struct record *next_errand(const struct memory *memory, const struct store_command *command)
{
	struct record *first = NULL;

	for (size_t i = 0; i < record_count(memory); i++) {
		struct record *record = record_at(memory, i);

		if (is_errand(record, command) &&
		    (!first || record->operation.due_ms < first->operation.due_ms))
			first = record;
	}
	return first;
}

static int64_t due_of(const struct record *record, int64_t now_ms)
{
	const struct store_operation *operation = &record->operation;

	return operation->state == STATE_QUEUED
		       ? queued_due(operation->due_ms, operation->updated_ms, now_ms)
		       : operation->due_ms;
}

bool mem_has_errand(const struct memory *memory, const struct store_command *command)
{
	const struct record *record = next_errand(memory, command);
	int64_t now_ms = env_wall_ms(memory->env);

	return record && due_of(record, now_ms) <= now_ms;
}

/* One more for the caller, as it is now. */
static int give_errand(const struct memory *memory, struct store_command *command,
		       const struct record *record)
{
	struct store_errand *errand = &command->errands[command->errand_count];

	errand->operation = record->operation;
	errand->operation.answer = (struct store_answer){0};
	errand->request = record->request;
	errand->fence = record->fence;
	errand->approval = record->approval;
	errand->approval.shown = STR("");
	if (!take_approval(command->mem, &errand->approval) ||
	    !take_operation(command->mem, &errand->operation) ||
	    !take_request(command->mem, &errand->request))
		return FAIL_MEMORY;
	command->errand_count++;
	return 0;
}

static int make_room(struct store_command *command)
{
	require(command->limit >= 1 && command->limit <= STORE_ERRANDS_MAX);
	command->errand_count = command->cancelled_count = 0;
	command->due_ms = 0;
	command->errands = arena_zalloc(command->mem, command->limit * sizeof(*command->errands));
	command->cancelled =
		arena_zalloc(command->mem, STORE_ERRANDS_MAX * sizeof(*command->cancelled));
	return command->errands && command->cancelled ? 0 : FAIL_MEMORY;
}

/* Its turn has come, and its version will never be the lock's again. */
static int cancel(struct memory *memory, struct store_command *command, struct record *record,
		  int64_t now_ms)
{
	const struct lock *lock = lock_by_hash(memory, &record->rules.lock);
	struct store_operation *operation = &record->operation;
	int r = record_touch(memory, record);

	if (r < 0)
		return r;
	require(operation_move(operation->state, EVENT_CANCELLED, &operation->state) == 0);
	operation->updated_ms = now_ms;
	operation->expires_ms = time_add(now_ms, record->plain_retention_ms);
	operation->due_ms = 0;
	operation->reason = arena_printf(
		record->mem, "when its turn came, the lock was at version %llu, and not %lld",
		(unsigned long long)(lock ? lock->version : 0), (long long)record->rules.version);
	operation->decided_by = STR("gate");
	if (!operation->reason.at)
		return fail(FAIL_UNPLANNED);
	command->cancelled[command->cancelled_count++] = operation->id;
	return record_follow(memory, record, now_ms, &command->makes_due);
}

static int send_one(struct memory *memory, struct store_command *command, struct record *record,
		    int64_t now_ms)
{
	int r = record_touch(memory, record);

	if (r == 0)
		r = mem_send(memory, record, now_ms);
	if (r == 0)
		r = record_add_attempt(record, &command->attempt);
	if (r == 0)
		r = give_errand(memory, command, record);
	if (r == 0)
		command->errands[command->errand_count - 1].attempt_number =
			record->operation.attempts;
	return r;
}

static int take_one(struct memory *memory, struct store_command *command, struct record *record,
		    int64_t now_ms)
{
	struct record *before = NULL;
	int judged =
		record->rules.has_lock ? lock_judge(memory, &record->rules, record, &before) : 0;

	if (record->operation.is_asked &&
	    !approval_lets(&record->approval, &record->agreed, &record->operation.fingerprint)) {
		judged = record_touch(memory, record);
		record->operation.due_ms = INT64_MAX; /* somebody may cancel it */
		return judged;
	}
	require(judged != STORE_LOCKED); /* or else it would not be due */
	return judged == STORE_VERSION ? cancel(memory, command, record, now_ms)
				       : send_one(memory, command, record, now_ms);
}

static int lease_one(struct memory *memory, struct store_command *command, struct record *record,
		     int64_t now_ms)
{
	int r = record_touch(memory, record);

	if (r < 0)
		return r;
	record->operation.due_ms = time_add(now_ms, STORE_LEASE_MS);
	return give_errand(memory, command, record);
}

/*
 * Each round makes the first that is due due no longer, so that it is not there for the next one.
 * As many as there is memory for: the others are still due.
 */
static int hand_out(struct memory *memory, struct store_command *command,
		    int (*one)(struct memory *, struct store_command *, struct record *, int64_t))
{
	int64_t now_ms = env_wall_ms(memory->env);
	struct record *record;
	struct mark mark;
	int r = make_room(command);

	while (r == 0 && (record = next_errand(memory, command))) {
		command->due_ms = due_of(record, now_ms);
		if (command->due_ms > now_ms || command->errand_count == command->limit ||
		    command->cancelled_count == STORE_ERRANDS_MAX)
			return 0;
		mark = mem_mark(memory);
		r = one(memory, command, record, now_ms);
		if (r == FAIL_MEMORY && command->errand_count) {
			mem_back_to(memory, &mark);
			return 0;
		}
		command->due_ms = 0;
	}
	return r;
}

int mem_take(struct memory *memory, struct store_command *command)
{
	return hand_out(memory, command, take_one);
}

int mem_due(struct memory *memory, struct store_command *command)
{
	return hand_out(memory, command, lease_one);
}
