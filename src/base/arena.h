/*
 * Memory that dies with its request.
 *
 * An arena hands out pieces that are never freed one by one; arena_fini() frees them
 * all. It has a ceiling: what a client sends can never take more than its request's
 * budget, and reaching it is an ordinary, answerable outcome (NULL).
 *
 * One owner at a time; no locks. The malloc-backed twin (option arena_malloc) gives each
 * piece its own malloc, so that sanitizers see its edges.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stddef.h>

/* No piece is larger; below it, adding a header or padding cannot wrap around. */
#define ARENA_PIECE_MAX ((size_t)PTRDIFF_MAX - 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; /* bytes in `bytes` */
	size_t used; /* of them handed out */
	size_t pad;  /* keeps `bytes` aligned */
	char bytes[];
};

struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t used;		    /* bytes handed out, with their padding */
	size_t ceiling;		    /* bytes at most */
};

/* An empty arena; takes no memory until asked. */
void arena_init(struct arena *arena, size_t ceiling);

/* Free everything. Safe on a zeroed or finished arena; it can be used again after. */
void arena_fini(struct arena *arena);

/* `size` bytes, aligned for any type, not cleared; NULL at the ceiling or without memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* The same, cleared. */
void *arena_zalloc(struct arena *arena, size_t size);

/* A copy with a NUL after it; {NULL, 0} when there is no room. An empty text copies to "". */
struct str arena_str(struct arena *arena, struct str text);

/* printf into the arena; {NULL, 0} when there is no room. */
struct str arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
