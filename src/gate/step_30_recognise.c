/*
 * Recognise: read the body and say what this request is, so that the same one is known again.
 */
#include "gate/headers.h"
#include "gate/request.h"

#include "base/err.h"
#include "core/token.h"
#include "core/webhook.h"

#include <stdio.h>

enum step step_recognise_start(struct request *request)
{
	exchange_collect(request->exchange, request->policy.max_body);
	return FLOW_WAITS;
}

static bool is_selected(const struct action *action, struct str name)
{
	for (size_t i = 0; i < action->header_count; i++) {
		if (str_equal_nocase(action->headers[i], name))
			return true;
	}
	return false;
}

/* Name and value of each header line that the action counts as part of the request. */
static const struct str *selected_headers(struct request *request, size_t *out_count)
{
	const struct http_request *http = &request->exchange->request;
	const struct action *action = request->policy.action;
	struct str *pairs;

	*out_count = 0;
	if (!action || !action->header_count)
		return NULL;
	pairs = arena_alloc(&request->exchange->mem, 2 * http->field_count * sizeof(*pairs));
	for (size_t i = 0; pairs && i < http->field_count; i++) {
		if (!is_selected(action, http->fields[i].name))
			continue;
		pairs[2 * *out_count] = http->fields[i].name;
		pairs[2 * *out_count + 1] = http->fields[i].value;
		++*out_count;
	}
	return pairs;
}

static int compute(struct request *request, struct fingerprint_error *error)
{
	const struct http_request *http = &request->exchange->request;
	const struct action *action = request->policy.action;
	struct fingerprint_request facts = {
		.account = request->account,
		.method = action ? action->name : http->method,
		.path = http->parts.path,
		.query = http->parts.query,
		.has_query = http->parts.has_query,
		.content_type = headers_value(http, STR("Content-Type")),
		.content_encoding = headers_value(http, STR("Content-Encoding")),
		.body = request->exchange->body_text,
		.max_body = request->policy.max_body,
		.action = action,
	};

	if (action) {
		request->reading = arena_zalloc(&request->exchange->mem, sizeof(*request->reading));
		if (!request->reading)
			return FAIL_MEMORY;
	}
	facts.headers = selected_headers(request, &facts.header_count);
	if (action && action->header_count && !facts.headers)
		return FAIL_MEMORY;
	return fingerprint_of(&facts, &request->exchange->mem, &request->fingerprint,
			      request->reading, error);
}

/* All that is wrong at once; a reference that can change has a problem of its own. */
static enum step refuse_command(struct request *request)
{
	const struct command_faults *faults = &request->reading->faults;
	bool are_references = faults->count > 0;

	for (size_t i = 0; i < faults->count; i++)
		are_references &= faults->faults[i].is_mutable_reference;
	request->outcome = OUTCOME_REFUSED;
	request_problem(request,
			are_references ? PROBLEM_REFERENCE_MUTABLE : PROBLEM_COMMAND_INVALID, NULL);
	request->problem.faults = faults;
	return STEP_ANSWER;
}

static enum step refuse(struct request *request, int r, const struct fingerprint_error *error)
{
	enum problem problem;

	switch (r) {
	case FINGERPRINT_REFUSED:
		problem = PROBLEM_BODY_MALFORMED;
		break;
	case FINGERPRINT_TOO_LARGE:
		problem = PROBLEM_BODY_TOO_LARGE;
		break;
	case FINGERPRINT_CODING:
		problem = PROBLEM_CODING_UNKNOWN;
		break;
	case FINGERPRINT_COMMAND:
		return refuse_command(request);
	default:
		return request_problem(request, PROBLEM_BODY_TOO_LARGE,
				       "The body takes more memory to understand than this gate "
				       "allows (limits.request_memory).");
	}
	snprintf(request->detail, sizeof(request->detail), "%s", error->detail);
	return request_problem(request, problem, request->detail);
}

/* One line of an event's head; two of a name are none. */
static struct str event_line(const struct request *request, struct str name)
{
	const struct http_request *http = &request->exchange->request;

	return http_field_count(http->fields, http->field_count, name) == 1
		       ? headers_value(http, name)
		       : STR("");
}

/* NULL, or why the event is not to be believed. */
static const char *verify_event(const struct request *request)
{
	const struct webhook webhook = {
		.id = event_line(request, STR("webhook-id")),
		.timestamp = event_line(request, STR("webhook-timestamp")),
		.signature = event_line(request, STR("webhook-signature")),
		.body = request->exchange->body_text,
	};
	const char *why;

	if (webhook_is_genuine(&request->policy.action->inbox, &webhook,
			       env_wall_ms(request->worker->gate->env), &why))
		return NULL;
	return why;
}

/* The id of an event is its token: a text, or a number by its one spelling. False: it is neither.
 */
