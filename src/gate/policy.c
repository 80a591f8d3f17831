/*
 * Which action a request is, and what is in force for it.
 *
 * Paths are compared as the fingerprint spells them, so that an action cannot be missed by
 * writing its path another way. Services read paths and methods more freely than that: a write
 * whose path has no one spelling may be an action's there, so may one that is an action's but for
 * case or a slash, and one whose headers ask for another method may be another action's. Where
 * actions are declared none of them goes on.
 */
#include "gate/policy.h"

#include "core/fingerprint.h"
#include "gate/headers.h"
#include "gate/query.h"

enum { FIRST_LOOK_MS = 1000 }; /* a service that was just lost sight of has a moment */

static bool is_write(struct str method)
{
	return !str_equal_nocase(method, STR("GET")) && !str_equal_nocase(method, STR("HEAD")) &&
	       !str_equal_nocase(method, STR("OPTIONS")) && !str_equal_nocase(method, STR("TRACE"));
}

/* Of the actions that the path leads to the most specific one; of that method, in its case. */
static const struct action *find(const struct settings *settings, struct str path,
				 struct str method)
{
	const struct action *best = NULL;

	for (size_t i = 0; i < settings->action_count; i++) {
		const struct action *action = &settings->actions[i];

		if (str_equal(action->method, method) &&
		    route_matches(&action->route, path, NULL) &&
		    (!best || route_compare(&action->route, &best->route) < 0))
			best = action;
	}
	return best;
}

/* Does an action of that method, in whatever case it is written, have this path? */
static bool is_declared(const struct settings *settings, struct str path, struct str method)
{
	for (size_t i = 0; i < settings->action_count; i++) {
		const struct action *action = &settings->actions[i];

		if (str_equal_nocase(action->method, method) &&
		    route_matches(&action->route, path, NULL))
			return true;
	}
	return false;
}

/* Would a request that the service takes to have that method be judged otherwise? */
static bool is_judged_otherwise(const struct settings *settings, const struct http_request *request,
				struct str path, const struct action *action, struct str method)
{
	if (str_equal_nocase(method, request->method))
		return false;
	return action || is_declared(settings, path, method) ||
	       (settings->undeclared == SETTINGS_UNDECLARED_DENY && is_write(method));
}

/* Would the service, on the word of a header or of the query, take it for another method's? */
static bool is_disguised(const struct settings *settings, struct exchange *exchange,
			 struct str path, const struct action *action)
{
	const struct http_request *request = &exchange->request;
	struct str query = request->parts.query, name, method;
	bool is_named = false;

	for (size_t i = 0; i < request->field_count; i++) {
		if (headers_is_override(&request->fields[i]) &&
		    is_judged_otherwise(settings, request, path, action, request->fields[i].value))
			return true;
	}
	while (query_next(&query, &exchange->mem, &name, &method)) {
		if (method.len == 0 || !str_equal(name, STR("_method")))
			continue;
		/* Which of two counts is anybody's guess; and looking for very many takes long. */
		if (is_named || is_judged_otherwise(settings, request, path, action, method))
			return true;
		is_named = true;
	}
	return false;
}

/* Would the service, which may be free with paths, take it for another action's? */
static bool is_mistakable(const struct settings *settings, struct str path, struct str method,
			  const struct action *action)
{
	for (size_t i = 0; i < settings->action_count; i++) {
		const struct action *other = &settings->actions[i];

		if (str_equal_nocase(other->method, method) &&
		    route_is_mistakable(&other->route, action ? &action->route : NULL, path))
			return true;
	}
	return false;
}

enum problem policy_find(const struct settings *settings, struct exchange *exchange,
			 const struct action **out_action)
{
	const struct http_request *request = &exchange->request;
	bool is_denied = settings->undeclared == SETTINGS_UNDECLARED_DENY;
	const struct action *action;
	struct fingerprint_error unused;
	struct str path;
	int r;

	*out_action = NULL;
	if (!settings->action_count && !is_denied)
		return PROBLEM_NONE;
	r = path_normalise(request->parts.path, &exchange->mem, &path, &unused);
	if (r < 0)
		return PROBLEM_OVERLOADED;
	if (r != 0 && is_write(request->method))
		return PROBLEM_REQUEST_MALFORMED;
	if (r != 0)
		path = request->parts.path;
	action = r == 0 ? find(settings, path, request->method) : NULL;
	if (is_disguised(settings, exchange, path, action))
		return PROBLEM_METHOD_OVERRIDE;
	if (!action && is_denied && is_write(request->method))
		return PROBLEM_UNDECLARED;
	if (r == 0 && is_write(request->method) &&
	    is_mistakable(settings, path, request->method, action))
		return PROBLEM_REQUEST_MALFORMED;
	*out_action = action;
	return PROBLEM_NONE;
}

