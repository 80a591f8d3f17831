/*
 * JSON that loses nothing (RFC 8259), and its canonical form.
 *
 * A packaged reader turns numbers into doubles, and a gate that did would take
 * 9007199254740993 for …992 and replay the wrong payment. Here a number is an exact
 * decimal: sign, digits, exponent. Objects keep their members in the order they came; two
 * members of one name are refused, because two readers could pick different ones.
 *
 * No recursion on the C stack: depth is a number in json_limits, not a crash. No hash that
 * could be flooded: the names of an object are sorted, which costs n log n whoever chose them.
 *
 * What a text costs: at most 32 bytes of arena for each of its bytes, and 16 KiB ("[[[…]]]"
 * side by side is the worst; "[1,1,1…]" takes 28, an ordinary body 6 to 10). A ceiling below
 * that is safe: such a text ends in FAIL_MEMORY. Strings without escapes and most numbers
 * point into the text and cost nothing more.
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_REFUSED = 1 };

struct json_limits {
	size_t depth;	  /* arrays and objects inside one another: default 128 */
	size_t digits;	  /* significant digits of a number: default 64 */
	int32_t exponent; /* adjusted exponent within ± this: default 307 */
	size_t values;	  /* values in one text: default 1,000,000 */
};
extern const struct json_limits json_limits_default;

/* Why a text was refused. */
struct json_error {
	size_t line;	  /* from 1 */
	size_t column;	  /* from 1, in bytes */
	char detail[160]; /* a sentence: what was found, what was expected */
};

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

/*
 * An exact decimal: (-1)^is_negative × 0.digits × 10^point, digits without leading or
 * trailing zeros ("0" is no digits and point 0, never negative). So 49.00, 49 and 4.9e1 are
 * the same three members.
 */
struct json_number {
	struct str digits; /* '0'–'9' */
	int32_t point;
	bool is_negative;
};

struct json_member;

struct json_value {
	enum json_type type;
	uint32_t line, column;	 /* where it starts in its text, from 1 (bytes) */
	struct json_value *next; /* the reader's own: the item after this one */
	union {
		struct json_number number;
		struct str string; /* UTF-8, unescaped */
		struct {
			struct json_value **items;
			size_t count;
		} array;
		struct {
			struct json_member *members; /* in the order they came */
			size_t count;
		} object;
	};
};

struct json_member {
	struct str name; /* UTF-8, unescaped */
	struct json_value *value;
};

/*
 * Read one whole text. Everything lives in `mem`, or points into `text`. Any thread.
 *   0             *out_value is the tree
 *   JSON_REFUSED  *out_error says where and why
 *   FAIL_MEMORY   the arena is full; not logged, because a client can bring it about
 */
int json_read(struct str text, const struct json_limits *limits, struct arena *mem,
	      struct json_value **out_value, struct json_error *out_error);

/* A member by name; NULL when `object` is no object or has none. */
struct json_value *json_member(const struct json_value *object, struct str name);

/*
 * The value at a JSON pointer (RFC 6901: "/a/0/b~1c"; "" is the whole), or NULL. A pointer
 * that is malformed points at nothing.
 */
const struct json_value *json_at(const struct json_value *value, struct str pointer);

/* -1, 0, 1: exact comparison of two numbers. */
int json_number_compare(const struct json_number *a, const struct json_number *b);

/* An integer that fits: true and *out. 1.0 is one; 1.5 and 1e300 are not. */
bool json_number_to_i64(const struct json_number *number, int64_t *out);

/*
 * A number from its JSON text, exactly all of it. 0, JSON_REFUSED, FAIL_MEMORY. Digits live in
 * `mem`.
 */
int json_number_read(struct str text, const struct json_limits *limits, struct arena *mem,
		     struct json_number *out_number);

/*
 * Append the canonical form (RFC 8785: no white space, members ordered by UTF-16 code units,
 * its string escapes), numbers exactly and in the style of ECMAScript: the very spelling of
 * RFC 8785 wherever a double, printed as short as it can be, still is that number.
 * 0, FAIL_LIMIT, FAIL_MEMORY (neither logged); after a failure `out` holds a part. `mem` is
 * used for the order of members: at most 32 bytes each. Takes what json_read() gave, or a
 * tree like it: no name twice in an object, all text UTF-8.
 */
int json_canonical(const struct json_value *value, struct arena *mem, struct buf *out);

/* The same as a text in `mem`, which is its only bound. 0, FAIL_MEMORY (not logged). */
int json_canonical_str(const struct json_value *value, struct arena *mem, struct str *out_text);

/*
 * Writing, piece by piece, with commas and escapes put where they belong. Errors show in
 * out->is_spoiled at the end. Bytes that are not UTF-8 are written as U+FFFD.
 */
struct json_writer {
	struct buf *out;
	bool needs_comma;
};
void json_writer_init(struct json_writer *writer, struct buf *out);
void json_open_object(struct json_writer *writer);
void json_close_object(struct json_writer *writer);
void json_open_array(struct json_writer *writer);
void json_close_array(struct json_writer *writer);
void json_name(struct json_writer *writer, const char *name); /* ours: it needs no escape */
void json_name_str(struct json_writer *writer, struct str name);
void json_string(struct json_writer *writer, struct str text);
void json_pair(struct json_writer *writer, const char *name, struct str text); /* both at once */
void json_text(struct json_writer *writer, const char *text); /* NULL writes null */
void json_integer(struct json_writer *writer, int64_t number);
void json_boolean(struct json_writer *writer, bool value);
void json_null(struct json_writer *writer);
void json_time(struct json_writer *writer, int64_t wall_ms); /* RFC 3339 */
void json_raw(struct json_writer *writer, struct str json);  /* one whole value, as it is */

/* A member with its value: a text, null where it is empty; a time. */
void json_put_text(struct json_writer *writer, const char *name, struct str text);
void json_put_time(struct json_writer *writer, const char *name, int64_t wall_ms);

/* Is it UTF-8 from end to end? What goes through json_string() unchanged is. */
bool json_is_utf8(struct str text);

#endif
