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
#include "gate/background_internal.h"
#include "gate/errand.h"

#include "base/err.h"
#include "core/downstream_key.h"
#include "core/inquiry.h"
#include "core/template.h"

#include <stdlib.h>

struct trial {
	struct list link; /* among the background's */
	struct background *background;
	struct operation_id id;
	bool is_wished;	   /* by a caller; else it was due */
	struct lane *lane; /* whose room it has; NULL: it has none yet */
	struct generation *generation;
	struct store_command found; /* the find; what it brought is read until the end */
	struct arena mem;	    /* of the find */
	struct policy policy;
	struct ask ask;
	struct arena ask_mem;
	int64_t asked_ms;	   /* Unix time: when the question began */
	struct store_command move; /* or postpone, or the look after a doubt */
	struct arena move_mem;
	struct errand errand;
	struct loop_timer pause;
	int64_t pause_ms;

	/* for the history and the log */
	enum outcome outcome; /* 0: none was reached */
	const char *why;
};

static void find(struct trial *trial);
static void found(struct store_command *command);
static void begin(struct trial *trial);
static void ask_it(struct trial *trial);
static void judge(struct trial *trial);
static void doubt(struct trial *trial);
static void resend(struct trial *trial);
static void postpone(struct trial *trial, int64_t next_ms);
static void end(struct trial *trial);

/* Beginning. */

static bool is_tried(const struct background *background, const struct operation_id *id)
{
	struct list *link, *after;

	list_for_each (link, after, &background->tries) {
		const struct trial *trial = list_entry(link, struct trial, link);

		if (memcmp(&trial->id, id, sizeof(*id)) == 0)
			return true;
	}
	return false;
}

/* `lane` NULL: it is not known yet where it belongs. False: no memory. */
static bool try_it(struct background *background, struct lane *lane, const struct operation_id *id,
		   bool is_wished)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	if (!trial)
		return false;
	trial->background = background;
	trial->id = *id;
	trial->is_wished = is_wished;
	trial->lane = lane;
	if (lane)
		lane->trying++;
	else
		background->finds++;
	list_append(&background->tries, &trial->link);
	find(trial);
	return true;
}

/* Is somebody already going to find out, so that whoever waits for it will be called? */
static bool is_seen_to(const struct background *background, const struct operation_id *id)
{
	struct list *link, *after;

	list_for_each (link, after, &background->lanes) {
		if (wish_is_among(&list_entry(link, struct lane, link)->wishes, id))
			return true;
	}
	return is_tried(background, id);
}

static void call_waiters(struct background *background, const struct operation_id *id)
{
	waiting_call(&background->gate->waiting, id);
}

void reconciler_take_wishes(struct background *background)
{
	struct operation_id id;

	while (!background->is_draining && background->finds < BACKGROUND_FINDS_MAX &&
	       background_next_wish(background, &id)) {
		background_forget_wish(background);
		if (!is_seen_to(background, &id) && !try_it(background, NULL, &id, true))
			call_waiters(background, &id);
	}
}

/* Wishes that wait for room come before what is merely due. */
static void grant_wishes(struct lane *lane)
{
	struct list *link, *after;

	list_for_each (link, after, &lane->wishes) {
		struct wish *wish = list_entry(link, struct wish, link);

		if (lane->trying >= BACKGROUND_ASKS_MAX)
			return;
		list_remove(&wish->link);
		background_forget_wish(lane->background);
		if (!try_it(lane->background, lane, &wish->id, true))
			call_waiters(lane->background, &wish->id);
		free(wish);
	}
}

/* What is due. */

struct due {
	struct lane *lane;
	struct store_command command;
	struct arena mem;
};

/* They are leased to us: where a wish has taken the room meanwhile, they are tried all the same. */
static void told_due(struct store_command *command)
{
	struct due *due = command->owner;
	struct lane *lane = due->lane;
	struct background *background = lane->background;

	lane->is_looking = false;
	background->commands--;
	if (command->result == 0)
		lane->ask_ms = command->due_ms;
	else
		lane_rest(lane);
	for (size_t i = 0; command->result == 0 && i < command->errand_count; i++) {
		const struct operation_id *id = &command->errands[i].operation.id;

		if (!background->is_draining && !is_tried(background, id))
			try_it(background, lane, id, false);
	}
	arena_fini(&due->mem);
	free(due);
	if (lane->looks_again)
		reconciler_look(lane);
	lane_wait(lane);
}

static void look(struct lane *lane)
{
	struct due *due = calloc(1, sizeof(*due));

	if (!due) {
		lane_rest(lane);
		return;
	}
	due->lane = lane;
	arena_init(&due->mem, BACKGROUND_MEMORY);
	due->command = (struct store_command){
		.kind = STORE_DUE,
		.mem = &due->mem,
		.done = told_due,
		.owner = due,
		.limit = BACKGROUND_ASKS_MAX - lane->trying,
		.operation = {.upstream = lane->name},
	};
	lane->is_looking = true;
	lane->looks_again = false;
	lane->background->commands++;
	gate_ask(&lane->background->station, &due->command);
}

