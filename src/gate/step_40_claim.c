/*
 * Claim: take the token, or learn who has it.
 *
 * The claim is durable before anything is sent, and so is the attempt that it begins. What the
 * rules of the action say of the command is judged in the same transaction: its business
 * identity, its lock, its budget. When the token or the identity is taken, core/outcome.h says what
 * that means for this attempt; when the other attempt is still running and the caller wishes to
 * wait, the request sits down in the waiting room and looks again; when nobody knows what became
 * of it, the gate tries to find out first.
 *
 * When the store cannot say whether the claim was committed, the caller is told that nothing
 * was sent, which is true, and the claim, should it exist, is settled as not sent.
 */
#include "gate/background.h"
#include "gate/caller.h"
#include "gate/request.h"

#include "base/err.h"
#include "core/downstream_key.h"
#include "core/inquiry.h"
#include "core/template.h"

#include <inttypes.h>
#include <stdio.h>

static void claim_answered(struct store_command *command)
{
	flow_wake(command->owner);
}

/* A question, but for what only the operation knows. One that lacks a value cannot be asked. */
static int fill_question(struct request *request, struct str get, struct str *out_question)
{
	const struct fingerprint_command *reading = request->reading;
	int r;

	if (!get.len)
		return 0;
	r = template_fill(get, request->policy.action, reading->path, request->token,
			  reading->command, &request->exchange->mem, out_question);
	if (r == TEMPLATE_ABSENT)
		*out_question = STR("");
	return r < 0 ? r : 0;
}

/* What is kept for the dispatcher and the reconciler, who come when its caller has gone. */
static int keep_request(struct request *request, struct store_command *command)
{
	const struct http_request *http = &request->exchange->request;
	const struct policy *policy = &request->policy;
	struct arena *mem = &request->exchange->mem;
	const struct buf *lines;
	int r = 0;

	if (!policy_keeps_request(&request->policy) && !command->approval.needed)
		return 0;
	lines = request_lines(request);
	command->request = (struct store_request){
		.method = http->method,
		.target = http->target,
		.headers = buf_str(lines),
		.body = request->exchange->body_text,
		.has_body = request_has_body(request),
	};
	if (policy->action)
		r = inquiry_mark(&policy->action->lookup, policy_service(policy), request->lookup,
				 mem, &command->request.lookup);
	if (r == 0)
		r = downstream_key_place(&policy->downstream_key, policy_service(policy), mem,
					 &command->request.key_place);
	return lines->is_spoiled ? FAIL_MEMORY : r;
}

/* What its action has to do with the claim. */
static int add_rules(struct request *request, struct store_command *command)
{
	const struct action *action = request->policy.action;
	struct str probe = STR("");
	int r;

	if (!action)
		return keep_request(request, command);
	command->rules = request->rules;
	request->is_dispatched =
		action->is_outbox || (request->rules.has_lock && request->rules.lock_queues);
	command->operation.is_dispatched = request->is_dispatched;
	if (action->is_outbox)
		command->operation.state = STATE_QUEUED;
	r = fill_question(request, action->probe.get, &probe);
	if (r == 0)
		r = inquiry_mark(&action->probe, policy_service(&request->policy), probe,
				 &request->exchange->mem, &command->operation.probe);
	if (r == 0)
		r = fill_question(request, action->lookup.get, &request->lookup);
	if (r == 0)
		r = step_approve_ask(request, command);
	return r == 0 ? keep_request(request, command) : r;
}

static struct store_operation operation_of(const struct request *request)
{
	const struct settings *settings = request->generation->settings;
	struct store_operation operation = request_subject(request);

	operation.upstream = settings->upstreams[request->policy.upstream].name;
	operation.retry_of = request->retry_of;
	return operation;
}

static struct store_attempt attempt_of(const struct request *request)
{
	return (struct store_attempt){
		.at_ms = env_wall_ms(request->worker->gate->env),
		.agent = request->caller.agent,
		.credential = request_credential(request),
		.task = request->task,
		.step = request->task_step,
		.request_id = request->request_id,
		.delivered = -1,
	};
}

/* Revoked while its body came in, or while it waited: it is told nothing of any record. */
static enum step no_longer_let_in(struct request *request)
{
	request->has_operation = false;
	request->outcome = 0;
	return request_problem(request, PROBLEM_UNAUTHENTICATED,
			       "The credential is no longer one that is let in.");
}

