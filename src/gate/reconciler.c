/*
 * The reconciler: finds out what became of operations that are unknown.
 *
 *   find ─► ask ─► found, or certainly absent ─► move ─► end
 *     │      └─► doubt ─┬─► postpone ─► end
 *     └─────────────────┴─► resend ─► (an errand) ─► end
 *
 * One try at a time an operation, whether it was due or somebody wished it; whoever wishes it
 * meanwhile is called when that try ends. A try begins with a look at the operation as it is, and
 * what it decides names the epoch it saw: where an operator, or an attempt that picked it up, was
 * faster, the store refuses the move and the try ends without a word more. Nothing is sent before
 * the store has said that the operation is running, and running by us.
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

struct
try {
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

static void find(struct try *try);
static void found(struct store_command *command);
static void begin(struct try *try);
static void ask_it(struct try *try);
static void judge(struct try *try);
static void doubt(struct try *try);
static void resend(struct try *try);
static void postpone(struct try *try, int64_t next_ms);
static void end(struct try *try);

/* Beginning. */

static bool is_tried(const struct background *background, const struct operation_id *id)
{
	struct list *link, *after;

	list_for_each (link, after, &background->tries) {
		const struct try *try = list_entry(link, struct try, link);

		if (memcmp(&try->id, id, sizeof(*id)) == 0)
			return true;
	}
	return false;
}

