/*
 * The admin API: operations and locks from the operator's side.
 *
 * A decision is read whole, then the operation's record (what it opens and how long it is kept is
 * written there), then the store is told; its answer is the operation as it is then. Between the
 * two somebody else may move it: the store judges again and refuses (STORE_LOST).
 */
#include "admin/admin.h"

#include "admin/decision.h"
#include "admin/locks_json.h"
#include "gate/background.h"
#include "gate/operation_json.h"
#include "gate/query.h"

#include <sodium.h>
#include <stdio.h>

enum {
	API_BODY_MAX = 64 * 1024,
	API_ANSWER_MAX = 8 * 1024 * 1024,
};

#define OPERATIONS "/api/operations"
#define LOCKS	   "/api/locks"

struct api_call {
	struct admin *admin;
	struct exchange *exchange;
	struct operation_id id;
	struct str verb; /* "", "cancel", "resolve", "release" */
	struct decision decision;
	struct locks_filter filter;
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

static void answer_json(struct api_call *call)
{
	const struct store_command *command = &call->command;
	struct json_writer json;
	struct buf body;

	buf_init(&body, API_ANSWER_MAX);
	json_writer_init(&json, &body);
	if (command->kind == STORE_LIST)
		operation_list_json(&json, command, false);
	else if (command->kind == STORE_LOCKS)
		locks_json(&json, command, &call->filter);
	else
		operation_found_json(&json, command, gate_settings(call->admin->gate), false);
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

/* What a decision came too late for, or was never for. */
static void answer_lost(struct api_call *call)
{
	static const struct {
		enum problem problem;
		const char *text;
	} kinds[] = {
		[DECISION_CANCEL] = {PROBLEM_NOT_CANCELLABLE,
				     "only one that has not been sent (queued) can be cancelled"},
		[DECISION_RESOLVE] = {PROBLEM_NOT_RESOLVABLE,
				      "only one that is unknown can be resolved"},
		[DECISION_RELEASE] = {PROBLEM_NOT_RELEASABLE, "it holds no lock"},
	};
	bool is_later =
		call->decision.has_epoch && call->decision.epoch != call->command.operation.epoch;
	char detail[128];

	if (is_later)
		snprintf(detail, sizeof(detail),
			 "It was sent again since; its epoch is %u. Look at it again.",
			 (unsigned)call->command.operation.epoch);
	else
		snprintf(detail, sizeof(detail), "The operation is %s; %s.",
			 operation_state_name(call->command.operation.state),
			 kinds[call->decision.kind].text);
	admin_answer_problem(call->exchange, kinds[call->decision.kind].problem, detail);
}

/* True: the answer has been given. */
static bool failed(struct api_call *call)
{
	switch (call->command.result) {
	case 0:
		return false;
	case STORE_ABSENT:
		admin_answer_problem(call->exchange, PROBLEM_NOT_FOUND,
				     "There is no such operation.");
		return true;
	case STORE_LOST:
		answer_lost(call);
		return true;
	default:
		admin_answer_problem(call->exchange, PROBLEM_STORE_UNAVAILABLE, NULL);
		return true;
	}
}

static void answered(struct store_command *command)
{
	struct api_call *call = command->owner;

	if (!failed(call))
		answer_json(call);
}

static void find(struct api_call *call, store_done done)
{
	call->command = (struct store_command){
		.kind = STORE_FIND,
		.by_id = true,
		.operation = {.id = call->id},
	};
	ask(call, done);
}

/* -- decisions --------------------------------------------------------------------- */

static void log_decided(struct api_call *call)
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

/* A lock that is taken away ends nothing that somebody in the waiting room waits for. */
static void decided(struct store_command *command)
{
	struct api_call *call = command->owner;
	struct gate *gate = call->admin->gate;

	if (failed(call))
		return;
	log_decided(call);
	if (call->decision.kind != DECISION_RELEASE)
		waiting_call(&gate->waiting, &call->id);
	if (command->makes_due)
		background_poke(gate);
	find(call, answered);
}

static void considered(struct store_command *command)
{
	struct api_call *call = command->owner;
	struct gate *gate = call->admin->gate;
	struct store_command found = *command;

	if (failed(call))
		return;
	decision_command(&call->decision, gate_settings(gate), &found, env_wall_ms(gate->env),
			 &call->exchange->mem, &call->command);
	ask(call, decided);
}

static void decide(struct api_call *call, const struct json_value *body)
{
	const char *wrong = decision_read(call->decision.kind, body, &call->decision);

	if (wrong)
		admin_answer_problem(call->exchange, PROBLEM_BODY_MALFORMED, wrong);
	else
		find(call, considered);
}

static void read_and_decide(struct api_call *call)
{
	struct json_value *body;
	struct json_error error;

	switch (json_read(call->exchange->body_text, &json_limits_default, &call->exchange->mem,
			  &body, &error)) {
	case 0:
		decide(call, body);
		break;
	case JSON_REFUSED:
		admin_answer_problem(call->exchange, PROBLEM_BODY_MALFORMED, error.detail);
		break;
	default:
		admin_answer_problem(call->exchange, PROBLEM_OVERLOADED, NULL);
		break;
	}
}

/* -- looking ----------------------------------------------------------------------- */

static void list(struct api_call *call)
{
	const char *wrong;

	call->command = (struct store_command){.kind = STORE_LIST};
	wrong = query_list(call->exchange->request.parts.query, true, &call->exchange->mem,
			   &call->command);
	if (wrong)
		admin_answer_problem(call->exchange, PROBLEM_QUERY_MALFORMED, wrong);
	else
		ask(call, answered);
}

static void list_locks(struct api_call *call)
{
	const char *wrong;

	call->command = (struct store_command){
		.kind = STORE_LOCKS,
		.limit = STORE_LIST_MAX,
	};
	wrong = locks_query(call->exchange->request.parts.query, &call->exchange->mem,
			    &call->filter);
	if (wrong)
		admin_answer_problem(call->exchange, PROBLEM_QUERY_MALFORMED, wrong);
	else
		ask(call, answered);
}

static void look(struct api_call *call)
{
	struct str path = call->exchange->request.parts.path;

	if (str_equal(path, STR(OPERATIONS)))
		list(call);
	else if (str_equal(path, STR(LOCKS)))
		list_locks(call);
	else
		find(call, answered);
}

static void route(struct api_call *call)
{
	const struct http_request *request = &call->exchange->request;
	struct str path = request->parts.path;
	bool is_one = query_operation_path(path, STR(OPERATIONS), &call->id, &call->verb);
	bool is_list = str_equal(path, STR(OPERATIONS)) || str_equal(path, STR(LOCKS));
	bool is_post = str_equal(request->method, STR("POST"));

	if ((!is_one && !is_list) ||
	    (call->verb.len && !decision_kind_from(call->verb, &call->decision.kind)))
		admin_answer_problem(call->exchange, PROBLEM_NOT_FOUND, NULL);
	else if (is_post != (call->verb.len != 0) ||
		 (!is_post && !str_equal(request->method, STR("GET"))))
		admin_answer_problem(call->exchange, PROBLEM_METHOD_NOT_ALLOWED,
				     call->verb.len ? "Use POST." : "Use GET.");
	else if (is_post)
		read_and_decide(call);
	else
		look(call);
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
