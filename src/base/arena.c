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

/* No object is larger; below it, adding a header or the padding cannot wrap around. */
#define PIECE_MAX ((size_t)PTRDIFF_MAX - 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; /* bytes in `bytes` */
	size_t used; /* of them handed out */
	size_t pad;  /* keeps `bytes` aligned */
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

	if (size > PIECE_MAX)
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
