/* An operation as JSON. */
#include "gate/operation_json.h"

#include "core/downstream_key.h"
#include "gate/approval_json.h"
#include "gate/policy.h"
#include "gate/problem.h"

#include "base/err.h"

#include <stdio.h>

/* What there is to tell of one. */
struct telling {
	const struct store_operation *operation;
	const struct store_attempt *attempts; /* NULL: left out */
	size_t attempt_count;
	const struct store_command *find; /* with the rules and who retried it; NULL: left out */
	bool has_downstream_key;
	bool is_natural;
	bool is_for_caller;
};

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
static void write_attempt(struct json_writer *json, const struct store_attempt *attempt,
			  bool is_for_caller)
{
	json_open_object(json);
	json_put_time(json, "at", attempt->at_ms);
	json_name(json, "outcome");
	json_text(json, outcome_name(shown_outcome(attempt)));
	json_name(json, "by");
	json_text(json, store_actor_name(attempt->by));
	json_put_text(json, "agent", attempt->agent);
	if (!is_for_caller)
		json_put_text(json, "credential", attempt->credential);
	json_put_text(json, "task", attempt->task);
	json_put_text(json, "step", attempt->step);
	json_put_text(json, "request_id", attempt->request_id);
	json_name(json, "delivered");
	if (attempt->delivered < 0)
		json_null(json);
	else
		json_boolean(json, attempt->delivered > 0);
	json_put_text(json, "note", attempt->note);
	json_close_object(json);
}

/* Does the gate see to it by itself, now or later? */
static bool is_seen_to(const struct store_operation *operation)
{
	return operation->due_ms > 0 && operation->due_ms < INT64_MAX;
}

/* `is_natural`: nobody but its caller sends it again, and may. */
static enum advice advice_for(const struct store_operation *operation, bool is_natural,
			      int *out_after_s)
{
	*out_after_s = 0;
	switch (operation->state) {
	case STATE_RUNNING:
		*out_after_s = 2;
		return ADVICE_WAIT;
	case STATE_AWAITING_APPROVAL:
		*out_after_s = problem_kind(PROBLEM_APPROVAL_PENDING)->after_s;
		return ADVICE_WAIT;
	case STATE_QUEUED:
		if (!operation->is_dispatched)
			return ADVICE_SAME_KEY;
		*out_after_s = 2;
		return ADVICE_WAIT;
	case STATE_UNKNOWN:
		if (is_natural)
			return ADVICE_SAME_KEY;
		if (!is_seen_to(operation))
			return ADVICE_HUMAN;
		*out_after_s = 5;
		return ADVICE_QUERY;
	case STATE_COMPLETED:
		return ADVICE_STOP;
	default:
		return ADVICE_NEW_KEY;
	}
}

/* People have said no: nothing that its caller could do by itself changes that. */
static bool was_denied(const struct telling *telling)
{
	return telling->find && telling->find->approval.stand == APPROVAL_DENIED;
}

static void write_retry(struct json_writer *json, const struct telling *telling)
{
	int after_s;
	enum advice advice = advice_for(telling->operation, telling->is_natural, &after_s);

	if (was_denied(telling))
		advice = ADVICE_HUMAN;
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
		json_put_text(json, "account", operation->account);
	json_put_text(json, "token", operation->token);
	json_put_text(json, "action", operation->action);
	json_put_text(json, "method", operation->method);
	json_put_text(json, "path", operation->path);
	json_put_text(json, "upstream", operation->upstream);
	member_hash(json, "fingerprint", &operation->fingerprint);
	json_put_text(json, "retry_of", operation->retry_of);
}

static void write_state(struct json_writer *json, const struct store_operation *operation)
{
	json_name(json, "state");
	json_text(json, operation_state_name(operation->state));
	json_name(json, "epoch");
	json_integer(json, operation->epoch);
	json_put_time(json, "created", operation->created_ms);
	json_put_time(json, "updated", operation->updated_ms);
	json_put_time(json, "expires", operation->expires_ms);
	json_name(json, "dispatched");
	json_boolean(json, operation->is_dispatched);
	json_name(json, "tries");
	json_integer(json, operation->tries);
	json_name(json, "due");
	if (is_seen_to(operation))
		json_time(json, operation->due_ms);
	else
		json_null(json);
	json_put_text(json, "reference", operation->reference);
	json_put_text(json, "resource", operation->resource);
	json_put_text(json, "reason", operation->reason);
	json_put_text(json, "decided_by", operation->decided_by);
	json_name(json, "attempt_count");
	json_integer(json, operation->attempts);
}

static void write_lock(struct json_writer *json, const struct store_rule_view *view)
{
	static const struct operation_id nobody;
	char holder[OPERATION_ID_TEXT + 1];

	json_name(json, "lock");
	json_open_object(json);
	json_put_text(json, "name", view->lock_name);
	json_name(json, "holds");
	json_boolean(json, view->holds_lock);
	json_name(json, "waits");
	json_boolean(json, view->waits_for_lock);
	json_name(json, "holder");
	operation_id_write(&view->holder, holder);
	json_text(json, memcmp(&view->holder, &nobody, sizeof(nobody)) ? holder : NULL);
	json_name(json, "fence");
	json_integer(json, (int64_t)view->fence);
	json_name(json, "version");
	json_integer(json, (int64_t)view->lock_version);
	json_close_object(json);
}

