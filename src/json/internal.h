/*
 * What the files of this folder share, and nobody else sees.
 */
#ifndef JSON_INTERNAL_H
#define JSON_INTERNAL_H

#include "json/json.h"

/* Where a text goes wrong, before it is a line and a column. */
struct json_fault {
	const char *at; /* the byte, or the end of the text */
	char detail[sizeof(((struct json_error *)NULL)->detail)];
};

/* "',' found where a value was expected". Always JSON_REFUSED. */
int json_fault_expected(struct json_fault *fault, const char *at, const char *end,
			const char *expected);

/* A sentence of one's own. Always JSON_REFUSED. */
int json_fault_says(struct json_fault *fault, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The bytes of the UTF-8 character that starts at `at`: 1 to 4, or 0 when it is none
 * (overlong, a surrogate, over U+10FFFF, cut off, or at == end).
 */
size_t json_utf8_length(const char *at, const char *end);

/*
 * The first byte from `at` on that is not plain inside a string: a quote, a backslash, a
 * control byte or one of several (0x80 and up); `end` if all are plain.
 */
const char *json_skip_plain(const char *at, const char *end);

/*
 * Read the string whose opening quote is at *at, and go past its closing one. The result
 * points into the text when there was nothing to unescape, else it lives in `mem`.
 * 0, JSON_REFUSED and *fault, FAIL_MEMORY.
 */
int json_scan_string(const char **at, const char *end, struct arena *mem, struct str *out_string,
		     struct json_fault *fault);

/*
 * Read the number that starts at *at ('-' or a digit), and go past it. The digits point into
 * the text when they stand together there, else they live in `mem`.
 * 0, JSON_REFUSED and *fault, FAIL_MEMORY.
 */
int json_scan_number(const char **at, const char *end, const struct json_limits *limits,
		     struct arena *mem, struct json_number *out_number, struct json_fault *fault);

/* A member in its place in the order; `prefix` decides most comparisons at a glance. */
struct json_place {
	uint64_t prefix;
	struct json_member *member;
};

/*
 * The members by their names' UTF-16 code units; equal names stay in the order they came.
 * 0 or FAIL_MEMORY. Takes 16 bytes of `mem` a member, 32 where there are many.
 */
int json_order(struct json_member *members, size_t count, struct arena *mem,
	       struct json_place **out_places);

/* Append `text` in quotes, escaped as RFC 8785 § 3.2.2.2 says. 0, FAIL_LIMIT, FAIL_MEMORY. */
int json_put_string(struct buf *out, struct str text);

#endif