bool policy_protects(const struct settings *settings, const struct action *action,
		     struct str method, bool has_token)
{
	if (action)
		return has_token || !action->is_natural;
	if (settings->undeclared == SETTINGS_UNDECLARED_PASS)
		return false;
	if (settings_protects(settings, method))
		return has_token || settings->tokens.required;
	return has_token && (str_equal(method, STR("PUT")) || str_equal(method, STR("DELETE")));
}

bool policy_would_protect(const struct settings *settings, struct str method, struct str path,
			  struct arena *mem)
{
	struct fingerprint_error unused;
	struct str normal;

	return path_normalise(path, mem, &normal, &unused) == 0 &&
	       policy_protects(settings, find(settings, normal, method), method, true);
}

struct policy policy_of(const struct settings *settings, const struct action *action)
{
	struct policy policy = {
		.settings = settings,
		.action = action,
		.max_body = settings->limits.max_body,
		.max_response = settings->limits.max_response,
		.retention_ms = settings->tokens.retention_ms,
		.statuses = &settings->statuses,
	};

	policy.plain_retention_ms = policy.retention_ms;
	if (!action) {
		policy.downstream_key.header = settings->upstreams[0].downstream_key;
		policy.downstream_key.for_ms = settings->upstreams[0].downstream_key_ms;
		return policy;
	}
	policy.upstream = action->upstream;
	policy.timeout_ms = action->timeout_ms;
	if (action->max_body)
		policy.max_body = action->max_body;
	if (action->max_response)
		policy.max_response = action->max_response;
	if (action->retention_ms)
		policy.plain_retention_ms = action->retention_ms;
	policy.retention_ms = policy.plain_retention_ms;
	if (action->unique.count && action->unique.for_ms > policy.retention_ms)
		policy.retention_ms = action->unique.for_ms;
	policy.downstream_key = action->downstream_key;
	if (action->has_statuses)
		policy.statuses = &action->statuses;
	return policy;
}

struct str policy_service(const struct policy *policy)
{
	return policy->settings->upstreams[policy->upstream].service;
}

bool policy_token_in_body(const struct policy *policy)
{
	return policy->action && policy->action->token_pointer.len;
}

bool policy_is_inbox(const struct policy *policy)
{
	return policy->action && policy->action->inbox.is_declared;
}

bool policy_has_downstream_key(const struct policy *policy)
{
	return policy->downstream_key.header.len || policy->downstream_key.field.len;
}

/* Of a write that is not declared nothing is known but its upstream's key. */
bool policy_keeps_request(const struct policy *policy)
{
	return policy->action ? action_keeps_request(policy->action)
			      : policy_has_downstream_key(policy);
}

int64_t policy_first_look_ms(const struct policy *policy)
{
	const struct action *action = policy->action;
	bool may_resend = action ? action_may_resend(action) : policy_has_downstream_key(policy);

	if (action && action->probe.get.len)
		return action->probe.settle_ms > 0 ? action->probe.settle_ms : 1;
	return may_resend ? FIRST_LOOK_MS : 0;
}

int64_t policy_timeout_ms(const struct policy *policy)
{
	return policy->timeout_ms ? policy->timeout_ms
				  : policy->settings->upstreams[policy->upstream].timeout_ms;
}

struct str policy_action_name(const struct policy *policy)
{
	return policy->action ? policy->action->name : STR("");
}

size_t policy_largest_response(const struct settings *settings)
{
	size_t largest = settings->limits.max_response;

	for (size_t i = 0; i < settings->action_count; i++) {
		if (settings->actions[i].max_response > largest)
			largest = settings->actions[i].max_response;
	}
	return largest;
}
