/*
 * The keys of a scenario, one a row; for scenario.c and who writes about them.
 */
#ifndef DRILL_SCENARIO_TABLE_H
#define DRILL_SCENARIO_TABLE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum scenario_kind {
	SCENARIO_TEXT,	   /* struct str */
	SCENARIO_URL,	   /* struct str: http or https, no path at its end */
	SCENARIO_PLACE,	   /* struct str: a URL with a path, or a path of the target */
	SCENARIO_PATH,	   /* struct str: begins with a slash */
	SCENARIO_METHOD,   /* struct str: upper case */
	SCENARIO_HEADER,   /* struct str: the name of a header */
	SCENARIO_HEADERS,  /* struct scenario_pairs */
	SCENARIO_POINTERS, /* struct scenario_pairs: JSON pointers and JSON texts */
	SCENARIO_POINTER,  /* struct str */
	SCENARIO_BODY,	   /* struct scenario_body */
	SCENARIO_COMMAND,  /* struct str: for sh -c */
	SCENARIO_DURATION, /* int64_t, ms */
	SCENARIO_COUNT,	   /* int64_t */
	SCENARIO_BOOL,	   /* bool */
	SCENARIO_CHOICE,   /* int: index into the words of `words` */
};

struct scenario_key {
	const char *name; /* its path: "write.body" */
	enum scenario_kind kind;
	size_t at;		   /* in struct scenario */
	const char *default_value; /* as one would write it; NULL: none */
	const char *words;	   /* of a choice: "refused | new" */
	int64_t min, max;	   /* of a duration or a count */
	const char *example;
};

extern const struct scenario_key scenario_keys[];
extern const size_t scenario_key_count;

#endif
