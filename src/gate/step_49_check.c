/*
 * Check: does the caller's credential still hold at the service, before it is told of a record?
 *
 * Between a claim that met a record and what is said of it. Whoever may see it claims again: what
 * the record says by then is told. Whoever may not is told so, and nothing else; nor is the attempt
 * noted at the operation, which it has nothing to do with.
 */
#include "gate/request.h"

static void checked(struct credential_check *check)
{
	flow_wake(check->owner);
}

bool step_check_is_due(const struct request *request)
{
	return !request->has_checked &&
	       credential_check_is_asked(request->generation->settings, request->policy.upstream);
}

enum step step_check_start(struct request *request)
{
	request->check = (struct credential_check){
		.worker = request->worker,
		.generation = request->generation,
		.exchange = request->exchange,
		.upstream = request->policy.upstream,
		.owner = request,
		.done = checked,
	};
	credential_check_start(&request->check);
	return FLOW_WAITS;
}

static enum step refuse(struct request *request, enum problem problem, const char *detail)
{
	request->has_operation = false;
	request->is_reuse = false;
	return request_problem(request, problem, detail);
}

enum step step_check_finish(struct request *request)
{
	enum check_verdict verdict = request->check.verdict;

	credential_check_fini(&request->check);
	request->check = (struct credential_check){0};
	switch (verdict) {
	case CHECK_HOLDS:
		request->has_checked = true;
		return STEP_CLAIM;
	case CHECK_ENDED:
		return refuse(request, PROBLEM_UNAUTHENTICATED,
			      "The service no longer takes this credential.");
	case CHECK_UNKNOWN:
		break;
	}
	return refuse(request, PROBLEM_CREDENTIAL_UNCHECKED, NULL);
}
