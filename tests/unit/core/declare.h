/*
 * For tests: an action whose fields are declared in JSON, as a configuration would say them.
 *
 *   {"amount": {"type": "money", "currency": "currency", "unit": "major", "required": true}}
 *
 * Keys: type, required, nullable, server_assigned, secret, description, default, enum,
 * min_length, max_length, pattern, min, max, currency (a field beside it, else a fixed code),
 * unit, fields, items, unknown_fields. Everything lives in `mem`, but the compiled patterns:
 * declare_forget() frees them.
 */
#ifndef TESTS_DECLARE_H
#define TESTS_DECLARE_H

#include "core/action.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The tree of a text that is JSON, or the test fails. */
struct json_value *declare_json(const char *text, struct arena *mem);

struct action declare_action(const struct json_value *fields, struct arena *mem);
void declare_forget(struct action *action);

#endif
