/*
 * The rows of the in-memory store: added, looked up, put aside before they are changed.
 *
 * Looked through from end to end, because a test has few. Each row has a piece of memory of its
 * own and stays there. A record's texts are copied into its arena and never freed one by one.
 */
#include "store/mem_internal.h"

#include "base/err.h"

#include <stdlib.h>

enum { RECORD_BYTES_MAX = 64 * 1024 * 1024 }; /* of one record's texts */

void *mem_add(struct memory *memory, enum mem_table which, size_t size)
{
	struct table *table = &memory->tables[which];
	size_t room = table->room ? table->room * 2 : 64;
	void **rows, *row;

	if (table->count == table->room) {
		rows = realloc(table->rows, room * sizeof(*rows));
		if (!rows)
			return NULL;
		table->rows = rows;
		table->room = room;
	}
	row = calloc(1, size);
	if (row)
		table->rows[table->count++] = row;
	return row;
}

/* Put a row aside before it is changed. */
int mem_touch(struct memory *memory, void *row, size_t size)
{
	struct saved *saved = malloc(sizeof(*saved) + size);

	if (!saved)
		return fail(FAIL_UNPLANNED);
	saved->row = row;
	saved->size = size;
	memcpy(saved->was, row, size);
	saved->next = memory->saved;
	memory->saved = saved;
	return 0;
}

struct mark mem_mark(const struct memory *memory)
{
	struct mark mark = {.newest = memory->saved};

	for (int i = 0; i < TABLE_COUNT; i++)
		mark.counts[i] = memory->tables[i].count;
	return mark;
}

static void drop_last(struct memory *memory, enum mem_table which)
{
	struct table *table = &memory->tables[which];
	void *row = table->rows[--table->count];

	if (which == TABLE_RECORDS) {
		struct record *record = row;

		arena_fini(record->mem);
		free(record->mem);
	}
	free(row);
}

/* Newest first, so that a row that was touched twice ends as it was at first. */
void mem_back_to(struct memory *memory, const struct mark *mark)
{
	struct saved *saved;

	while ((saved = memory->saved) != mark->newest) {
		memcpy(saved->row, saved->was, saved->size);
		memory->saved = saved->next;
		free(saved);
	}
	for (int i = 0; i < TABLE_COUNT; i++)
		while (memory->tables[i].count > mark->counts[i])
			drop_last(memory, (enum mem_table)i);
}

void mem_forget_saved(struct memory *memory)
{
	struct saved *saved;

	while ((saved = memory->saved)) {
		memory->saved = saved->next;
		free(saved);
	}
}

void mem_free_rows(struct memory *memory)
{
	const struct mark empty = {0};

	mem_forget_saved(memory);
	mem_back_to(memory, &empty);
	for (int i = 0; i < TABLE_COUNT; i++)
		free(memory->tables[i].rows);
}

size_t record_count(const struct memory *memory)
{
	return memory->tables[TABLE_RECORDS].count;
}

struct record *record_at(const struct memory *memory, size_t i)
{
	return memory->tables[TABLE_RECORDS].rows[i];
}

struct lock *lock_at(const struct memory *memory, size_t i)
{
	return memory->tables[TABLE_LOCKS].rows[i];
}

struct record *record_add(struct memory *memory)
{
	struct arena *mem = malloc(sizeof(*mem));
	struct record *record = mem ? mem_add(memory, TABLE_RECORDS, sizeof(struct record)) : NULL;

	if (!record) {
		free(mem);
		return NULL;
	}
	arena_init(mem, RECORD_BYTES_MAX);
	record->mem = mem;
	return record;
}

int record_touch(struct memory *memory, struct record *record)
{
	return mem_touch(memory, record, sizeof(*record));
}

bool record_is_there(const struct record *record)
{
	return !record->is_forgotten && !record->is_gone;
}

struct record *record_by_token(const struct memory *memory, struct str account, struct str token)
{
	for (size_t i = record_count(memory); i-- > 0;) {
		struct record *record = record_at(memory, i);

		if (!record->is_gone && str_equal(record->operation.account, account) &&
		    str_equal(record->operation.token, token))
			return record;
	}
	return NULL;
}

struct record *record_by_id(const struct memory *memory, const struct operation_id *id,
			    struct str account)
{
	for (size_t i = record_count(memory); i-- > 0;) {
		struct record *record = record_at(memory, i);

		if (memcmp(record->operation.id.bytes, id->bytes, OPERATION_ID_SIZE) == 0 &&
		    record_is_there(record) &&
		    (!account.len || str_equal(account, record->operation.account)))
			return record;
	}
	return NULL;
}

int record_add_attempt(struct record *record, const struct store_attempt *attempt)
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

struct store_attempt *record_attempt(struct record *record, uint32_t n)
{
	size_t dropped = record->operation.attempts - record->attempt_count;

	if (n == 0 || n > record->operation.attempts)
		return NULL;
	if (n == 1)
		return &record->attempts[0];
	return n - 1 > dropped ? &record->attempts[n - 1 - dropped] : NULL;
}

bool take_text(struct arena *mem, struct str *text)
{
	struct str copy = arena_str(mem, *text);

	if (!copy.at)
		return false;
	*text = copy;
	return true;
}

static bool take_all(struct arena *mem, struct str **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!take_text(mem, texts[i]))
			return false;
	return true;
}

bool take_operation(struct arena *mem, struct store_operation *operation)
{
	struct str *texts[] = {
		&operation->account,	    &operation->token,	     &operation->method,
		&operation->path,	    &operation->action,	     &operation->upstream,
		&operation->retry_of,	    &operation->probe,	     &operation->reference,
		&operation->resource,	    &operation->reason,	     &operation->decided_by,
		&operation->answer.headers, &operation->answer.body,
	};

	return take_all(mem, texts, sizeof(texts) / sizeof(texts[0]));
}

bool take_request(struct arena *mem, struct store_request *request)
{
	struct str *texts[] = {&request->method, &request->target, &request->headers,
			       &request->body,	 &request->lookup, &request->key_place};

	return take_all(mem, texts, sizeof(texts) / sizeof(texts[0]));
}

bool take_attempt(struct arena *mem, struct store_attempt *attempt)
{
	struct str *texts[] = {&attempt->agent, &attempt->credential, &attempt->task,
			       &attempt->step,	&attempt->request_id, &attempt->note};

	return take_all(mem, texts, sizeof(texts) / sizeof(texts[0]));
}

int mem_give(struct store_command *command, const struct store_operation *operation)
{
	struct store_operation *copy = arena_zalloc(command->mem, sizeof(*copy));

	if (!copy)
		return FAIL_MEMORY;
	*copy = *operation;
	if (!take_operation(command->mem, copy))
		return FAIL_MEMORY;
	command->record = copy;
	return 0;
}
