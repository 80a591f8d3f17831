/*
 * References that never change what they name: sha256: and sha512: digests, name@sha256:…, full
 * commit ids of 40 or 64 hexadecimal digits. Branches, tags, `latest` and abbreviations are
 * well-formed and refused: what they name can change between consent and execution.
 */
#ifndef CORE_REFERENCE_H
#define CORE_REFERENCE_H

#include "base/arena.h"
#include "base/str.h"

enum { REFERENCE_MUTABLE = 1, REFERENCE_MALFORMED = 2 };

/* *out_reference is its one spelling (digits in lower case), in `mem`. 0, one of the above,
 * FAIL_MEMORY. */
int reference_read(struct str text, struct arena *mem, struct str *out_reference);

#endif
