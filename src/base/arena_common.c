/* What both arenas share: their life, cleared pieces, copies of text, printf. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void arena_init(struct arena *arena, size_t ceiling)
{
	*arena = (struct arena){.ceiling = ceiling};
}

void arena_fini(struct arena *arena)
{
	struct arena_chunk *chunk;

	if (!arena)
		return;
	while ((chunk = arena->chunks)) {
		arena->chunks = chunk->next;
		free(chunk);
	}
	arena->used = 0;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
	void *piece = arena_alloc(arena, size);

	if (piece)
		memset(piece, 0, size);
	return piece;
}

struct str arena_str(struct arena *arena, struct str text)
{
	char *copy;

	if (text.len == SIZE_MAX)
		return str_of(NULL, 0);
	copy = arena_alloc(arena, text.len + 1);
	if (!copy)
		return str_of(NULL, 0);
	if (text.len)
		memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	return str_of(copy, text.len);
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	int length;
	char *text;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		return str_of(NULL, 0);
	text = arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return str_of(NULL, 0);
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return str_of(text, (size_t)length);
}
