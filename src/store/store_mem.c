/*
 * The in-memory twin of the ledger, for tests of what stands above.
 *
 * Here is the engine: what the committer calls, and the transactions. A transaction keeps copies
 * of the rows it touched (mem_rows.c); rolling back puts them back. A command that is refused, or
 * that fails for want of its caller's memory, is taken back in the same way, and its neighbours
 * stay. The rules it shares with the ledger are in rules.h; that both keep the contract is shown
 * by test programs that run against both.
 */
#include "store/store_mem.h"

#include "base/err.h"
#include "store/mem_internal.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	HELD_POLL_US = 500,
	LOCK_TEXTS_MAX = 64 * 1024 * 1024,
	DOCUMENT_TEXTS_MAX = 256 * 1024 * 1024, /* also of those that have been replaced */
};

static bool memory_look(struct engine *engine, struct store_command *command);
static int memory_begin(struct engine *engine);
static int memory_apply(struct engine *engine, struct store_command *command);
static int memory_commit(struct engine *engine);
static void memory_rollback(struct engine *engine);
static void memory_tidy(struct engine *engine);
static int64_t memory_tidy_due_ms(struct engine *engine);
static void memory_count(struct engine *engine, uint64_t out_counts[STATE_COUNT]);
static void memory_close(struct engine *engine);

static const struct engine_kind memory_kind = {
	.look = memory_look,
	.begin = memory_begin,
	.apply = memory_apply,
	.commit = memory_commit,
	.rollback = memory_rollback,
	.tidy = memory_tidy,
	.tidy_due_ms = memory_tidy_due_ms,
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
	arena_init(&memory->lock_texts, LOCK_TEXTS_MAX);
	arena_init(&memory->document_texts, DOCUMENT_TEXTS_MAX);
	return committer_start(&memory->engine, env, log, out_store);
}

static int64_t memory_tidy_due_ms(struct engine *engine)
{
	return -1;
}

static void memory_close(struct engine *engine)
{
	struct memory *memory = memory_of(engine);

	mem_free_rows(memory);
	arena_fini(&memory->lock_texts);
	arena_fini(&memory->document_texts);
	free(memory);
}

/* What an earlier try of this command, whose transaction was lost, has left in it. */
static void clear_results(struct store_command *command)
{
	command->record = NULL;
	command->question = NULL;
	command->did_pick_up = false;
	command->fence = 0;
	command->makes_due = false;
	command->view = (struct store_rule_view){0};
	command->errands = NULL;
	command->errand_count = 0;
}

static bool memory_look(struct engine *engine, struct store_command *command)
{
	struct memory *memory = memory_of(engine);
	bool changes = false;

	clear_results(command);
	switch (command->kind) {
	case STORE_FIND:
		command->result = mem_find(memory, command);
		break;
	case STORE_LIST:
		command->result = mem_list(memory, command);
		break;
	case STORE_LOCKS:
		command->result = mem_locks(memory, command);
		break;
	case STORE_BUDGETS:
		command->result = mem_budgets(memory, command);
		break;
	case STORE_APPROVALS:
		command->result = mem_approvals(memory, command);
		break;
	case STORE_NOTICES:
		command->result = mem_notices(memory, command);
		break;
	case STORE_LAPSE:
		changes = mem_has_lapsed(memory, command);
		command->result = 0;
		break;
	case STORE_KEPT:
		command->result = mem_kept(memory, command);
		break;
	case STORE_COUNT_STATES:
		memory_count(engine, command->counts);
		command->result = 0;
		break;
	case STORE_CLAIM:
		command->result = mem_claim(memory, command, true, &changes);
		break;
	case STORE_TAKE:
		changes = mem_has_errand(memory, command);
		command->result = changes ? 0 : mem_take(memory, command);
		break;
	case STORE_DUE:
		changes = mem_has_errand(memory, command);
		command->result = changes ? 0 : mem_due(memory, command);
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

	memory->begin = mem_mark(memory);
	memory->transaction++;
	if (memory->script)
		memory->script->transactions = memory->transaction;
	return 0;
}

static int carry_out(struct memory *memory, struct store_command *command)
{
	bool changes;

	switch (command->kind) {
	case STORE_CLAIM:
		return mem_claim(memory, command, false, &changes);
	case STORE_SETTLE:
	case STORE_MOVE:
		return mem_change(memory, command);
	case STORE_POSTPONE:
		return mem_postpone(memory, command);
	case STORE_RELEASE:
		return mem_release(memory, command);
	case STORE_TAKE:
		return mem_take(memory, command);
	case STORE_DUE:
		return mem_due(memory, command);
	case STORE_NOTE:
		return mem_note(memory, command);
	case STORE_TELL: /* it keeps no log */
		return 0;
	case STORE_KEEP:
		return mem_keep(memory, command);
	case STORE_DROP:
		return mem_drop(memory, command);
	case STORE_ROTATE:
	case STORE_ERASE:
		return STORE_ABSENT;
	case STORE_AMEND:
		return mem_amend(memory, command);
	case STORE_APPROVE:
	case STORE_DENY:
		return mem_answer(memory, command);
	case STORE_ASK_AGAIN:
		return mem_ask_again(memory, command);
	case STORE_LAPSE:
		return mem_lapse(memory, command);
	case STORE_NOTICED:
		return mem_noticed(memory, command);
	case STORE_PURGE:
		return mem_purge(memory, command);
	default:
		unreachable("what changes nothing has been answered by memory_look");
	}
}

static int memory_apply(struct engine *engine, struct store_command *command)
{
	struct memory *memory = memory_of(engine);
	struct mark before = mem_mark(memory);
	int r;

	clear_results(command);
	r = carry_out(memory, command);
	if (r != 0 && r != STORE_LAPSED)
		mem_back_to(memory, &before);
	if (r < 0 && r != FAIL_MEMORY && r != FAIL_LIMIT)
		return r;
	command->result = r;
	return 0;
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
	mem_forget_saved(memory);
	if (fault != STORE_MEM_UNCERTAIN_APPLIED)
		return 0;
	memory->doubts++;
	return FAIL_UNCERTAIN;
}

static void memory_rollback(struct engine *engine)
{
	struct memory *memory = memory_of(engine);

	mem_back_to(memory, &memory->begin);
}

static void memory_tidy(struct engine *engine)
{
}

static void memory_count(struct engine *engine, uint64_t out_counts[STATE_COUNT])
{
	struct memory *memory = memory_of(engine);

	memset(out_counts, 0, STATE_COUNT * sizeof(out_counts[0]));
	for (size_t i = 0; i < record_count(memory); i++)
		if (record_is_there(record_at(memory, i)))
			out_counts[record_at(memory, i)->operation.state]++;
}
