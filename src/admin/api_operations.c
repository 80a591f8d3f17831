/*
 * Operations from the operator's side: looking at them, and deciding about one.
 *
 * A decision is read whole, then the operation's record (what it opens and how long it is kept is
 * written there), then the store is told; its answer is the operation as it is then. Between the
 * two somebody else may move it: the store judges again and refuses (STORE_LOST).
 */
#include "admin/api.h"

#include "admin/decision.h"
#include "gate/background.h"
#include "gate/operation_json.h"
#include "gate/query.h"

#include <stdio.h>

/* A decision under way. */
struct deciding {
	struct operation_id id;
	struct decision decision;
};

/* -- looking ----------------------------------------------------------------------- */

static void listed(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (api_operation_failed(call))
		return;
	api_json_begin(&json, &body);
	json_open_object(&json);
	operation_list_json(&json, command, false);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

void api_list_operations(struct api_call *call)
{
	const char *wrong;

	call->command = (struct store_command){.kind = STORE_LIST};
	wrong = query_list(call->exchange->request.parts.query, true, &call->exchange->mem,
			   &call->command);
	if (wrong)
		api_problem(call, PROBLEM_QUERY_MALFORMED, wrong);
	else if (api_keep_to_scope(call))
		api_ask(call, listed);
}

static void found(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (api_operation_failed(call))
		return;
	api_json_begin(&json, &body);
	operation_found_json(&json, command, gate_settings(call->admin->gate), false);
	api_json_end(call, 200, &body);
}

void api_show_operation(struct api_call *call)
{
	struct operation_id id;

	if (api_operation_id(call, &id))
		api_find_operation(call, &id, found);
}

/* -- deciding ---------------------------------------------------------------------- */

/* What a decision came too late for, or was never for. */
static void answer_lost(struct api_call *call, const struct decision *decision)
{
	static const struct {
		enum problem problem;
		const char *text;
	} kinds[] = {
		[DECISION_CANCEL] = {PROBLEM_NOT_CANCELLABLE,
				     "only one that has not been sent can be cancelled"},
		[DECISION_RESOLVE] = {PROBLEM_NOT_RESOLVABLE,
				      "only one that is unknown can be resolved"},
		[DECISION_RELEASE] = {PROBLEM_NOT_RELEASABLE, "it holds no lock"},
	};
	const struct store_operation *operation = &call->command.operation;
	char detail[128];

	if (decision->has_epoch && decision->epoch != operation->epoch)
		snprintf(detail, sizeof(detail),
			 "It was sent again since; its epoch is %u. Look at it again.",
			 (unsigned)operation->epoch);
	else
		snprintf(detail, sizeof(detail), "The operation is %s; %s.",
			 operation_state_name(operation->state), kinds[decision->kind].text);
	api_problem(call, kinds[decision->kind].problem, detail);
}

static void log_decided(struct api_call *call, const struct deciding *deciding)
{
	char id[OPERATION_ID_TEXT + 1];
	struct log_line line;

	operation_id_write(&deciding->id, id);
	log_begin(&line, call->admin->gate->log, LOG_INFO, "operation-moved");
	log_text(&line, "operation", id);
	log_str(&line, "by", deciding->decision.by);
	log_text(&line, "verb", decision_kind_name(deciding->decision.kind));
	log_text(&line, "state", operation_state_name(call->command.operation.state));
	log_end(&line);
}

/* A lock that is taken away ends nothing that somebody in the waiting room waits for. */
static void decided(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	const struct deciding *deciding = call->state;
	struct gate *gate = call->admin->gate;

	if (api_operation_failed(call))
		return;
	if (command->result == STORE_LOST) {
		answer_lost(call, &deciding->decision);
		return;
	}
	log_decided(call, deciding);
	if (deciding->decision.kind != DECISION_RELEASE)
		waiting_call(&gate->waiting, &deciding->id);
	if (command->makes_due)
		background_poke(gate);
	api_find_operation(call, &deciding->id, found);
}

static void considered(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	const struct deciding *deciding = call->state;
	struct gate *gate = call->admin->gate;
	struct store_command seen = *command;

	if (api_operation_failed(call))
		return;
	decision_command(&deciding->decision, gate_settings(gate), &seen, env_wall_ms(gate->env),
			 &call->exchange->mem, &call->command);
	api_ask(call, decided);
}

static void decide(struct api_call *call, enum decision_kind kind)
{
	struct deciding *deciding = api_state_new(call, sizeof(*deciding));
	const char *wrong;

	if (!deciding || !api_operation_id(call, &deciding->id))
		return;
	wrong = decision_read(kind, call->body, &deciding->decision);
	if (wrong)
		api_problem(call, PROBLEM_BODY_MALFORMED, wrong);
	else if (!decision_by(&deciding->decision, &call->caller, &call->exchange->mem))
		exchange_abort(call->exchange);
	else
		api_find_operation(call, &deciding->id, considered);
}

void api_cancel(struct api_call *call)
{
	decide(call, DECISION_CANCEL);
}

void api_resolve(struct api_call *call)
{
	decide(call, DECISION_RESOLVE);
}

void api_release(struct api_call *call)
{
	decide(call, DECISION_RELEASE);
}
