/*
 * The dispatcher: sends what is queued and the gate's own to send.
 *
 * It takes from the store as many as a lane has room for. A take is durable before it is
 * answered, so each of its operations is running in an epoch of ours when it is sent, and
 * whoever comes meanwhile is told so. Those that cannot be sent (their declaration is gone, the
 * gate is about to stop) go back at once.
 *
 * What people have agreed to is held against the rule that asked before it is sent: where that has
 * become another one, or the key of one of them was revoked, they are asked anew instead, and
 * nothing is sent.
 *
 * When the store cannot say whether a take was committed nothing of it is sent, ever: whatever of
 * it exists is settled as not sent, under its own epoch, which nobody else's pick-up can have.
 * Until that is certain the lane takes nothing.
 */
#include "base/err.h"
#include "gate/background_internal.h"
#include "gate/errand.h"
#include "gate/question.h"

#include <stdlib.h>

struct haul;

struct dispatch {
	struct errand errand;
	struct haul *haul;
	bool is_doubt;
	struct store_command again; /* people are asked anew */
	struct arena again_mem;
};

/* One take, and what it brought; gone with the last of that. */
struct haul {
	struct lane *lane;
	struct store_command command;
	struct arena mem;
	unsigned users;
	struct dispatch dispatches[];
};

static void took(struct store_command *command);

static void ask_for(struct lane *lane, struct haul *haul, size_t limit)
{
	struct background *background = lane->background;

	haul->lane = lane;
	haul->users = 1;
	arena_init(&haul->mem, BACKGROUND_MEMORY);
	haul->command = (struct store_command){
		.kind = STORE_TAKE,
		.mem = &haul->mem,
		.done = took,
		.owner = haul,
		.limit = limit,
		.operation = {.upstream = lane->name},
		.attempt =
			{
				.at_ms = background_wall_ms(background),
				.delivered = -1,
				.by = ACTOR_DISPATCHER,
			},
	};
	lane->is_taking = true;
	lane->takes_again = false;
	background->commands++;
	gate_ask(&background->station, &haul->command);
}

/* Not more than there are connections for: a call waits for one on its own time. */
static size_t most_of(const struct lane *lane)
{
	const struct settings *settings = lane->background->generation->settings;
	size_t share = lane_connections(lane) - lane_asks_max(lane);

	if (!share)
		share = 1;
	return settings->outbox.concurrency < share ? settings->outbox.concurrency : share;
}

/* How many more it may have under way. */
static size_t room_of(const struct lane *lane)
{
	size_t most = most_of(lane);
	size_t room = lane->sending < most ? most - lane->sending : 0;

	return room < STORE_ERRANDS_MAX ? room : STORE_ERRANDS_MAX;
}

void dispatcher_look(struct lane *lane)
{
	struct haul *haul;
	size_t room;

	if (lane->is_taking) {
		lane->takes_again = true;
		return;
	}
	if (lane->background->is_draining || !lane->is_declared || lane->doubts || lane_rests(lane))
		return;
	room = room_of(lane);
	if (!room)
		return;
	haul = calloc(1, sizeof(*haul) + room * sizeof(struct dispatch));
	if (haul)
		ask_for(lane, haul, room);
	else
		lane_rest(lane);
}

static void drop_haul(struct haul *haul)
{
	if (--haul->users > 0)
		return;
	arena_fini(&haul->mem);
	free(haul);
}

static void log_dispatch(const struct dispatch *dispatch)
{
	const struct errand *errand = &dispatch->errand;
	struct log_line line;

	background_line(&line, errand->lane->background, "dispatched", errand->operation);
	log_text(&line, "outcome", outcome_name(errand->outcome));
	if (errand->is_settled)
		log_text(&line, "state", operation_state_name(errand->state));
	log_int(&line, "tries", errand->operation->tries);
	if (errand->upstream_us)
		log_int(&line, "upstream_us", errand->upstream_us);
	if (call_error(&errand->forward.call))
		log_text(&line, "upstream_error", call_error(&errand->forward.call));
	if (errand->reason.len)
		log_str(&line, "why", errand->reason);
	log_end(&line);
}

static void drop_dispatch(struct dispatch *dispatch)
{
	struct lane *lane = dispatch->errand.lane;

	lane->sending--;
	lane->doubts -= dispatch->is_doubt;
	arena_fini(&dispatch->again_mem);
	drop_haul(dispatch->haul);
	dispatcher_look(lane);
}

static void ended(struct errand *errand)
{
	struct dispatch *dispatch = errand->owner;

	metrics_add(&errand->lane->background->metrics.dispatched[errand->outcome], 1);
	log_dispatch(dispatch);
	errand_fini(errand);
	drop_dispatch(dispatch);
}

/* -- people are asked anew --------------------------------------------------------- */

static void asked_again(struct store_command *command)
{
	struct dispatch *dispatch = command->owner;
	struct errand *errand = &dispatch->errand;
	struct background *background = errand->lane->background;
	struct log_line line;

	background->commands--;
	if (command->result != 0 && command->result != STORE_LOST) {
		errand_put_back(errand, background_wall_ms(background) + BACKGROUND_FAILED_MS,
				"the store could not record that people are asked anew");
		return;
	}
	background_line(&line, background, "asked-again", errand->operation);
	log_str(&line, "why", command->attempt.note);
	log_end(&line);
	waiting_call(&background->gate->waiting, &errand->operation->id);
	lapser_look(&background->lapser);
	notifier_look(&background->notifier);
	drop_dispatch(dispatch);
}

