/*
 * The admin API: operations from the operator's side.
 *
 * Resolving an unknown operation is a person's statement of what happened; it needs a reason,
 * which is recorded with the operation.
 */
#include "admin/admin.h"

#include "gate/operation_json.h"
#include "gate/query.h"

#include <sodium.h>
#include <stdio.h>

enum { API_BODY_MAX = 64 * 1024, API_ANSWER_MAX = 8 * 1024 * 1024, WHY_MAX = 2000 };

#define OPERATIONS "/api/operations"

struct api_call {
	struct admin *admin;
	struct exchange *exchange;
	struct operation_id id;
	struct str verb; /* "", "cancel", "resolve" */
	struct store_command command;
};

/* Compared in constant time, so that nobody learns the token by its beginning. */
static bool is_authenticated(const struct admin *admin, const struct exchange *exchange)
{
	const struct http_field *field = http_field_find(
		exchange->request.fields, exchange->request.field_count, STR("Authorization"));
	struct str value = field ? field->value : STR("");

	if (!str_starts_with_nocase(value, STR("Bearer ")))
		return false;
	value = str_trim(str_from_index(value, 7));
	return value.len == ADMIN_TOKEN_TEXT &&
	       sodium_memcmp(value.at, admin->token, ADMIN_TOKEN_TEXT) == 0;
}

static void answer_json(struct api_call *call, bool is_list)
{
	const struct store_command *command = &call->command;
	struct json_writer json;
	struct buf body;

	buf_init(&body, API_ANSWER_MAX);
	json_writer_init(&json, &body);
	if (is_list)
		operation_list_json(&json, command, false);
	else if (command->kind == STORE_FIND)
		operation_found_json(&json, command, gate_settings(call->admin->gate), false);
	else
		operation_json(&json, &command->operation, NULL, 0, false);
	if (body.is_spoiled)
		exchange_abort(call->exchange);
	else
		exchange_answer(
			call->exchange, 200,
			STR("Content-Type: application/json\r\nCache-Control: no-store\r\n"),
			buf_str(&body));
	buf_fini(&body);
}

static void ask(struct api_call *call, store_done done)
{
	call->command.mem = &call->exchange->mem;
	call->command.done = done;
	call->command.owner = call;
	gate_ask(&call->admin->gate->control, &call->command);
}

/* True: the answer has been given. */
static bool failed(struct api_call *call)
{
	char detail[128];
	bool is_cancel;

	switch (call->command.result) {
	case 0:
		return false;
	case STORE_ABSENT:
		admin_answer_problem(call->exchange, PROBLEM_NOT_FOUND,
				     "There is no such operation.");
		return true;
	case STORE_LOST:
		is_cancel = str_equal(call->verb, STR("cancel"));
		snprintf(detail, sizeof(detail), "The operation is %s; %s.",
			 operation_state_name(call->command.operation.state),
			 is_cancel ? "only one that has not been sent (queued) can be cancelled"
				   : "only one that is unknown can be resolved");
		admin_answer_problem(call->exchange,
				     is_cancel ? PROBLEM_NOT_CANCELLABLE : PROBLEM_NOT_RESOLVABLE,
				     detail);
		return true;
	default:
		admin_answer_problem(call->exchange, PROBLEM_STORE_UNAVAILABLE, NULL);
		return true;
	}
}

static void found(struct store_command *command)
{
	struct api_call *call = command->owner;

	if (!failed(call))
		answer_json(call, false);
}

static void listed(struct store_command *command)
{
	struct api_call *call = command->owner;

	if (!failed(call))
		answer_json(call, true);
}

static void find(struct api_call *call)
{
	call->command = (struct store_command){
		.kind = STORE_FIND,
		.by_id = true,
		.operation = {.id = call->id},
	};
	ask(call, found);
}

static void log_moved(struct api_call *call)
{
	char id[OPERATION_ID_TEXT + 1];
	struct log_line line;

	operation_id_write(&call->id, id);
	log_begin(&line, call->admin->gate->log, LOG_INFO, "operation-moved");
	log_text(&line, "operation", id);
	log_str(&line, "by", STR("operator"));
	log_str(&line, "verb", call->verb);
	log_text(&line, "state", operation_state_name(call->command.operation.state));
	log_end(&line);
}

static void moved(struct store_command *command)
{
	struct api_call *call = command->owner;

	if (failed(call))
		return;
	log_moved(call);
	waiting_call(&call->admin->gate->waiting, &call->id);
	find(call);
}

/* Reading the statement. */

static struct str text_member(const struct json_value *body, const char *name)
{
	const struct json_value *value = json_member(body, str_from(name));

	return value && value->type == JSON_STRING ? value->string : STR("");
}

static bool flag_member(const struct json_value *body, const char *name, bool otherwise)
{
	const struct json_value *value = json_member(body, str_from(name));

	if (!value || (value->type != JSON_TRUE && value->type != JSON_FALSE))
		return otherwise;
	return value->type == JSON_TRUE;
}

