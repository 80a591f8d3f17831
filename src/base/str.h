/*
 * Text as pointer and length.
 *
 * A `struct str` borrows its bytes; it is never NUL-terminated by promise and may hold
 * any byte. The empty string is {NULL or not, 0}. Passed by value.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *at; /* the first byte; may be NULL when len is 0 */
	size_t len;	/* bytes */
};

/* A constant text as a str: STR("POST"). */
#define STR(literal) ((struct str){("" literal), sizeof(literal) - 1})
/* For printf: printf("%.*s", STR_ARG(s)). Lengths over INT_MAX are cut. */
#define STR_ARG(s)   (int)((s).len > INT32_MAX ? INT32_MAX : (s).len), ((s).len ? (s).at : "")

static inline struct str str_of(const char *at, size_t len)
{
	return (struct str){at, len};
}

static inline struct str str_from(const char *text)
{
	return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_equal(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Equal when ASCII letters are compared without case. */
bool str_equal_nocase(struct str a, struct str b);

bool str_starts_with(struct str text, struct str prefix);
bool str_starts_with_nocase(struct str text, struct str prefix);

/* Order by bytes, then by length: < 0, 0, > 0. */
int str_compare(struct str a, struct str b);

/* Without leading and trailing spaces and tabs (the OWS of RFC 9110 § 5.6.3). */
struct str str_trim(struct str text);

/* The index of `byte` in `text`, or text.len when it is not there. */
size_t str_find(struct str text, char byte);

/* The part from `from` on; empty when `from` is past the end. */
struct str str_from_index(struct str text, size_t from);

/* At most `max` bytes of it: of UTF-8, whole characters. */
struct str str_cut(struct str text, size_t max);

/*
 * Cut `*rest` at the first `separator`: the part before it is *out_part, *rest goes on
 * after it. Returns false when *rest is exhausted (its `at` is then NULL), so that
 * `while (str_split(&rest, ',', &part))` sees every part, empty ones too.
 */
bool str_split(struct str *rest, char separator, struct str *out_part);

/* A decimal number without sign or blanks, all of `text`, at most `max`. False if it is not one. */
bool str_to_u64(struct str text, uint64_t max, uint64_t *out_number);

/* ASCII only, whatever the locale. */
static inline char ascii_lower(char c)
{
	return (c >= 'A' && c <= 'Z') ? (char)(c + ('a' - 'A')) : c;
}

/* 0–15, or -1 when `c` is no hexadecimal digit. */
int hex_digit(char c);

/* Write 2 * len lower-case hexadecimal digits to `out`, no NUL. */
void hex_write(const uint8_t *bytes, size_t len, char *out);

#endif
