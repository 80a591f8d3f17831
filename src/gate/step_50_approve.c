/*
 * Approve: the operation is durable, and waits for people to agree to it.
 *
 * Nothing is sent before that; once they have, it is the dispatcher's to send, and its caller meets
 * it as any other of the dispatcher's. Its caller gets 202 with the operation as the status
 * resource shows it; or, where it wishes to wait, its end. Where people were faster than our look,
 * we look at what there is by then, once.
 */
#include "gate/caller.h"
#include "gate/question.h"
#include "gate/request.h"

#include "base/err.h"

int step_approve_ask(struct request *request, struct store_command *command)
{
	struct question_asker asker = {
		.account = request->account,
		.agent = request->caller.agent,
		.credential = request->caller.credential,
	};
	struct question_request sent = {.target = request->exchange->request.target};
	int r;

	if (!request->policy.action || !request->policy.action->approval.is_declared)
		return 0;
	sent.lines = buf_str(request_lines(request));
	if (request->lines.is_spoiled)
		return FAIL_MEMORY;
	r = caller_key_id(request->worker, request->exchange, &asker.credential);
	if (r < 0)
		return r;
	r = question_of(&request->policy, &asker, request->reading, &sent, &request->fingerprint,
			&request->exchange->mem, &command->approval);
	command->approval.is_told = request->generation->settings->notify.url.text.len != 0;
	return r;
}

enum step step_approve_or_wait(struct request *request)
{
	request->outcome = OUTCOME_AWAITING_APPROVAL;
	return step_wait_is_wished(request) ? STEP_WAIT : STEP_APPROVE;
}

enum step step_approve_start(struct request *request)
{
	return request_look(request);
}

enum step step_approve_finish(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;

	if (request->command.result != 0)
		return request_problem(request, PROBLEM_APPROVAL_PENDING, NULL);
	if (operation->state != STATE_AWAITING_APPROVAL && !request->has_reported) {
		request->has_reported = true;
		return STEP_CLAIM;
	}
	return request_report(request, PROBLEM_APPROVAL_PENDING);
}