static enum operation_event event_of(const struct api_call *call, const struct json_value *body)
{
	if (str_equal(call->verb, STR("cancel")))
		return EVENT_CANCELLED;
	if (flag_member(body, "happened", false))
		return EVENT_FOUND_DONE;
	return flag_member(body, "retry", true) ? EVENT_FOUND_NOT_DONE : EVENT_FOUND_FAILED;
}

static const char *wrong_with(const struct api_call *call, const struct json_value *body)
{
	const struct json_value *happened = json_member(body, STR("happened"));
	const struct json_value *retry = json_member(body, STR("retry"));
	struct str why = text_member(body, "why");

	if (why.len == 0 || why.len > WHY_MAX)
		return "\"why\" is a text of 1 to 2000 bytes: how you know.";
	if (text_member(body, "reference").len > WHY_MAX)
		return "\"reference\" is a text of at most 2000 bytes.";
	if (str_equal(call->verb, STR("resolve")) &&
	    (!happened || (happened->type != JSON_TRUE && happened->type != JSON_FALSE)))
		return "\"happened\" is true or false: whether the service acted.";
	if (retry && retry->type != JSON_TRUE && retry->type != JSON_FALSE)
		return "\"retry\" is true or false: whether its caller may send it again.";
	return NULL;
}

static void move(struct api_call *call, const struct json_value *body)
{
	const char *wrong = wrong_with(call, body);

	if (wrong) {
		admin_answer_problem(call->exchange, PROBLEM_BODY_MALFORMED, wrong);
		return;
	}
	call->command = (struct store_command){
		.kind = STORE_MOVE,
		.event = event_of(call, body),
		.any_epoch = true,
		.retention_ms = gate_settings(call->admin->gate)->tokens.retention_ms,
		.operation =
			{
				.id = call->id,
				.reason = text_member(body, "why"),
				.reference = text_member(body, "reference"),
				.decided_by = STR("operator"),
			},
	};
	ask(call, moved);
}

static void list(struct api_call *call)
{
	const char *wrong;

	call->command = (struct store_command){.kind = STORE_LIST};
	wrong = query_list(call->exchange->request.parts.query, true, &call->exchange->mem,
			   &call->command);
	if (wrong)
		admin_answer_problem(call->exchange, PROBLEM_QUERY_MALFORMED, wrong);
	else
		ask(call, listed);
}

static void read_and_move(struct api_call *call)
{
	struct json_value *body;
	struct json_error error;

	switch (json_read(call->exchange->body_text, &json_limits_default, &call->exchange->mem,
			  &body, &error)) {
	case 0:
		move(call, body);
		break;
	case JSON_REFUSED:
		admin_answer_problem(call->exchange, PROBLEM_BODY_MALFORMED, error.detail);
		break;
	default:
		admin_answer_problem(call->exchange, PROBLEM_OVERLOADED, NULL);
		break;
	}
}

static bool is_verb(struct str verb)
{
	return str_equal(verb, STR("cancel")) || str_equal(verb, STR("resolve"));
}

static void route(struct api_call *call)
{
	const struct http_request *request = &call->exchange->request;
	bool is_one =
		query_operation_path(request->parts.path, STR(OPERATIONS), &call->id, &call->verb);
	bool is_list = str_equal(request->parts.path, STR(OPERATIONS));
	bool is_post = str_equal(request->method, STR("POST"));

	if ((!is_one && !is_list) || (call->verb.len && !is_verb(call->verb)))
		admin_answer_problem(call->exchange, PROBLEM_NOT_FOUND, NULL);
	else if (is_post != (call->verb.len != 0) ||
		 (!is_post && !str_equal(request->method, STR("GET"))))
		admin_answer_problem(call->exchange, PROBLEM_METHOD_NOT_ALLOWED,
				     call->verb.len ? "Use POST." : "Use GET.");
	else if (is_list)
		list(call);
	else if (call->verb.len)
		read_and_move(call);
	else
		find(call);
}

static void collected(struct exchange *exchange, const struct http_refusal *refusal)
{
	if (refusal)
		admin_answer_problem(exchange, problem_of_status(refusal->status), refusal->detail);
	else
		route(exchange->owner);
}

static void finished(struct exchange *exchange, enum delivery delivery)
{
	exchange_release(exchange);
}

static const struct exchange_events events = {.collected = collected, .finished = finished};

void admin_api(struct admin *admin, struct exchange *exchange)
{
	struct api_call *call;

	if (!is_authenticated(admin, exchange)) {
		admin_answer_problem(
			exchange, PROBLEM_UNAUTHENTICATED,
			"Send the token in the file admin-token of the data directory as "
			"a bearer token.");
		return;
	}
	call = arena_zalloc(&exchange->mem, sizeof(*call));
	if (!call) {
		exchange_abort(exchange);
		return;
	}
	call->admin = admin;
	call->exchange = exchange;
	exchange->owner = call;
	exchange->events = &events;
	exchange_collect(exchange, API_BODY_MAX);
}