enum step step_claim_start(struct request *request)
{
	const struct settings *settings = request->generation->settings;

	if (!caller_holds(request->worker->gate, &request->caller))
		return no_longer_let_in(request);
	request->command = (struct store_command){
		.kind = STORE_CLAIM,
		.mem = &request->exchange->mem,
		.done = claim_answered,
		.owner = request,
		.may_pick_up = true,
		.retention_ms = request->policy.retention_ms,
		.plain_retention_ms = request->policy.plain_retention_ms,
		.tombstone_ms = settings->tokens.tombstones_ms,
		.waiting_max = settings->outbox.max_waiting,
		.operation = operation_of(request),
		.attempt = attempt_of(request),
	};
	if (add_rules(request, &request->command) != 0)
		return request_problem(request, PROBLEM_OVERLOADED, NULL);
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

/* It has ended. Who made it and waited for its end is told so as the first; others as a replay. */
static void tell_end(struct request *request)
{
	request->is_replay = !request->is_maker;
	if (request->is_maker)
		request->outcome = OUTCOME_CREATED;
	else
		request->outcome = request->is_reuse ? OUTCOME_REUSED : OUTCOME_REPLAYED;
}

static enum step replay(struct request *request)
{
	const struct store_answer *answer = &request->command.operation.answer;

	tell_end(request);
	request->status = answer->status;
	request->headers = answer->headers;
	request->body = answer->body;
	return STEP_ANSWER;
}

static enum step not_retained(struct request *request)
{
	tell_end(request);
	request->headers = request->command.operation.answer.headers;
	return request_problem(request, PROBLEM_RESPONSE_NOT_RETAINED, NULL);
}

/* It is over, and the service never answered: its reason is all there is to tell. */
static enum step ended(struct request *request, enum problem problem)
{
	struct str reason = arena_str(&request->exchange->mem, request->command.operation.reason);

	tell_end(request);
	return request_problem(request, problem, reason.at);
}

/* Nothing was sent: who asked, or an operator, took it back; or people did not agree. */
static enum step cancelled(struct request *request)
{
	switch (request->command.approval.stand) {
	case APPROVAL_DENIED:
		ended(request, PROBLEM_APPROVAL_DENIED);
		break;
	case APPROVAL_LAPSED:
		ended(request, PROBLEM_APPROVAL_EXPIRED);
		break;
	default:
		return ended(request, PROBLEM_OPERATION_CANCELLED);
	}
	request->outcome = OUTCOME_DENIED;
	request->is_replay = false;
	return STEP_ANSWER;
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
	if (step_wait_is_wished(request))
		return STEP_WAIT;
	return open_problem(request, OUTCOME_RUNNING, PROBLEM_OPERATION_RUNNING);
}

/* Nobody knows what became of it: find out, where that is possible and not done already. */
static enum step unknown(struct request *request)
{
	if (!request->has_looked && policy_first_look_ms(&request->policy) > 0)
		return STEP_FIND_OUT;
	return open_problem(request, OUTCOME_UNKNOWN, PROBLEM_OUTCOME_UNKNOWN);
}

/*
 * It was not sent yet. Where its own caller has to send it and we met it by its identity, nobody
 * might ever come to: with the same command we are as good as its caller, and send it under its
 * token; with another one, ours takes its place. Where it is our own and the store has not let us
 * pick it up, people have to be asked by now, and it is not sent any more.
 */
static enum step queued(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;

	if (operation->is_dispatched)
		return step_queued_or_wait(request);
	if (!request->is_reuse || !hash_equal(&operation->fingerprint, &request->fingerprint))
		return STEP_REPLACE;
	request->token = operation->token;
	return STEP_CLAIM;
}

static enum step judge(struct request *request)
{
	const struct store_operation *operation = &request->command.operation;
	const struct verdict_facts facts = {
		.stored = &operation->fingerprint,
		.asked = request->is_reuse ? &operation->fingerprint : &request->fingerprint,
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
		return queued(request);
	case VERDICT_AWAITING_APPROVAL:
		return step_approve_or_wait(request);
	case VERDICT_UNKNOWN:
		return unknown(request);
	case VERDICT_CANCELLED:
		return cancelled(request);
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
	request->is_untried = true;
	request->event = EVENT_NOT_SENT;
	return request_problem(request, PROBLEM_STORE_UNAVAILABLE, NULL);
}

/* It is ours: to send now, or made for the dispatcher to send, or for people to agree to first. */
static enum step claimed(struct request *request)
{
	take_operation(request);
	request->attempt_number = request->command.attempt_number;
	request->did_pick_up = request->command.did_pick_up;
	request->is_dispatched = request->command.operation.is_dispatched; /* as it was made */
	if (request->command.makes_due || request->state == STATE_QUEUED ||
	    request->state == STATE_AWAITING_APPROVAL)
		background_poke(request->worker->gate);
	if (request->state == STATE_QUEUED) {
		request->is_maker = true;
		request->made = request->command.operation;
		return step_queued_or_wait(request);
	}
	if (request->state == STATE_AWAITING_APPROVAL) {
		request->is_maker = true;
		return step_approve_or_wait(request);
	}
	request->is_claimed = true;
	return request->lookup.len ? STEP_LOOKUP : STEP_SEND;
}

/* A rule of its action says no. Nothing was recorded. */
static enum step refused(struct request *request, enum outcome outcome, enum problem problem)
{
	request->outcome = outcome;
	request_problem(request, problem, NULL);
	request->problem.view = &request->command.view;
	return STEP_ANSWER;
}

static enum step locked(struct request *request)
{
	const struct store_operation *holder = &request->command.operation;
	struct store_rule_view *view = &request->command.view;

