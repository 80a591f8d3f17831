/*
 * The status resource.
 *
 * Every look-up is limited to the caller's own account inside the store; for anybody else an
 * operation is simply not there (404). With ?wait=N the answer waits for the operation's end,
 * in the same waiting room as duplicates do. What is found is shown, or cancelled, once the
 * services that it is of have said that the caller's credential still holds, where they are asked
 * that.
 */
#include "gate/status.h"

#include "gate/action_json.h"
#include "gate/background.h"
#include "gate/caller.h"
#include "gate/credential_check.h"
#include "gate/headers.h"
#include "gate/operation_json.h"
#include "gate/policy.h"
#include "gate/problem.h"
#include "gate/query.h"

#include "core/fingerprint.h"

enum {
	STATUS_HEAD_MAX = 256 * 1024,
	STATUS_BODY_MAX = 4 * 1024 * 1024,
	STATUS_ACTIONS_MAX = 16 * 1024 * 1024, /* schemas of whatever a configuration can hold */
};

#define PREFIX	   "/.counterfoil"
#define OPERATIONS PREFIX "/operations"

struct inquiry {
	struct worker *worker;
	struct generation *generation;
	struct exchange *exchange;
	struct caller caller;
	struct operation_id id;
	struct str verb;       /* "", "response", "cancel" */
	int64_t wait_until_ms; /* monotonic; 0: answer at once */
	struct store_command command;
	struct waiter waiter;
	bool has_waiter, is_leaving, is_gone;
	struct credential_check check;
	size_t checked; /* upstreams that need not be asked any more */
};

bool status_is_ours(struct exchange *exchange)
{
	struct str path = exchange->request.parts.path;
	struct fingerprint_error unused;

	if (str_find(path, '%') < path.len &&
	    path_normalise(path, &exchange->mem, &path, &unused) != 0)
		return false;
	return str_equal(path, STR(PREFIX)) || str_starts_with(path, STR(PREFIX "/"));
}

/* Answering. */

static void answer(struct inquiry *inquiry, struct str headers, struct buf *body)
{
	if (body->is_spoiled)
		exchange_abort(inquiry->exchange);
	else
		exchange_answer(inquiry->exchange, 200, headers, buf_str(body));
	buf_fini(body);
}

static void answer_problem(struct inquiry *inquiry, enum problem problem, const char *detail)
{
	const struct store_operation *operation = &inquiry->command.operation;
	const struct problem_facts facts = {
		.problem = problem,
		.detail = detail,
		.after_s = -1,
		.id = operation->state ? &operation->id : NULL,
		.state = operation->state,
	};

	problem_answer(inquiry->exchange, &facts, STR(""), &inquiry->worker->metrics);
}

#define JSON_HEADERS STR("Content-Type: application/json\r\nCache-Control: no-store\r\n")

static void answer_operation(struct inquiry *inquiry)
{
	const struct store_command *command = &inquiry->command;
	struct json_writer json;
	struct buf body;

	buf_init(&body, STATUS_BODY_MAX);
	json_writer_init(&json, &body);
	if (command->kind == STORE_FIND)
		operation_found_json(&json, command, inquiry->generation->settings, true);
	else
		operation_json(&json, &command->operation, NULL, 0, true);
	answer(inquiry, JSON_HEADERS, &body);
}

/* The kept answer, verbatim. */
static void answer_response(struct inquiry *inquiry)
{
	const struct store_operation *operation = &inquiry->command.operation;
	char id[OPERATION_ID_TEXT + 1];
	struct buf headers;

	if (!operation->answer.status) {
		answer_problem(inquiry, PROBLEM_NOT_FOUND,
			       operation_is_open(operation->state)
				       ? "The operation has not ended; there is no answer yet."
				       : "The operation ended without an answer of the service.");
		return;
	}
	if (!operation->answer.is_kept) {
		answer_problem(inquiry, PROBLEM_RESPONSE_NOT_RETAINED, NULL);
		return;
	}
	operation_id_write(&operation->id, id);
	buf_init(&headers, STATUS_HEAD_MAX);
	buf_append_str(&headers, operation->answer.headers);
	http_write_field(&headers, STR("Operation-Id"), str_from(id));
	http_write_field(&headers, STR("Operation-State"),
			 str_from(operation_state_name(operation->state)));
	buf_append_str(&headers, STR("Idempotent-Replayed: true\r\n"));
	headers_expose(operation->answer.headers, &headers);
	exchange_answer(inquiry->exchange, operation->answer.status, buf_str(&headers),
			operation->answer.body);
	buf_fini(&headers);
}

