/*
 * An errand on its way (see errand.h).
 *
 * What cannot be settled is settled again, with pauses, until the store has said yes, or that
 * somebody else's word counts. Whatever ends the process before that leaves the operation running,
 * and the next gate calls it unknown: a sending that is in doubt is never taken for one that was
 * not made.
 */
#include "gate/errand.h"

#include "base/err.h"
#include "core/downstream_key.h"
#include "core/inquiry.h"
#include "core/template.h"

static void send_it(struct errand *errand);
static void look_up(struct errand *errand);
static bool has_lookup(const struct errand *errand);
static void settle(struct errand *errand);

static struct background *background_of(const struct errand *errand)
{
	return errand->lane->background;
}

static int64_t now_ms(const struct errand *errand)
{
	return background_wall_ms(background_of(errand));
}

static void begin(struct errand *errand)
{
	generation_hold(errand->generation);
	arena_init(&errand->mem, BACKGROUND_ASK_MEMORY);
}

void errand_start(struct errand *errand)
{
	begin(errand);
	/* As it was claimed: its body was checked for that, and it is sent again by that alone. */
	downstream_key_put_at(&errand->policy.downstream_key, errand->request->key_place);
	if (!errand->is_resend && has_lookup(errand))
		look_up(errand);
	else
		send_it(errand);
}

/* The reason lives in `mem` from here on; a text that has no room is left out. */
static void conclude(struct errand *errand, enum operation_event event, const char *reason)
{
	errand->event = event;
	errand->reason = arena_str(&errand->mem, str_from(reason));
	settle(errand);
}

static void put_back(struct errand *errand, int64_t next_ms, const char *reason)
{
	errand->is_untried = true;
	errand->next_ms = next_ms;
	conclude(errand, EVENT_NOT_SENT, reason);
}

void errand_put_back(struct errand *errand, int64_t next_ms, const char *reason)
{
	begin(errand);
	put_back(errand, next_ms, reason);
}

void errand_lose(struct errand *errand, int64_t next_ms, const char *reason)
{
	begin(errand);
	errand->next_ms = next_ms;
	conclude(errand, EVENT_LOST_SIGHT, reason);
}

/* Nothing arrived: again a little later, unless that has been said too often. */
static void not_sent(struct errand *errand, int retry_after_s, const char *why)
{
	const struct settings *settings = errand->generation->settings;
	uint32_t tries = errand->operation->tries ? errand->operation->tries : 1;

	if (!plan_gives_up(settings, tries)) {
		errand->next_ms = plan_retry_ms(settings, tries, retry_after_s, now_ms(errand),
						background_random(background_of(errand)));
		conclude(errand, EVENT_NOT_SENT, why);
		return;
	}
	metrics_add(&background_of(errand)->metrics.gave_up, 1);
	conclude(errand, EVENT_REFUSED, plan_given_up_text(tries, why, &errand->mem).at);
}

/* No connection became free for it: others were in its way, and it has not been tried. */
static void had_no_turn(struct errand *errand, const char *why)
{
	uint32_t random = background_random(background_of(errand));

	put_back(errand, plan_retry_ms(errand->generation->settings, 1, -1, now_ms(errand), random),
		 why);
}

/* Look-up: is there one already, whoever made it? */

static bool has_lookup(const struct errand *errand)
{
	const struct action *action = errand->policy.action;

	return action && action->lookup.get.len && errand->request->lookup.len;
}

/* What is there is the answer, as if the service had given it now. */
static void found(struct errand *errand)
{
	errand->is_found = true;
	conclude(errand, errand->ask.facts.has_failed ? EVENT_REFUSED : EVENT_SUCCEEDED,
		 ASK_THERE_ALREADY);
}

static void looked_up(struct ask *ask)
{
	struct errand *errand = ask->owner;

	background_asked(background_of(errand), ask);
	if (ask_was_broken_off(ask)) {
		put_back(errand, now_ms(errand), ERRAND_STOPPING);
		return;
	}
	switch (ask->verdict) {
	case INQUIRY_FOUND:
		found(errand);
		return;
	case INQUIRY_ABSENT:
		send_it(errand);
		return;
	case INQUIRY_DOUBT:
		if (ask->call.had_no_turn)
			had_no_turn(errand, ask->why);
		else
			not_sent(errand, -1, ask->why);
		return;
	}
	unreachable("an inquiry ends one of three ways");
}

static void look_up(struct errand *errand)
{
	struct str question, target;

	if (!inquiry_unmark(&errand->policy.action->lookup, policy_service(&errand->policy),
			    errand->request->lookup, &question)) {
		not_sent(errand, -1,
			 "its look-up is declared in another way, or for another service, by now");
		return;
	}
	if (template_finish(question, &errand->operation->id, &errand->mem, &target) != 0) {
		not_sent(errand, -1, "there was no memory for its look-up");
		return;
	}
	errand->ask = (struct ask){
		.inquiry = &errand->policy.action->lookup,
		.policy = &errand->policy,
		.target = target,
		.headers = errand->request->headers,
		.mem = &errand->mem,
		.owner = errand,
		.done = looked_up,
	};
	background_ask(background_of(errand), errand->generation, &errand->ask);
}

/* The sending. */

static void lost_sight(struct errand *errand, const char *why)
{
	int64_t pause_ms = policy_first_look_ms(&errand->policy);
	const struct plan_facts facts = {
		.policy = &errand->policy,
		.operation = errand->operation,
		.request = errand->request,
		.now_ms = now_ms(errand),
	};

	if (errand->is_resend)
		errand->next_ms = plan_next_ms(&facts, background_random(background_of(errand)));
	else if (pause_ms)
		errand->next_ms = facts.now_ms + pause_ms;
	conclude(errand, EVENT_LOST_SIGHT, why);
}

