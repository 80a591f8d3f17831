/* The rules of a declared action as JSON. */
#include "gate/action_json.h"

#include "gate/policy.h"

static void member_text(struct json_writer *json, const char *name, const char *value)
{
	json_name(json, name);
	json_text(json, value);
}

static void member_boolean(struct json_writer *json, const char *name, bool value)
{
	json_name(json, name);
	json_boolean(json, value);
}

/* Seconds; null: forever. */
static void member_duration(struct json_writer *json, const char *name, int64_t ms)
{
	json_name(json, name);
	if (ms >= SETTINGS_FOREVER_MS)
		json_null(json);
	else
		json_integer(json, ms / 1000);
}

static void write_parts(struct json_writer *json, const char *name, const struct rule_part *parts,
			size_t count)
{
	json_name(json, name);
	json_open_array(json);
	for (size_t i = 0; i < count; i++)
		json_string(json, parts[i].name);
	json_close_array(json);
}

static void write_unique(struct json_writer *json, const struct rule_unique *unique)
{
	json_name(json, "unique");
	json_open_object(json);
	write_parts(json, "by", unique->by, unique->count);
	member_duration(json, "for", unique->for_ms);
	json_close_object(json);
}

static void write_lock(struct json_writer *json, const struct rule_lock *lock)
{
	json_name(json, "lock");
	json_open_object(json);
	write_parts(json, "on", lock->on, lock->count);
	if (lock->resource.len)
		json_pair(json, "resource", lock->resource);
	member_text(json, "held", lock->is_queue ? "queue" : "refuse");
	if (lock->version.len)
		json_pair(json, "version", lock->version);
	json_close_object(json);
}

static void write_budget(struct json_writer *json, const struct rule_budget *budget)
{
	json_name(json, "budget");
	json_open_object(json);
	json_pair(json, "of", budget->of.name);
	json_pair(json, "amount", budget->amount);
	member_text(json, "if_unknown", budget->lets_unknown ? "allow" : "refuse");
	json_close_object(json);
}

static void write_opens_budget(struct json_writer *json, const struct rule_opens_budget *opens)
{
	json_name(json, "opens_budget");
	json_open_object(json);
	json_pair(json, "id", opens->id);
	json_pair(json, "amount", opens->amount);
	json_close_object(json);
}

void action_rules_json(struct json_writer *json, const struct settings *settings,
		       const struct action *action)
{
	const struct policy policy = policy_of(settings, action);

	json_name(json, "rules");
	json_open_object(json);
	member_text(json, "dispatch", action->is_outbox ? "outbox" : "sync");
	member_boolean(json, "needs_token", !action->is_natural && !action->inbox.is_declared);
	member_boolean(json, "inbox", action->inbox.is_declared);
	member_boolean(json, "downstream_key", policy_has_downstream_key(&policy));
	member_boolean(json, "probe", action->probe.get.len > 0);
	member_boolean(json, "lookup", action->lookup.get.len > 0);
	if (action->unique.count)
		write_unique(json, &action->unique);
	if (action->lock.count)
		write_lock(json, &action->lock);
	if (action->budget.is_declared)
		write_budget(json, &action->budget);
	if (action->opens_budget.is_declared)
		write_opens_budget(json, &action->opens_budget);
	json_close_object(json);
}
