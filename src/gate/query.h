/*
 * Paths and queries of the gate's own resources.
 */
#ifndef GATE_QUERY_H
#define GATE_QUERY_H

#include "base/arena.h"
#include "store/store.h"

#include <stdbool.h>

/*
 * The value of `name` in a query ("a=1&b=2"), decoded, in `mem`. False: it is not there, or
 * cannot be decoded.
 */
bool query_value(struct str query, struct str name, struct arena *mem, struct str *out_value);

/*
 * Read the filters of a list (token, task, action, reference, state, limit, cursor, and account
 * when `may_choose`) into `command`. NULL, or a sentence that says which one is wrong.
 */
const char *query_list(struct str query, bool may_choose_account, struct arena *mem,
		       struct store_command *command);

/*
 * The parts of a page's place. Limit: into command->limit; NULL, or a sentence that says what is
 * wrong. Cursor: into command->before; *out_part is which of the prefixes it has (of several that
 * fit, the first whose rest is a place). False: it is none.
 */
const char *query_limit(struct str value, struct store_command *command);
bool query_cursor(struct str value, const char *const *prefixes, size_t prefix_count,
		  struct store_command *command, size_t *out_part);

/*
 * "<prefix>/op_…" or "<prefix>/op_…/<verb>": the id and the verb (empty: none). False: neither.
 */
bool query_operation_path(struct str path, struct str prefix, struct operation_id *out_id,
			  struct str *out_verb);

/*
 * A text without its percent escapes, in `mem`; in a query a '+' is a space, in a path it is
 * itself. False: one is broken, or there is no room.
 */
bool query_unescape(struct str text, bool is_query, struct arena *mem, struct str *out);

/*
 * Take the next pair off *query, name and value without their percent escapes, in `mem` then; what
 * is broken stays as it is written. False: there is none.
 */
bool query_next(struct str *query, struct arena *mem, struct str *out_name, struct str *out_value);

/* One pair of a query: NULL, or a sentence that says what is wrong with it. */
typedef const char *query_reader(void *state, struct str name, struct str value);

/* Each pair in turn, decoded as query_next() does it. NULL, or the first that is wrong. */
const char *query_read_all(struct str query, struct arena *mem, query_reader *read, void *state);

#endif