static void forwarded(struct forward *forward)
{
	struct errand *errand = forward->owner;
	enum operation_event event = forward->event;

	errand->is_forwarded = true;
	errand->upstream_us = forward->call.duration_us;
	histogram_add(&background_of(errand)->metrics.upstream, errand->upstream_us);
	if (forward->credential.is_unset && !errand->is_resend) {
		put_back(errand, now_ms(errand) + PLAN_UNSET_MS, forward->reason);
		return;
	}
	if (forward->call.had_no_turn && !errand->is_resend) {
		had_no_turn(errand, forward->reason);
		return;
	}
	if (errand->is_resend)
		event = plan_resent(&errand->policy, event, forward->status);
	switch (event) {
	case EVENT_NOT_SENT:
		not_sent(errand, forward->retry_after_s, forward->reason);
		return;
	case EVENT_LOST_SIGHT:
		lost_sight(errand, forward->reason
					   ? forward->reason
					   : "the answer to the second sending does not say "
					     "what became of the first");
		return;
	default:
		conclude(errand, event, forward->reason);
		return;
	}
}

static void send_it(struct errand *errand)
{
	const struct store_request *request = errand->request;

	errand->forward = (struct forward){
		.policy = &errand->policy,
		.id = errand->operation->id,
		.fence = errand->fence,
		.method = request->method,
		.target = request->target,
		.headers = request->headers,
		.body = request->body,
		.has_body = request->has_body,
		.mem = &errand->mem,
		.env = background_of(errand)->gate->env,
		.owner = errand,
		.done = forwarded,
	};
	forward_start(errand->generation, &errand->forward);
}

/* Settling. */

static enum outcome outcome_of(const struct errand *errand)
{
	switch (errand->event) {
	case EVENT_SUCCEEDED:
	case EVENT_REFUSED:
		if (errand->is_found)
			return OUTCOME_REUSED;
		return errand->is_forwarded && errand->forward.event != EVENT_NOT_SENT
			       ? OUTCOME_CREATED
			       : OUTCOME_NOT_SENT;
	case EVENT_NOT_SENT:
		return OUTCOME_NOT_SENT;
	default:
		return OUTCOME_UNKNOWN;
	}
}

/* The event is the errand's own, not the forwarding's: what the look-up found, what was given up.
 */
static void fill_own(const struct errand *errand, struct store_command *command)
{
	const struct store_operation *operation = errand->operation;

	command->event = errand->event;
	command->retention_ms = errand->policy.retention_ms;
	command->plain_retention_ms = errand->policy.plain_retention_ms;
	command->operation.id = operation->id;
	if (errand->is_found)
		ask_settlement(&errand->ask, operation->account, command);
	if (errand->event != EVENT_NOT_SENT)
		command->operation.reason = errand->reason;
}

void errand_fini(struct errand *errand)
{
	arena_fini(&errand->mem);
}

static void end(struct errand *errand, bool makes_due)
{
	struct background *background = background_of(errand);

	waiting_call(&background->gate->waiting, &errand->operation->id);
	if (makes_due)
		background_look(background);
	ask_fini(&errand->ask);
	forward_fini(&errand->forward);
	generation_drop(errand->generation);
	errand->ended(errand);
}

static void pause_over(struct loop_timer *timer)
{
	settle(list_entry(timer, struct errand, pause));
}

static void settle_later(struct errand *errand)
{
	errand->is_repeated = true;
	errand->pause_ms = gate_next_pause_ms(errand->pause_ms);
	loop_timer_init(&errand->pause, pause_over);
	loop_timer_start(&background_of(errand)->station.loop, &errand->pause, errand->pause_ms);
}

static void settled(struct store_command *command)
{
	struct errand *errand = command->owner;

	errand->state = command->operation.state;
	arena_fini(&errand->command_mem);
	switch (command->result) {
	case 0:
		errand->is_settled = true;
		end(errand, command->makes_due);
		return;
	case STORE_LOST:   /* an uncertain commit had been one after all, or the pick-up none */
	case STORE_ABSENT: /* the pick-up had been none */
		if (errand->is_forwarded && !errand->is_repeated)
			fail(FAIL_UNPLANNED);
		end(errand, true);
		return;
	default:
		settle_later(errand);
		return;
	}
}

static void settle(struct errand *errand)
{
	struct store_command *command = &errand->command;

	errand->outcome = outcome_of(errand);
	arena_init(&errand->command_mem, BACKGROUND_MEMORY);
	*command = (struct store_command){
		.kind = STORE_SETTLE,
		.mem = &errand->command_mem,
		.done = settled,
		.owner = errand,
		.attempt =
			{
				.outcome = errand->outcome,
				.by = errand->is_resend ? ACTOR_RECONCILER : ACTOR_DISPATCHER,
				.note = errand->reason,
			},
		.attempt_number = errand->attempt_number,
		.next_ms = errand->next_ms,
	};
	if (errand->is_forwarded && errand->forward.event == errand->event)
		forward_settlement(&errand->forward, errand->operation->account, command);
	else
		fill_own(errand, command);
	if (errand->is_resend && !command->operation.reason.len)
		command->operation.reason = STR("it was sent again, and answered");
	command->operation.epoch = errand->epoch;
	command->is_untried = errand->is_untried;
	gate_ask(&background_of(errand)->station, command);
}
