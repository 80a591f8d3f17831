/*
 * Texts with {names} in them: "/v1/payments?reference={downstream_key}".
 */
#ifndef CORE_TEMPLATE_H
#define CORE_TEMPLATE_H

#include "base/buf.h"
#include "core/action.h"
#include "core/operation.h"

/*
 * Take the next piece off *text: literal characters, and the name in braces behind them (empty:
 * the text ended). False: nothing was left. A brace that does not pair up is literal.
 */
bool template_next(struct str *text, struct str *out_literal, struct str *out_name);

/* Names that an inquiry may have besides fields and parameters of its action. */
#define TEMPLATE_DOWNSTREAM_KEY "downstream_key"
#define TEMPLATE_OPERATION	"operation"
#define TEMPLATE_TOKEN		"token"

/*
 * What is known when a command is claimed: fields (by name, texts, numbers and booleans; money
 * by its minor units), parameters of the route, the token; percent-encoded so that each stays
 * one value. The names of what only the operation knows stay in their braces. 0 and *out_text in
 * `mem`; FAIL_MEMORY; TEMPLATE_ABSENT: it cannot be asked with this command: a field it names is
 * not there, null or empty, is an object or array, makes dot segments of the path, or is too long.
 */
enum { TEMPLATE_ABSENT = 1 };
enum { TEMPLATE_FILLED_MAX = 8192 };
int template_fill(struct str text, const struct action *action, struct str path, struct str token,
		  const struct json_value *command, struct arena *mem, struct str *out_text);

/* The rest: a target to send. 0, FAIL_MEMORY. */
int template_finish(struct str text, const struct operation_id *id, struct arena *mem,
		    struct str *out_target);

#endif
