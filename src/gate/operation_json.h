/*
 * An operation as JSON: one shape for its caller, the operator and the command line.
 */
#ifndef GATE_OPERATION_JSON_H
#define GATE_OPERATION_JSON_H

#include "config/settings.h"
#include "store/store.h"
#include "json/json.h"

/*
 * The object. `attempts` NULL: the list is left out. `is_for_caller`: the account is left out
 * (it is the caller's own) and `retry` says what an agent should do now.
 */
void operation_json(struct json_writer *json, const struct store_operation *operation,
		    const struct store_attempt *attempts, size_t attempt_count, bool is_for_caller);

/*
 * The object with all that an answered find by id knows: attempts, rules, who retried it, and the
 * downstream key where the operation's action has one under `settings`.
 */
void operation_found_json(struct json_writer *json, const struct store_command *find,
			  const struct settings *settings, bool is_for_caller);

/* Members of an open object: "operations": […], "next": cursor or null, of an answered list. */
void operation_list_json(struct json_writer *json, const struct store_command *list,
			 bool is_for_caller);

/*
 * The member "next" of a page: where the one after it begins (NULL: there is none, null), behind
 * `prefix`, of LIST_PREFIX_MAX bytes at most: for query_cursor().
 */
enum { LIST_PREFIX_MAX = 16 };
void list_next_json(struct json_writer *json, const struct operation_id *next, const char *prefix);

/* Members of an open object: what a budget holds, what is used of it and what is left, minor units.
 */
void budget_room_json(struct json_writer *json, const struct store_rule_view *view);

#endif