static bool id_text(struct request *request, const struct json_value *value, struct str *out_text)
{
	if (value->type == JSON_NUMBER)
		return json_canonical_str(value, &request->exchange->mem, out_text) == 0;
	*out_text = value->string;
	return value->type == JSON_STRING;
}

/* NULL, or why the event has no id. */
static const char *read_event_id(struct request *request)
{
	struct str pointer = request->policy.action->inbox.id_pointer;
	const struct json_value *body = request->reading->body, *value;

	if (!pointer.len) {
		request->token = event_line(request, STR("webhook-id"));
		return token_is_fine(request->token)
			       ? NULL
			       : "webhook-id is 1 to 255 visible ASCII characters, in one line.";
	}
	value = body ? json_at(body, pointer) : NULL;
	if (value && id_text(request, value, &request->token) && token_is_fine(request->token))
		return NULL;
	snprintf(request->detail, sizeof(request->detail),
		 "The event has no id of 1 to 255 visible ASCII characters at %.*s.",
		 STR_ARG(pointer));
	return request->detail;
}

/* NULL, or why the body holds no token where the action has it. */
static const char *read_token_in_body(struct request *request, enum problem *out_problem)
{
	const struct json_value *body = request->reading->body;
	struct str pointer = request->policy.action->token_pointer;
	const struct json_value *value = body ? json_at(body, pointer) : NULL;

	*out_problem = value ? PROBLEM_KEY_MALFORMED : PROBLEM_KEY_MISSING;
	if (!value) {
		snprintf(request->detail, sizeof(request->detail),
			 "Put a token of your own for this action into the body, at %.*s.",
			 STR_ARG(pointer));
		return request->detail;
	}
	if (value->type != JSON_STRING || !token_is_fine(value->string))
		return "The token in the body is a text of 1 to 255 visible ASCII characters.";
	request->token = value->string;
	return NULL;
}

/* A key in the body needs a body that can take it: one JSON object, as it is, without that member.
 */
static const char *lacks_place(const struct request *request)
{
	struct str field = request->policy.downstream_key.field;
	const struct json_value *body = request->reading ? request->reading->body : NULL;
	struct str coding = headers_value(&request->exchange->request, STR("Content-Encoding"));

	if (!field.len)
		return NULL;
	if (coding.len && !str_equal_nocase(coding, STR("identity")))
		return "The gate adds a member to the body of this action: send it without a "
		       "Content-Encoding.";
	if (!body || body->type != JSON_OBJECT)
		return "The gate adds a member to the body of this action: send a JSON object.";
	if (json_member(body, field))
		return "The body has a member that the gate itself adds for the service.";
	return NULL;
}

static enum step read_rules(struct request *request)
{
	const struct settings *settings = request->generation->settings;
	const char *wrong = lacks_place(request);
	int r;

	if (wrong)
		return request_problem(request, PROBLEM_BODY_MALFORMED, wrong);
	if (!request->policy.action)
		return STEP_CLAIM;
	r = rule_facts_of(request->policy.action, request->account,
			  settings->upstreams[request->policy.upstream].name,
			  request->reading->path, request->reading->command,
			  &request->exchange->mem, &request->rules);
	return r == 0 ? STEP_CLAIM : request_problem(request, PROBLEM_OVERLOADED, NULL);
}

/* NULL: the token is known, or is not looked for in this body. */
static const char *read_token(struct request *request, enum problem *out_problem)
{
	*out_problem = PROBLEM_KEY_MALFORMED;
	if (policy_is_inbox(&request->policy))
		return read_event_id(request);
	return policy_token_in_body(&request->policy) ? read_token_in_body(request, out_problem)
						      : NULL;
}

enum step step_recognise_finish(struct request *request)
{
	struct fingerprint_error error;
	enum problem problem;
	const char *wrong;
	int r;

	if (request->body_refusal) {
		request->problem = problem_of_refusal(request->body_refusal);
		return STEP_ANSWER;
	}
	wrong = policy_is_inbox(&request->policy) ? verify_event(request) : NULL;
	if (wrong)
		return request_problem(request, PROBLEM_SIGNATURE_INVALID, wrong);
	r = compute(request, &error);
	if (r == 0 || r == FINGERPRINT_COMMAND) {
		wrong = read_token(request, &problem);
		if (wrong)
			return request_problem(request, problem, wrong);
	}
	return r == 0 ? read_rules(request) : refuse(request, r, &error);
}

struct store_operation request_subject(const struct request *request)
{
	const struct http_request *http = &request->exchange->request;

	return (struct store_operation){
		.account = request->account,
		.token = request->token,
		.fingerprint = request->fingerprint,
		.action = policy_action_name(&request->policy),
		.method = http->method,
		.path = http->parts.path,
	};
}
