/*
 * The reconciler: finds out what became of operations that are unknown.
 *
 *   find ─► ask ─► found, or certainly absent ─► move ─► end
 *     │      └─► doubt ─┬─► postpone ─► end
 *     └─────────────────┴─► resend ─► (an errand) ─► end
 *
 * One trial at a time an operation, whether it was due or somebody wished it; whoever wishes it
 * meanwhile is called when that trial ends. A trial begins with a look at the operation as it is,
 * and what it decides names the epoch it saw: where an operator, or an attempt that picked it up,
 * was faster, the store refuses the move and the trial ends without a word more. Nothing is sent
 * before the store has said that the operation is running, and running by us.
 *
 * Nothing here is remembered: whatever fails leaves the operation unknown, and due again once the
 * store's lease on it is over.
 */
#include "gate/reconciler_internal.h"

#include "base/err.h"
#include "core/inquiry.h"
#include "core/template.h"

#include <stdlib.h>

static void found(struct store_command *command);
static void begin(struct trial *trial);
static void ask_it(struct trial *trial);
static void judge(struct trial *trial);
static void doubt(struct trial *trial);
static void postpone(struct trial *trial, int64_t next_ms);

/* A trial: first how it stands. */

void trial_start(struct trial *trial)
{
	struct background *background = trial->background;

	trial->generation = background->generation;
	generation_hold(trial->generation);
	arena_init(&trial->mem, BACKGROUND_MEMORY);
	arena_init(&trial->ask_mem, BACKGROUND_ASK_MEMORY);
	loop_timer_init(&trial->pause, NULL);
	trial->found = (struct store_command){
		.kind = STORE_FIND,
		.mem = &trial->mem,
		.done = found,
		.owner = trial,
		.by_id = true,
		.operation = {.id = trial->id},
	};
	gate_ask(&background->station, &trial->found);
}

static void release(struct trial *trial)
{
	if (trial->lane)
		trial->lane->trying--;
	else
		trial->background->finds--;
	list_remove(&trial->link);
	ask_fini(&trial->ask);
	arena_fini(&trial->ask_mem);
	errand_fini(&trial->errand);
	arena_fini(&trial->mem);
	generation_drop(trial->generation);
	free(trial);
}

/* True: it has room in the lane of its upstream. */
static bool enter_lane(struct trial *trial)
{
	struct lane *lane = lane_find(trial->background, trial->found.operation.upstream);
	struct background *background = trial->background;

	if (!lane || !lane->is_declared) {
		background_warn(background, &trial->found.operation,
				"its upstream is no longer declared");
		trial_end(trial);
		return false;
	}
	if (trial->lane)
		return true;
	if (lane->trying >= lane_asks_max(lane)) {
		wish_wait_in(lane, &trial->id);
		release(trial);
		reconciler_take_wishes(background);
		return false;
	}
	background->finds--;
	trial->lane = lane;
	lane->trying++;
	reconciler_take_wishes(background);
	return true;
}

static void found(struct store_command *command)
{
	struct trial *trial = command->owner;

	if (command->result < 0 && trial->lane)
		lane_rest(trial->lane);
	if (command->result != 0 || command->operation.state != STATE_UNKNOWN ||
	    trial->background->is_draining)
		trial_end(trial);
	else if (enter_lane(trial))
		begin(trial);
}

static struct plan_facts facts_of(const struct trial *trial)
{
	const struct store_operation *operation = &trial->found.operation;
	struct background *background = trial->background;

	background_see_clock(background);
	return (struct plan_facts){
		.policy = &trial->policy,
		.operation = operation,
		.request = &trial->found.request,
		.now_ms = background_wall_ms(background),
		.gained_ms = steps_since(&background->steps, operation->updated_ms),
		.lost_ms = steps_lost_since(&background->steps, operation->sent_ms),
		.is_wished = trial->is_wished,
	};
}

