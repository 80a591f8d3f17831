/*
 * What `counterfoil call` shows: a result as one JSON object, the journal as a table.
 */
#ifndef CLI_CALL_VIEW_H
#define CLI_CALL_VIEW_H

#include "client/delivery.h"

/* Exit statuses of a call, beside those of every command. */
enum {
	EXIT_OPEN = 10,	    /* running, queued, or held up by a lock */
	EXIT_UNKNOWN = 11,  /* nobody knows */
	EXIT_CONFLICT = 12, /* another payload stands under the token */
	EXIT_WAITING = 13,  /* people have to agree first */
	EXIT_FAILED = 14,   /* a known failure, or it certainly was not done */
};

/* Of an outcome; one that is not known is EXIT_UNKNOWN. */
int call_exit(const struct delivery_result *result);

/* Print the result, one JSON object in a line. False: no memory. */
bool call_print(const struct delivery_result *result);

/* Entries, newest first: as JSON or as a table. False: no memory. */
bool call_print_list(const struct journal_entry *entries, size_t count, bool is_json,
		     struct arena *mem);

/* One entry with its events. */
bool call_print_entry(const struct journal_entry *entry, const struct journal_event *events,
		      size_t count, bool is_json);

#endif
