/*
 * What an answer says beyond its status: references, what was made, failure in a 200.
 */
#ifndef CORE_RESPONSE_H
#define CORE_RESPONSE_H

#include "core/action.h"

enum { RESPONSE_TEXT_MAX = 1024 }; /* bytes of a reference, a resource, an id; longer: none */

struct response_facts {
	struct str reference; /* empty: none; numbers by their canonical text */
	struct str resource;
	struct str budget_id; /* where the action opens a budget; empty: none */
	bool has_failed;      /* failed_when */
};

/* Does the action look into its answers at all? */
bool response_is_read(const struct action *action);

/*
 * A body as JSON, by its media type; where that says something else (services often do) or nothing,
 * an object or array by its text. NULL: it is not JSON, or cannot be read in `mem`.
 * *out_is_declared is whether its media type says JSON; may be NULL.
 */
struct json_value *response_json(struct str content_type, struct str body, struct arena *mem,
				 bool *out_is_declared);

/*
 * Read a whole body. One that is not JSON (by response_json()), or too deep or too large for `mem`,
 * says nothing: all empty and false. Texts live in `mem`. Never fails.
 */
void response_read(const struct action *action, struct str content_type, struct str body,
		   struct arena *mem, struct response_facts *out_facts);

/* The same of a value that has been read. */
void response_read_value(const struct action *action, const struct json_value *value,
			 struct arena *mem, struct response_facts *out_facts);

/*
 * Is the condition true of `value`? Numbers compare by value; choices are texts, numbers, booleans
 * or null, nothing with something inside. NULL is no value.
 */
bool condition_holds(const struct rule_condition *condition, const struct json_value *value);

#endif
