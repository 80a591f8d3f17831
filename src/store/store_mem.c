/*
 * The in-memory twin of the ledger: an array of records, for tests of what stands above.
 *
 * Looked through from end to end, because a test has few. A record's texts are copied into
 * its own arena and never freed one by one. A transaction keeps copies of the records it
 * touched; rolling back puts them back. The rules it shares with the ledger are in rules.h;
 * that both keep the contract is shown by one test program that runs against both.
 */
#include "store/store_mem.h"

#include "base/err.h"
#include "store/committer.h"
#include "store/rules.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	RECORD_BYTES_MAX = 64 * 1024 * 1024, /* of one record's texts */
	HELD_POLL_US = 500,
};

struct record {
	struct store_operation operation;
	struct store_attempt attempts[STORE_HISTORY_MAX];
	size_t attempt_count;
	bool is_forgotten; /* only its tombstone is left */
	bool is_gone;	   /* not even that */
	int64_t until_ms;  /* of the tombstone */
	struct arena *mem;
};

struct saved {
	size_t index;
	struct record record;
	struct saved *next;
};

struct memory {
	struct engine engine;
	const struct env *env;
	struct store_mem_script *script; /* or NULL */
	struct record *records;		 /* oldest first */
	size_t count, room;
	size_t count_before;
	struct saved *saved; /* newest first */
	uint64_t last_op;
	uint64_t transaction;
	struct lapse lapse;
	uint32_t doubts; /* transactions that were uncertain */
};

static bool memory_look(struct engine *engine, struct store_command *command);
static int memory_begin(struct engine *engine);
static int memory_apply(struct engine *engine, struct store_command *command);
static int memory_commit(struct engine *engine);
static void memory_rollback(struct engine *engine);
static void memory_tidy(struct engine *engine);
static void memory_count(struct engine *engine, uint64_t out_counts[STATE_COUNT]);
static void memory_close(struct engine *engine);

static const struct engine_kind memory_kind = {
	.look = memory_look,
	.begin = memory_begin,
	.apply = memory_apply,
	.commit = memory_commit,
	.rollback = memory_rollback,
	.tidy = memory_tidy,
	.count = memory_count,
	.close = memory_close,
};

static struct memory *memory_of(struct engine *engine)
{
	return (struct memory *)(void *)((char *)engine - offsetof(struct memory, engine));
}

int store_open_memory(struct store_mem_script *script, const struct env *env, struct log *log,
		      struct store **out_store)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return fail(FAIL_MEMORY);
	memory->engine.kind = &memory_kind;
	memory->env = env;
	memory->script = script;
	return committer_start(&memory->engine, env, log, out_store);
}

static void memory_close(struct engine *engine)
{
	struct memory *memory = memory_of(engine);

	for (size_t i = 0; i < memory->count; i++) {
		arena_fini(memory->records[i].mem);
		free(memory->records[i].mem);
	}
	free(memory->records);
	free(memory);
}

/* Put the record aside before it is changed. */
static int touch(struct memory *memory, struct record *record)
{
	struct saved *saved = malloc(sizeof(*saved));

	if (!saved)
		return fail(FAIL_UNPLANNED);
	saved->index = (size_t)(record - memory->records);
	saved->record = *record;
	saved->next = memory->saved;
	memory->saved = saved;
	return 0;
}

static bool take_text(struct arena *mem, struct str *text)
{
	struct str copy = arena_str(mem, *text);

	if (!copy.at)
		return false;
	*text = copy;
	return true;
}

/* Let an operation's texts live in `mem`. */
static bool take_texts(struct arena *mem, struct store_operation *operation)
{
	struct str *texts[] = {
		&operation->account,	&operation->token,	    &operation->method,
		&operation->path,	&operation->action,	    &operation->upstream,
		&operation->retry_of,	&operation->reference,	    &operation->reason,
		&operation->decided_by, &operation->answer.headers, &operation->answer.body,
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!take_text(mem, texts[i]))
			return false;
	return true;
}