/*
 * Whoever finds no record has to know whether there would be one: `method` and `path` of a write
 * that brings its token are answered with "protected".
 */
static void tell_protection(struct inquiry *inquiry, struct json_writer *json)
{
	struct arena *mem = &inquiry->exchange->mem;
	struct str query = inquiry->exchange->request.parts.query, method, path;

	if (!query_value(query, STR("method"), mem, &method) ||
	    !query_value(query, STR("path"), mem, &path))
		return;
	json_name(json, "protected");
	json_boolean(json, policy_would_protect(inquiry->generation->settings, method, path, mem));
}

static void answer_list(struct inquiry *inquiry)
{
	struct json_writer json;
	struct buf body;

	buf_init(&body, STATUS_BODY_MAX);
	json_writer_init(&json, &body);
	json_open_object(&json);
	operation_list_json(&json, &inquiry->command, true);
	tell_protection(inquiry, &json);
	json_close_object(&json);
	answer(inquiry, JSON_HEADERS, &body);
}

/* Asking. */

static void ask(struct inquiry *inquiry, store_done done)
{
	inquiry->command.mem = &inquiry->exchange->mem;
	inquiry->command.done = done;
	inquiry->command.owner = inquiry;
	gate_ask(&inquiry->worker->station, &inquiry->command);
}

/* True: the command was answered otherwise, and so is the inquiry. */
static bool failed(struct inquiry *inquiry)
{
	switch (inquiry->command.result) {
	case 0:
		return false;
	case STORE_ABSENT:
		inquiry->command.operation.state = 0;
		answer_problem(inquiry, PROBLEM_NOT_FOUND, "There is no such operation.");
		return true;
	case STORE_LOST:
		answer_problem(inquiry, PROBLEM_NOT_CANCELLABLE, NULL);
		return true;
	default:
		inquiry->command.operation.state = 0;
		answer_problem(inquiry, PROBLEM_STORE_UNAVAILABLE, NULL);
		return true;
	}
}

static bool is_cancel(const struct inquiry *inquiry)
{
	return str_equal(inquiry->verb, STR("cancel"));
}

/* Checking. */

static void show(struct inquiry *inquiry);

/* Is anything of that service among what was found? */
static bool is_of_upstream(const struct inquiry *inquiry, size_t upstream)
{
	const struct store_command *command = &inquiry->command;
	struct str name = inquiry->generation->settings->upstreams[upstream].name;

	if (command->kind != STORE_LIST)
		return str_equal(command->operation.upstream, name);
	for (size_t i = 0; i < command->found_count; i++) {
		if (str_equal(command->found[i].upstream, name))
			return true;
	}
	return false;
}

static void checked(struct credential_check *check)
{
	struct inquiry *inquiry = check->owner;
	enum check_verdict verdict = check->verdict;

	credential_check_fini(check);
	inquiry->checked++;
	if (verdict == CHECK_HOLDS) {
		show(inquiry);
		return;
	}
	inquiry->command.operation.state = 0;
	if (verdict == CHECK_ENDED)
		answer_problem(inquiry, PROBLEM_UNAUTHENTICATED,
			       "The service no longer takes this credential.");
	else
		answer_problem(inquiry, PROBLEM_CREDENTIAL_UNCHECKED, NULL);
}

/* True: a service is being asked; `show` goes on when it has said yes. */
static bool must_check(struct inquiry *inquiry)
{
	const struct settings *settings = inquiry->generation->settings;

	for (; inquiry->checked < settings->upstream_count; inquiry->checked++) {
		if (!credential_check_is_asked(settings, inquiry->checked) ||
		    !is_of_upstream(inquiry, inquiry->checked))
			continue;
		inquiry->check = (struct credential_check){
			.worker = inquiry->worker,
			.generation = inquiry->generation,
			.exchange = inquiry->exchange,
			.upstream = inquiry->checked,
			.owner = inquiry,
			.done = checked,
		};
		credential_check_start(&inquiry->check);
		return true;
	}
	return false;
}

