/*
 * The admin listener's way from a head to a handler; api.h has the drawing.
 *
 * Who is asked before what: somebody without a credential learns nothing of what there is under
 * /api, not even whether a path exists.
 */
#include "admin/api.h"

#include "base/err.h"
#include "gate/caller.h"
#include "gate/query.h"

#include <stdio.h>

enum { NAME_SHOWN_MAX = 64 }; /* bytes of a name that is not known */

#define JSON_HEADERS "Content-Type: application/json\r\nCache-Control: no-store\r\n"

/* -- which endpoint ---------------------------------------------------------------- */

/* Percent escapes undone. False: they are broken, or nothing is left. */
static bool take_parameter(struct str segment, struct arena *mem, struct str *out)
{
	return query_unescape(segment, false, mem, out) && out->len != 0;
}

static bool is_parameter(struct str segment)
{
	return segment.len && segment.at[0] == '{';
}

static bool path_matches(struct str pattern, struct str path, struct arena *mem,
			 struct str parameters[API_PARAMETERS_MAX])
{
	struct str wanted, segment;
	size_t taken = 0;

	while (str_split(&pattern, '/', &wanted)) {
		if (!str_split(&path, '/', &segment))
			return false;
		if (!is_parameter(wanted)) {
			if (!str_equal(wanted, segment))
				return false;
			continue;
		}
		require(taken < API_PARAMETERS_MAX);
		if (!take_parameter(segment, mem, &parameters[taken++]))
			return false;
	}
	return !str_split(&path, '/', &segment);
}

static bool method_matches(const struct api_endpoint *endpoint, struct str method)
{
	if (str_equal(method, STR("HEAD")))
		method = STR("GET");
	return str_equal(method, str_from(endpoint->method));
}

const struct api_endpoint *api_endpoint_find(struct str method, struct str path, struct arena *mem,
					     struct str out_parameters[API_PARAMETERS_MAX],
					     const char **out_method)
{
	size_t count;
	const struct api_endpoint *endpoints = api_endpoints(&count);

	*out_method = NULL;
	for (size_t i = 0; i < count; i++) {
		if (!path_matches(str_from(endpoints[i].path), path, mem, out_parameters))
			continue;
		*out_method = endpoints[i].method;
		if (method_matches(&endpoints[i], method))
			return &endpoints[i];
	}
	return NULL;
}

static bool is_below_api(struct str path)
{
	return str_equal(path, STR("/api")) || str_starts_with(path, STR("/api/"));
}

/* -- for handlers ------------------------------------------------------------------ */

struct api_call *api_call_of(struct store_command *command)
{
	return command->owner;
}

void *api_state_new(struct api_call *call, size_t size)
{
	call->state = arena_zalloc(&call->exchange->mem, size);
	if (!call->state)
		exchange_abort(call->exchange);
	return call->state;
}

void api_ask(struct api_call *call, store_done done)
{
	call->command.mem = &call->exchange->mem;
	call->command.done = done;
	call->command.owner = call;
	gate_ask(&call->admin->gate->control, &call->command);
}

struct str api_scope(const struct api_call *call)
{
	if (call->caller.has_all_accounts)
		return STR("");
	require(call->caller.account.len != 0); /* or it would see all of them */
	return call->caller.account;
}

bool api_keep_to_scope(struct api_call *call)
{
	struct str *filter = &call->command.filter_account;

	if (filter->len && !caller_may_see(&call->caller, *filter)) {
		api_problem(call, PROBLEM_FORBIDDEN, "You see the operations of your own account.");
		return false;
	}
	if (!filter->len)
		*filter = api_scope(call);
	return true;
}

bool api_operation_id(struct api_call *call, struct operation_id *out_id)
{
	if (operation_id_read(call->parameters[0], out_id))
		return true;
	api_problem(call, PROBLEM_NOT_FOUND, NULL);
	return false;
}

bool api_failed(struct api_call *call, const char *absent_detail)
{
	if (call->command.result == STORE_ABSENT)
		api_problem(call, PROBLEM_NOT_FOUND, absent_detail);
	else if (call->command.result < 0)
		api_problem(call, PROBLEM_STORE_UNAVAILABLE, NULL);
	else
		return false;
	return true;
}

bool api_operation_failed(struct api_call *call)
{
	return api_failed(call, "There is no such operation.");
}

void api_find_operation(struct api_call *call, const struct operation_id *id, store_done done)
{
	call->command = (struct store_command){
		.kind = STORE_FIND,
		.by_id = true,
		.operation = {.id = *id, .account = api_scope(call)},
	};
	api_ask(call, done);
}

void api_json_begin(struct json_writer *json, struct buf *body)
{
	buf_init(body, API_ANSWER_MAX);
	json_writer_init(json, body);
}

void api_json_end(struct api_call *call, int status, struct buf *body)
{
	api_json_end_with(call, status, STR(""), body);
}

void api_json_end_with(struct api_call *call, int status, struct str headers, struct buf *body)
{
	struct buf lines;

	buf_init(&lines, API_HEADERS_MAX);
	buf_append_str(&lines, STR(JSON_HEADERS ADMIN_GUARDS));
	buf_append_str(&lines, headers);
	if (body->is_spoiled || lines.is_spoiled)
		exchange_abort(call->exchange);
	else
		exchange_answer(call->exchange, status, buf_str(&lines), buf_str(body));
	buf_fini(&lines);
	buf_fini(body);
}

