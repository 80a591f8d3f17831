/*
 * The arena: chunks of growing size, filled from the front.
 *
 * The first chunk is small (most requests need little), each next one doubles up to a
 * limit; a piece larger than a chunk gets a chunk of its own. Chunk headers are not
 * charged to the ceiling; there are few of them.
 */
#include "base/arena.h"

#include <stdlib.h>

enum {
	ARENA_ALIGN = 16,
	CHUNK_FIRST = 4096 - 64,
	CHUNK_MAX = 64 * 1024 - 64,
};

static struct arena_chunk *add_chunk(struct arena *arena, size_t need)
{
	size_t size = CHUNK_FIRST;
	struct arena_chunk *chunk;

	if (arena->chunks)
		size = arena->chunks->size * 2 < CHUNK_MAX ? arena->chunks->size * 2 : CHUNK_MAX;
	if (size < need)
		size = need;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct arena_chunk){.next = arena->chunks, .size = size};
	arena->chunks = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunks;
	size_t padded;
	char *piece;

	if (size > ARENA_PIECE_MAX)
		return NULL;
	padded = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (padded > arena->ceiling - arena->used)
		return NULL;
	if (!chunk || chunk->size - chunk->used < padded) {
		chunk = add_chunk(arena, padded);
		if (!chunk)
			return NULL;
	}
	piece = chunk->bytes + chunk->used;
	chunk->used += padded;
	arena->used += padded;
	return piece;
}
