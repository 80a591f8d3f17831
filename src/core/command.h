/*
 * A command: one request of an action after validation.
 *
 * The body is read as the action declares it: every field checked at once, defaults filled in,
 * money made exact (currency and minor units), references and instants brought to their one
 * spelling, fields that the server assigns left out. Two requests that mean the same have the
 * same canonical command, and it is what the fingerprint is taken over; the service is sent the
 * client's own bytes.
 */
#ifndef CORE_COMMAND_H
#define CORE_COMMAND_H

#include "base/buf.h"
#include "core/action.h"

enum {
	COMMAND_REFUSED = 1, /* 422: `faults` says all that is wrong with it */
	COMMAND_FAULTS_MAX = 32,
};

struct command_fault {
	struct str pointer; /* JSON pointer to the field */
	char detail[200];   /* a sentence: what is wrong, how to mend it; no value of a secret field
			     */
	bool is_mutable_reference; /* it is well-formed, but what it names can change */
};

struct command_faults {
	struct command_fault faults[COMMAND_FAULTS_MAX];
	size_t count;
	size_t left_out; /* beyond the maximum */
};

/*
 * Check `body` (a whole JSON tree) against `action` and append the canonical command to `out`;
 * *out_command is its tree, in `mem` and the body's memory (NULL where there is none at all). A
 * `body` of NULL is none at all. 0, COMMAND_REFUSED (nothing appended), FAIL_MEMORY, FAIL_LIMIT
 * (both may leave a part in `out`). Every string of the faults lives in `mem`.
 *
 * Left out, though checked: fields that the server assigns, and the token where the action finds
 * it in the body (it need not be a declared field; the objects around it do). An object or array
 * without `fields` takes whatever is in it. The member that the gate writes
 * (downstream_key.field) is refused, also where unknown ones are kept.
 */
int command_read(const struct action *action, const struct json_value *body, struct arena *mem,
		 struct buf *out, const struct json_value **out_command,
		 struct command_faults *out_faults);

/*
 * The JSON Schema (draft 2020-12) of an action's command. It may let through what command_read()
 * refuses (digits of a currency), never the other way round.
 */
void command_schema(struct json_writer *json, const struct action *action);

#endif
