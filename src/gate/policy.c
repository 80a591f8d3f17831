/*
 * Which action a request is, and what is in force for it.
 *
 * Paths are compared as the fingerprint spells them, so that an action cannot be missed by
 * writing its path another way. A path that cannot be normalised leads to no action; such a
 * write is refused further on.
 */
#include "gate/policy.h"

#include "core/fingerprint.h"

const struct action *policy_action(const struct settings *settings, struct exchange *exchange)
{
	const struct action *best = NULL;
	struct fingerprint_error unused;
	struct str path;

	if (!settings->action_count ||
	    path_normalise(exchange->request.parts.path, &exchange->mem, &path, &unused) != 0)
		return NULL;
	for (size_t i = 0; i < settings->action_count; i++) {
		const struct action *action = &settings->actions[i];

		if (str_equal(action->method, exchange->request.method) &&
		    route_matches(&action->route, path, NULL) &&
		    (!best || route_compare(&action->route, &best->route) < 0))
			best = action;
	}
	return best;
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

	if (!action)
		return policy;
	policy.upstream = action->upstream;
	policy.timeout_ms = action->timeout_ms;
	if (action->max_body)
		policy.max_body = action->max_body;
	if (action->max_response)
		policy.max_response = action->max_response;
	if (action->retention_ms)
		policy.retention_ms = action->retention_ms;
	if (action->has_statuses)
		policy.statuses = &action->statuses;
	return policy;
}

bool policy_token_in_body(const struct policy *policy)
{
	return policy->action && policy->action->token_pointer.len;
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
