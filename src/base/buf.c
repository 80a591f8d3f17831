/*
 * The growable buffer: doubles from 256 bytes up, moves what is left to the front when
 * the consumed part is larger than what is held.
 */
#include "base/buf.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY_FIRST = 1024 };

void buf_init(struct buf *buf, size_t max)
{
	*buf = (struct buf){.max = max};
}

void buf_fini(struct buf *buf)
{
	if (!buf)
		return;
	free(buf->memory);
	buf_init(buf, buf->max);
}

void buf_fini_wiped(struct buf *buf)
{
	if (buf && buf->memory)
		explicit_bzero(buf->memory, buf->capacity);
	buf_fini(buf);
}

void buf_clear(struct buf *buf)
{
	buf->at = buf->memory;
	buf->len = 0;
	buf->is_spoiled = false;
}

static int grow(struct buf *buf, size_t need)
{
	size_t capacity = buf->capacity ? buf->capacity : CAPACITY_FIRST;
	char *memory;

	while (capacity < need) {
		if (capacity > SIZE_MAX / 2)
			return FAIL_MEMORY;
		capacity *= 2;
	}
	memory = malloc(capacity);
	if (!memory)
		return FAIL_MEMORY;
	if (buf->len)
		memcpy(memory, buf->at, buf->len);
	free(buf->memory);
	buf->memory = buf->at = memory;
	buf->capacity = capacity;
	return 0;
}

/* Room for `len` bytes more, and for `spare` ones that will never count as held. */
static int make_room(struct buf *buf, size_t len, size_t spare)
{
	size_t consumed = buf->memory ? (size_t)(buf->at - buf->memory) : 0;
	size_t need;

	if (buf->is_spoiled || len > buf->max || buf->len > buf->max - len)
		return FAIL_LIMIT;
	need = buf->len + len;
	if (need > SIZE_MAX - spare)
		return FAIL_MEMORY;
	need += spare;
	if (buf->memory && buf->capacity - consumed >= need)
		return 0;
	if (buf->memory && buf->capacity >= need && consumed >= buf->len) {
		memmove(buf->memory, buf->at, buf->len);
		buf->at = buf->memory;
		return 0;
	}
	return grow(buf, need);
}

char *buf_reserve(struct buf *buf, size_t len)
{
	if (make_room(buf, len, 0) != 0) {
		buf->is_spoiled = true;
		return NULL;
	}
	return buf->at + buf->len;
}

void buf_commit(struct buf *buf, size_t len)
{
	require(len <= buf->max - buf->len);
	require(len <= buf->capacity - (size_t)(buf->at - buf->memory) - buf->len);
	buf->len += len;
}

int buf_append(struct buf *buf, const void *bytes, size_t len)
{
	int r;

	if (len == 0)
		return buf->is_spoiled ? FAIL_LIMIT : 0;
	r = make_room(buf, len, 0);
	if (r != 0) {
		buf->is_spoiled = true;
		return r;
	}
	memcpy(buf->at + buf->len, bytes, len);
	buf->len += len;
	return 0;
}

int buf_append_str(struct buf *buf, struct str text)
{
	return buf_append(buf, text.at, text.len);
}

int buf_append_byte(struct buf *buf, char byte)
{
	return buf_append(buf, &byte, 1);
}

int buf_append_u64(struct buf *buf, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return buf_append(buf, digits + at, sizeof(digits) - at);
}

int buf_printf(struct buf *buf, const char *format, ...)
{
	va_list arguments;
	char small[256];
	int length, r;

	va_start(arguments, format);
	length = vsnprintf(small, sizeof(small), format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length < sizeof(small))
		return buf_append(buf, small, (size_t)length);
	r = length < 0 ? FAIL_LIMIT : make_room(buf, (size_t)length, 1); /* 1: vsnprintf's NUL */
	if (r != 0) {
		buf->is_spoiled = true;
		return r;
	}
	va_start(arguments, format);
	vsnprintf(buf->at + buf->len, (size_t)length + 1, format, arguments);
	va_end(arguments);
	buf->len += (size_t)length;
	return 0;
}

void buf_consume(struct buf *buf, size_t len)
{
	require(len <= buf->len);
	if (len == 0)
		return;
	buf->at += len;
	buf->len -= len;
	if (buf->len == 0)
		buf->at = buf->memory;
}

void buf_release_if_empty(struct buf *buf)
{
	if (buf->len == 0 && buf->memory) {
		bool is_spoiled = buf->is_spoiled;

		buf_fini(buf);
		buf->is_spoiled = is_spoiled;
	}
}
