/*
 * Text for a terminal.
 *
 * Names, reasons and tokens come from clients and services. Shown as they are they could
 * move the cursor, recolour a line or turn its reading direction, and so make an operator
 * see something else than what is. Here every control character is written as an escape.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include "base/buf.h"
#include "base/str.h"

#include <stdio.h>

/*
 * Append `text` with controls (C0, DEL, C1, those of reading direction, line and paragraph
 * separators) as \n, \t, \x1b or \u202e, and bytes that are no UTF-8 as \xff. A refusal of
 * the buffer shows in out->is_spoiled.
 */
void terminal_append(struct buf *out, struct str text);

/* As terminal_append, at most `width` characters, the last one "…" where some are left out. */
void terminal_append_cut(struct buf *out, struct str text, size_t width);

/* The same to a stream. */
void terminal_print(FILE *out, struct str text);

/* Characters of cleaned UTF-8 text: what a terminal takes as its width, nearly always. */
size_t terminal_width(struct str text);

/*
 * Append JSON text so that a terminal may see it: the few controls that JSON allows to stand
 * in a string as they are become \u escapes, which mean the same.
 */
void terminal_append_json(struct buf *out, struct str json);

#endif
