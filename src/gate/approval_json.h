/*
 * A question to people as JSON: in short for who asked, whole for who answers.
 */
#ifndef GATE_APPROVAL_JSON_H
#define GATE_APPROVAL_JSON_H

#include "config/settings.h"
#include "store/store.h"
#include "json/json.h"

/* How a question stands: "waiting", "given", "denied", "expired", "withdrawn". */
const char *approval_stand_name(enum approval_stand stand);

/*
 * What the ledger has kept as JSON (store_approval.shown, .answers), which may be deeper than what
 * strangers send: 0; JSON_REFUSED: it is none; FAIL_MEMORY.
 */
int approval_kept(struct str text, struct arena *mem, struct json_value **out_value);

/* That member. NULL: it has none, or `of` is NULL. */
const struct json_value *approval_part(const struct json_value *of, const char *name);

/*
 * The member "approval" of an operation's JSON: how many have agreed of how many, until when, and
 * what it is about; not who may answer, nor, for its caller, who has. null where nobody is asked.
 */
void approval_member_json(struct json_writer *json, const struct store_approval *approval,
			  bool is_for_caller, struct arena *mem);

/*
 * The whole of it, of an answered STORE_FIND by id: with what it was the last time, and what is
 * other now.
 */
void approval_found_json(struct json_writer *json, const struct store_command *find,
			 const struct settings *settings);

/* What a cursor begins with, by whether it is past those that wait (store_command.is_past). */
enum { APPROVAL_CURSOR_PARTS = 2 };
extern const char *const approval_cursor_prefixes[APPROVAL_CURSOR_PARTS];

/*
 * {"approvals": […], "next": cursor or null} of an answered STORE_APPROVALS. Of equal ones that
 * wait, those on the same page are told (alike, alike_ids); what was last time is not.
 */
void approval_list_json(struct json_writer *json, const struct store_command *list,
			const struct settings *settings);

#endif
