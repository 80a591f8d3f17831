/*
 * The machine that takes a request through its steps.
 *
 * It is the only place that knows the order of things, and it has no opinion about any of
 * them. Wakes come from the loop's callbacks: the store's answer, the upstream's, the body's
 * end, a timer.
 */
#include "gate/request.h"

#include "base/err.h"

#include <stdio.h>

#define TO(step) (1u << STEP_##step)

struct flow_step {
	const char *name;
	enum step (*start)(struct request *request);
	enum step (*finish)(struct request *request); /* NULL: it never waits */
	unsigned may_go_to;
};

/* clang-format off */

/* A step that runs through, and one that may wait between its start and its finish. */
#define RUNS(name, next)  {#name, step_##name, NULL, (next)}
#define WAITS(name, next) {#name, step_##name##_start, step_##name##_finish, (next)}

static const struct flow_step flow[STEP_COUNT] = {
	/*                  step              may go to */
	[STEP_RECEIVE]   = RUNS(receive,      TO(IDENTIFY)),
	[STEP_IDENTIFY]  = RUNS(identify,     TO(RECOGNISE) | TO(ANSWER)),
	[STEP_RECOGNISE] = WAITS(recognise,   TO(CLAIM) | TO(ANSWER)),
	[STEP_CLAIM]     = WAITS(claim,       TO(LOOKUP) | TO(SEND) | TO(WAIT) | TO(FIND_OUT) |
					      TO(REPLACE) | TO(QUEUED) | TO(CHECK) | TO(APPROVE) |
					      TO(CLAIM) | TO(ANSWER)),
	[STEP_WAIT]      = WAITS(wait,        TO(CLAIM) | TO(ANSWER)),
	[STEP_FIND_OUT]  = WAITS(find_out,    TO(CLAIM)),
	[STEP_REPLACE]   = WAITS(replace,     TO(CLAIM) | TO(ANSWER)),
	[STEP_QUEUED]    = WAITS(queued,      TO(CLAIM) | TO(ANSWER)),
	[STEP_CHECK]     = WAITS(check,       TO(CLAIM) | TO(ANSWER)),
	[STEP_APPROVE]   = WAITS(approve,     TO(CLAIM) | TO(ANSWER)),
	[STEP_LOOKUP]    = WAITS(lookup,      TO(SEND) | TO(SETTLE)),
	[STEP_SEND]      = WAITS(send,        TO(SETTLE) | TO(PIPE)),
	[STEP_PIPE]      = WAITS(pipe,        TO(SETTLE)),
	[STEP_SETTLE]    = WAITS(settle,      TO(ANSWER) | TO(WAIT) | TO(QUEUED) | TO(PAUSE) |
					      TO(FINISH)),
	[STEP_PAUSE]     = WAITS(pause,       TO(SETTLE)),
	[STEP_ANSWER]    = WAITS(answer,      TO(FINISH) | TO(PAUSE)),
	[STEP_FINISH]    = WAITS(finish,      0),
};
/* clang-format on */

/* Going on would be to guess what has been done: the process ends, and says where it stood. */
static void check_move(enum step from, enum step to)
{
	char what[64];

	if (to < STEP_COUNT && flow[from].may_go_to & (1u << to))
		return;
	snprintf(what, sizeof(what), "%s may not go to %s", flow[from].name,
		 to < STEP_COUNT ? flow[to].name : "what is no step");
	unreachable(what);
}

static void run_from(struct request *request, enum step next)
{
	while (next != FLOW_WAITS && next != FLOW_ENDS) {
		check_move(request->step, next);
		request->step = next;
		next = flow[next].start(request);
	}
	if (next == FLOW_WAITS) {
		require(flow[request->step].finish != NULL);
		request->is_waiting = true;
	}
}

/* What the exchange tells wakes the step that waits for it. */

static void body_collected(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct request *request = exchange->owner;

	request->body_refusal = refusal;
	flow_wake(request);
}

static void client_gone(struct exchange *exchange)
{
	struct request *request = exchange->owner;

	/* A protected operation goes on; only one that merely waits for another's end stops. */
	if (request->step == STEP_WAIT && request->is_waiting)
		step_wait_gone(request);
	else if (request->step == STEP_PIPE)
		step_pipe_drained(request);
}

static void answer_finished(struct exchange *exchange, enum delivery delivery)
{
	struct request *request = exchange->owner;

	request->delivery = delivery;
	request->is_answered = true;
	if (request->step == STEP_ANSWER)
		flow_wake(request);
}

static void answer_drained(struct exchange *exchange)
{
	step_pipe_drained(exchange->owner);
}

static const struct exchange_events exchange_events = {
	.collected = body_collected,
	.drained = answer_drained,
	.gone = client_gone,
	.finished = answer_finished,
};

static void wake_task(struct loop_task *task)
{
	flow_wake(list_entry(task, struct request, soon));
}

void flow_begin(struct worker *worker, struct exchange *exchange, const struct action *action)
{
	struct request *request = arena_zalloc(&exchange->mem, sizeof(*request));

	if (!request) {
		exchange_abort(exchange);
		return;
	}
	request->worker = worker;
	request->exchange = exchange;
	request->generation = worker->generation;
	generation_hold(request->generation);
	request->policy = policy_of(request->generation->settings, action);
	exchange->owner = request;
	exchange->events = &exchange_events;
	loop_task_init(&request->soon, wake_task);
	run_from(request, flow[STEP_RECEIVE].start(request));
}

void flow_wake(struct request *request)
{
	require(request->is_waiting);
	loop_task_cancel(&request->soon);
	request->is_waiting = false;
	run_from(request, flow[request->step].finish(request));
}

void flow_wake_soon(struct request *request)
{
	loop_soon(request->exchange->loop, &request->soon);
}

enum step request_problem(struct request *request, enum problem problem, const char *detail)
{
	request->problem = (struct problem_facts){
		.problem = problem,
		.detail = detail,
		.after_s = -1,
	};
	return STEP_ANSWER;
}
