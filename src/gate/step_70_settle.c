/*
 * Settle: turn the promise of a claim into a fact.
 *
 * Event, answer and the attempt's outcome are written in one transaction; only then may the caller
 * see them. When the store cannot (the disk is full), the caller is told that the outcome is not
 * known, and the settling goes on, with pauses, until it is certain: a claim is never left
 * `running` while this process lives. If it dies first, the next one finds the claim and calls it
 * unknown.
 */
#include "gate/request.h"

#include "base/err.h"
#include "gate/background.h"
#include "gate/plan.h"

static enum outcome outcome_of(const struct request *request)
{
	switch (request->event) {
	case EVENT_SUCCEEDED:
	case EVENT_REFUSED:
		if (request->has_given_up)
			return OUTCOME_NOT_SENT;
		return request->is_found ? OUTCOME_REUSED : OUTCOME_CREATED;
	case EVENT_NOT_SENT:
		return request->is_dispatched ? OUTCOME_QUEUED : OUTCOME_NOT_SENT;
	default:
		return OUTCOME_UNKNOWN;
	}
}

/* The caller's own sending is the first of those that the dispatcher goes on with: if it was the
 * last as well, it has failed. */
static void give_up_if_last(struct request *request)
{
	bool was_sent = request->forward.done != NULL;

	if (request->event != EVENT_NOT_SENT || !request->is_dispatched || request->is_untried ||
	    !plan_gives_up(request->generation->settings, 1))
		return;
	request->event = EVENT_REFUSED;
	request->has_given_up = true;
	request->given_up = plan_given_up_text(
		1, was_sent ? request->forward.reason : request->detail, &request->exchange->mem);
	metrics_add(&request->worker->metrics.gave_up, 1);
}

static void settle_answered(struct store_command *command)
{
	flow_wake(command->owner);
}

/* When the gate sees to it by itself, should that be needed: 0 is never. */
static int64_t next_ms(const struct request *request)
{
	const struct env *env = request->worker->gate->env;
	int64_t now_ms = env_wall_ms(env), look_ms = policy_first_look_ms(&request->policy);
	uint32_t random;

	if (request->event == EVENT_LOST_SIGHT)
		return look_ms ? now_ms + look_ms : 0;
	if (request->event != EVENT_NOT_SENT || !request->is_dispatched)
		return 0;
	env_random(env, &random, sizeof(random));
	return plan_retry_ms(request->generation->settings, 1, request->forward.retry_after_s,
			     now_ms, random);
}

/* What the claim had. Where that was another request's, or may have been, the store knows it: ours
 * may spell the same path differently. */
static struct store_operation claimed(const struct request *request)
{
	struct store_operation operation = {0};

	if (!request->did_pick_up && !request->is_untried)
		operation = request_subject(request);
	operation.id = request->id;
	operation.epoch = request->epoch;
	return operation;
}

enum step step_settle_start(struct request *request)
{
	give_up_if_last(request);
	request->command = (struct store_command){
		.kind = STORE_SETTLE,
		.mem = &request->exchange->mem,
		.done = settle_answered,
		.owner = request,
		.event = request->event,
		.attempt = {.outcome = outcome_of(request)},
		.attempt_number = request->attempt_number,
		.retention_ms = request->policy.retention_ms,
		.plain_retention_ms = request->policy.plain_retention_ms,
		.next_ms = next_ms(request),
		.is_untried = request->is_untried,
		.operation = claimed(request),
	};
	if (request->is_found) {
		ask_settlement(&request->ask, request->account, &request->command);
		request->command.operation.reason = STR(ASK_THERE_ALREADY);
	} else if (request->forward.done) { /* else nothing was sent */
		forward_settlement(&request->forward, request->account, &request->command);
	}
	if (request->has_given_up) {
		request->command.event = EVENT_REFUSED;
		request->command.operation.reason = request->given_up;
	}
	gate_ask(&request->worker->station, &request->command);
	return FLOW_WAITS;
}