void reconciler_look(struct lane *lane)
{
	if (lane->background->is_draining || !lane->is_declared)
		return;
	grant_wishes(lane);
	if (lane->is_looking)
		lane->looks_again = true;
	else if (lane->trying < BACKGROUND_ASKS_MAX && !lane_rests(lane))
		look(lane);
}

/* A trial: first how it stands. */

static void find(struct trial *trial)
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

/* A wish whose lane has no room waits there, by its id alone. */
static void wait_in(struct lane *lane, const struct operation_id *id)
{
	struct wish *wish = calloc(1, sizeof(*wish));

	if (!wish) {
		call_waiters(lane->background, id);
		return;
	}
	wish->id = *id;
	pthread_mutex_lock(&lane->background->lock);
	lane->background->wish_count++;
	pthread_mutex_unlock(&lane->background->lock);
	list_append(&lane->wishes, &wish->link);
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
		end(trial);
		return false;
	}
	if (trial->lane)
		return true;
	if (lane->trying >= BACKGROUND_ASKS_MAX) {
		wait_in(lane, &trial->id);
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
		end(trial);
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
		resend(trial);
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

/* A line of the history: what was done, and where it was asked in vain before, what that told. */
static const char *after_asking(struct trial *trial, const char *deed)
{
	struct str text = STR("");

	if (trial->ask.why)
		text = arena_printf(&trial->ask_mem, "%s after asking in vain: %s", deed,
				    trial->ask.why);
	return text.len ? text.at : deed;
}

static const char *asked_in_vain(struct trial *trial)
{
	struct str text = arena_printf(&trial->ask_mem, "asked in vain: %s", trial->ask.why);

	return text.len ? text.at : "asked in vain";
}

static void postpone_in_vain(struct trial *trial, const char *why)
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

	if (!inquiry_unmark(probe, trial->found.operation.probe, &question)) {
		trial->why = "not asked: its probe is declared in another way by now";
		doubt(trial);
		return;
	}
	if (template_finish(question, &trial->id, &trial->ask_mem, &target) != 0) {
		postpone_in_vain(trial, "not asked: there was no memory for the question");
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
	background_ask(trial->background, trial->generation->clients[trial->policy.upstream],
		       &trial->ask);
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
	end(trial);
}

/* A move of the operation as it was found; what the event says of it is the caller's to add. */
static struct store_command *new_command(struct trial *trial, enum store_kind kind, store_done done)
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

static void submit(struct trial *trial)
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
	command = new_command(trial, STORE_MOVE, moved);
	command->event = trial->ask.facts.has_failed ? EVENT_FOUND_FAILED : EVENT_FOUND_DONE;
	ask_settlement(&trial->ask, trial->found.operation.account, command);
	command->operation.reason = str_from(trial->ask.why);
	command->operation.decided_by = STR("probe");
	submit(trial);
}

static void move_absent(struct trial *trial)
{
	struct store_command *command;

	trial->outcome = OUTCOME_NOT_SENT;
	trial->why = "asked: it is not there";
	command = new_command(trial, STORE_MOVE, moved);
	command->event = EVENT_FOUND_NOT_DONE;
	command->operation.reason = str_from(trial->ask.why);
	command->operation.decided_by = STR("probe");
	command->next_ms = background_wall_ms(trial->background);
	submit(trial);
}

/* Asking told nothing. */
static void doubt(struct trial *trial)
{
	const struct plan_facts facts = facts_of(trial);

	if (plan_may_resend(&facts) && !trial->background->is_draining)
		resend(trial);
	else
		postpone_in_vain(trial, trial->why);
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
	struct store_command *command = new_command(trial, STORE_POSTPONE, moved);

	command->next_ms = next_ms;
	submit(trial);
}

/* Sending again. */

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
	end(trial);
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
		end(trial);
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
	submit(trial);
}

static void look_after_doubt(struct trial *trial)
{
	trial->pause_ms = gate_next_pause_ms(trial->pause_ms);
	loop_timer_init(&trial->pause, look_now);
	loop_timer_start(&trial->background->station.loop, &trial->pause, trial->pause_ms);
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
		postpone_in_vain(trial,
				 after_asking(trial, "not sent again, as it has lost its lock,"));
		return;
	default: /* somebody else decided, or nothing was changed */
		if (command->result < 0)
			lane_rest(trial->lane);
		trial->outcome = 0;
		end(trial);
		return;
	}
}

static void resend(struct trial *trial)
{
	struct store_command *command;

	trial->outcome = OUTCOME_RUNNING;
	trial->why =
		after_asking(trial, policy_has_downstream_key(&trial->policy)
					    ? "sent again under its downstream key"
					    : "sent again, as its own id makes it one effect,");
	command = new_command(trial, STORE_MOVE, may_resend);
	command->event = EVENT_RESENT;
	submit(trial);
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

static void end(struct trial *trial)
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
