/*
 * Budgets, for whoever looks.
 *
 * What is spent counts what has not failed: what is under way, too. Whose a budget is, its opener
 * says; one whose opener is forgotten is shown only to those who see every account.
 */
#include "admin/api.h"

#include "config/settings.h"
#include "core/money.h"
#include "gate/operation_json.h"
#include "gate/query.h"

static void write_opener(struct json_writer *json, const struct store_budget *budget)
{
	static const struct operation_id nobody;
	char id[OPERATION_ID_TEXT + 1];

	json_name(json, "opener");
	if (memcmp(&budget->opener, &nobody, sizeof(nobody)) == 0) {
		json_null(json);
		return;
	}
	operation_id_write(&budget->opener, id);
	json_open_object(json);
	json_name(json, "id");
	json_text(json, id);
	json_name(json, "account");
	json_string(json, budget->account);
	json_name(json, "action");
	json_string(json, budget->action);
	json_name(json, "reference");
	json_string(json, budget->reference);
	json_close_object(json);
}

static void write_text(struct json_writer *json, const char *name, int64_t amount,
		       const char *currency)
{
	char text[MONEY_TEXT];

	money_write(amount, str_from(currency), text);
	json_name(json, name);
	json_text(json, text);
}

/* In minor units for programs, as `text` for people. */
static void write_amounts(struct json_writer *json, const struct store_budget *budget)
{
	int64_t left = budget->total - budget->used;

	json_name(json, "currency");
	json_text(json, budget->currency);
	json_name(json, "opened");
	json_integer(json, budget->total);
	json_name(json, "used");
	json_integer(json, budget->used);
	json_name(json, "left");
	json_integer(json, left);
	json_name(json, "text");
	json_open_object(json);
	write_text(json, "opened", budget->total, budget->currency);
	write_text(json, "used", budget->used, budget->currency);
	write_text(json, "left", left, budget->currency);
	json_close_object(json);
}

/* "forever" was counted from the day that it was opened: nothing else reaches so far. */
static bool is_for_good(const struct store_budget *budget)
{
	return budget->until_ms >= SETTINGS_FOREVER_MS;
}

static void write_budget(struct json_writer *json, const struct store_budget *budget)
{
	json_open_object(json);
	write_opener(json, budget);
	write_amounts(json, budget);
	json_name(json, "until");
	if (is_for_good(budget))
		json_null(json);
	else
		json_time(json, budget->until_ms);
	json_close_object(json);
}

static void listed(struct store_command *command)
{
	struct api_call *call = api_call_of(command);
	struct json_writer json;
	struct buf body;

	if (api_failed(call, NULL))
		return;
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "budgets");
	json_open_array(&json);
	for (size_t i = 0; i < command->budget_count; i++)
		write_budget(&json, &command->budgets[i]);
	json_close_array(&json);
	list_next_json(&json, command->has_more ? &command->next_before : NULL, "");
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

static const char *read_parameter(void *state, struct str name, struct str value)
{
	struct store_command *command = state;

	if (str_equal(name, STR("limit")))
		return query_limit(value, command);
	if (!str_equal(name, STR("cursor")))
		return "The parts of a page are limit and cursor.";
	return operation_id_read(value, &command->before)
		       ? NULL
		       : "cursor is the `next` of an earlier page.";
}

void api_list_budgets(struct api_call *call)
{
	const char *wrong;

	call->command = (struct store_command){
		.kind = STORE_BUDGETS,
		.limit = STORE_LIST_MAX,
		.filter_account = api_scope(call),
	};
	wrong = query_read_all(call->exchange->request.parts.query, &call->exchange->mem,
			       read_parameter, &call->command);
	if (wrong)
		api_problem(call, PROBLEM_QUERY_MALFORMED, wrong);
	else
		api_ask(call, listed);
}