/* What is the dispatcher's from now on is told as if it had been from the start. */
static enum step not_sent(struct request *request)
{
	bool was_sent = request->forward.done != NULL;

	if (request->is_dispatched) {
		request->is_claimed = false;
		request->is_maker = true;
		return step_queued_or_wait(request);
	}
	request->outcome = OUTCOME_NOT_SENT;
	request_problem(request, PROBLEM_NOT_SENT,
			was_sent ? request->forward.reason : request->detail);
	if (was_sent)
		request->problem.after_s = request->forward.retry_after_s;
	return STEP_ANSWER;
}

static enum step tell_found(struct request *request)
{
	request->outcome = OUTCOME_REUSED;
	request->is_replay = true;
	request->headers = request->ask.answer.headers;
	request->body = request->ask.found_body;
	return STEP_ANSWER;
}

static enum step tell_given_up(struct request *request)
{
	request->outcome = OUTCOME_NOT_SENT;
	return request_problem(request, PROBLEM_OPERATION_FAILED, request->given_up.at);
}

static enum step tell(struct request *request)
{
	if (request->is_found)
		return tell_found(request);
	if (request->has_given_up)
		return tell_given_up(request);
	switch (request->event) {
	case EVENT_SUCCEEDED:
	case EVENT_REFUSED:
		request->outcome = OUTCOME_CREATED;
		request->headers = buf_str(&request->forward.answer_headers);
		request->body = buf_str(&request->forward.answer_body);
		return STEP_ANSWER;
	case EVENT_NOT_SENT:
		return not_sent(request);
	default:
		request->outcome = OUTCOME_UNKNOWN;
		return request_problem(request, PROBLEM_OUTCOME_UNKNOWN_NOW, NULL);
	}
}

static enum step settled(struct request *request)
{
	request->state = request->command.operation.state;
	if (request->command.operation.expires_ms)
		request->expires_ms = request->command.operation.expires_ms;
	waiting_call(&request->worker->gate->waiting, &request->id);
	if (request->command.makes_due)
		background_poke(request->worker->gate);
	return request->must_settle ? STEP_FINISH : tell(request);
}

/* The caller learns that nobody knows; we go on until somebody does. */
static enum step cannot_settle(struct request *request)
{
	if (request->must_settle)
		return STEP_PAUSE;
	request->must_settle = true;
	request->outcome = OUTCOME_UNKNOWN;
	return request_problem(
		request, PROBLEM_OUTCOME_UNKNOWN_NOW,
		"The service may have acted; the gate could not record its answer yet.");
}

/* Nobody else may settle what we hold; if somebody did, say no more than we know. */
static enum step lost(struct request *request)
{
	fail(FAIL_UNPLANNED);
	request->outcome = OUTCOME_UNKNOWN;
	return request_problem(request, PROBLEM_OUTCOME_UNKNOWN_NOW, NULL);
}

enum step step_settle_finish(struct request *request)
{
	switch (request->command.result) {
	case 0:
		return settled(request);
	case STORE_LOST:   /* an uncertain commit had been one after all */
	case STORE_ABSENT: /* an uncertain claim had been none */
		waiting_call(&request->worker->gate->waiting, &request->id);
		return request->must_settle ? STEP_FINISH : lost(request);
	default:
		return cannot_settle(request);
	}
}

static void pause_over(struct loop_timer *timer)
{
	flow_wake(list_entry(timer, struct request, pause));
}

enum step step_pause_start(struct request *request)
{
	request->settle_pause_ms = gate_next_pause_ms(request->settle_pause_ms);
	loop_timer_init(&request->pause, pause_over);
	loop_timer_start(request->exchange->loop, &request->pause, request->settle_pause_ms);
	return FLOW_WAITS;
}

enum step step_pause_finish(struct request *request)
{
	return STEP_SETTLE;
}
