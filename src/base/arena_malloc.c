/* The arena's malloc-backed twin: one malloc a piece, so that sanitizers see each edge. */
#include "base/arena.h"

#include <stdlib.h>

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk;

	if (size > ARENA_PIECE_MAX || size > arena->ceiling - arena->used)
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used += size;
	return chunk->bytes;
}