void budget_room_json(struct json_writer *json, const struct store_rule_view *view)
{
	json_name(json, "total");
	json_integer(json, view->budget_total);
	json_name(json, "used");
	json_integer(json, view->budget_used);
	json_name(json, "left");
	json_integer(json, view->budget_total - view->budget_used);
}

/* Minor units. */
static void write_budget(struct json_writer *json, const struct store_rule_view *view)
{
	json_name(json, "budget");
	json_open_object(json);
	json_name(json, "currency");
	json_text(json, view->currency);
	json_name(json, "spends");
	json_integer(json, view->spends);
	budget_room_json(json, view);
	json_close_object(json);
}

/* A member for each rule that it is under. */
static void write_rules(struct json_writer *json, const struct store_rule_view *view)
{
	json_name(json, "rules");
	json_open_object(json);
	if (view->has_unique) {
		json_name(json, "unique");
		json_open_object(json);
		json_put_time(json, "until", view->unique_until_ms);
		json_close_object(json);
	}
	if (view->has_lock)
		write_lock(json, view);
	if (view->has_budget)
		write_budget(json, view);
	if (view->opens_budget) {
		json_name(json, "opens_budget");
		json_boolean(json, true);
	}
	json_close_object(json);
}

static void write_retries(struct json_writer *json, const struct store_command *find)
{
	char id[OPERATION_ID_TEXT + 1];

	json_name(json, "retried_by");
	json_open_array(json);
	for (size_t i = 0; i < find->retry_count; i++) {
		operation_id_write(&find->retries[i], id);
		json_text(json, id);
	}
	json_close_array(json);
}

static void write_attempts(struct json_writer *json, const struct telling *telling)
{
	json_name(json, "attempts");
	json_open_array(json);
	for (size_t i = 0; i < telling->attempt_count; i++)
		write_attempt(json, &telling->attempts[i], telling->is_for_caller);
	json_close_array(json);
}

static void write_downstream_key(struct json_writer *json, const struct telling *telling)
{
	char key[DOWNSTREAM_KEY_TEXT + 1];

	json_name(json, "downstream_key");
	downstream_key_write(&telling->operation->id, key);
	json_text(json, telling->has_downstream_key ? key : NULL);
}

static void tell(struct json_writer *json, const struct telling *telling)
{
	const struct store_operation *operation = telling->operation;

	json_open_object(json);
	write_identity(json, operation, telling->is_for_caller);
	write_state(json, operation);
	write_response(json, &operation->answer);
	if (telling->find) {
		write_downstream_key(json, telling);
		approval_member_json(json, &telling->find->approval, telling->is_for_caller,
				     telling->find->mem);
		write_rules(json, &telling->find->view);
		write_retries(json, telling->find);
	}
	if (telling->attempts)
		write_attempts(json, telling);
	if (telling->is_for_caller)
		write_retry(json, telling);
	json_close_object(json);
}

void operation_json(struct json_writer *json, const struct store_operation *operation,
		    const struct store_attempt *attempts, size_t attempt_count, bool is_for_caller)
{
	const struct telling telling = {
		.operation = operation,
		.attempts = attempts,
		.attempt_count = attempt_count,
		.is_for_caller = is_for_caller,
	};

	tell(json, &telling);
}

/* A configuration that no longer has its action honours no key for it either. */
static bool has_downstream_key(const struct store_operation *operation,
			       const struct settings *settings)
{
	const struct action *action = settings_action(settings, operation->action);
	struct policy policy;

	if (operation->action.len && !action)
		return false;
	policy = policy_of(settings, action);
	return policy_has_downstream_key(&policy);
}

/* Naturally idempotent, where it was sent. */
static bool is_natural(const struct store_command *find, const struct settings *settings)
{
	const struct settings_upstream *upstream =
		settings_upstream(settings, find->operation.upstream);
	const struct action *action = settings_action(settings, find->operation.action);

	return upstream && action && action->is_natural &&
	       downstream_key_is_for(find->request.key_place, upstream->service);
}

void operation_found_json(struct json_writer *json, const struct store_command *find,
			  const struct settings *settings, bool is_for_caller)
{
	static const struct store_attempt none;
	const struct telling telling = {
		.operation = &find->operation,
		.attempts = find->attempts ? find->attempts : &none,
		.attempt_count = find->attempt_count,
		.find = find,
		.has_downstream_key = has_downstream_key(&find->operation, settings),
		.is_natural = is_natural(find, settings),
		.is_for_caller = is_for_caller,
	};

	tell(json, &telling);
}

void operation_list_json(struct json_writer *json, const struct store_command *list,
			 bool is_for_caller)
{
	json_name(json, "operations");
	json_open_array(json);
	for (size_t i = 0; i < list->found_count; i++)
		operation_json(json, &list->found[i], NULL, 0, is_for_caller);
	json_close_array(json);
	list_next_json(json, list->has_more ? &list->next_before : NULL, "");
}

void list_next_json(struct json_writer *json, const struct operation_id *next, const char *prefix)
{
	char id[OPERATION_ID_TEXT + 1], cursor[LIST_PREFIX_MAX + sizeof(id)];

	require(strlen(prefix) <= LIST_PREFIX_MAX);
	json_name(json, "next");
	if (!next) {
		json_null(json);
		return;
	}
	operation_id_write(next, id);
	snprintf(cursor, sizeof(cursor), "%s%s", prefix, id);
	json_text(json, cursor);
}
