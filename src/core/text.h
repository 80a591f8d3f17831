/*
 * Small text questions that several canonical forms ask.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* A letter, a digit or one of -._~ (RFC 3986 § 2.3): never needs an escape. */
bool text_is_unreserved(char c);

/* The byte (0–255) of the escape %XX at text.at[at]; -1 when it is broken. */
int text_unescape(struct str text, size_t at);

/*
 * `text` without its escapes; what is broken stays as it is written. In `mem` where it has any,
 * else `text` itself. 0, FAIL_MEMORY.
 */
int text_unescape_all(struct str text, struct arena *mem, struct str *out_text);

/* Write %XX, upper case. */
void text_escape(unsigned char byte, char out[3]);

/* Is all of `text` one token of RFC 9110 § 5.6.2 (at least one character)? */
bool text_is_token(struct str text);
/* How many bytes of a token `text` begins with. */
size_t text_token_length(struct str text);

/* A control byte other than a tab? RFC 9110 § 5.5 has none in a header's value. */
bool text_is_control(char c);

/*
 * Are `name` and `wanted` one header to some service? To one behind CGI's names X_Key is X-Key, and
 * so may be X.Key.
 */
bool text_names_header(struct str name, struct str wanted);

/* Order without case, then by length: < 0, 0, > 0. */
int text_order_nocase(struct str a, struct str b);

/* Append with ASCII letters in lower case. Failures show in out->is_spoiled. */
void text_append_lower(struct buf *out, struct str text);

/* Append in base64 (RFC 4648 § 4, padded). Failures show in out->is_spoiled. */
void text_append_base64(struct buf *out, struct str bytes);

/*
 * A text with its length before it, 32-bit big-endian: open, append, close with what open
 * returned. Failures show in out->is_spoiled.
 */
size_t text_open(struct buf *out);
void text_close(struct buf *out, size_t opened);

/*
 * Is the first step of the JSON pointer `name`? Then *out_rest is the pointer from there on.
 */
bool text_pointer_enters(struct str pointer, struct str name, struct str *out_rest);

#endif
