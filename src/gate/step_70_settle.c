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

enum { PAUSE_FIRST_MS = 250, PAUSE_MAX_MS = 5000, RETRY_AFTER_MAX_S = 86400 };

static enum outcome outcome_of(enum operation_event event)
{
	switch (event) {
	case EVENT_SUCCEEDED:
	case EVENT_REFUSED:
		return OUTCOME_CREATED;
	case EVENT_NOT_SENT:
		return OUTCOME_NOT_SENT;
	default:
		return OUTCOME_UNKNOWN;
	}
}

static bool has_final_answer(const struct request *request)
{
	return request->event == EVENT_SUCCEEDED || request->event == EVENT_REFUSED;
}

static struct store_answer answer_of(struct request *request)
{
	struct store_answer answer = {0};

	if (!has_final_answer(request))
		return answer;
	answer.status = request->status;
	answer.is_kept = !request->is_piped;
	answer.headers = buf_str(&request->answer_headers);
	if (answer.is_kept)
		answer.body = buf_str(&request->answer_body);
	answer.length = request->answer_length;
	hasher_end(&request->digest, &answer.digest);
	return answer;
}

static void settle_answered(struct store_command *command)
{
	flow_wake(command->owner);
}

static const char *reason_of(const struct request *request)
{
	if (request->event == EVENT_LOST_SIGHT)
		return request->call.reason
			       ? request->call.reason
			       : "the service answered with a status that decides nothing";
	return NULL;
}

enum step step_settle_start(struct request *request)
{
	struct store_answer answer =
		request->must_settle ? request->command.answer : answer_of(request);

	request->command = (struct store_command){
		.kind = STORE_SETTLE,
		.mem = &request->exchange->mem,
		.done = settle_answered,
		.owner = request,
		.event = request->event,
		.answer = answer,
		.attempt = {.outcome = outcome_of(request->event)},
		.attempt_number = request->attempt_number,
		.retention_ms = request->policy.retention_ms,
		.operation =
			{
				.id = request->id,
				.epoch = request->epoch,
				.reason = str_from(reason_of(request)),
			},
	};
	gate_ask(&request->worker->station, &request->command);
	return FLOW_WAITS;
}

/* The service may have said when: its Retry-After in seconds, within bounds. */
static int seconds_asked_for(struct str lines)
{
	struct http_field field;
	uint64_t seconds;

	while (http_next_line(&lines, &field)) {
		if (str_equal_nocase(field.name, STR("Retry-After")) &&
		    str_to_u64(field.value, RETRY_AFTER_MAX_S, &seconds))
			return (int)seconds;
	}
	return -1;
}

static enum step not_sent(struct request *request)
{
	request->outcome = OUTCOME_NOT_SENT;
	request_problem(request, PROBLEM_NOT_SENT,
			request->status
				? "The service said that it did not act (see statuses.not_sent)."
				: request->call.reason);
	request->problem.after_s = seconds_asked_for(buf_str(&request->first_headers));
	return STEP_ANSWER;
}

static enum step tell(struct request *request)
{
	switch (request->event) {
	case EVENT_SUCCEEDED:
	case EVENT_REFUSED:
		request->outcome = OUTCOME_CREATED;
		request->headers = buf_str(&request->answer_headers);
		request->body = buf_str(&request->answer_body);
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
	int64_t ms = request->settle_pause_ms ? request->settle_pause_ms * 2 : PAUSE_FIRST_MS;

	request->settle_pause_ms = ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
	loop_timer_init(&request->pause, pause_over);
	loop_timer_start(request->exchange->loop, &request->pause, request->settle_pause_ms);
	return FLOW_WAITS;
}

enum step step_pause_finish(struct request *request)
{
	return STEP_SETTLE;
}
