/*
 * Identify: in whose name, under which token. Both come from the head, so that a request
 * which has neither is refused before its body is read; unless its action finds the token there.
 */
#include "gate/account.h"
#include "gate/caller.h"
#include "gate/headers.h"
#include "gate/request.h"

#include "core/token.h"

#include <stdio.h>

static enum step read_token(struct request *request)
{
	const struct http_request *http = &request->exchange->request;
	struct str header = request->generation->settings->tokens.header;
	const char *detail;
	int r;

	switch (http_field_count(http->fields, http->field_count, header)) {
	case 0:
		snprintf(request->detail, sizeof(request->detail),
			 "Send the header %.*s with a token of your own for this action.",
			 STR_ARG(header));
		return request_problem(request, PROBLEM_KEY_MISSING, request->detail);
	case 1:
		break;
	default:
		snprintf(request->detail, sizeof(request->detail),
			 "The header %.*s stands more than once; send it once.", STR_ARG(header));
		return request_problem(request, PROBLEM_KEY_MALFORMED, request->detail);
	}
	r = token_read(headers_value(http, header), &request->exchange->mem, &request->token,
		       &detail);
	if (r == TOKEN_MALFORMED)
		return request_problem(request, PROBLEM_KEY_MALFORMED, detail);
	if (r < 0)
		return request_problem(request, PROBLEM_OVERLOADED, NULL);
	return STEP_RECOGNISE;
}

static bool names_no_operation(const struct request *request)
{
	const struct http_request *http = &request->exchange->request;
	struct operation_id unused;

	return http_field_find(http->fields, http->field_count, STR("Counterfoil-Retry-Of")) &&
	       !operation_id_read(request->retry_of, &unused);
}

/* Events that come in have an account of their own: whoever signs them is no caller of the gate. */
static enum step identify_event(struct request *request)
{
	request->account = arena_printf(&request->exchange->mem, ACCOUNT_OF_INBOXES "%.*s",
					STR_ARG(request->policy.action->name));
	request->caller.account = request->account;
	request->retry_of = STR("");
	if (!request->account.at || !request->request_id.len)
		return request_problem(request, PROBLEM_OVERLOADED, NULL);
	return STEP_RECOGNISE;
}

/* Who, and whether they may; nothing else of the request is looked at before. */
static bool is_let_in(struct request *request)
{
	enum problem problem = caller_identify(request->worker, request->exchange, &request->caller,
					       &request->problem);

	if (problem != PROBLEM_NONE)
		return false;
	request->account = request->caller.account;
	return caller_permit(&request->caller, policy_action_name(&request->policy),
			     &request->problem) == PROBLEM_NONE;
}

enum step step_identify(struct request *request)
{
	if (policy_is_inbox(&request->policy))
		return identify_event(request);
	if (!is_let_in(request))
		return STEP_ANSWER;
	if (!request->request_id.len)
		return request_problem(request, PROBLEM_OVERLOADED, NULL);
	if (names_no_operation(request))
		return request_problem(request, PROBLEM_RETRY_REFUSED,
				       "Counterfoil-Retry-Of holds no operation id.");
	if (policy_token_in_body(&request->policy))
		return STEP_RECOGNISE;
	return read_token(request);
}
