/* Locks, for whoever looks. */
#include "admin/api.h"

#include "admin/locks_json.h"

static void listed(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (api_failed(call, NULL))
		return;
	api_json_begin(&json, &body);
	locks_json(&json, command, call->state);
	api_json_end(call, 200, &body);
}

void api_list_locks(struct api_call *call)
{
	struct locks_filter *filter = api_state_new(call, sizeof(*filter));
	const char *wrong;

	if (!filter)
		return;
	call->command = (struct store_command){
		.kind = STORE_LOCKS,
		.limit = STORE_LIST_MAX,
		.filter_account = api_scope(call),
	};
	wrong = locks_query(call->exchange->request.parts.query, &call->exchange->mem, filter,
			    &call->command);
	if (wrong)
		api_problem(call, PROBLEM_QUERY_MALFORMED, wrong);
	else
		api_ask(call, listed);
}