void api_problem(struct api_call *call, enum problem problem, const char *detail)
{
	admin_answer_problem(call->exchange, problem, detail);
}

struct str api_text(const struct api_call *call, const char *name)
{
	const struct json_value *value = json_member(call->body, str_from(name));

	return value && value->type == JSON_STRING ? value->string : STR("");
}

void api_refuse_caller(struct api_call *call, struct str why, const char *detail)
{
	struct problem_facts facts = {.detail = detail};

	facts.problem = caller_failed(call->admin->gate, DOOR_ADMIN, call->exchange->peer, why,
				      &facts.after_s);
	problem_answer(call->exchange, &facts, STR(ADMIN_GUARDS), NULL);
}

/* -- from the head to the handler -------------------------------------------------- */

/* True: it is open, or its caller is known; what they may do is not asked here. */
static bool identify(struct api_call *call)
{
	const char *detail = NULL;

	if (call->endpoint && call->endpoint->is_open)
		return true;
	if (api_identify(call->admin, call->exchange, &call->caller, &detail))
		return true;
	if (api_shows_credential(call->exchange))
		api_refuse_caller(call, STR("not let in at the admin listener"), detail);
	else
		api_problem(call, PROBLEM_UNAUTHENTICATED, detail);
	return false;
}

static bool has_power(struct api_call *call)
{
	const struct api_endpoint *endpoint = call->endpoint;
	char detail[128];

	if (endpoint->is_open)
		return true;
	if (!role_may(call->caller.role, endpoint->power))
		snprintf(detail, sizeof(detail), "The role %s does not reach this.",
			 role_name(call->caller.role));
	else if (endpoint->is_of_all && !call->caller.has_all_accounts)
		snprintf(detail, sizeof(detail), "This is of all accounts; yours is one.");
	else
		return true;
	api_problem(call, PROBLEM_FORBIDDEN, detail);
	return false;
}

static const struct api_member *known_member(const struct api_call *call, struct str name)
{
	const struct api_member *known = call->endpoint->members;

	while (known->name && !str_equal(str_from(known->name), name))
		known++;
	return known->name ? known : NULL;
}

/* Refuse what would otherwise be passed over: nobody asks for something and gets another thing. */
static bool is_understood(struct api_call *call)
{
	char detail[NAME_SHOWN_MAX + 64];

	for (size_t i = 0; i < call->body->object.count; i++) {
		const struct json_member *member = &call->body->object.members[i];
		const struct api_member *known = known_member(call, member->name);
		struct str shown = str_cut(member->name, NAME_SHOWN_MAX);

		if (known && (!known->is_text || member->value->type == JSON_STRING))
			continue;
		snprintf(detail, sizeof(detail), "\"%.*s\" is %s.", STR_ARG(shown),
			 known ? "a text" : "nothing that is known here");
		api_problem(call, PROBLEM_BODY_MALFORMED, detail);
		return false;
	}
	return true;
}

static void read_body(struct api_call *call)
{
	struct json_value *body;
	struct json_error error;

	switch (json_read(call->exchange->body_text, &json_limits_default, &call->exchange->mem,
			  &body, &error)) {
	case 0:
		call->body = body;
		if (body->type != JSON_OBJECT)
			api_problem(call, PROBLEM_BODY_MALFORMED, "The body is a JSON object.");
		else if (is_understood(call))
			call->endpoint->handler(call);
		break;
	case JSON_REFUSED:
		api_problem(call, PROBLEM_BODY_MALFORMED, error.detail);
		break;
	default:
		api_problem(call, PROBLEM_OVERLOADED, NULL);
		break;
	}
}

static void collected(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct api_call *call = exchange->owner;

	if (refusal)
		api_problem(call, problem_of_status(refusal->status), refusal->detail);
	else if (!identify(call) || !has_power(call))
		return;
	else if (call->endpoint->body == API_BODY_OBJECT)
		read_body(call);
	else
		call->endpoint->handler(call);
}

static void finished(struct exchange *exchange, enum delivery delivery)
{
	exchange_release(exchange);
}

static const struct exchange_events events = {.collected = collected, .finished = finished};

static void refuse_method(struct api_call *call, const char *method)
{
	char detail[32];

	snprintf(detail, sizeof(detail), "Use %s.", method);
	api_problem(call, PROBLEM_METHOD_NOT_ALLOWED, detail);
}

static void begin(struct api_call *call)
{
	const struct http_request *request = &call->exchange->request;
	const char *method;

	call->endpoint = api_endpoint_find(request->method, request->parts.path,
					   &call->exchange->mem, call->parameters, &method);
	if ((call->endpoint || is_below_api(request->parts.path)) && !identify(call))
		return;
	if (!call->endpoint && !method)
		api_problem(call, PROBLEM_NOT_FOUND, NULL);
	else if (!call->endpoint)
		refuse_method(call, method);
	else if (has_power(call))
		exchange_collect(call->exchange, API_BODY_MAX);
}

void admin_api(struct admin *admin, struct exchange *exchange)
{
	struct api_call *call = arena_zalloc(&exchange->mem, sizeof(*call));

	if (!call) {
		exchange_abort(exchange);
		return;
	}
	call->admin = admin;
	call->exchange = exchange;
	exchange->owner = call;
	exchange->events = &events;
	begin(call);
}