static void begin(struct trial *trial)
{
	const struct store_operation *operation = &trial->found.operation;
	const struct settings *settings = trial->generation->settings;
	const struct action *action = settings_action(settings, operation->action);
	const struct settings_upstream *upstream = settings_upstream(settings, operation->upstream);
	struct plan_facts facts;

	if (!upstream || (operation->action.len && !action)) {
		background_warn(trial->background, operation, "its action is no longer declared");
		postpone(trial, background_wall_ms(trial->background) + PLAN_STRANDED_MS);
		return;
	}
	trial->policy = policy_of(settings, action);
	trial->policy.upstream = (size_t)(upstream - settings->upstreams);
	facts = facts_of(trial);
	switch (plan_first(&facts)) {
	case PLAN_ASK:
		ask_it(trial);
		return;
	case PLAN_RESEND:
		trial_resend(trial);
		return;
	case PLAN_NOTHING:
		postpone(trial, INT64_MAX);
		return;
	}
	unreachable("a plan begins one of three ways");
}

/* Asking. */

static void asked(struct ask *ask)
{
	struct trial *trial = ask->owner;

	background_asked(trial->background, ask);
	if (ask_was_broken_off(ask))
		postpone(trial, background_wall_ms(trial->background)); /* the next gate asks */
	else
		judge(trial);
}

static const char *asked_in_vain(struct trial *trial)
{
	struct str text = arena_printf(&trial->ask_mem, "asked in vain: %s", trial->ask.why);

	return text.len ? text.at : "asked in vain";
}

void trial_postpone_in_vain(struct trial *trial, const char *why)
{
	const struct plan_facts facts = facts_of(trial);

	trial->outcome = OUTCOME_UNKNOWN;
	trial->why = why;
	postpone(trial, plan_next_ms(&facts, background_random(trial->background)));
}

static void ask_it(struct trial *trial)
{
	const struct rule_inquiry *probe = &trial->policy.action->probe;
	struct str question, target;

	if (!inquiry_unmark(probe, policy_service(&trial->policy), trial->found.operation.probe,
			    &question)) {
		trial->why = "not asked: its probe is declared in another way, or for another "
			     "service, by now";
		doubt(trial);
		return;
	}
	if (template_finish(question, &trial->id, &trial->ask_mem, &target) != 0) {
		trial_postpone_in_vain(trial, "not asked: there was no memory for the question");
		return;
	}
	trial->asked_ms = background_wall_ms(trial->background);
	trial->ask = (struct ask){
		.inquiry = probe,
		.policy = &trial->policy,
		.target = target,
		.headers = trial->found.request.headers,
		.mem = &trial->ask_mem,
		.owner = trial,
		.done = asked,
	};
	background_ask(trial->background, trial->generation, &trial->ask);
}

/* Deciding. */

static void moved(struct store_command *command)
{
	struct trial *trial = command->owner;
	bool makes_due = command->makes_due;

	if (command->result < 0 && trial->lane)
		lane_rest(trial->lane);
	if (command->result != 0)
		trial->outcome = 0; /* somebody else decided, or nothing is certain */
	arena_fini(&trial->move_mem);
	if (makes_due)
		background_look(trial->background);
	trial_end(trial);
}

/* A move of the operation as it was found; what the event says of it is the caller's to add. */
struct store_command *trial_command(struct trial *trial, enum store_kind kind, store_done done)
{
	const struct store_operation *operation = &trial->found.operation;

	arena_init(&trial->move_mem, BACKGROUND_MEMORY);
	trial->move = (struct store_command){
		.kind = kind,
		.mem = &trial->move_mem,
		.done = done,
		.owner = trial,
		.operation = {.id = operation->id, .epoch = operation->epoch},
		.retention_ms = trial->policy.retention_ms,
		.plain_retention_ms = trial->policy.plain_retention_ms,
		.attempt =
			{
				.at_ms = background_wall_ms(trial->background),
				.outcome = trial->outcome,
				.delivered = -1,
				.by = ACTOR_RECONCILER,
				.note = str_from(trial->why),
			},
	};
	return &trial->move;
}

