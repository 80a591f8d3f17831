/*
 * Approvals: what waits for people, and their answers.
 *
 * An answer is read whole, then the operation's record; then it is judged by what is declared now:
 * who may answer, and whether the rule that asked is still the one in force. Where it is another
 * one, people are asked anew and the answer counts for nothing: it was given to another question.
 * Everything that two people could do at once (who is first, who has answered already, whether the
 * time is over) the store judges, in one transaction.
 */
#include "admin/api.h"

#include "core/approval.h"
#include "gate/account.h"
#include "gate/approval_json.h"
#include "gate/background.h"
#include "gate/policy.h"
#include "gate/query.h"
#include "gate/question.h"

#include <stdio.h>

enum {
	WHY_MAX = 2000, /* bytes of a reason */
	PAGE_DEFAULT = 50,
};

/* An answer under way. */
struct answering {
	struct operation_id id;
	bool is_approval;  /* else a denial */
	bool has_question; /* and names the question by more than its fingerprint */
	struct store_consent consent;
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
	approval_list_json(&json, command, gate_settings(call->admin->gate));
	api_json_end(call, 200, &body);
}

static bool read_cursor(struct str value, struct store_command *command)
{
	size_t part = 0;
	bool is_one = query_cursor(value, approval_cursor_prefixes, APPROVAL_CURSOR_PARTS, command,
				   &part);

	command->is_past = part == 1;
	return is_one;
}

static const char *read_parameter(void *state, struct str name, struct str value)
{
	struct store_command *command = state;

	if (str_equal(name, STR("state"))) {
		if (str_equal(value, STR("waiting")))
			command->filter_state = STATE_AWAITING_APPROVAL;
		else if (!str_equal(value, STR("all")))
			return "state is waiting or all.";
	} else if (str_equal(name, STR("account"))) {
		command->filter_account = value;
	} else if (str_equal(name, STR("limit"))) {
		return query_limit(value, command);
	} else if (str_equal(name, STR("cursor"))) {
		if (!read_cursor(value, command))
			return "cursor is the `next` of an earlier page.";
	} else {
		return "The filters are state, account, limit and cursor.";
	}
	return NULL;
}

void api_list_approvals(struct api_call *call)
{
	const char *wrong;

	call->command = (struct store_command){.kind = STORE_APPROVALS, .limit = PAGE_DEFAULT};
	wrong = query_read_all(call->exchange->request.parts.query, &call->exchange->mem,
			       read_parameter, &call->command);
	if (wrong)
		api_problem(call, PROBLEM_QUERY_MALFORMED, wrong);
	else if (api_keep_to_scope(call))
		api_ask(call, listed);
}

/* True: nobody was ever asked about it, and that has been answered. */
static bool is_no_question(struct api_call *call)
{
	if (call->command.approval.needed)
		return false;
	api_problem(call, PROBLEM_NOT_FOUND, "Nobody is asked about this operation.");
	return true;
}

static void found(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (api_operation_failed(call) || is_no_question(call))
		return;
	api_json_begin(&json, &body);
	approval_found_json(&json, command, gate_settings(call->admin->gate));
	api_json_end(call, 200, &body);
}

void api_show_approval(struct api_call *call)
{
	struct operation_id id;

	if (api_operation_id(call, &id))
		api_find_operation(call, &id, found);
}

/* -- refusing an answer ------------------------------------------------------------ */

static void answer_over(struct api_call *call)
{
	char detail[160];

	snprintf(detail, sizeof(detail), "It waits for no answer any more: the operation is %s.",
		 operation_state_name(call->command.operation.state));
	api_problem(call, PROBLEM_APPROVAL_OVER, detail);
}

