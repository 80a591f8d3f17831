/*
 * Secrets, for whoever may administer the gate: their names, setting and removing them. A value
 * comes in and never goes out.
 *
 * It counts as soon as the store has it: the next sending uses it. Where the store cannot say
 * whether it has, the store is asked what it holds now, so that the gate goes on with what a
 * restart would find.
 *
 * A secret belongs to the whole gate: its rows in the table are of all accounts (is_of_all).
 */
#include "admin/api.h"

#include "base/err.h"
#include "core/secret.h"
#include "gate/credential.h"

struct secret_change {
	struct str name, value; /* an empty value: it goes */
};

/* -- the list ---------------------------------------------------------------------- */

static bool wants(const struct settings *settings, size_t index, struct str name)
{
	return str_equal(settings->upstreams[index].credential.secret, name);
}

static void secret_json(struct json_writer *json, const struct settings *settings, struct str name,
			const struct secret_note *note)
{
	json_open_object(json);
	json_name(json, "name");
	json_string(json, name);
	json_name(json, "set");
	json_boolean(json, note != NULL);
	json_name(json, "updated_at");
	if (note)
		json_time(json, note->updated_ms);
	else
		json_null(json);
	json_name(json, "upstreams");
	json_open_array(json);
	for (size_t i = 0; i < settings->upstream_count; i++) {
		if (wants(settings, i, name))
			json_string(json, settings->upstreams[i].name);
	}
	json_close_array(json);
	json_close_object(json);
}

/* Those that an upstream wants and nobody has set, each once. */
static void missing_json(struct json_writer *json, const struct settings *settings,
			 struct secrets *secrets)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		struct str name = settings->upstreams[i].credential.secret;
		size_t first = 0;

		if (!name.len || secrets_version(secrets, name) != 0)
			continue;
		while (!wants(settings, first, name))
			first++;
		if (first == i)
			secret_json(json, settings, name, NULL);
	}
}

void api_list_secrets(struct api_call *call)
{
	const struct settings *settings = gate_settings(call->admin->gate);
	struct secrets *secrets = call->admin->gate->secrets;
	struct secret_note *notes;
	struct json_writer json;
	struct buf body;
	size_t count;

	if (secrets_list(secrets, &call->exchange->mem, &notes, &count) != 0) {
		api_problem(call, PROBLEM_OVERLOADED, NULL);
		return;
	}
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "secrets");
	json_open_array(&json);
	for (size_t i = 0; i < count; i++)
		secret_json(&json, settings, notes[i].name, &notes[i]);
	missing_json(&json, settings, secrets);
	json_close_array(&json);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

/* -- changing one ------------------------------------------------------------------ */

/* What came in is needed no more. The text is this exchange's own. */
static void wipe_request(struct api_call *call)
{
	struct secret_change *change = call->state;
	struct str text = call->exchange->body_text;

	if (change->value.len)
		explicit_bzero((char *)change->value.at, change->value.len);
	if (text.len)
		explicit_bzero((char *)text.at, text.len);
}

/* The store had lost sight of the change: this is what it holds. */
static void found_out(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct secret_change *change = call->state;
	struct secrets *secrets = call->admin->gate->secrets;
	bool is_there = false;

	for (size_t i = 0; command->result == 0 && i < command->document_count; i++) {
		const struct store_document *document = &command->documents[i];

		if (!str_equal(document->name, change->name))
			continue;
		is_there = true;
		(void)secrets_put(secrets, document->name, document->value, document->updated_ms);
	}
	if (command->result == 0 && !is_there)
		secrets_drop(secrets, change->name);
	wipe_request(call);
	api_problem(call, PROBLEM_STORE_UNAVAILABLE,
		    "The store could not say whether the secret was changed; try again.");
}

static void find_out(struct api_call *call)
{
	call->command = (struct store_command){
		.kind = STORE_KEPT,
		.document = {.kind = DOCUMENT_SECRET},
	};
	api_ask(call, found_out);
}

static void log_changed(const struct api_call *call, const char *event)
{
	const struct secret_change *change = call->state;
	struct log_line line;

	log_begin(&line, call->admin->gate->log, LOG_INFO, event);
	log_str(&line, "secret", change->name);
	log_str(&line, "by", call->caller.credential);
	log_end(&line);
}

static void answer_changed(struct api_call *call, const char *member, int64_t updated_ms)
{
	const struct secret_change *change = call->state;
	struct json_writer json;
	struct buf body;

	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "name");
	json_string(&json, change->name);
	json_name(&json, member);
	json_boolean(&json, true);
	if (updated_ms) {
		json_name(&json, "updated_at");
		json_time(&json, updated_ms);
	}
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

static void kept(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct secret_change *change = call->state;
	int r;

	if (command->result == FAIL_UNCERTAIN) {
		find_out(call);
		return;
	}
	if (command->result == 0) {
		r = secrets_put(call->admin->gate->secrets, change->name, change->value,
				command->document.updated_ms);
		wipe_request(call);
		if (r == 0) {
			log_changed(call, "secret-set");
			answer_changed(call, "set", command->document.updated_ms);
		} else {
			api_problem(call, PROBLEM_OVERLOADED, NULL);
		}
		return;
	}
	wipe_request(call);
	if (command->result == STORE_FULL)
		api_problem(call, PROBLEM_OVERLOADED, "There are as many secrets as may be kept.");
	else if (!api_failed(call, NULL))
		api_problem(call, PROBLEM_STORE_UNAVAILABLE, NULL);
}

static void dropped(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct secret_change *change = call->state;

	if (command->result == FAIL_UNCERTAIN) {
		find_out(call);
		return;
	}
	if (api_failed(call, "There is no secret of that name."))
		return;
	secrets_drop(call->admin->gate->secrets, change->name);
	log_changed(call, "secret-removed");
	answer_changed(call, "removed", 0);
}

/* NULL: refused, and answered. */
static struct secret_change *begin_change(struct api_call *call)
{
	struct secret_change *change;

	if (!secret_name_is_fine(call->parameters[0])) {
		api_problem(call, PROBLEM_BODY_MALFORMED,
			    "The name of a secret is 1 to 64 letters, digits, '.', '-' or '_', "
			    "the first a letter or a digit.");
		return NULL;
	}
	change = api_state_new(call, sizeof(*change));
	if (change)
		change->name = call->parameters[0];
	return change;
}

static void change_it(struct api_call *call, enum store_kind kind, const char *event,
		      store_done done)
{
	const struct secret_change *change = call->state;

	call->command = (struct store_command){
		.kind = kind,
		.document =
			{
				.kind = DOCUMENT_SECRET,
				.name = change->name,
				.value = change->value,
			},
		.administration =
			{
				.event = event,
				.subject = change->name,
				.by = call->caller.credential,
			},
	};
	api_ask(call, done);
}

void api_set_secret(struct api_call *call)
{
	const struct json_value *value = json_member(call->body, STR("value"));
	struct secret_change *change = begin_change(call);
	const char *fault;

	if (!change)
		return;
	if (!value || value->type != JSON_STRING) {
		wipe_request(call);
		api_problem(call, PROBLEM_BODY_MALFORMED, "Send {\"value\": \"…\"}.");
		return;
	}
	change->value = value->string;
	fault = secret_value_fault(change->value);
	if (fault) {
		wipe_request(call);
		api_problem(call, PROBLEM_BODY_MALFORMED, fault);
		return;
	}
	change_it(call, STORE_KEEP, "secret_set", kept);
}

void api_remove_secret(struct api_call *call)
{
	if (begin_change(call))
		change_it(call, STORE_DROP, "secret_removed", dropped);
}
