/*
 * Sending again what is unknown, where the service makes one effect of both (see reconciler.c).
 *
 * The operation is moved to running first, under an epoch that is ours alone; whether it still has
 * its lock the store says in the same move. Then it is an errand like the dispatcher's.
 */
#include "gate/reconciler_internal.h"

#include "base/err.h"

static void resent(struct errand *errand)
{
	struct trial *trial = errand->owner;
	struct str reason = errand->reason.len ? errand->reason : STR("it was answered");
	struct store_attempt note = {
		.at_ms = background_wall_ms(trial->background),
		.outcome = errand->outcome,
		.delivered = -1,
		.by = ACTOR_RECONCILER,
		.note = arena_printf(&trial->ask_mem, "sent again: %.*s", STR_ARG(reason)),
	};

	trial->outcome = errand->is_settled ? errand->outcome : 0;
	trial->why = "it was sent again";
	if (errand->is_settled)
		store_note(trial->background->gate->store, &trial->id, &note);
	trial_end(trial);
}

static void prepare_errand(struct trial *trial, uint32_t epoch, uint64_t fence)
{
	trial->errand = (struct errand){
		.lane = trial->lane,
		.generation = trial->generation,
		.policy = trial->policy,
		.operation = &trial->found.operation,
		.request = &trial->found.request,
		.epoch = epoch,
		.attempt_number = 0,
		.fence = fence ? fence : trial->found.view.fence,
		.is_resend = true,
		.owner = trial,
		.ended = resent,
	};
}

/*
 * The store has lost sight of the move to running. Where it was made it is ours alone, under an
 * epoch that nobody who picks it up later can have (see claim_epoch()). It is not sent; it becomes
 * unknown again.
 */
static void look_after_doubt(struct trial *trial);

static void looked(struct store_command *command)
{
	struct trial *trial = command->owner;
	uint32_t ours = trial->errand.epoch;
	bool is_ours = command->result == 0 && command->operation.state == STATE_RUNNING &&
		       command->operation.epoch == ours;

	arena_fini(&trial->move_mem);
	if (command->result < 0) {
		look_after_doubt(trial);
	} else if (is_ours) {
		errand_lose(&trial->errand, background_wall_ms(trial->background) + PLAN_RESEND_MS,
			    "the store could not say whether it was ours to send again");
	} else {
		trial->outcome = 0;
		trial_end(trial);
	}
}

static void look_now(struct loop_timer *timer)
{
	struct trial *trial = list_entry(timer, struct trial, pause);

	arena_init(&trial->move_mem, BACKGROUND_MEMORY);
	trial->move = (struct store_command){
		.kind = STORE_FIND,
		.mem = &trial->move_mem,
		.done = looked,
		.owner = trial,
		.by_id = true,
		.operation = {.id = trial->id},
	};
	trial_submit(trial);
}

static void look_after_doubt(struct trial *trial)
{
	trial->pause_ms = gate_next_pause_ms(trial->pause_ms);
	loop_timer_init(&trial->pause, look_now);
	loop_timer_start(&trial->background->station.loop, &trial->pause, trial->pause_ms);
}

/* A line of the history: what was done, and where it was asked in vain before, what that told. */
static const char *after_asking(struct trial *trial, const char *deed)
{
	struct str text = STR("");

	if (trial->ask.why)
		text = arena_printf(&trial->ask_mem, "%s after asking in vain: %s", deed,
				    trial->ask.why);
	return text.len ? text.at : deed;
}

static void may_resend(struct store_command *command)
{
	struct trial *trial = command->owner;
	uint32_t before = trial->found.operation.epoch, epoch = command->operation.epoch;

	arena_fini(&trial->move_mem);
	switch (command->result) {
	case 0:
		metrics_add(&trial->background->metrics.resent, 1);
		prepare_errand(trial, epoch, trial->move.fence);
		errand_start(&trial->errand);
		return;
	case FAIL_UNCERTAIN:
		prepare_errand(trial, epoch > before ? epoch : before + 1, 0);
		look_after_doubt(trial);
		return;
	case STORE_LOCKED: /* its lock was taken from it, and is another's now */
		trial_postpone_in_vain(
			trial, after_asking(trial, "not sent again, as it has lost its lock,"));
		return;
	default: /* somebody else decided, or nothing was changed */
		if (command->result < 0)
			lane_rest(trial->lane);
		trial->outcome = 0;
		trial_end(trial);
		return;
	}
}

void trial_resend(struct trial *trial)
{
	struct store_command *command;

	trial->outcome = OUTCOME_RUNNING;
	trial->why =
		after_asking(trial, policy_has_downstream_key(&trial->policy)
					    ? "sent again under its downstream key"
					    : "sent again, as its own id makes it one effect,");
	command = trial_command(trial, STORE_MOVE, may_resend);
	command->event = EVENT_RESENT;
	trial_submit(trial);
}