static void find(struct inquiry *inquiry);

static void woken(struct waiter *waiter)
{
	struct inquiry *inquiry = list_entry(waiter, struct inquiry, waiter);

	inquiry->wait_until_ms = 0;
	inquiry->is_leaving = true;
	waiting_leave(&inquiry->worker->gate->waiting, waiter);
}

static void left(struct waiter *waiter)
{
	struct inquiry *inquiry = list_entry(waiter, struct inquiry, waiter);

	inquiry->has_waiter = false;
	find(inquiry);
}

/* True: it waits, or looks once more before it does. */
static bool wait_for_end(struct inquiry *inquiry)
{
	struct loop *loop = inquiry->exchange->loop;
	unsigned max = inquiry->generation->settings->tokens.max_waiters;

	if (inquiry->has_waiter) {
		waiting_sit(&inquiry->waiter, inquiry->wait_until_ms - loop->now_ms);
		return true;
	}
	inquiry->waiter.credential = inquiry->caller.credential;
	inquiry->waiter.woken = woken;
	inquiry->waiter.left = left;
	if (!waiting_enter(&inquiry->worker->gate->waiting, &inquiry->waiter, loop, &inquiry->id,
			   max))
		return false;
	inquiry->has_waiter = true;
	find(inquiry);
	return true;
}

static void found(struct store_command *command)
{
	struct inquiry *inquiry = command->owner;
	bool is_open = command->result == 0 && operation_is_open(command->operation.state);
	bool may_wait = inquiry->wait_until_ms > inquiry->exchange->loop->now_ms;

	if (is_open && may_wait && !inquiry->exchange->is_gone && wait_for_end(inquiry))
		return;
	if (inquiry->has_waiter) {
		woken(&inquiry->waiter);
		return;
	}
	if (!failed(inquiry))
		show(inquiry);
}

/* It may have waited: whoever has been revoked meanwhile is told nothing. */
static void find(struct inquiry *inquiry)
{
	if (!caller_holds(inquiry->worker->gate, &inquiry->caller)) {
		inquiry->command.operation.state = 0;
		answer_problem(inquiry, PROBLEM_UNAUTHENTICATED,
			       "The credential is no longer one that is let in.");
		return;
	}
	inquiry->command = (struct store_command){
		.kind = STORE_FIND,
		.by_id = true,
		.operation = {.id = inquiry->id, .account = inquiry->caller.account},
	};
	ask(inquiry, found);
}

static void cancelled(struct store_command *command)
{
	struct inquiry *inquiry = command->owner;

	if (failed(inquiry))
		return;
	waiting_call(&inquiry->worker->gate->waiting, &inquiry->id);
	if (command->makes_due)
		background_poke(inquiry->worker->gate);
	answer_operation(inquiry);
}

static void cancel(struct inquiry *inquiry)
{
	inquiry->command = (struct store_command){
		.kind = STORE_MOVE,
		.event = EVENT_CANCELLED,
		.any_epoch = true,
		.retention_ms = inquiry->generation->settings->tokens.retention_ms,
		.operation =
			{
				.id = inquiry->id,
				.account = inquiry->caller.account,
				.reason = STR("cancelled by its caller"),
				.decided_by = STR("caller"),
			},
	};
	ask(inquiry, cancelled);
}

static void listed(struct store_command *command)
{
	if (!failed(command->owner))
		show(command->owner);
}

/* What was found is its caller's to see, as far as we know. */
static void show(struct inquiry *inquiry)
{
	if (must_check(inquiry))
		return;
	if (inquiry->command.kind == STORE_LIST)
		answer_list(inquiry);
	else if (is_cancel(inquiry))
		cancel(inquiry);
	else if (inquiry->verb.len)
		answer_response(inquiry);
	else
		answer_operation(inquiry);
}

