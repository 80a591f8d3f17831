/* An operation as JSON. */
#include "gate/operation_json.h"

static void member(struct json_writer *json, const char *name, struct str value)
{
	json_name(json, name);
	if (value.len)
		json_string(json, value);
	else
		json_null(json);
}

static void member_time(struct json_writer *json, const char *name, int64_t wall_ms)
{
	json_name(json, name);
	json_time(json, wall_ms);
}

static void member_hash(struct json_writer *json, const char *name, const struct hash *hash)
{
	char text[2 * HASH_SIZE];

	hex_write(hash->bytes, HASH_SIZE, text);
	json_name(json, name);
	json_string(json, str_of(text, sizeof(text)));
}

static void write_response(struct json_writer *json, const struct store_answer *answer)
{
	json_name(json, "response");
	if (!answer->status) {
		json_null(json);
		return;
	}
	json_open_object(json);
	json_name(json, "status");
	json_integer(json, answer->status);
	json_name(json, "length");
	json_integer(json, (int64_t)answer->length);
	member_hash(json, "digest", &answer->digest);
	json_name(json, "kept");
	json_boolean(json, answer->is_kept);
	json_close_object(json);
}

/* One under way is told as what a duplicate would be told of it. */
static enum outcome shown_outcome(const struct store_attempt *attempt)
{
	return attempt->outcome ? attempt->outcome : OUTCOME_RUNNING;
}

/* `delivered` is true or false where that is known; null says that no failure is. */
static void write_attempt(struct json_writer *json, const struct store_attempt *attempt)
{
	json_open_object(json);
	member_time(json, "at", attempt->at_ms);
	json_name(json, "outcome");
	json_text(json, outcome_name(shown_outcome(attempt)));
	member(json, "agent", attempt->agent);
	member(json, "task", attempt->task);
	member(json, "step", attempt->step);
	member(json, "request_id", attempt->request_id);
	json_name(json, "delivered");
	if (attempt->delivered < 0)
		json_null(json);
	else
		json_boolean(json, attempt->delivered > 0);
	json_close_object(json);
}

static enum advice advice_for(enum operation_state state, int *out_after_s)
{
	*out_after_s = 0;
	switch (state) {
	case STATE_RUNNING:
	case STATE_AWAITING_APPROVAL:
		*out_after_s = 2;
		return ADVICE_WAIT;
	case STATE_QUEUED:
		return ADVICE_SAME_KEY;
	case STATE_UNKNOWN:
		return ADVICE_HUMAN;
	case STATE_COMPLETED:
		return ADVICE_STOP;
	default:
		return ADVICE_NEW_KEY;
	}
}

static void write_retry(struct json_writer *json, enum operation_state state)
{
	int after_s;
	enum advice advice = advice_for(state, &after_s);

	json_name(json, "retry");
	json_open_object(json);
	json_name(json, "advice");
	json_text(json, advice_name(advice));
	json_name(json, "after");
	json_integer(json, after_s);
	json_close_object(json);
}

static void write_identity(struct json_writer *json, const struct store_operation *operation,
			   bool is_for_caller)
{
	char id[OPERATION_ID_TEXT + 1];

	operation_id_write(&operation->id, id);
	json_name(json, "id");
	json_text(json, id);
	if (!is_for_caller)
		member(json, "account", operation->account);
	member(json, "token", operation->token);
	member(json, "action", operation->action);
	member(json, "method", operation->method);
	member(json, "path", operation->path);
	member(json, "upstream", operation->upstream);
	member_hash(json, "fingerprint", &operation->fingerprint);
	member(json, "retry_of", operation->retry_of);
}

static void write_state(struct json_writer *json, const struct store_operation *operation)
{
	json_name(json, "state");
	json_text(json, operation_state_name(operation->state));
	json_name(json, "epoch");
	json_integer(json, operation->epoch);
	member_time(json, "created", operation->created_ms);
	member_time(json, "updated", operation->updated_ms);
	member_time(json, "expires", operation->expires_ms);
	member(json, "reference", operation->reference);
	member(json, "reason", operation->reason);
	member(json, "decided_by", operation->decided_by);
	json_name(json, "attempt_count");
	json_integer(json, operation->attempts);
}

void operation_json(struct json_writer *json, const struct store_operation *operation,
		    const struct store_attempt *attempts, size_t attempt_count, bool is_for_caller)
{
	json_open_object(json);
	write_identity(json, operation, is_for_caller);
	write_state(json, operation);
	write_response(json, &operation->answer);
	if (attempts) {
		json_name(json, "attempts");
		json_open_array(json);
		for (size_t i = 0; i < attempt_count; i++)
			write_attempt(json, &attempts[i]);
		json_close_array(json);
	}
	if (is_for_caller)
		write_retry(json, operation->state);
	json_close_object(json);
}

void operation_list_json(struct json_writer *json, const struct store_command *list,
			 bool is_for_caller)
{
	char cursor[OPERATION_ID_TEXT + 1];

	json_open_object(json);
	json_name(json, "operations");
	json_open_array(json);
	for (size_t i = 0; i < list->found_count; i++)
		operation_json(json, &list->found[i], NULL, 0, is_for_caller);
	json_close_array(json);
	json_name(json, "next");
	if (list->has_more) {
		operation_id_write(&list->next_before, cursor);
		json_text(json, cursor);
	} else {
		json_null(json);
	}
	json_close_object(json);
}
