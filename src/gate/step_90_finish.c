/*
 * Finish: what is to be remembered of this attempt, and the end of its memory.
 *
 * The attempt that settled its operation, or left it to the dispatcher, is in the store already,
 * and is amended only where its answer did not get out: that nothing was heard of a failure is the
 * rule, and costs nothing. Those that met what was there are noted now. One line in the log says it
 * all, without anything secret.
 */
#include "gate/account.h"
#include "gate/request.h"
#include "gate/request_line.h"

static void amend_attempt(struct request *request)
{
	const struct store_amendment amendment = {
		.id = request->id,
		.attempt_number = request->attempt_number,
		.delivered = 0,
	};

	if ((request->is_claimed || request->is_maker) && request->delivery == DELIVERY_FAILED)
		store_amend(request->worker->gate->store, &amendment);
}

/* It left nothing behind but what the audit log says. */
static void tell_refusal(const struct request *request, const struct store_attempt *attempt)
{
	const struct store_operation refused = request_subject(request);

	store_tell(request->worker->gate->store, &refused, attempt);
}

static void note_attempt(struct request *request)
{
	struct gate *gate = request->worker->gate;
	const struct store_attempt attempt = {
		.at_ms = env_wall_ms(gate->env),
		.agent = request->caller.agent,
		.credential = request_credential(request),
		.outcome = request->outcome,
		.task = request->task,
		.step = request->task_step,
		.request_id = request->request_id,
		.delivered = request->delivery,
	};

	if (!request->outcome || request->is_claimed || request->is_maker)
		return;
	if (request->has_operation)
		store_note(gate->store, &request->id, &attempt);
	else if (request->token.len)
		tell_refusal(request, &attempt);
}

static void count(struct request *request)
{
	struct metrics *metrics = &request->worker->metrics;

	metrics_add(&metrics->outcomes[request->outcome], 1);
	if (request->delivery == DELIVERY_FAILED)
		metrics_add(&metrics->undelivered, 1);
	histogram_add(&metrics->request,
		      env_monotonic_us(request->worker->gate->env) - request->exchange->began_us);
}

static void log_operation(struct log_line *line, const struct request *request)
{
	char id[OPERATION_ID_TEXT + 1];

	if (request->outcome)
		log_text(line, "outcome", outcome_name(request->outcome));
	if (!request->has_operation)
		return;
	operation_id_write(&request->id, id);
	log_text(line, "operation", id);
	log_text(line, "state", operation_state_name(request->state));
}

static void log_request(const struct request *request)
{
	const struct gate *gate = request->worker->gate;
	struct log_line line;

	if (!request->generation->settings->log.requests)
		return;
	request_line_begin(&line, gate, request->exchange);
	if (request->policy.action)
		log_str(&line, "action", request->policy.action->name);
	log_operation(&line, request);
	if (request->problem.problem)
		log_text(&line, "problem", problem_kind(request->problem.problem)->slug);
	if (request->account.len)
		log_str(&line, "account", account_shown(request->account));
	if (request->caller.agent.len)
		log_str(&line, "agent", request->caller.agent);
	request_line_traffic(&line, gate, request->exchange, request->request_id);
	if (request->forward.call.client)
		log_int(&line, "upstream_us", request->forward.call.duration_us);
	if (call_error(&request->forward.call))
		log_text(&line, "upstream_error", call_error(&request->forward.call));
	if (request->delivery != DELIVERY_NOT_KNOWN)
		log_bool(&line, "delivered", request->delivery == DELIVERY_DONE);
	log_end(&line);
}

static enum step end(struct request *request)
{
	struct generation *generation = request->generation;
	struct exchange *exchange = request->exchange;

	forward_fini(&request->forward);
	ask_fini(&request->ask);
	credential_check_fini(&request->check);
	arena_fini(&request->ask_mem);
	buf_fini(&request->report);
	buf_fini(&request->lines);
	loop_task_cancel(&request->soon);
	exchange_release(exchange);
	generation_drop(generation);
	return FLOW_ENDS;
}

/* One that met the end it wanted to wait for is in the waiting room still. */
enum step step_finish_start(struct request *request)
{
	amend_attempt(request);
	note_attempt(request);
	count(request);
	log_request(request);
	return request->has_waiter ? step_wait_leave(request) : end(request);
}

enum step step_finish_finish(struct request *request)
{
	return end(request);
}
