/*
 * A person's decision about one operation.
 *
 * Each needs a reason, which is kept in its history, behind what was decided, and where the
 * decision moves the operation also with that, for as long as no later sending makes it untrue.
 * One that takes the lock away moves nothing: the operation keeps its state, and the fencing number
 * is what guards the service against a holder that still acts.
 */
#include "admin/decision.h"

#include "base/err.h"
#include "gate/policy.h"

enum { TEXT_MAX = 2000 }; /* bytes of a reason, and of a reference */

static const char *const verbs[] = {
	[DECISION_CANCEL] = "cancel",
	[DECISION_RESOLVE] = "resolve",
	[DECISION_RELEASE] = "release",
};

const char *decision_kind_name(enum decision_kind kind)
{
	require(kind <= DECISION_RELEASE);
	return verbs[kind];
}

/* -- reading it -------------------------------------------------------------------- */

static struct str text_member(const struct json_value *body, const char *name)
{
	const struct json_value *value = json_member(body, str_from(name));

	return value && value->type == JSON_STRING ? value->string : STR("");
}

/* False: it is there and is neither true nor false. */
static bool read_flag(const struct json_value *body, const char *name, bool otherwise, bool *out)
{
	const struct json_value *value = json_member(body, str_from(name));

	*out = value ? value->type == JSON_TRUE : otherwise;
	return !value || value->type == JSON_TRUE || value->type == JSON_FALSE;
}

/* False: it is there and is no epoch. */
static bool read_epoch(const struct json_value *body, struct decision *decision)
{
	const struct json_value *value = json_member(body, STR("epoch"));
	int64_t epoch;

	decision->has_epoch = value != NULL;
	if (!value)
		return true;
	if (value->type != JSON_NUMBER || !json_number_to_i64(&value->number, &epoch) ||
	    epoch < 0 || epoch > UINT32_MAX)
		return false;
	decision->epoch = (uint32_t)epoch;
	return true;
}

const char *decision_read(enum decision_kind kind, const struct json_value *body,
			  struct decision *out_decision)
{
	struct decision decision = {
		.kind = kind,
		.why = text_member(body, "why"),
		.reference = text_member(body, "reference"),
	};

	if (decision.why.len == 0 || decision.why.len > TEXT_MAX)
		return "\"why\" is a text of 1 to 2000 bytes: how you know.";
	if (decision.reference.len > TEXT_MAX)
		return "\"reference\" is a text of at most 2000 bytes.";
	if (!read_flag(body, "happened", false, &decision.has_happened) ||
	    (kind == DECISION_RESOLVE && !json_member(body, STR("happened"))))
		return "\"happened\" is true or false: whether the service acted.";
	if (!read_flag(body, "retry", false, &decision.may_retry)) /* unless said: never twice */
		return "\"retry\" is true or false: whether its caller may send it again.";
	if (!read_epoch(body, &decision))
		return "\"epoch\" is the number of the sending that it is about.";
	*out_decision = decision;
	return NULL;
}

/* Whoever holds admin-token is the operator; of others it is said who they are. */
bool decision_by(struct decision *decision, const struct caller *caller, struct arena *mem)
{
	decision->credential = caller->credential;
	if (str_equal(caller->credential, STR("admin-token"))) {
		decision->by = STR("operator");
		decision->agent = STR("");
		return true;
	}
	decision->agent = caller->agent;
	decision->by = arena_printf(mem, "%.*s%s%.*s", STR_ARG(caller->agent),
				    caller->agent.len ? " " : "", STR_ARG(caller->credential));
	return decision->by.at != NULL;
}

/* -- carrying it out --------------------------------------------------------------- */

static enum operation_event event_of(const struct decision *decision)
{
	if (decision->kind == DECISION_CANCEL)
		return EVENT_CANCELLED;
	if (decision->has_happened)
		return EVENT_FOUND_DONE;
	return decision->may_retry ? EVENT_FOUND_NOT_DONE : EVENT_FOUND_FAILED;
}