static bool take_attempt(struct arena *mem, struct store_attempt *attempt)
{
	return take_text(mem, &attempt->agent) && take_text(mem, &attempt->task) &&
	       take_text(mem, &attempt->step) && take_text(mem, &attempt->request_id);
}

static bool is_there(const struct record *record)
{
	return !record->is_forgotten && !record->is_gone;
}

/* The newest record of a token, forgotten or not. */
static struct record *find_token(struct memory *memory, struct str account, struct str token)
{
	for (size_t i = memory->count; i-- > 0;) {
		struct record *record = &memory->records[i];

		if (!record->is_gone && str_equal(record->operation.account, account) &&
		    str_equal(record->operation.token, token))
			return record;
	}
	return NULL;
}

static struct record *find_id(struct memory *memory, const struct operation_id *id,
			      struct str account)
{
	for (size_t i = memory->count; i-- > 0;) {
		struct record *record = &memory->records[i];

		if (memcmp(record->operation.id.bytes, id->bytes, OPERATION_ID_SIZE) == 0 &&
		    is_there(record) &&
		    (!account.len || str_equal(account, record->operation.account)))
			return record;
	}
	return NULL;
}

/* What the caller gets: a copy in its arena. FAIL_MEMORY before anything was changed. */
static int give(struct store_command *command, const struct store_operation *operation)
{
	struct store_operation *copy = arena_zalloc(command->mem, sizeof(*copy));

	if (!copy)
		return FAIL_MEMORY;
	*copy = *operation;
	if (!take_texts(command->mem, copy))
		return FAIL_MEMORY;
	command->record = copy;
	return 0;
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

static int check_retry(struct memory *memory, struct store_command *command)
{
	struct store_operation *named;
	struct record *record = NULL;
	struct operation_id id;

	if (!command->operation.retry_of.len)
		return 0;
	if (operation_id_read(command->operation.retry_of, &id))
		record = find_id(memory, &id, command->operation.account);
	if (record && claim_may_retry(&record->operation))
		return 0;
	if (record)
		return give(command, &record->operation) < 0 ? FAIL_MEMORY : STORE_RETRY_REFUSED;
	named = arena_zalloc(command->mem, sizeof(*named));
	command->record = named;
	return named ? STORE_RETRY_REFUSED : FAIL_MEMORY;
}

static int add_attempt(struct record *record, const struct store_attempt *attempt);

static struct record *add_record(struct memory *memory)
{
	size_t room = memory->room ? memory->room * 2 : 64;
	struct record *records;
	struct arena *mem;

	if (memory->count == memory->room) {
		records = realloc(memory->records, room * sizeof(*records));
		if (!records)
			return NULL;
		memory->records = records;
		memory->room = room;
	}
	mem = malloc(sizeof(*mem));
	if (!mem)
		return NULL;
	arena_init(mem, RECORD_BYTES_MAX);
	memory->records[memory->count] = (struct record){.mem = mem};
	return &memory->records[memory->count++];
}

static int scripted(const struct memory *memory, const struct store_command *command)
{
	const struct store_mem_script *script = memory->script;

	if (script && script->full_after && memory->count >= script->full_after)
		return FAIL_STORE;
	if (script && script->poison &&
	    str_equal(command->operation.token, str_from(script->poison)))
		return FAIL_UNPLANNED;
	return 0;
}

static int claim_new(struct memory *memory, struct store_command *command, int64_t now_ms)
{
	struct store_operation *operation = &command->operation;
	struct record *record;
	int r = check_retry(memory, command);

	if (r != 0)
		return r;
	r = scripted(memory, command);
	if (r < 0)
		return r;
	record = add_record(memory);
	if (!record)
		return fail(FAIL_UNPLANNED);
	make_id(memory, now_ms, &operation->id);
	record_start(operation, now_ms, command->retention_ms);
	record->operation = *operation;
	record->operation.answer = (struct store_answer){0};
	record->operation.reference = record->operation.reason = record->operation.decided_by =
		STR("");
	if (!take_texts(record->mem, &record->operation))
		return fail(FAIL_UNPLANNED);
	r = add_attempt(record, &command->attempt);
	command->attempt_number = operation->attempts = record->operation.attempts;
	return r;
}

static int claim(struct memory *memory, struct store_command *command, bool only_look,
		 bool *out_changes)
{
	const struct store_operation *asked = &command->operation;
	struct record *record = find_token(memory, asked->account, asked->token);
	int64_t now_ms = env_wall_ms(memory->env);
	int64_t lapse_ms = lapse_now(&memory->lapse, memory->env);
	enum claim_way way = CLAIM_IS_NEW;
	int r;

	if (record)
		way = record->is_forgotten
			      ? claim_way_tombstone(command, record->until_ms, lapse_ms)
			      : claim_way(command, &record->operation, lapse_ms);
	*out_changes = way == CLAIM_IS_NEW || way == CLAIM_PICKS_UP;
	if (only_look && *out_changes)
		return 0;
	if (way == CLAIM_IS_EXPIRED)
		return STORE_EXPIRED;
	if (way == CLAIM_IS_NEW)
		return claim_new(memory, command, now_ms);
	r = give(command, &record->operation);
	if (r < 0)
		return r;
	if (way == CLAIM_IS_TAKEN) {
		if (!hash_equal(&asked->fingerprint, &record->operation.fingerprint))
			command->record->answer = (struct store_answer){0};
		return STORE_EXISTS;
	}
	r = touch(memory, record);
	if (r < 0)
		return r;
	require(operation_move(record->operation.state, EVENT_PICKED_UP,
			       &record->operation.state) == 0);
	record->operation.epoch = claim_epoch(&record->operation, memory->doubts);
	record->operation.updated_ms = now_ms;
	command->record->state = record->operation.state;
	command->record->epoch = record->operation.epoch;
	command->record->updated_ms = now_ms;
	command->did_pick_up = true;
	r = add_attempt(record, &command->attempt);
	command->attempt_number = command->record->attempts = record->operation.attempts;
	return r;
}

static int add_attempt(struct record *record, const struct store_attempt *attempt)
{
	struct store_attempt copy = *attempt;

	copy.at_ms = attempt_time(attempt, record->operation.created_ms);
	if (!take_attempt(record->mem, &copy))
		return fail(FAIL_UNPLANNED);
	if (record->attempt_count == STORE_HISTORY_MAX) {
		memmove(&record->attempts[1], &record->attempts[2],
			(STORE_HISTORY_MAX - 2) * sizeof(copy));
		record->attempt_count--;
	}
	record->attempts[record->attempt_count++] = copy;
	record->operation.attempts++;
	return 0;
}

/* An attempt by its number, while it is kept. */
static struct store_attempt *find_attempt(struct record *record, uint32_t n)
{
	size_t dropped = record->operation.attempts - record->attempt_count;

	if (n == 0 || n > record->operation.attempts)
		return NULL;
	if (n == 1)
		return &record->attempts[0];
	return n - 1 > dropped ? &record->attempts[n - 1 - dropped] : NULL;
}

/* A settlement ends the attempt it names; a move may record one of its own. */
static int change_attempts(struct record *record, const struct store_command *command)
{
	struct store_attempt *ended;

	if (command->kind == STORE_MOVE)
		return command->attempt.outcome ? add_attempt(record, &command->attempt) : 0;
	ended = find_attempt(record, command->attempt_number);
	if (ended)
		ended->outcome = command->attempt.outcome;
	return 0;
}

/* Settle and move. */
static int change(struct memory *memory, struct store_command *command)
{
	struct store_operation next;
	struct record *record;
	int r;

	record = find_id(memory, &command->operation.id, command->operation.account);
	if (!record)
		return STORE_ABSENT;
	next = record->operation;
	r = record_move(&next, command, env_wall_ms(memory->env));
	if (r != 0)
		return give(command, &record->operation) < 0 ? FAIL_MEMORY : r;
	if (command->answer.status)
		next.answer = command->answer;
	if (command->kind == STORE_MOVE && give(command, &next) < 0)
		return FAIL_MEMORY;
	r = touch(memory, record);
	if (r < 0)
		return r;
	if (!take_texts(record->mem, &next))
		return fail(FAIL_UNPLANNED);
	record->operation = next;
	r = change_attempts(record, command);
	if (command->record)
		command->record->attempts = record->operation.attempts;
	command->operation.state = next.state;
	command->operation.attempts = record->operation.attempts;
	command->operation.updated_ms = next.updated_ms;
	command->operation.expires_ms = next.expires_ms;
	return r;
}

static int note(struct memory *memory, struct store_command *command)
{
	struct record *record = find_id(memory, &command->operation.id, STR(""));
	int r;

	if (!record)
		return STORE_ABSENT;
	r = touch(memory, record);
	return r == 0 ? add_attempt(record, &command->attempt) : r;
}

static int amend(struct memory *memory, struct store_command *command)
{
	struct record *record = find_id(memory, &command->operation.id, STR(""));
	struct store_attempt *attempt =
		record ? find_attempt(record, command->attempt_number) : NULL;
	int r;

	if (!attempt)
		return STORE_ABSENT;
	r = touch(memory, record);
	if (r == 0)
		attempt->delivered = command->attempt.delivered;
	return r;
}

static int forget(struct memory *memory, struct store_command *command, struct record *record,
		  int64_t now_ms)
{
	int r = touch(memory, record);

	if (r < 0)
		return r;
	if (is_there(record)) {
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

static int purge(struct memory *memory, struct store_command *command)
{
	int64_t now_ms = lapse_now(&memory->lapse, memory->env);
	int r = 0;

	command->purged = command->tombstones = 0;
	command->has_more = false;
	for (size_t i = 0; r == 0 && i < memory->count; i++) {
		struct record *record = &memory->records[i];
		bool is_due = is_there(record) ? operation_is_terminal(record->operation.state) &&
							 record->operation.expires_ms <= now_ms
					       : !record->is_gone && record->until_ms <= now_ms;
		uint64_t done = is_there(record) ? command->purged : command->tombstones;

		if (is_due && done < STORE_PURGE_MAX)
			r = forget(memory, command, record, now_ms);
		else if (is_due)
			command->has_more = true;
	}
	return r;
}

static int find(struct memory *memory, struct store_command *command)
{
	const struct store_operation *asked = &command->operation;
	struct record *record = command->by_id ? find_id(memory, &asked->id, asked->account)
					       : find_token(memory, asked->account, asked->token);
	size_t size;

	if (!record || !is_there(record))
		return STORE_ABSENT;
	size = record->attempt_count * sizeof(struct store_attempt);
	command->attempts = arena_zalloc(command->mem, size ? size : 1);
	if (!command->attempts)
		return FAIL_MEMORY;
	if (size)
		memcpy(command->attempts, record->attempts, size);
	command->attempt_count = record->attempt_count;
	for (size_t i = 0; i < record->attempt_count; i++)
		if (!take_attempt(command->mem, &command->attempts[i]))
			return FAIL_MEMORY;
	return give(command, &record->operation);
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

	return is_there(record) &&
	       (!command->filter_account.len ||
		str_equal(command->filter_account, operation->account)) &&
	       (!command->filter_token.len || str_equal(command->filter_token, operation->token)) &&
	       (!command->filter_state || command->filter_state == operation->state) &&
	       has_task(record, command->filter_task);
}

static int list(struct memory *memory, struct store_command *command)
{
	static const struct operation_id newest;
	bool from_newest = memcmp(&command->before, &newest, sizeof(newest)) == 0;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->found_count = 0;
	command->has_more = false;
	command->found = arena_zalloc(command->mem, command->limit * sizeof(*command->found));
	if (!command->found)
		return FAIL_MEMORY;
	for (size_t i = memory->count; i-- > 0;) {
		const struct record *record = &memory->records[i];
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
		if (!take_texts(command->mem, found))
			return FAIL_MEMORY;
		command->found_count++;
	}
	return 0;
}

static bool memory_look(struct engine *engine, struct store_command *command)
{
	struct memory *memory = memory_of(engine);
	bool changes = false;

	switch (command->kind) {
	case STORE_FIND:
		command->result = find(memory, command);
		break;
	case STORE_LIST:
		command->result = list(memory, command);
		break;
	case STORE_COUNT_STATES:
		memory_count(engine, command->counts);
		command->result = 0;
		break;
	case STORE_CLAIM:
		command->result = claim(memory, command, true, &changes);
		break;
	default:
		return false;
	}
	return !changes;
}

static enum store_mem_fault_kind fault_of(const struct memory *memory)
{
	const struct store_mem_script *script = memory->script;

	for (int i = 0; script && i < script->fault_count; i++)
		if (script->faults[i].transaction == memory->transaction)
			return script->faults[i].kind;
	return 0;
}

static int memory_begin(struct engine *engine)
{
	struct memory *memory = memory_of(engine);

	memory->count_before = memory->count;
	memory->transaction++;
	if (memory->script)
		memory->script->transactions = memory->transaction;
	return 0;
}

static int memory_apply(struct engine *engine, struct store_command *command)
{
	struct memory *memory = memory_of(engine);
	bool changes;
	int r;

	switch (command->kind) {
	case STORE_CLAIM:
		r = claim(memory, command, false, &changes);
		break;
	case STORE_SETTLE:
	case STORE_MOVE:
		r = change(memory, command);
		break;
	case STORE_NOTE:
		r = note(memory, command);
		break;
	case STORE_AMEND:
		r = amend(memory, command);
		break;
	case STORE_PURGE:
		r = purge(memory, command);
		break;
	default:
		unreachable("what changes nothing has been answered by memory_look");
	}
	if (r < 0 && r != FAIL_MEMORY)
		return r;
	command->result = r;
	return 0;
}

static void drop_saved(struct memory *memory)
{
	struct saved *saved;

	while ((saved = memory->saved)) {
		memory->saved = saved->next;
		free(saved);
	}
}

static int memory_commit(struct engine *engine)
{
	struct memory *memory = memory_of(engine);
	enum store_mem_fault_kind fault = fault_of(memory);

	while (memory->script && memory->script->is_held)
		usleep(HELD_POLL_US);
	switch (fault) {
	case STORE_MEM_REFUSED:
		memory_rollback(engine);
		return FAIL_STORE;
	case STORE_MEM_UNCERTAIN_LOST:
		memory_rollback(engine);
		memory->doubts++;
		return FAIL_UNCERTAIN;
	case STORE_MEM_SLOW:
		usleep((useconds_t)memory->script->slow_ms * 1000);
		break;
	default:
		break;
	}
	drop_saved(memory);
	if (fault != STORE_MEM_UNCERTAIN_APPLIED)
		return 0;
	memory->doubts++;
	return FAIL_UNCERTAIN;
}

static void memory_rollback(struct engine *engine)
{
	struct memory *memory = memory_of(engine);

	for (struct saved *saved = memory->saved; saved; saved = saved->next)
		memory->records[saved->index] = saved->record;
	drop_saved(memory);
	while (memory->count > memory->count_before) {
		struct record *record = &memory->records[--memory->count];

		arena_fini(record->mem);
		free(record->mem);
	}
}

static void memory_tidy(struct engine *engine)
{
}

static void memory_count(struct engine *engine, uint64_t out_counts[STATE_COUNT])
{
	struct memory *memory = memory_of(engine);

	memset(out_counts, 0, STATE_COUNT * sizeof(out_counts[0]));
	for (size_t i = 0; i < memory->count; i++)
		if (is_there(&memory->records[i]))
			out_counts[memory->records[i].operation.state]++;
}