/* What the store said no for. */
static void answer_refusal(struct api_call *call)
{
	switch (call->command.result) {
	case STORE_OWN:
		api_problem(call, PROBLEM_APPROVAL_OWN, NULL);
		break;
	case STORE_AGAIN:
		api_problem(call, PROBLEM_APPROVAL_TWICE, NULL);
		break;
	case STORE_OTHER:
		api_problem(call, PROBLEM_APPROVAL_OTHER,
			    "It is not what you looked at: another fingerprint, or asked anew "
			    "since. Look at the question as it is now.");
		break;
	case STORE_LAPSED:
		api_problem(call, PROBLEM_APPROVAL_OVER, "Its time is over; nothing was sent.");
		break;
	default:
		answer_over(call);
		break;
	}
}

/* -- an answer that counts --------------------------------------------------------- */

static void log_answer(struct api_call *call, const struct answering *answering)
{
	char id[OPERATION_ID_TEXT + 1];
	struct log_line line;

	operation_id_write(&answering->id, id);
	log_begin(&line, call->admin->gate->log, LOG_INFO, "approval-answered");
	log_text(&line, "operation", id);
	log_str(&line, "by", call->caller.credential);
	log_text(&line, "verdict", answering->is_approval ? "approved" : "denied");
	log_text(&line, "state", operation_state_name(call->command.operation.state));
	log_int(&line, "given", call->command.approval.given);
	log_int(&line, "needed", call->command.approval.needed);
	log_end(&line);
}

static void consented(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	const struct answering *answering = call->state;
	struct gate *gate = call->admin->gate;
	bool is_lapsed = command->result == STORE_LAPSED;

	if (api_operation_failed(call))
		return;
	if (command->result == 0 || is_lapsed) {
		waiting_call(&gate->waiting, &answering->id);
		background_poke(gate);
	}
	if (command->result != 0) {
		answer_refusal(call);
		return;
	}
	log_answer(call, answering);
	api_find_operation(call, &answering->id, found);
}

static void consent(struct api_call *call, const struct store_operation *operation)
{
	const struct answering *answering = call->state;
	const struct settings *settings = gate_settings(call->admin->gate);
	const struct policy policy =
		policy_of(settings, settings_action(settings, operation->action));

	call->command = (struct store_command){
		.kind = answering->is_approval ? STORE_APPROVE : STORE_DENY,
		.operation = {.id = answering->id, .account = api_scope(call)},
		.consent = answering->consent,
		.retention_ms = policy.retention_ms,
		.plain_retention_ms = policy.plain_retention_ms,
	};
	api_ask(call, consented);
}

/* -- what does not stand any more is asked anew -------------------------------------- */

static void asked_again(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	const struct answering *answering = call->state;
	struct gate *gate = call->admin->gate;

	if (api_operation_failed(call))
		return;
	if (command->result != 0) {
		answer_over(call);
		return;
	}
	waiting_call(&gate->waiting, &answering->id);
	background_poke(gate);
	api_problem(call, PROBLEM_APPROVAL_OTHER,
		    arena_printf(&call->exchange->mem,
				 "People are asked anew, since %.*s. Look at the question as it is "
				 "now.",
				 STR_ARG(command->attempt.note))
			    .at);
}

static void ask_again(struct api_call *call, const struct store_approval *question, struct str why)
{
	const struct answering *answering = call->state;
	struct gate *gate = call->admin->gate;

	call->command = (struct store_command){
		.kind = STORE_ASK_AGAIN,
		.operation = {.id = answering->id, .account = api_scope(call)},
		.approval = *question,
		.attempt =
			{
				.at_ms = env_wall_ms(gate->env),
				.outcome = OUTCOME_AWAITING_APPROVAL,
				.delivered = -1,
				.by = ACTOR_OPERATOR,
				.note = why,
			},
	};
	api_ask(call, asked_again);
}

/* -- judging it -------------------------------------------------------------------- */

/* Whoever has the power may say no to what is not declared any more. */
static bool may_answer(const struct api_call *call, const struct action *action)
{
	return !action || !action->approval.is_declared ||
	       approval_may_answer(&action->approval, &call->caller);
}

/*
 * Is the very credential shown that the write was made with? Where accounts are digests of it
 * (accounts.from: credential) the data listener does not know keys by their ids.
 */
