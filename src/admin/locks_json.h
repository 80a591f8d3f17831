/* Locks as JSON, for an operator. */
#ifndef ADMIN_LOCKS_JSON_H
#define ADMIN_LOCKS_JSON_H

#include "store/store.h"
#include "json/json.h"

/* Which locks are told; all false: every one. */
struct locks_filter {
	bool is_held;	    /* only those that an operation holds */
	bool is_waited_for; /* only those that an operation waits for */
};

/*
 * {"locks": […], "next": …} of an answered STORE_LOCKS, in its order: of its page, those that are
 * wanted. `holder` is null where nobody holds it; of those that wait, the first
 * STORE_WAITERS_LISTED have their ids told.
 */
void locks_json(struct json_writer *json, const struct store_command *command,
		const struct locks_filter *filter);

/*
 * Read "held=true", "waiting=true", and of the page limit and cursor, into `command`. NULL, or a
 * sentence that says what is wrong.
 */
const char *locks_query(struct str query, struct arena *mem, struct locks_filter *out_filter,
			struct store_command *command);

#endif
