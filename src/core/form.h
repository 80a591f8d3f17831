/*
 * The canonical form of an application/x-www-form-urlencoded body.
 */
#ifndef CORE_FORM_H
#define CORE_FORM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/fingerprint.h"

enum { FORM_PAIRS_MAX = 10000 };

/*
 * Append it to `out`: name=value pairs joined by &, every byte that is not a letter, a digit
 * or one of -._~ escaped. A name without an equals sign stays without one.
 * 0; FINGERPRINT_REFUSED (a broken escape, a scalar name twice, too many pairs); FAIL_MEMORY.
 */
int form_canonical(struct str body, struct arena *mem, struct buf *out,
		   struct fingerprint_error *out_error);

#endif
