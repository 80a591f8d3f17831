/*
 * A growable buffer with a maximum.
 *
 * Bytes are appended at the end and consumed from the front. It never holds more than
 * `max` bytes: an append that would is refused whole (FAIL_LIMIT, not logged: going over
 * a limit is the client's doing) and changes nothing.
 *
 * Appends may be checked one by one or once at the end: after the first refusal the
 * buffer is `spoiled` and refuses everything until buf_clear().
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *at;	 /* the first byte that has not been consumed */
	size_t len;	 /* bytes held from `at` on */
	char *memory;	 /* what malloc gave; at - memory bytes have been consumed */
	size_t capacity; /* bytes of `memory` */
	size_t max;	 /* len never exceeds it */
	bool is_spoiled; /* an append was refused */
};

/* Empty; takes no memory until the first append. */
void buf_init(struct buf *buf, size_t max);

/* Free the memory. Safe on NULL and on a zeroed buffer; usable again after. */
void buf_fini(struct buf *buf);

/* The same for one that held a secret: what it still has is overwritten first. Room that it grew
 * out of is not; who minds reserves all of it at once. */
void buf_fini_wiped(struct buf *buf);

/* Hold nothing, keep the memory, forget a refusal. */
void buf_clear(struct buf *buf);

/* 0, FAIL_LIMIT over `max`, FAIL_MEMORY. */
int buf_append(struct buf *buf, const void *bytes, size_t len);
int buf_append_str(struct buf *buf, struct str text);
int buf_append_byte(struct buf *buf, char byte);
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buf_append_u64(struct buf *buf, uint64_t number); /* in decimal */

/*
 * Room for `len` bytes at the end: write them there, then buf_commit() how many were
 * written. NULL when there is no room.
 */
char *buf_reserve(struct buf *buf, size_t len);
void buf_commit(struct buf *buf, size_t len);

/* Drop `len` bytes (at most buf->len) from the front. */
void buf_consume(struct buf *buf, size_t len);

/* Give up the memory if nothing is held: an idle connection costs none. */
void buf_release_if_empty(struct buf *buf);

static inline struct str buf_str(const struct buf *buf)
{
	return str_of(buf->at, buf->len);
}

#endif
