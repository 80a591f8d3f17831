/*
 * What a name in a rule stands for.
 *
 * A name is a field of the command, else a parameter of the route; a pointer leads to a field
 * through objects whose fields are declared. Nothing may depend on what the caller does not decide.
 */
#ifndef CONFIG_CHECK_PART_H
#define CONFIG_CHECK_PART_H

#include "config/table.h"

enum { PART_WRONG = 1 };

/* One name of a rule. */
struct naming {
	struct reading *reading;
	const struct action_draft *draft;
	const char *key;    /* the setting: "unique.by" */
	struct str name;    /* as it is written */
	struct place place; /* where */
	bool is_needed;	    /* every command must have it */

	/* naming_take() fills: */
	struct rule_part part;
	const struct action_field *field; /* NULL: a parameter of the route */
	bool is_sure;			  /* every command has it */
	bool is_assigned;		  /* it, or what it lies in, is the server's */
};

/* The name that stands at the setting `key`, and is needed. */
struct naming naming_at(struct reading *reading, const struct action_draft *draft, const char *key,
			struct str name);

/* Find what it names, fit for a rule. 0; PART_WRONG: reported; FAIL_MEMORY. */
int naming_take(struct naming *naming);

/* Report "unique.by names `x`, " and what is wrong with it. */
void naming_complain(const struct naming *naming, const char *mend, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
