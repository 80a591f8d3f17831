/*
 * Claim: take the token, or learn who has it.
 *
 * The claim is durable before anything is sent, and so is the attempt that it begins. When the
 * token is taken, core/outcome.h says what that means for this attempt; when the other attempt is
 * still running and the caller wishes to wait, the request sits down in the waiting room and looks
 * again.
 *
 * When the store cannot say whether the claim was committed, the caller is told that nothing
 * was sent, which is true, and the claim, should it exist, is settled as not sent.
 */
#include "gate/request.h"

#include "base/err.h"

static void claim_answered(struct store_command *command)
{
	flow_wake(command->owner);
}

enum step step_claim_start(struct request *request)
{
	const struct settings *settings = request->generation->settings;
	const struct http_request *http = &request->exchange->request;

	request->command = (struct store_command){
		.kind = STORE_CLAIM,
		.mem = &request->exchange->mem,
		.done = claim_answered,
		.owner = request,
		.may_pick_up = true,
		.retention_ms = request->policy.retention_ms,
		.tombstone_ms = settings->tokens.tombstones_ms,
		.operation =
			{
				.account = request->account,
				.token = request->token,
				.fingerprint = request->fingerprint,
				.method = http->method,
				.path = http->parts.path,
				.upstream = settings->upstreams[request->policy.upstream].name,
				.action = policy_action_name(&request->policy),
				.retry_of = request->retry_of,
			},
		.attempt =
			{
				.at_ms = env_wall_ms(request->worker->gate->env),
				.task = request->task,
				.step = request->task_step,
				.request_id = request->request_id,
				.delivered = -1,
			},
	};
	gate_ask(&request->worker->station, &request->command);
	return FLOW_WAITS;
}

static void take_operation(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;

	request->id = operation->id;
	request->state = operation->state;
	request->epoch = operation->epoch;
	request->expires_ms = operation->expires_ms;
	request->has_operation = true;
}

static enum step replay(struct request *request)
{
	const struct store_answer *answer = &request->command.operation.answer;

	request->outcome = OUTCOME_REPLAYED;
	request->is_replay = true;
	request->status = answer->status;
	request->headers = answer->headers;
	request->body = answer->body;
	return STEP_ANSWER;
}

static enum step not_retained(struct request *request)
{
	request->outcome = OUTCOME_REPLAYED;
	request->is_replay = true;
	request->headers = request->command.operation.answer.headers;
	return request_problem(request, PROBLEM_RESPONSE_NOT_RETAINED, NULL);
}

/* It is over, and the service never answered. */
static enum step ended(struct request *request, enum problem problem)
{
	request->outcome = OUTCOME_REPLAYED;
	request->is_replay = true;
	return request_problem(request, problem, NULL);
}

static enum step resolved(struct request *request)
{
	if (request->state == STATE_COMPLETED)
		return not_retained(request);
	return ended(request, PROBLEM_OPERATION_FAILED);
}

static enum step open_problem(struct request *request, enum outcome outcome, enum problem problem)
{
	request->outcome = outcome;
	return request_problem(request, problem, NULL);
}

/* Another attempt runs it: wait for its end, if that is wished and not done already. */
static enum step running(struct request *request)
{
	bool may_wait = request->wait_until_ms > request->exchange->loop->now_ms;

	if (may_wait && !request->exchange->is_gone)
		return STEP_WAIT;
	return open_problem(request, OUTCOME_RUNNING, PROBLEM_OPERATION_RUNNING);
}

static enum step judge(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;
	const struct verdict_facts facts = {
		.stored = &operation->fingerprint,
		.asked = &request->fingerprint,
		.state = operation->state,
		.has_answer = operation->answer.status != 0,
		.is_answer_kept = operation->answer.is_kept,
	};

	switch (outcome_recognise(&facts)) {
	case VERDICT_REPLAY:
		return replay(request);
	case VERDICT_NOT_RETAINED:
		return not_retained(request);
	case VERDICT_CONFLICT:
		return open_problem(request, OUTCOME_CONFLICT, PROBLEM_KEY_REUSED);
	case VERDICT_RUNNING:
		return running(request);
	case VERDICT_QUEUED:
		return open_problem(request, OUTCOME_QUEUED, PROBLEM_OPERATION_QUEUED);
	case VERDICT_AWAITING_APPROVAL:
		return open_problem(request, OUTCOME_AWAITING_APPROVAL, PROBLEM_APPROVAL_PENDING);
	case VERDICT_UNKNOWN:
		return open_problem(request, OUTCOME_UNKNOWN, PROBLEM_OUTCOME_UNKNOWN);
	case VERDICT_CANCELLED:
		return ended(request, PROBLEM_OPERATION_CANCELLED);
	case VERDICT_RESOLVED:
		return resolved(request);
	case VERDICT_PICK_UP:
		break;
	}
	unreachable("a queued operation that may be picked up is picked up by the store");
}

static enum step uncertain(struct request *request)
{
	request->id = request->command.operation.id;
	request->epoch = request->command.operation.epoch;
	request->attempt_number = request->command.attempt_number;
	request->must_settle = request->epoch > 0;
	request->event = EVENT_NOT_SENT;
	return request_problem(request, PROBLEM_STORE_UNAVAILABLE, NULL);
}

enum step step_claim_finish(struct request *request)
{
	switch (request->command.result) {
	case 0:
		take_operation(request);
		request->attempt_number = request->command.attempt_number;
		request->is_claimed = true;
		return STEP_SEND;
	case STORE_EXISTS:
		take_operation(request);
		return judge(request);
	case STORE_EXPIRED:
		request->outcome = OUTCOME_EXPIRED;
		return request_problem(request, PROBLEM_KEY_EXPIRED, NULL);
	case STORE_RETRY_REFUSED:
		request->outcome = OUTCOME_REFUSED;
		return request_problem(request, PROBLEM_RETRY_REFUSED, NULL);
	case FAIL_UNCERTAIN:
		return uncertain(request);
	default:
		return request_problem(request, PROBLEM_STORE_UNAVAILABLE, NULL);
	}
}