	view->holder = holder->id;
	refused(request, OUTCOME_LOCKED, PROBLEM_LOCK_HELD);
	request->problem.holder_state = holder->state;
	return STEP_ANSWER;
}

static enum step other_version(struct request *request)
{
	refused(request, OUTCOME_REFUSED, PROBLEM_VERSION_MISMATCH);
	snprintf(request->detail, sizeof(request->detail),
		 "It is at version %" PRIu64 "; the command expects %" PRId64 ".",
		 request->command.view.lock_version, request->rules.version);
	request->problem.detail = request->detail;
	return STEP_ANSWER;
}

static enum step over_budget(struct request *request, enum problem problem)
{
	refused(request, OUTCOME_REFUSED, problem);
	problem_budget_detail(problem, &request->command.view, &request->rules.spends,
			      request->detail, sizeof(request->detail));
	request->problem.detail = request->detail;
	return STEP_ANSWER;
}

/* Not done: what the rules said, or that there is no place, or no store. */
static enum step not_claimed(struct request *request)
{
	switch (request->command.result) {
	case STORE_RETRY_REFUSED:
		request->outcome = OUTCOME_REFUSED;
		return request_problem(request, PROBLEM_RETRY_REFUSED, NULL);
	case STORE_LOCKED:
		return locked(request);
	case STORE_VERSION:
		return other_version(request);
	case STORE_OVER_BUDGET:
		return over_budget(request, PROBLEM_BUDGET_EXCEEDED);
	case STORE_NO_BUDGET:
		return over_budget(request, PROBLEM_BUDGET_UNKNOWN);
	case STORE_OTHER_CURRENCY:
		return over_budget(request, PROBLEM_BUDGET_CURRENCY);
	case STORE_FULL:
		return request_problem(
			request, PROBLEM_OVERLOADED,
			"As many operations as this gate allows wait to be sent already "
			"(outbox.max_waiting).");
	default:
		return request_problem(request, PROBLEM_STORE_UNAVAILABLE, NULL);
	}
}

enum step step_claim_finish(struct request *request)
{
	request->is_reuse = request->command.result == STORE_REUSED;
	switch (request->command.result) {
	case 0:
		return claimed(request);
	case STORE_REUSED:
	case STORE_EXISTS:
		if (step_check_is_due(request))
			return STEP_CHECK;
		take_operation(request);
		return judge(request);
	case STORE_EXPIRED:
		request->outcome = OUTCOME_EXPIRED;
		return request_problem(request, PROBLEM_KEY_EXPIRED, NULL);
	case FAIL_UNCERTAIN:
		return uncertain(request);
	default:
		return not_claimed(request);
	}
}
