/*
 * Decisions of the dispatcher and the reconciler (see plan.h). Pure.
 *
 * Times are the wall clock's, since they outlive the process. `updated_ms` of an unknown operation
 * is when it became that, and so not before its last sending had ended for the gate; `sent_ms` is
 * when it was first sent, from which on the service may know its key.
 */
#include "gate/plan.h"

#include "base/env.h"
#include "core/backoff.h"
#include "core/downstream_key.h"

static bool has_probe(const struct plan_facts *facts)
{
	const struct action *action = facts->policy->action;

	return action && action->probe.get.len && facts->operation->probe.len;
}

enum plan_step plan_first(const struct plan_facts *facts)
{
	if (has_probe(facts))
		return PLAN_ASK;
	return plan_may_resend(facts) ? PLAN_RESEND : PLAN_NOTHING;
}

/* Until when the service knows the key; 0: it honours none, or nothing was sent that we know of. */
static int64_t known_until_ms(const struct plan_facts *facts)
{
	const struct policy *policy = facts->policy;

	if (!policy_has_downstream_key(policy) || !facts->operation->sent_ms)
		return 0;
	return time_add(facts->operation->sent_ms, policy->downstream_key.for_ms);
}

bool plan_may_resend(const struct plan_facts *facts)
{
	const struct policy *policy = facts->policy;

	if (!facts->request->method.len)
		return false;
	if (policy->action && policy->action->is_natural)
		return facts->is_wished &&
		       downstream_key_is_for(facts->request->key_place, policy_service(policy));
	return downstream_key_is_at(&policy->downstream_key, policy_service(policy),
				    facts->request->key_place) &&
	       time_add(time_add(facts->now_ms, facts->lost_ms), policy_timeout_ms(policy)) <
		       known_until_ms(facts);
}

bool plan_absence_counts(const struct plan_facts *facts, int64_t asked_ms, int64_t *out_from_ms)
{
	*out_from_ms = time_add(time_add(facts->operation->updated_ms, facts->gained_ms),
				facts->policy->action->probe.settle_ms);
	return asked_ms >= *out_from_ms;
}

/* Tries to find out. */
struct rhythm {
	int64_t every_ms; /* the first pause between two of them */
	int64_t since_ms; /* from when on there were any, as far as that is known */
	int64_t end_ms;	  /* from when on there are no more */
};

static struct rhythm rhythm_of(const struct plan_facts *facts)
{
	struct rhythm rhythm = {PLAN_RESEND_MS, facts->operation->sent_ms, 0};

	/* Each sending makes it unknown anew: counted from there, it would never end. */
	if (has_probe(facts)) {
		const struct rule_inquiry *probe = &facts->policy->action->probe;
		int64_t unknown_ms = time_add(facts->operation->updated_ms, facts->gained_ms);

		rhythm.every_ms = probe->every_ms;
		rhythm.end_ms = time_add(unknown_ms, probe->give_up_ms);
		if (!plan_may_resend(facts))
			rhythm.since_ms = unknown_ms;
		return rhythm;
	}
	rhythm.end_ms = time_add(rhythm.since_ms, PLAN_GIVE_UP_MS);
	return rhythm;
}

/* Tries that callers ask for count as well. So that they do not put the next one off for those who
 * do not ask, a pause is never longer than all the time before it, as if it had only doubled. */
static int64_t longest_pause_ms(const struct rhythm *rhythm, int64_t now_ms)
{
	int64_t longest_ms = now_ms - rhythm->since_ms;

	if (longest_ms > PLAN_PAUSE_MAX_MS)
		longest_ms = PLAN_PAUSE_MAX_MS;
	return longest_ms > rhythm->every_ms ? longest_ms : rhythm->every_ms;
}

int64_t plan_next_ms(const struct plan_facts *facts, uint32_t random)
{
	struct rhythm rhythm = rhythm_of(facts);
	int64_t next_ms;

	if (facts->now_ms >= rhythm.end_ms)
		return INT64_MAX;
	next_ms = time_add(facts->now_ms,
			   backoff_ms(rhythm.every_ms, longest_pause_ms(&rhythm, facts->now_ms),
				      facts->operation->tries, random));
	return next_ms < rhythm.end_ms ? next_ms : rhythm.end_ms;
}

/* A refusal of the command itself, which the first sending would have met as well. */
static bool is_of_the_command(int status)
{
	return status == 400 || status == 402 || status == 410 || status == 422;
}

enum operation_event plan_resent(const struct policy *policy, enum operation_event event,
				 int status)
{
	bool is_natural = policy->action && policy->action->is_natural;
	bool is_replay = policy_has_downstream_key(policy) && !is_natural;

	if (event == EVENT_SUCCEEDED)
		return event;
	if (outcome_is_elsewhere(status)) /* now; the first one may have been taken here */
		return EVENT_LOST_SIGHT;
	/* A success by its status whose text says that it failed is the first one's, told again. */
	if (event == EVENT_REFUSED && is_replay && (status < 400 || is_of_the_command(status)))
		return event;
	return EVENT_LOST_SIGHT;
}

bool plan_gives_up(const struct settings *settings, uint32_t tries)
{
	return tries >= settings->outbox.attempts;
}

struct str plan_given_up_text(uint32_t tries, const char *why, struct arena *mem)
{
	struct str text = arena_printf(mem, "gave up after %u sending%s that did not arrive: %s",
				       (unsigned)tries, tries == 1 ? "" : "s",
				       why ? why : "the service said that it did not act");

	return text.at ? text : STR("gave up after too many sendings that did not arrive");
}

int64_t plan_retry_ms(const struct settings *settings, uint32_t tries, int retry_after_s,
		      int64_t now_ms, uint32_t random)
{
	int64_t pause_ms = backoff_ms(settings->outbox.first_pause_ms,
				      settings->outbox.max_pause_ms, tries, random);
	int64_t asked_ms = retry_after_s > 0 ? (int64_t)retry_after_s * 1000 : 0;

	return time_add(now_ms, pause_ms > asked_ms ? pause_ms : asked_ms);
}
