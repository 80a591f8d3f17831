/*
 * The keys' way between the store and the table that every thread asks.
 *
 * Each key is a document of its own, so that two changes never meet in one. When keys were used
 * last is one document for all: it is written seldom and lazily, and must never be able to bring
 * back a key that has been revoked meanwhile.
 */
#include "gate/keys.h"

#include "base/err.h"
#include "json/json.h"

#include <stdio.h>

enum {
	USES_EVERY_MS = 60 * 1000,
	LOAD_MEMORY = 256 * 1024 * 1024, /* of all keys at the start */
	USES_MEMORY = 2 * 1024 * 1024,
	USES_TEXT_MAX = STORE_DOCUMENT_VALUE_MAX - 128, /* where the last key may begin */
};

#define USES_DOCUMENT "key-uses"

/* -- at the start ------------------------------------------------------------------ */

static int ask_for(struct gate *gate, enum document_kind kind, struct arena *mem,
		   struct store_command *command)
{
	*command = (struct store_command){
		.kind = STORE_KEPT,
		.document = {.kind = kind},
		.mem = mem,
	};
	gate_ask_now(gate->store, command);
	return command->result;
}

static int take_document(struct gate *gate, const struct store_document *document,
			 struct arena *mem)
{
	struct key_record record;
	int r = key_record_read(document->name, document->value, mem, &record);

	return r == 0 ? callers_put(gate->callers, &record) : r;
}

static int load_keys(struct gate *gate, struct arena *mem, char *why, size_t why_size)
{
	struct store_command command;
	int r = ask_for(gate, DOCUMENT_KEY, mem, &command);

	if (r != 0) {
		snprintf(why, why_size, "the keys could not be read from the store: %s",
			 fail_text(r));
		return r;
	}
	for (size_t i = 0; i < command.document_count; i++) {
		const struct store_document *document = &command.documents[i];

		r = take_document(gate, document, mem);
		if (r == 0)
			continue;
		snprintf(why, why_size, "the key %.*s in the store cannot be read: %s",
			 STR_ARG(document->name), fail_text(r));
		return r;
	}
	return 0;
}

static void take_uses(struct gate *gate, struct str text, struct arena *mem)
{
	struct json_value *uses;
	struct json_error error;

	if (json_read(text, &json_limits_default, mem, &uses, &error) != 0 ||
	    uses->type != JSON_OBJECT)
		return;
	for (size_t i = 0; i < uses->object.count; i++) {
		const struct json_member *use = &uses->object.members[i];
		int64_t used_ms;

		if (use->value->type == JSON_NUMBER &&
		    json_number_to_i64(&use->value->number, &used_ms))
			callers_set_use(gate->callers, use->name, used_ms);
	}
}

/* When they were used last is a courtesy: without it the gate serves all the same. */
static void load_uses(struct gate *gate, struct arena *mem)
{
	struct store_command command;

	if (ask_for(gate, DOCUMENT_SETTING, mem, &command) != 0)
		return;
	for (size_t i = 0; i < command.document_count; i++) {
		if (str_equal(command.documents[i].name, STR(USES_DOCUMENT)))
			take_uses(gate, command.documents[i].value, mem);
	}
}

int keys_load(struct gate *gate, char *why, size_t why_size)
{
	struct arena mem;
	int r;

	arena_init(&mem, LOAD_MEMORY);
	r = load_keys(gate, &mem, why, why_size);
	if (r == 0)
		load_uses(gate, &mem);
	arena_fini(&mem);
	return r;
}

/* -- changes ----------------------------------------------------------------------- */

int keys_take(struct gate *gate, const struct key_record *record)
{
	int r = callers_put(gate->callers, record);

	if (record->revoked_ms || r != 0)
		waiting_call_credential(&gate->waiting, record->id);
	return r;
}

/* -- last use ---------------------------------------------------------------------- */

static void kept(struct store_command *command)
{
	struct gate *gate = command->owner;

	gate->key_uses.is_asking = false;
	arena_fini(&gate->key_uses.mem);
	buf_fini(&gate->key_uses.text);
	loop_timer_start(&gate->control.loop, &gate->key_uses.timer, USES_EVERY_MS);
}

/* False: there is nothing that has not been kept already. */
static bool write_uses(struct gate *gate)
{
	struct key_uses *state = &gate->key_uses;
	struct callers_use *uses;
	struct json_writer json;
	int64_t newest_ms = 0;
	size_t count;

	if (callers_list(gate->callers, &state->mem, &uses, &count) != 0)
		return false;
	json_writer_init(&json, &state->text);
	json_open_object(&json);
	while (count-- > 0 && state->text.len < USES_TEXT_MAX) { /* the newest keys first */
		const struct callers_use *use = &uses[count];

		if (!use->used_ms)
			continue;
		json_name_str(&json, use->id);
		json_integer(&json, use->used_ms / 1000 * 1000);
		newest_ms = use->used_ms > newest_ms ? use->used_ms : newest_ms;
	}
	json_close_object(&json);
	if (newest_ms <= state->kept_ms || state->text.is_spoiled)
		return false;
	state->kept_ms = newest_ms;
	return true;
}

static void time_to_keep(struct loop_timer *timer)
{
	struct gate *gate = list_entry(timer, struct gate, key_uses.timer);
	struct key_uses *state = &gate->key_uses;

	arena_init(&state->mem, USES_MEMORY);
	buf_init(&state->text, STORE_DOCUMENT_VALUE_MAX);
	state->command = (struct store_command){
		.kind = STORE_KEEP,
		.mem = &state->mem,
		.done = kept,
		.owner = gate,
		.document = {.kind = DOCUMENT_SETTING, .name = STR(USES_DOCUMENT)},
	};
	if (!write_uses(gate)) {
		kept(&state->command);
		return;
	}
	state->command.document.value = buf_str(&state->text);
	state->is_asking = true;
	gate_ask(&gate->control, &state->command);
}

void keys_start(struct gate *gate)
{
	loop_timer_init(&gate->key_uses.timer, time_to_keep);
	loop_timer_start(&gate->control.loop, &gate->key_uses.timer, USES_EVERY_MS);
	gate->key_uses.is_started = true;
}

void keys_stop(struct gate *gate)
{
	if (!gate->key_uses.is_started)
		return;
	loop_timer_cancel(&gate->key_uses.timer);
	if (gate->key_uses.is_asking) { /* its answer is not delivered any more */
		arena_fini(&gate->key_uses.mem);
		buf_fini(&gate->key_uses.text);
	}
}