static void list(struct inquiry *inquiry)
{
	const char *wrong;

	inquiry->command = (struct store_command){.kind = STORE_LIST};
	wrong = query_list(inquiry->exchange->request.parts.query, false, &inquiry->exchange->mem,
			   &inquiry->command);
	if (wrong) {
		answer_problem(inquiry, PROBLEM_QUERY_MALFORMED, wrong);
		return;
	}
	inquiry->command.filter_account = inquiry->caller.account;
	ask(inquiry, listed);
}

static void help(struct inquiry *inquiry)
{
	struct buf body;

	buf_init(&body, STATUS_BODY_MAX);
	problem_help(&body, inquiry->generation->settings);
	answer(inquiry, STR("Content-Type: text/plain; charset=utf-8\r\n"), &body);
}

/* Where the action finds its token: an event's is its own id. */
static void write_place_of_token(struct json_writer *json, const struct settings *settings,
				 const struct action *action)
{
	struct str pointer =
		action->inbox.is_declared ? action->inbox.id_pointer : action->token_pointer;
	struct str header = action->inbox.is_declared ? STR("webhook-id") : settings->tokens.header;

	json_name(json, "token");
	json_open_object(json);
	json_name(json, pointer.len ? "pointer" : "header");
	json_string(json, pointer.len ? pointer : header);
	json_close_object(json);
}

/* Each declared action with the schema of its command. */
static void write_action(struct json_writer *json, const struct settings *settings,
			 const struct action *action)
{
	json_open_object(json);
	json_name(json, "name");
	json_string(json, action->name);
	json_name(json, "summary");
	json_string(json, action->summary);
	json_name(json, "method");
	json_string(json, action->method);
	json_name(json, "path");
	json_string(json, action->route.pattern);
	json_name(json, "upstream");
	json_string(json, settings->upstreams[action->upstream].name);
	json_name(json, "natural");
	json_boolean(json, action->is_natural);
	write_place_of_token(json, settings, action);
	action_rules_json(json, settings, action);
	json_name(json, "command");
	command_schema(json, action);
	json_close_object(json);
}

/* Those that its caller may do: no use to learn of others by being refused. */
static void actions(struct inquiry *inquiry)
{
	const struct settings *settings = inquiry->generation->settings;
	struct json_writer json;
	struct buf body;

	buf_init(&body, STATUS_ACTIONS_MAX);
	json_writer_init(&json, &body);
	json_open_object(&json);
	json_name(&json, "actions");
	json_open_array(&json);
	for (size_t i = 0; i < settings->action_count; i++)
		if (caller_may_call(&inquiry->caller, settings->actions[i].name))
			write_action(&json, settings, &settings->actions[i]);
	json_close_array(&json);
	json_close_object(&json);
	answer(inquiry, JSON_HEADERS, &body);
}

/* Routing. */

static void read_wait(struct inquiry *inquiry)
{
	struct exchange *exchange = inquiry->exchange;
	int64_t max_ms = inquiry->generation->settings->tokens.max_wait_ms;
	uint64_t seconds;
	int64_t ms;
	struct str value;

	if (!query_value(exchange->request.parts.query, STR("wait"), &exchange->mem, &value) ||
	    !str_to_u64(value, UINT32_MAX, &seconds))
		return;
	ms = (int64_t)seconds * 1000;
	inquiry->wait_until_ms = exchange->loop->now_ms + (ms < max_ms ? ms : max_ms);
}

/* The page that says how to be let in is for whoever is not. */
static bool is_for_all(struct str path)
{
	return str_equal(path, STR(PREFIX "/help")) || str_equal(path, STR(PREFIX)) ||
	       str_equal(path, STR(PREFIX "/"));
}

static bool is_reading(struct str method)
{
	return str_equal(method, STR("GET")) || str_equal(method, STR("HEAD"));
}

