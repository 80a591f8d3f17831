/*
 * Texts that a service may take for one another, though they are written otherwise.
 *
 * Many services make nothing of case, of blanks around a name or a value, or of what stands behind
 * a NUL; some bring letters of one meaning to one form (Unicode's compatibility forms). What is
 * asked here is asked where it would be a mistake to be stricter than they are: whether a rule
 * could be gone round by another spelling. It never makes two requests one.
 */
#ifndef CORE_ALIKE_H
#define CORE_ALIKE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

/*
 * `text` as the freest of them have it, but for the case of ASCII letters: compare two with
 * str_equal_nocase(). A part of `text`, or in `mem`. What is not UTF-8 stays as it is written.
 * 0, FAIL_MEMORY.
 */
int alike_plain(struct str text, struct arena *mem, struct str *out_plain);

/* The same of `text` and what alike_plain() made of another: folds `text` alone. 0, FAIL_MEMORY. */
int alike_ask_plain(struct str plain, struct str text, struct arena *mem, bool *out_are);

/* Might a service take them for one? 0, FAIL_MEMORY. Bounded by the shorter one's length. */
int alike_ask(struct str a, struct str b, struct arena *mem, bool *out_are);

#endif
