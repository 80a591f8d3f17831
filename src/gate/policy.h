/*
 * The policy of one request: what its action declares, and the settings where it is silent.
 */
#ifndef GATE_POLICY_H
#define GATE_POLICY_H

#include "config/settings.h"
#include "gate/problem.h"
#include "net/server.h"

struct policy {
	const struct settings *settings;
	const struct action *action; /* NULL: none is declared for the request */
	size_t upstream;	     /* index of its upstream */
	size_t max_body, max_response;
	int64_t timeout_ms;   /* of the call; 0: the upstream's own */
	int64_t retention_ms; /* of one that ended; as long as its identity is taken, at least */
	int64_t plain_retention_ms; /* of one that failed or was cancelled, and so took none */
	const struct status_classes *statuses;
	struct rule_downstream_key downstream_key; /* the action's, or the upstream's */
};

/*
 * The declared action that a request's method and path lead to, NULL: none; or, with
 * *out_action NULL, the problem for which the request goes no further: PROBLEM_UNDECLARED,
 * PROBLEM_REQUEST_MALFORMED, PROBLEM_METHOD_OVERRIDE, PROBLEM_OVERLOADED.
 */
enum problem policy_find(const struct settings *settings, struct exchange *exchange,
			 const struct action **out_action);

/*
 * What is declared is protected, unless the service makes it idempotent by itself. Else a PUT or
 * DELETE is when it brings a token, and a protected method may go without where none is required.
 */
bool policy_protects(const struct settings *settings, const struct action *action,
		     struct str method, bool has_token);

/*
 * Would a request with a token, of that method and path, be protected, and so leave a record?
 * Memory as it needs; without it the answer is no.
 */
bool policy_would_protect(const struct settings *settings, struct str method, struct str path,
			  struct arena *mem);

struct policy policy_of(const struct settings *settings, const struct action *action);

/* The upstream that its requests go to. */
static inline const struct settings_upstream *policy_upstream(const struct policy *policy)
{
	return &policy->settings->upstreams[policy->upstream];
}

/* Who is behind its upstream: its URL and the name of the credential that is shown there. */
struct str policy_service(const struct policy *policy);

/* Does the action find its token in the body? */
bool policy_token_in_body(const struct policy *policy);

/* Does the service honour a key of the gate's own? */
bool policy_has_downstream_key(const struct policy *policy);

/* May the gate have to send it, or ask after it, by itself? Then its request is kept. */
bool policy_keeps_request(const struct policy *policy);

/*
 * How long after an operation has become unknown the gate first tries to find out by itself, in
 * milliseconds; 0: it cannot, so it is a person's.
 */
int64_t policy_first_look_ms(const struct policy *policy);

/* How long one sending of it may take. */
int64_t policy_timeout_ms(const struct policy *policy);

/* Does it take events that come in from a service? */
bool policy_is_inbox(const struct policy *policy);

/* The action's name; empty when there is none. */
struct str policy_action_name(const struct policy *policy);

/* The largest answer that any request may have to keep or replay, bytes. */
size_t policy_largest_response(const struct settings *settings);

#endif
