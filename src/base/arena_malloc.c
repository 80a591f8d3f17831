/* The arena's malloc-backed twin: one malloc a piece, so that sanitizers see each edge. */
#include "base/arena.h"

#include <stdlib.h>

/* As in the other arena: below it, adding a header cannot wrap around. */
#define PIECE_MAX ((size_t)PTRDIFF_MAX - 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t pad; /* keeps `bytes` aligned */
	char bytes[];
};

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

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk;

	if (size > PIECE_MAX || size > arena->ceiling - arena->used)
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used += size;
	return chunk->bytes;
}