/* Nobody read an answer, so the reference is all that can say which budget it is. */
static void name_budget(const struct store_command *found, struct str reference,
			struct hash *out_opens)
{
	const struct store_operation *operation = &found->operation;

	if (found->view.opens_budget)
		budget_hash(operation->account, operation->upstream, reference, out_opens);
}

/* An identity stays taken for as long as its claim said, whatever the settings have become. */
static void keep(const struct settings *settings, const struct store_command *found, int64_t now_ms,
		 struct store_command *command)
{
	const struct action *action = settings_action(settings, found->operation.action);
	const struct policy policy = policy_of(settings, action);
	int64_t taken_ms = found->view.has_unique ? found->view.unique_until_ms - now_ms : 0;

	command->plain_retention_ms = policy.plain_retention_ms;
	command->retention_ms = taken_ms > policy.retention_ms ? taken_ms : policy.retention_ms;
}

static struct store_command release_of(const struct decision *decision,
				       const struct store_operation *operation)
{
	return (struct store_command){
		.kind = STORE_RELEASE,
		.operation =
			{
				.id = operation->id,
				.reason = decision->why,
				.decided_by = decision->by,
			},
	};
}

static struct store_command move_of(const struct decision *decision,
				    const struct settings *settings,
				    const struct store_command *found, int64_t now_ms)
{
	struct store_command command = {
		.kind = STORE_MOVE,
		.event = event_of(decision),
		.any_epoch = !decision->has_epoch,
		.next_ms = now_ms, /* what is the dispatcher's is sent anew without delay */
		.operation =
			{
				.id = found->operation.id,
				.epoch = decision->epoch,
				.reason = decision->why,
				.reference = decision->reference,
				.decided_by = decision->by,
			},
	};

	keep(settings, found, now_ms, &command);
	if (command.event == EVENT_FOUND_DONE && decision->reference.len)
		name_budget(found, decision->reference, &command.opens);
	return command;
}

/* What was done, as the history begins with it. */
static const char *deed_of(const struct decision *decision)
{
	if (decision->kind == DECISION_RELEASE)
		return "released its lock";
	if (decision->kind == DECISION_CANCEL)
		return "cancelled";
	if (decision->has_happened)
		return "resolved: it happened";
	return decision->may_retry ? "resolved: it did not happen"
				   : "resolved: it did not happen, and is not to be sent again";
}

/* What an attempt would be told that came upon it now. */
static enum outcome outcome_of(const struct decision *decision, enum operation_state state)
{
	if (decision->kind == DECISION_RELEASE)
		return state == STATE_UNKNOWN ? OUTCOME_UNKNOWN : OUTCOME_RUNNING;
	switch (event_of(decision)) {
	case EVENT_FOUND_DONE:
		return OUTCOME_CREATED;
	case EVENT_FOUND_NOT_DONE:
		return OUTCOME_NOT_SENT;
	default:
		return OUTCOME_REFUSED;
	}
}

static struct store_attempt attempt_of(const struct decision *decision, enum operation_state state,
				       int64_t now_ms, struct arena *mem)
{
	struct str note = arena_printf(mem, "%s; %.*s", deed_of(decision), STR_ARG(decision->why));

	return (struct store_attempt){
		.at_ms = now_ms,
		.outcome = outcome_of(decision, state),
		.delivered = -1,
		.by = ACTOR_OPERATOR,
		.agent = decision->agent,
		.credential = decision->credential,
		.note = note.at ? note : decision->why,
	};
}

void decision_command(const struct decision *decision, const struct settings *settings,
		      const struct store_command *found, int64_t now_ms, struct arena *mem,
		      struct store_command *out_command)
{
	const struct store_operation *operation = &found->operation;

	*out_command = decision->kind == DECISION_RELEASE
			       ? release_of(decision, operation)
			       : move_of(decision, settings, found, now_ms);
	out_command->attempt = attempt_of(decision, operation->state, now_ms, mem);
}