static void route_operation(struct inquiry *inquiry)
{
	struct str method = inquiry->exchange->request.method;
	bool cancels = is_cancel(inquiry);

	if (inquiry->verb.len && !cancels && !str_equal(inquiry->verb, STR("response"))) {
		answer_problem(inquiry, PROBLEM_NOT_FOUND, NULL);
	} else if (cancels ? !str_equal(method, STR("POST")) : !is_reading(method)) {
		answer_problem(inquiry, PROBLEM_METHOD_NOT_ALLOWED,
			       cancels ? "Use POST." : "Use GET.");
	} else if (cancels && !credential_check_is_in_force(inquiry->generation->settings)) {
		cancel(inquiry);
	} else {
		if (!cancels)
			read_wait(inquiry);
		find(inquiry);
	}
}

static void route(struct inquiry *inquiry)
{
	struct http_request *request = &inquiry->exchange->request;
	struct str path = request->parts.path;

	if (query_operation_path(path, STR(OPERATIONS), &inquiry->id, &inquiry->verb))
		route_operation(inquiry);
	else if (!is_reading(request->method))
		answer_problem(inquiry, PROBLEM_METHOD_NOT_ALLOWED, "Use GET.");
	else if (str_equal(path, STR(OPERATIONS)))
		list(inquiry);
	else if (is_for_all(path))
		help(inquiry);
	else if (str_equal(path, STR(PREFIX "/actions")))
		actions(inquiry);
	else
		answer_problem(inquiry, PROBLEM_NOT_FOUND, NULL);
}

/* Its life. */

static void collected(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct inquiry *inquiry = exchange->owner;

	if (refusal)
		answer_problem(inquiry, problem_of_status(refusal->status), refusal->detail);
	else
		route(inquiry);
}

static void gone(struct exchange *exchange)
{
	struct inquiry *inquiry = exchange->owner;

	if (inquiry->has_waiter && inquiry->waiter.is_sitting && !inquiry->is_leaving) {
		loop_timer_cancel(&inquiry->waiter.timer);
		woken(&inquiry->waiter);
	}
}

static void finished(struct exchange *exchange, enum delivery delivery)
{
	struct inquiry *inquiry = exchange->owner;
	struct generation *generation = inquiry->generation;

	exchange_release(exchange);
	generation_drop(generation);
}

static const struct exchange_events events = {
	.collected = collected,
	.gone = gone,
	.finished = finished,
};

enum { STATUS_REQUEST_MAX = 16 * 1024 };

static struct inquiry *inquiry_new(struct worker *worker, struct exchange *exchange)
{
	struct inquiry *inquiry = arena_zalloc(&exchange->mem, sizeof(*inquiry));

	if (!inquiry) {
		exchange_abort(exchange);
		return NULL;
	}
	inquiry->worker = worker;
	inquiry->generation = worker->generation;
	inquiry->exchange = exchange;
	exchange->owner = inquiry;
	exchange->events = &events;
	generation_hold(inquiry->generation);
	return inquiry;
}

/* False: it is not let in, and has been told so. */
static bool identify(struct inquiry *inquiry)
{
	struct problem_facts refusal;
	enum problem problem =
		caller_identify(inquiry->worker, inquiry->exchange, &inquiry->caller, &refusal);

	if (problem == PROBLEM_NONE && !role_may(inquiry->caller.role, POWER_CALL))
		problem = caller_permit(&inquiry->caller, STR(""), &refusal);
	if (problem == PROBLEM_NONE)
		return true;
	problem_answer(inquiry->exchange, &refusal, STR(""), &inquiry->worker->metrics);
	return false;
}

void status_begin(struct worker *worker, struct exchange *exchange)
{
	struct inquiry *inquiry = inquiry_new(worker, exchange);

	if (inquiry && (is_for_all(exchange->request.parts.path) || identify(inquiry)))
		exchange_collect(exchange, STATUS_REQUEST_MAX);
}

void status_refuse(struct worker *worker, struct exchange *exchange, enum problem problem)
{
	struct inquiry *inquiry = inquiry_new(worker, exchange);

	if (inquiry && identify(inquiry))
		answer_problem(
			inquiry, problem,
			problem == PROBLEM_REQUEST_MALFORMED
				? "Write the path of a write without dot segments, control "
				  "bytes and broken escapes, and an action's exactly as it is "
				  "declared: its case, its slashes, nothing behind it. Nothing "
				  "was sent."
				: NULL);
}