/* `lane` NULL: it is not known yet where it belongs. False: no memory. */
static bool try_it(struct background *background, struct lane *lane, const struct operation_id *id,
		   bool is_wished)
{
	struct try *try = calloc(1, sizeof(*try));

	if (!try)
		return false;
	try->background = background;
	try->id = *id;
	try->is_wished = is_wished;
	try->lane = lane;
	if (lane)
		lane->trying++;
	else
		background->finds++;
	list_append(&background->tries, &try->link);
	find(try);
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

/* A try: first how it stands. */

static void find(struct try *try)
{
	struct background *background = try->background;

	try->generation = background->generation;
	generation_hold(try->generation);
	arena_init(&try->mem, BACKGROUND_MEMORY);
	arena_init(&try->ask_mem, BACKGROUND_ASK_MEMORY);
	loop_timer_init(&try->pause, NULL);
	try->found = (struct store_command){
		.kind = STORE_FIND,
		.mem = &try->mem,
		.done = found,
		.owner = try,
		.by_id = true,
		.operation = {.id = try->id},
	};
	gate_ask(&background->station, &try->found);
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

static void release(struct try *try)
{
	if (try->lane)
		try->lane->trying--;
	else
		try->background->finds--;
	list_remove(&try->link);
	ask_fini(&try->ask);
	arena_fini(&try->ask_mem);
	errand_fini(&try->errand);
	arena_fini(&try->mem);
	generation_drop(try->generation);
	free(try);
}

/* True: it has room in the lane of its upstream. */
static bool enter_lane(struct try *try)
{
	struct lane *lane = lane_find(try->background, try->found.operation.upstream);
	struct background *background = try->background;

	if (!lane || !lane->is_declared) {
		background_warn(background, &try->found.operation,
				"its upstream is no longer declared");
		end(try);
		return false;
	}
	if (try->lane)
		return true;
	if (lane->trying >= BACKGROUND_ASKS_MAX) {
		wait_in(lane, &try->id);
		release(try);
		reconciler_take_wishes(background);
		return false;
	}
	background->finds--;
	try->lane = lane;
	lane->trying++;
	reconciler_take_wishes(background);
	return true;
}

static void found(struct store_command *command)
{
	struct try *try = command->owner;

	if (command->result < 0 && try->lane)
		lane_rest(try->lane);
	if (command->result != 0 || command->operation.state != STATE_UNKNOWN ||
	    try->background->is_draining)
		end(try);
	else if (enter_lane(try))
		begin(try);
}

static struct plan_facts facts_of(const struct try *try)
{
	const struct store_operation *operation = &try->found.operation;
	struct background *background = try->background;

	background_see_clock(background);
	return (struct plan_facts){
		.policy = &try->policy,
		.operation = operation,
		.request = &try->found.request,
		.now_ms = background_wall_ms(background),
		.gained_ms = steps_since(&background->steps, operation->updated_ms),
		.lost_ms = steps_lost_since(&background->steps, operation->sent_ms),
		.is_wished = try->is_wished,
	};
}

static void begin(struct try *try)
{
	const struct store_operation *operation = &try->found.operation;
	const struct settings *settings = try->generation->settings;
	const struct action *action = settings_action(settings, operation->action);
	const struct settings_upstream *upstream = settings_upstream(settings, operation->upstream);
	struct plan_facts facts;

	if (!upstream || (operation->action.len && !action)) {
		background_warn(try->background, operation, "its action is no longer declared");
		postpone(try, background_wall_ms(try->background) + PLAN_STRANDED_MS);
		return;
	}
	try->policy = policy_of(settings, action);
	try->policy.upstream = (size_t)(upstream - settings->upstreams);
	facts = facts_of(try);
	switch (plan_first(&facts)) {
	case PLAN_ASK:
		ask_it(try);
		return;
	case PLAN_RESEND:
		resend(try);
		return;
	case PLAN_NOTHING:
		postpone(try, INT64_MAX);
		return;
	}
	unreachable("a plan begins one of three ways");
}

/* Asking. */

static void asked(struct ask *ask)
{
	struct try *try = ask->owner;

	background_asked(try->background, ask);
	if (ask_was_broken_off(ask))
		postpone(try, background_wall_ms(try->background)); /* the next gate asks */
	else
		judge(try);
}

/* A line of the history: what was done, and where it was asked in vain before, what that told. */
static const char *after_asking(struct try *try, const char *deed)
{
	struct str text = STR("");

	if (try->ask.why)
		text = arena_printf(&try->ask_mem, "%s after asking in vain: %s", deed,
				    try->ask.why);
	return text.len ? text.at : deed;
}

static const char *asked_in_vain(struct try *try)
{
	struct str text = arena_printf(&try->ask_mem, "asked in vain: %s", try->ask.why);

	return text.len ? text.at : "asked in vain";
}

static void postpone_in_vain(struct try *try, const char *why)
{
	const struct plan_facts facts = facts_of(try);

	try->outcome = OUTCOME_UNKNOWN;
	try->why = why;
	postpone(try, plan_next_ms(&facts, background_random(try->background)));
}

static void ask_it(struct try *try)
{
	const struct rule_inquiry *probe = &try->policy.action->probe;
	struct str question, target;

	if (!inquiry_unmark(probe, try->found.operation.probe, &question)) {
		try->why = "not asked: its probe is declared in another way by now";
		doubt(try);
		return;
	}
	if (template_finish(question, &try->id, &try->ask_mem, &target) != 0) {
		postpone_in_vain(try, "not asked: there was no memory for the question");
		return;
	}
	try->asked_ms = background_wall_ms(try->background);
	try->ask = (struct ask){
		.inquiry = probe,
		.policy = &try->policy,
		.target = target,
		.headers = try->found.request.headers,
		.mem = &try->ask_mem,
		.owner = try,
		.done = asked,
	};
	background_ask(try->background, try->generation->clients[try->policy.upstream], &try->ask);
}

/* Deciding. */

static void moved(struct store_command *command)
{
	struct try *try = command->owner;
	bool makes_due = command->makes_due;

	if (command->result < 0 && try->lane)
		lane_rest(try->lane);
	if (command->result != 0)
		try->outcome = 0; /* somebody else decided, or nothing is certain */
	arena_fini(&try->move_mem);
	if (makes_due)
		background_look(try->background);
	end(try);
}

/* A move of the operation as it was found; what the event says of it is the caller's to add. */
static struct store_command *new_command(struct try *try, enum store_kind kind, store_done done)
{
	const struct store_operation *operation = &try->found.operation;

	arena_init(&try->move_mem, BACKGROUND_MEMORY);
	try->move = (struct store_command){
		.kind = kind,
		.mem = &try->move_mem,
		.done = done,
		.owner = try,
		.operation = {.id = operation->id, .epoch = operation->epoch},
		.retention_ms = try->policy.retention_ms,
		.plain_retention_ms = try->policy.plain_retention_ms,
		.attempt =
			{
				.at_ms = background_wall_ms(try->background),
				.outcome = try->outcome,
				.delivered = -1,
				.by = ACTOR_RECONCILER,
				.note = str_from(try->why),
			},
	};
	return &try->move;
}

static void submit(struct try *try)
{
	gate_ask(&try->background->station, &try->move);
}

/* It is there; where the action says how one looks that failed, it may be one of those. */
static void move_found(struct try *try)
{
	struct store_command *command;

	try->outcome = OUTCOME_CREATED;
	try->why = try->ask.facts.has_failed ? "asked: it is there, and has failed (failed_when)"
					     : "asked: it is there";
	command = new_command(try, STORE_MOVE, moved);
	command->event = try->ask.facts.has_failed ? EVENT_FOUND_FAILED : EVENT_FOUND_DONE;
	ask_settlement(&try->ask, try->found.operation.account, command);
	command->operation.reason = str_from(try->ask.why);
	command->operation.decided_by = STR("probe");
	submit(try);
}

static void move_absent(struct try *try)
{
	struct store_command *command;

	try->outcome = OUTCOME_NOT_SENT;
	try->why = "asked: it is not there";
	command = new_command(try, STORE_MOVE, moved);
	command->event = EVENT_FOUND_NOT_DONE;
	command->operation.reason = str_from(try->ask.why);
	command->operation.decided_by = STR("probe");
	command->next_ms = background_wall_ms(try->background);
	submit(try);
}

/* Asking told nothing. */
static void doubt(struct try *try)
{
	const struct plan_facts facts = facts_of(try);

	if (plan_may_resend(&facts) && !try->background->is_draining)
		resend(try);
	else
		postpone_in_vain(try, try->why);
}

static void judge(struct try *try)
{
	const struct plan_facts facts = facts_of(try);
	int64_t from_ms;

	switch (try->ask.verdict) {
	case INQUIRY_FOUND:
		move_found(try);
		return;
	case INQUIRY_ABSENT:
		if (plan_absence_counts(&facts, try->asked_ms, &from_ms)) {
			move_absent(try);
			return;
		}
		try->outcome = OUTCOME_UNKNOWN;
		try->why = "asked: it is not there yet; its probe's settle says how long it may "
			   "take";
		postpone(try, from_ms);
		return;
	case INQUIRY_DOUBT:
		try->why = asked_in_vain(try);
		doubt(try);
		return;
	}
	unreachable("an inquiry ends one of three ways");
}

static void postpone(struct try *try, int64_t next_ms)
{
	struct store_command *command = new_command(try, STORE_POSTPONE, moved);

	command->next_ms = next_ms;
	submit(try);
}

/* Sending again. */

static void resent(struct errand *errand)
{
	struct try *try = errand->owner;
	struct str reason = errand->reason.len ? errand->reason : STR("it was answered");
	struct store_attempt note = {
		.at_ms = background_wall_ms(try->background),
		.outcome = errand->outcome,
		.delivered = -1,
		.by = ACTOR_RECONCILER,
		.note = arena_printf(&try->ask_mem, "sent again: %.*s", STR_ARG(reason)),
	};

	try->outcome = errand->is_settled ? errand->outcome : 0;
	try->why = "it was sent again";
	if (errand->is_settled)
		store_note(try->background->gate->store, &try->id, &note);
	end(try);
}

static void prepare_errand(struct try *try, uint32_t epoch, uint64_t fence)
{
	try->errand = (struct errand){
		.lane = try->lane,
		.generation = try->generation,
		.policy = try->policy,
		.operation = &try->found.operation,
		.request = &try->found.request,
		.epoch = epoch,
		.attempt_number = 0,
		.fence = fence ? fence : try->found.view.fence,
		.is_resend = true,
		.owner = try,
		.ended = resent,
	};
}

/*
 * The store has lost sight of the move to running. Where it was made it is ours alone, under an
 * epoch that nobody who picks it up later can have (see claim_epoch()). It is not sent; it becomes
 * unknown again.
 */
static void look_after_doubt(struct try *try);

static void looked(struct store_command *command)
{
	struct try *try = command->owner;
	uint32_t ours = try->errand.epoch;
	bool is_ours = command->result == 0 && command->operation.state == STATE_RUNNING &&
		       command->operation.epoch == ours;

	arena_fini(&try->move_mem);
	if (command->result < 0) {
		look_after_doubt(try);
	} else if (is_ours) {
		errand_lose(&try->errand, background_wall_ms(try->background) + PLAN_RESEND_MS,
			    "the store could not say whether it was ours to send again");
	} else {
		try->outcome = 0;
		end(try);
	}
}

static void look_now(struct loop_timer *timer)
{
	struct try *try = list_entry(timer, struct try, pause);

	arena_init(&try->move_mem, BACKGROUND_MEMORY);
	try->move = (struct store_command){
		.kind = STORE_FIND,
		.mem = &try->move_mem,
		.done = looked,
		.owner = try,
		.by_id = true,
		.operation = {.id = try->id},
	};
	submit(try);
}

static void look_after_doubt(struct try *try)
{
	try->pause_ms = gate_next_pause_ms(try->pause_ms);
	loop_timer_init(&try->pause, look_now);
	loop_timer_start(&try->background->station.loop, &try->pause, try->pause_ms);
}

static void may_resend(struct store_command *command)
{
	struct try *try = command->owner;
	uint32_t before = try->found.operation.epoch, epoch = command->operation.epoch;

	arena_fini(&try->move_mem);
	switch (command->result) {
	case 0:
		metrics_add(&try->background->metrics.resent, 1);
		prepare_errand(try, epoch, try->move.fence);
		errand_start(&try->errand);
		return;
	case FAIL_UNCERTAIN:
		prepare_errand(try, epoch > before ? epoch : before + 1, 0);
		look_after_doubt(try);
		return;
	case STORE_LOCKED: /* its lock was taken from it, and is another's now */
		postpone_in_vain(try,
				 after_asking(try, "not sent again, as it has lost its lock,"));
		return;
	default: /* somebody else decided, or nothing was changed */
		if (command->result < 0)
			lane_rest(try->lane);
		try->outcome = 0;
		end(try);
		return;
	}
}

static void resend(struct try *try)
{
	struct store_command *command;

	try->outcome = OUTCOME_RUNNING;
	try->why = after_asking(try, policy_has_downstream_key(&try->policy)
					     ? "sent again under its downstream key"
					     : "sent again, as its own id makes it one effect,");
	command = new_command(try, STORE_MOVE, may_resend);
	command->event = EVENT_RESENT;
	submit(try);
}

/* The end of a try, whatever came of it. */

static void log_try(const struct try *try)
{
	struct log_line line;

	if (!try->outcome)
		return;
	background_line(&line, try->background, "reconciled", &try->found.operation);
	log_text(&line, "outcome", outcome_name(try->outcome));
	log_int(&line, "tries", (int64_t)try->found.operation.tries + 1);
	if (try->why)
		log_text(&line, "why", try->why);
	if (try->errand.upstream_us)
		log_int(&line, "upstream_us", try->errand.upstream_us);
	if (call_error(&try->ask.call))
		log_text(&line, "ask_error", call_error(&try->ask.call));
	if (call_error(&try->errand.forward.call))
		log_text(&line, "upstream_error", call_error(&try->errand.forward.call));
	log_end(&line);
}

static void end(struct try *try)
{
	struct background *background = try->background;
	struct lane *lane = try->lane;
	struct operation_id id = try->id;

	log_try(try);
	release(try);
	call_waiters(background, &id);
	reconciler_take_wishes(background);
	if (lane)
		reconciler_look(lane);
}
