/*
 * Documents of the in-memory store: one row each, marked as gone when it is dropped and used again
 * when its name comes back.
 */
#include "store/mem_internal.h"

#include "base/err.h"

#include <stdlib.h>

static size_t row_count(const struct memory *memory)
{
	return memory->tables[TABLE_DOCUMENTS].count;
}

static struct document *row_at(const struct memory *memory, size_t i)
{
	return memory->tables[TABLE_DOCUMENTS].rows[i];
}

/* The row of that kind and name, gone or not; NULL. */
static struct document *find(const struct memory *memory, const struct store_document *named)
{
	for (size_t i = 0; i < row_count(memory); i++) {
		struct document *row = row_at(memory, i);

		if (row->kept.kind == named->kind && str_equal(row->kept.name, named->name))
			return row;
	}
	return NULL;
}

static size_t count_kind(const struct memory *memory, enum document_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < row_count(memory); i++)
		count += row_at(memory, i)->kept.kind == kind && !row_at(memory, i)->is_gone;
	return count;
}

int mem_keep(struct memory *memory, struct store_command *command)
{
	struct store_document kept = command->document;
	struct document *row = find(memory, &kept);
	int r;

	if (!document_fits(&kept))
		return FAIL_LIMIT;
	if (row && !row->is_gone && command->must_be_new)
		return STORE_EXISTS;
	if ((!row || row->is_gone) && count_kind(memory, kept.kind) >= STORE_DOCUMENTS_MAX)
		return STORE_FULL;
	if (!row)
		row = mem_add(memory, TABLE_DOCUMENTS, sizeof(*row));
	r = row ? mem_touch(memory, row, sizeof(*row)) : fail(FAIL_UNPLANNED);
	if (r < 0)
		return r;
	if (!take_text(&memory->document_texts, &kept.name) ||
	    !take_text(&memory->document_texts, &kept.value))
		return fail(FAIL_UNPLANNED);
	kept.updated_ms = command->document.updated_ms = env_wall_ms(memory->env);
	*row = (struct document){.kept = kept};
	return 0;
}

int mem_drop(struct memory *memory, struct store_command *command)
{
	struct document *row = find(memory, &command->document);
	int r;

	if (!document_fits(&command->document))
		return FAIL_LIMIT;
	if (!row || row->is_gone)
		return STORE_ABSENT;
	r = mem_touch(memory, row, sizeof(*row));
	if (r == 0)
		row->is_gone = true;
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct store_document *first = a, *second = b;

	return str_compare(first->name, second->name);
}

int mem_kept(const struct memory *memory, struct store_command *command)
{
	size_t count = count_kind(memory, command->document.kind);

	command->document_count = 0;
	command->documents = arena_zalloc(command->mem, (count + 1) * sizeof(*command->documents));
	if (!command->documents)
		return FAIL_MEMORY;
	for (size_t i = 0; i < row_count(memory); i++) {
		struct document *row = row_at(memory, i);
		struct store_document *out = &command->documents[command->document_count];

		if (row->is_gone || row->kept.kind != command->document.kind)
			continue;
		*out = row->kept;
		if (!take_text(command->mem, &out->name) || !take_text(command->mem, &out->value))
			return FAIL_MEMORY;
		command->document_count++;
	}
	qsort(command->documents, count, sizeof(*command->documents), by_name);
	return 0;
}
