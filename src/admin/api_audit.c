/*
 * The audit log's epochs, for whoever administers.
 *
 *   POST /api/audit/rotate {"why"}                     → {"epoch": the new one}
 *   POST /api/audit/erase  {"epoch", "prune", "why"}   → {"epoch", "pruned"}
 *
 * The log is of all accounts, so what is done to it is for those who see all of them (is_of_all).
 * Who did it, and why, is an entry of the log.
 */
#include "admin/api.h"

static struct str who(const struct api_call *call)
{
	return call->caller.agent.len ? call->caller.agent : STR("operator");
}

/* -- rotate ------------------------------------------------------------------------ */

static void rotated(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (command->result == STORE_LOST || command->result == STORE_FULL) {
		api_problem(call, PROBLEM_AUDIT_EPOCH,
			    command->result == STORE_LOST
				    ? "The last epoch's end is not published yet; try again in a "
				      "moment."
				    : "The log has as many epochs as it can have.");
		return;
	}
	if (command->result == STORE_ABSENT) {
		api_problem(call, PROBLEM_AUDIT_EPOCH,
			    "The next epoch's keys cannot be made; the gate's log says why.");
		return;
	}
	if (api_failed(call, NULL))
		return;
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "epoch");
	json_integer(&json, command->log_epoch);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

void api_audit_rotate(struct api_call *call)
{
	call->command = (struct store_command){
		.kind = STORE_ROTATE,
		.operation = {.decided_by = who(call), .reason = api_text(call, "why")},
	};
	api_ask(call, rotated);
}

/* -- erase ------------------------------------------------------------------------- */

static void erased(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (command->result == STORE_LOST || command->result == STORE_EXISTS) {
		api_problem(call, PROBLEM_AUDIT_EPOCH,
			    command->result == STORE_LOST
				    ? "That epoch has not ended: rotate first."
				    : "That epoch's data key is erased already.");
		return;
	}
	if (api_failed(call, "There is no such epoch."))
		return;
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "epoch");
	json_integer(&json, command->log_epoch);
	json_name(&json, "pruned");
	json_boolean(&json, command->prunes);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

void api_audit_erase(struct api_call *call)
{
	const struct json_value *epoch = json_member(call->body, STR("epoch"));
	const struct json_value *prune = json_member(call->body, STR("prune"));
	int64_t number;

	if (!epoch || epoch->type != JSON_NUMBER || !json_number_to_i64(&epoch->number, &number) ||
	    number < 0 || number >= STORE_EPOCHS_MAX) {
		api_problem(call, PROBLEM_BODY_MALFORMED, "epoch is the number of an epoch.");
		return;
	}
	if (prune && prune->type != JSON_TRUE && prune->type != JSON_FALSE) {
		api_problem(call, PROBLEM_BODY_MALFORMED, "prune is true or false.");
		return;
	}
	call->command = (struct store_command){
		.kind = STORE_ERASE,
		.log_epoch = (uint32_t)number,
		.prunes = prune && prune->type == JSON_TRUE,
		.operation = {.decided_by = who(call), .reason = api_text(call, "why")},
	};
	api_ask(call, erased);
}