static bool shows_what_asked(const struct api_call *call, const struct store_approval *approval)
{
	const struct http_request *request = &call->exchange->request;

	if (!http_field_find(request->fields, request->field_count, STR("Authorization")))
		return false;
	return str_equal(account_of(call->exchange), approval->asked_by);
}

static void judge(struct api_call *call, const struct store_command *seen)
{
	struct answering *answering = call->state;
	const struct settings *settings = gate_settings(call->admin->gate);
	struct store_approval question;
	int judged;

	if (!answering->is_approval) {
		consent(call, &seen->operation);
		return;
	}
	if (!answering->has_question)
		answering->consent.policy = seen->approval.policy;
	if (shows_what_asked(call, &seen->approval)) {
		api_problem(call, PROBLEM_APPROVAL_OWN, NULL);
		return;
	}
	judged = question_judge(settings, call->admin->gate->callers, &seen->operation,
				&seen->request, &seen->approval, &call->exchange->mem, &question);
	switch (judged) {
	case QUESTION_STANDS:
		consent(call, &seen->operation);
		break;
	case QUESTION_CHANGED:
	case QUESTION_REVOKED:
		ask_again(call, &question, question_why_anew((enum question_rule)judged));
		break;
	case QUESTION_GONE:
		api_problem(call, PROBLEM_APPROVAL_OVER,
			    "Its action is not declared any more, so nothing could be sent. Deny "
			    "it, or declare the action again.");
		break;
	case QUESTION_UNREADABLE:
		api_problem(call, PROBLEM_APPROVAL_OVER,
			    "The action is declared in another way by now, and this command is "
			    "none of it any more. Deny it, or bring the declaration back.");
		break;
	default:
		api_problem(call, PROBLEM_OVERLOADED, NULL);
		break;
	}
}

static void considered(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	const struct settings *settings = gate_settings(call->admin->gate);
	struct store_command seen;

	if (api_operation_failed(call) || is_no_question(call))
		return;
	seen = *command;
	if (seen.operation.state != STATE_AWAITING_APPROVAL)
		answer_over(call);
	else if (!may_answer(call, settings_action(settings, seen.operation.action)))
		api_problem(call, PROBLEM_FORBIDDEN,
			    "Its action says who may answer, and you are not among them.");
	else
		judge(call, &seen);
}

/* -- reading it -------------------------------------------------------------------- */

static bool read_hash(struct str text, struct hash *out)
{
	if (text.len != 2 * HASH_SIZE)
		return false;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* NULL, or what is wrong with the body. */
static const char *read_answer(const struct api_call *call, struct answering *answering)
{
	struct store_consent *consent = &answering->consent;

	*consent = (struct store_consent){
		.by = call->caller.credential,
		.agent = call->caller.agent,
		.account = call->caller.account,
		.role = call->caller.role,
		.why = api_text(call, "why"),
	};
	if (!read_hash(api_text(call, "fingerprint"), &consent->fingerprint))
		return "\"fingerprint\" is the one of what was shown: 64 hexadecimal digits.";
	answering->has_question = api_text(call, "question").len != 0;
	if (answering->has_question && !read_hash(api_text(call, "question"), &consent->policy))
		return "\"question\" is the one of what was shown: 64 hexadecimal digits.";
	if (consent->why.len > WHY_MAX)
		return "\"why\" is a text of at most 2000 bytes.";
	if (!answering->is_approval && consent->why.len == 0)
		return "\"why\" is a text of 1 to 2000 bytes, told to whoever asked.";
	return NULL;
}

static void answer(struct api_call *call, bool is_approval)
{
	struct answering *answering = api_state_new(call, sizeof(*answering));
	const char *wrong;

	if (!answering || !api_operation_id(call, &answering->id))
		return;
	answering->is_approval = is_approval;
	wrong = read_answer(call, answering);
	if (wrong)
		api_problem(call, PROBLEM_BODY_MALFORMED, wrong);
	else
		api_find_operation(call, &answering->id, considered);
}

void api_approve(struct api_call *call)
{
	answer(call, true);
}

void api_deny(struct api_call *call)
{
	answer(call, false);
}