void trial_submit(struct trial *trial)
{
	gate_ask(&trial->background->station, &trial->move);
}

/* It is there; where the action says how one looks that failed, it may be one of those. */
static void move_found(struct trial *trial)
{
	struct store_command *command;

	trial->outcome = OUTCOME_CREATED;
	trial->why = trial->ask.facts.has_failed
			     ? "asked: it is there, and has failed (failed_when)"
			     : "asked: it is there";
	command = trial_command(trial, STORE_MOVE, moved);
	command->event = trial->ask.facts.has_failed ? EVENT_FOUND_FAILED : EVENT_FOUND_DONE;
	ask_settlement(&trial->ask, trial->found.operation.account, command);
	command->operation.reason = str_from(trial->ask.why);
	command->operation.decided_by = STR("probe");
	trial_submit(trial);
}

static void move_absent(struct trial *trial)
{
	struct store_command *command;

	trial->outcome = OUTCOME_NOT_SENT;
	trial->why = "asked: it is not there";
	command = trial_command(trial, STORE_MOVE, moved);
	command->event = EVENT_FOUND_NOT_DONE;
	command->operation.reason = str_from(trial->ask.why);
	command->operation.decided_by = STR("probe");
	command->next_ms = background_wall_ms(trial->background);
	trial_submit(trial);
}

/* Asking told nothing. */
static void doubt(struct trial *trial)
{
	const struct plan_facts facts = facts_of(trial);

	if (plan_may_resend(&facts) && !trial->background->is_draining)
		trial_resend(trial);
	else
		trial_postpone_in_vain(trial, trial->why);
}

static void judge(struct trial *trial)
{
	const struct plan_facts facts = facts_of(trial);
	int64_t from_ms;

	switch (trial->ask.verdict) {
	case INQUIRY_FOUND:
		move_found(trial);
		return;
	case INQUIRY_ABSENT:
		if (plan_absence_counts(&facts, trial->asked_ms, &from_ms)) {
			move_absent(trial);
			return;
		}
		trial->outcome = OUTCOME_UNKNOWN;
		trial->why = "asked: it is not there yet; its probe's settle says how long it may "
			     "take";
		postpone(trial, from_ms);
		return;
	case INQUIRY_DOUBT:
		trial->why = asked_in_vain(trial);
		doubt(trial);
		return;
	}
	unreachable("an inquiry ends one of three ways");
}

static void postpone(struct trial *trial, int64_t next_ms)
{
	struct store_command *command = trial_command(trial, STORE_POSTPONE, moved);

	command->next_ms = next_ms;
	trial_submit(trial);
}

/* The end of a trial, whatever came of it. */

static void log_try(const struct trial *trial)
{
	struct log_line line;

	if (!trial->outcome)
		return;
	background_line(&line, trial->background, "reconciled", &trial->found.operation);
	log_text(&line, "outcome", outcome_name(trial->outcome));
	log_int(&line, "tries", (int64_t)trial->found.operation.tries + 1);
	if (trial->why)
		log_text(&line, "why", trial->why);
	if (trial->errand.upstream_us)
		log_int(&line, "upstream_us", trial->errand.upstream_us);
	if (call_error(&trial->ask.call))
		log_text(&line, "ask_error", call_error(&trial->ask.call));
	if (call_error(&trial->errand.forward.call))
		log_text(&line, "upstream_error", call_error(&trial->errand.forward.call));
	log_end(&line);
}

void trial_end(struct trial *trial)
{
	struct background *background = trial->background;
	struct lane *lane = trial->lane;
	struct operation_id id = trial->id;

	log_try(trial);
	release(trial);
	call_waiters(background, &id);
	reconciler_take_wishes(background);
	if (lane)
		reconciler_look(lane);
}
