/*
 * The gate's own keys: making, listing, revoking, forgetting.
 *
 * A change is in force when the store has committed it: then the table that every thread asks is
 * changed, and only then is it answered. A key's text is told once, in the answer to its making,
 * and kept nowhere.
 *
 * A key that is revoked stays, so that the histories which name its id can be read, until somebody
 * says that it may be forgotten: the gate keeps a bounded number of them. Where the store
 * does not know whether it could keep a revocation, the key is revoked in this process all the
 * same.
 */
#include "admin/api.h"

#include "admin/key_wish.h"
#include "auth/callers.h"
#include "gate/keys.h"

#include "base/err.h"

#include <sodium.h>

enum {
	KEY_WHY_MAX = 500,
	KEY_SCRATCH = 64 * 1024, /* of one key, while it is listed */
};

/* A change under way. */
struct change {
	struct key_record record;
	char id[KEY_ID_TEXT + 1], text[KEY_TEXT + 1];
	struct buf value; /* the record as it is kept */
};

/* -- telling ----------------------------------------------------------------------- */

static void tell_time(struct json_writer *json, const char *name, int64_t at_ms)
{
	json_name(json, name);
	if (at_ms)
		json_time(json, at_ms);
	else
		json_null(json);
}

static bool is_in_force(const struct key_record *record, int64_t now_ms)
{
	return !record->revoked_ms && (!record->expires_ms || now_ms < record->expires_ms);
}

static const char *standing(const struct key_record *record, int64_t now_ms)
{
	if (is_in_force(record, now_ms))
		return "active";
	return record->revoked_ms ? "revoked" : "expired";
}

static void tell_key(struct json_writer *json, const struct key_record *record, int64_t used_ms,
		     int64_t now_ms)
{
	json_put_text(json, "id", record->id);
	json_put_text(json, "state", str_from(standing(record, now_ms)));
	json_put_text(json, "account", record->account);
	json_put_text(json, "agent", record->agent);
	json_put_text(json, "role", str_from(role_name(record->role)));
	json_put_text(json, "label", record->label);
	json_name(json, "all_accounts");
	json_boolean(json, record->has_all_accounts);
	json_name(json, "actions");
	json_open_array(json);
	for (size_t i = 0; i < record->action_count; i++)
		json_string(json, record->actions[i]);
	json_close_array(json);
	tell_time(json, "created_at", record->created_ms);
	json_put_text(json, "created_by", record->created_by);
	tell_time(json, "expires_at", record->expires_ms);
	tell_time(json, "last_used_at", used_ms);
	tell_time(json, "revoked_at", record->revoked_ms);
	json_put_text(json, "revoked_by", record->revoked_by);
	json_put_text(json, "revoked_why", record->revoked_why);
}

static int64_t now_of(const struct api_call *call)
{
	return env_wall_ms(call->admin->gate->env);
}

static void answer_key(struct api_call *call, int status, const struct key_record *record,
		       int64_t used_ms, struct str text)
{
	struct json_writer json;
	struct buf body;

	api_json_begin(&json, &body);
	json_open_object(&json);
	if (text.len)
		json_put_text(&json, "key", text);
	tell_key(&json, record, used_ms, now_of(call));
	json_close_object(&json);
	api_json_end(call, status, &body);
}

/* May the caller know of it? A key of all accounts is for those who see all. */
static bool is_seen(const struct api_call *call, const struct key_record *record)
{
	return call->caller.has_all_accounts ||
	       (!record->has_all_accounts && caller_may_see(&call->caller, record->account));
}

/* -- listing ----------------------------------------------------------------------- */

/* False: no memory. */
static bool list_key(struct api_call *call, struct json_writer *json, struct str id)
{
	struct key_record record;
	struct arena scratch;
	int64_t used_ms;
	int r;

	arena_init(&scratch, KEY_SCRATCH);
	r = callers_record(call->admin->gate->callers, id, &scratch, &record, &used_ms);
	if (r == 0 && is_seen(call, &record)) {
		json_open_object(json);
		tell_key(json, &record, used_ms, now_of(call));
		json_close_object(json);
	}
	arena_fini(&scratch);
	return r >= 0;
}

void api_list_keys(struct api_call *call)
{
	struct callers_use *uses = NULL;
	struct json_writer json;
	struct buf body;
	size_t count = 0;
	bool is_whole;

	is_whole =
		callers_list(call->admin->gate->callers, &call->exchange->mem, &uses, &count) == 0;
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "keys");
	json_open_array(&json);
	for (size_t i = 0; is_whole && i < count; i++)
		is_whole = list_key(call, &json, uses[i].id);
	json_close_array(&json);
	json_close_object(&json);
	if (is_whole) {
		api_json_end(call, 200, &body);
		return;
	}
	buf_fini(&body);
	api_problem(call, PROBLEM_OVERLOADED, NULL);
}

/* -- changing ---------------------------------------------------------------------- */

static void log_change(const struct api_call *call, const char *event,
		       const struct key_record *record)
{
	struct log_line line;

	log_begin(&line, call->admin->gate->log, LOG_INFO, event);
	log_str(&line, "key", record->id);
	log_str(&line, "by", call->caller.credential);
	log_end(&line);
}

