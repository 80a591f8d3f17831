/*
 * What {marker}, {run}, {case}, {key} and {id} stand for in one attempt.
 */
#ifndef DRILL_NAMES_H
#define DRILL_NAMES_H

#include "base/arena.h"
#include "base/str.h"

/* Marker, run, case and key are made here: letters, digits and '-', fit for any text. */
struct names {
	struct str marker, run, test_case, key;
	struct str id; /* as the API told it; empty: not known yet */
};

enum names_as {
	NAMES_PLAIN, /* {id} stays as it is written: nothing of the API's goes into a command */
	NAMES_URL,   /* {id} too, percent-encoded */
};

/* `text` with its names filled in, a NUL behind it, in `mem`; braces around anything else stay.
 * {NULL, 0} without memory. */
struct str names_fill(struct str text, const struct names *names, enum names_as as,
		      struct arena *mem);

/* Does `text` speak of what is drawn anew for each intended action? */
bool names_tell_apart(struct str text);

/* The first {name} of letters in `text` that is none; empty: there is none. */
struct str names_unknown(struct str text, bool knows_id);

#endif