static void ask_again(struct dispatch *dispatch, const struct store_approval *question,
		      struct str why)
{
	struct errand *errand = &dispatch->errand;
	struct background *background = errand->lane->background;

	dispatch->again = (struct store_command){
		.kind = STORE_ASK_AGAIN,
		.mem = &dispatch->again_mem,
		.done = asked_again,
		.owner = dispatch,
		.operation = {.id = errand->operation->id, .epoch = errand->epoch},
		.attempt_number = errand->attempt_number,
		.approval = *question,
		.attempt =
			{
				.at_ms = background_wall_ms(background),
				.outcome = OUTCOME_AWAITING_APPROVAL,
				.delivered = -1,
				.by = ACTOR_DISPATCHER,
				.note = why,
			},
	};
	background->commands++;
	gate_ask(&background->station, &dispatch->again);
}

/* Send it, where what was agreed to is what would be asked now. */
static void send_agreed(struct dispatch *dispatch, const struct store_approval *approval)
{
	struct errand *errand = &dispatch->errand;
	struct background *background = errand->lane->background;
	int64_t now_ms = background_wall_ms(background);
	struct store_approval question;
	int judged;

	arena_init(&dispatch->again_mem, BACKGROUND_MEMORY);
	judged = question_judge(errand->generation->settings, background->gate->callers,
				errand->operation, errand->request, approval, &dispatch->again_mem,
				&question);
	switch (judged) {
	case QUESTION_STANDS:
		arena_fini(&dispatch->again_mem);
		errand_start(errand);
		break;
	case QUESTION_CHANGED:
	case QUESTION_REVOKED:
		ask_again(dispatch, &question, question_why_anew((enum question_rule)judged));
		break;
	case QUESTION_GONE: /* send_back() has seen to it */
	case QUESTION_UNREADABLE:
		background_warn(background, errand->operation,
				"its action was changed, and its command is none of it any more");
		errand_put_back(errand, now_ms + PLAN_STRANDED_MS,
				"what was agreed to is none of its action any more");
		break;
	default:
		errand_put_back(errand, now_ms + BACKGROUND_FAILED_MS,
				"there is no memory to look at what was agreed to");
		break;
	}
}

/* It is not to be sent, for reasons that are not its own. False: it is. */
static bool send_back(struct dispatch *dispatch, const struct action *action)
{
	struct errand *errand = &dispatch->errand;
	struct background *background = errand->lane->background;
	int64_t now_ms = background_wall_ms(background);
	const char *missing = NULL;

	if (!errand->lane->is_declared)
		missing = "its upstream is no longer declared";
	else if (errand->operation->action.len && !action)
		missing = "its action is no longer declared";
	else if (!errand->request->method.len)
		missing = "its request is not kept";
	if (missing) {
		background_warn(background, errand->operation, missing);
		errand_put_back(errand, now_ms + PLAN_STRANDED_MS, missing);
		return true;
	}
	if (background->is_draining)
		errand_put_back(errand, now_ms, ERRAND_STOPPING);
	return background->is_draining;
}

static void dispatch_begin(struct haul *haul, struct dispatch *dispatch,
			   const struct store_errand *taken, bool is_doubt)
{
	struct lane *lane = haul->lane;
	struct background *background = lane->background;
	struct generation *generation = background->generation;
	const struct action *action =
		settings_action(generation->settings, taken->operation.action);
	struct errand *errand = &dispatch->errand;

	lane->sending++;
	lane->doubts += is_doubt;
	haul->users++;
	dispatch->haul = haul;
	dispatch->is_doubt = is_doubt;
	*errand = (struct errand){
		.lane = lane,
		.generation = generation,
		.policy = policy_of(generation->settings, action),
		.operation = &taken->operation,
		.request = &taken->request,
		.epoch = taken->operation.epoch,
		.attempt_number = taken->attempt_number,
		.fence = taken->fence,
		.owner = dispatch,
		.ended = ended,
	};
	errand->policy.upstream = lane->index;
	if (is_doubt)
		errand_put_back(errand, background_wall_ms(background) + BACKGROUND_FAILED_MS,
				"the store could not say whether it was ours to send");
	else if (send_back(dispatch, action))
		return;
	else if (taken->approval.needed)
		send_agreed(dispatch, &taken->approval);
	else
		errand_start(errand);
}

static void begin_all(struct haul *haul, bool is_doubt)
{
	struct store_command *command = &haul->command;
	struct gate *gate = haul->lane->background->gate;

	for (size_t i = 0; i < command->cancelled_count; i++)
		waiting_call(&gate->waiting, &command->cancelled[i]);
	for (size_t i = 0; i < command->errand_count; i++)
		dispatch_begin(haul, &haul->dispatches[i], &command->errands[i], is_doubt);
}

static void took(struct store_command *command)
{
	struct haul *haul = command->owner;
	struct lane *lane = haul->lane;

	lane->is_taking = false;
	lane->background->commands--;
	switch (command->result) {
	case 0:
		lane->take_ms = command->due_ms;
		lane->takes_again |= command->errand_count == command->limit;
		begin_all(haul, false);
		break;
	case FAIL_UNCERTAIN:
		lane_rest(lane);
		begin_all(haul, true);
		break;
	default:
		lane_rest(lane);
		break;
	}
	drop_haul(haul);
	if (lane->takes_again)
		dispatcher_look(lane);
	lane_wait(lane);
}