static void keep(struct api_call *call, const char *event, bool is_new, store_done done)
{
	struct change *change = call->state;

	buf_init(&change->value, KEY_RECORD_MAX);
	key_record_write(&change->record, &change->value);
	if (change->value.is_spoiled) {
		buf_fini(&change->value);
		api_problem(call, PROBLEM_BODY_TOO_LARGE, NULL);
		return;
	}
	call->command = (struct store_command){
		.kind = STORE_KEEP,
		.document = {.kind = DOCUMENT_KEY,
			     .name = change->record.id,
			     .value = buf_str(&change->value)},
		.must_be_new = is_new,
		.administration =
			{
				.event = event,
				.subject = change->record.id,
				.account = change->record.account,
				.agent = change->record.agent,
				.role = change->record.role,
				.by = call->caller.credential,
				.why = is_new ? change->record.label : change->record.revoked_why,
			},
	};
	api_ask(call, done);
}

static void created(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct change *change = call->state;

	buf_fini(&change->value);
	if (command->result == STORE_FULL) {
		api_problem(
			call, PROBLEM_OVERLOADED,
			"As many keys as this gate keeps are there already; forget some that are "
			"revoked or expired (counterfoil key rm).");
	} else if (command->result != 0) {
		api_problem(call, PROBLEM_STORE_UNAVAILABLE, NULL);
	} else if (keys_take(call->admin->gate, &change->record) != 0) {
		api_problem(call, PROBLEM_OVERLOADED, NULL);
	} else {
		log_change(call, "key-created", &change->record);
		answer_key(call, 201, &change->record, 0, str_from(change->text));
	}
	sodium_memzero(change->text, sizeof(change->text));
}

void api_create_key(struct api_call *call)
{
	struct change *change = api_state_new(call, sizeof(*change));
	bool is_beyond;
	const char *wrong;

	if (!change)
		return;
	wrong = key_wish_read(call->body, &call->caller, now_of(call), &call->exchange->mem,
			      &change->record, &is_beyond);
	if (wrong) {
		api_problem(call, is_beyond ? PROBLEM_FORBIDDEN : PROBLEM_BODY_MALFORMED, wrong);
		return;
	}
	key_make(call->admin->gate->env, change->text, change->id);
	change->record.id = str_from(change->id);
	key_digest(str_from(change->text), &change->record.digest);
	keep(call, "key_created", true, created);
}

static void revoked(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct change *change = call->state;

	buf_fini(&change->value);
	if (command->result == 0 || command->result == FAIL_UNCERTAIN)
		keys_take(call->admin->gate, &change->record);
	if (command->result != 0) {
		api_problem(call, PROBLEM_STORE_UNAVAILABLE, NULL);
		return;
	}
	log_change(call, "key-revoked", &change->record);
	answer_key(call, 200, &change->record, 0, STR(""));
}

/* The key of the path, into the change. False: there is none to be seen, and it is answered. */
static bool find_key(struct api_call *call, struct change *change, int64_t *out_used_ms)
{
	int r = callers_record(call->admin->gate->callers, call->parameters[0],
			       &call->exchange->mem, &change->record, out_used_ms);

	if (r == 0 && is_seen(call, &change->record))
		return true;
	if (r < 0)
		api_problem(call, PROBLEM_OVERLOADED, NULL);
	else
		api_problem(call, PROBLEM_NOT_FOUND, "There is no such key.");
	return false;
}

void api_revoke_key(struct api_call *call)
{
	struct change *change = api_state_new(call, sizeof(*change));
	struct str why = api_text(call, "why");
	int64_t used_ms;

	if (!change)
		return;
	if (why.len > KEY_WHY_MAX) {
		api_problem(call, PROBLEM_BODY_MALFORMED,
			    "\"why\" is a text of at most 500 bytes.");
		return;
	}
	if (!find_key(call, change, &used_ms))
		return;
	if (change->record.revoked_ms) {
		answer_key(call, 200, &change->record, used_ms, STR(""));
	} else {
		change->record.revoked_ms = now_of(call);
		change->record.revoked_by = call->caller.credential;
		change->record.revoked_why = why;
		keep(call, "key_revoked", false, revoked);
	}
}

static void forgotten(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct change *change = call->state;

	if (api_failed(call, "There is no such key."))
		return;
	callers_drop(call->admin->gate->callers, change->record.id);
	log_change(call, "key-removed", &change->record);
	answer_key(call, 200, &change->record, 0, STR(""));
}

void api_remove_key(struct api_call *call)
{
	struct change *change = api_state_new(call, sizeof(*change));
	int64_t used_ms;

	if (!change || !find_key(call, change, &used_ms))
		return;
	if (is_in_force(&change->record, now_of(call))) {
		api_problem(call, PROBLEM_FORBIDDEN, "This key is in force; revoke it first.");
		return;
	}
	call->command = (struct store_command){
		.kind = STORE_DROP,
		.document = {.kind = DOCUMENT_KEY, .name = change->record.id},
		.administration =
			{
				.event = "key_removed",
				.subject = change->record.id,
				.account = change->record.account,
				.agent = change->record.agent,
				.role = change->record.role,
				.by = call->caller.credential,
			},
	};
	api_ask(call, forgotten);
}
