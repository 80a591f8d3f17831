/*
 * Locks as JSON.
 *
 * The store lists those that are held or waited for; a lock may be both, and one that is waited
 * for but not held has its turn just now.
 */
#include "admin/locks_json.h"

#include "gate/operation_json.h"
#include "gate/query.h"

/* What a cursor begins with. */
static const char *const prefixes[LOCKS_PARTS] = {
	[LOCKS_RUNNING] = "running-",
	[LOCKS_UNKNOWN] = "unknown-",
	[LOCKS_AWAITED] = "waiting-",
};

static void write_id(struct json_writer *json, const struct operation_id *id)
{
	char text[OPERATION_ID_TEXT + 1];

	operation_id_write(id, text);
	json_text(json, text);
}

static void write_holder(struct json_writer *json, const struct store_lock *lock)
{
	json_name(json, "holder");
	if (!lock->is_held) {
		json_null(json);
		return;
	}
	json_open_object(json);
	json_name(json, "id");
	write_id(json, &lock->holder);
	json_name(json, "state");
	json_text(json, operation_state_name(lock->holder_state));
	json_name(json, "since");
	json_time(json, lock->since_ms);
	json_close_object(json);
}

static void write_waiters(struct json_writer *json, const struct store_lock *lock)
{
	json_name(json, "waiting");
	json_integer(json, (int64_t)lock->waiting);
	json_name(json, "waiters");
	json_open_array(json);
	for (size_t i = 0; i < lock->waiter_count; i++)
		write_id(json, &lock->waiters[i]);
	json_close_array(json);
}

static void write_lock(struct json_writer *json, const struct store_lock *lock)
{
	json_open_object(json);
	json_name(json, "name");
	json_string(json, lock->name);
	json_name(json, "account");
	json_string(json, lock->account);
	json_name(json, "version");
	json_integer(json, (int64_t)lock->version);
	json_name(json, "fence");
	json_integer(json, (int64_t)lock->fence);
	write_holder(json, lock);
	write_waiters(json, lock);
	json_close_object(json);
}

static bool is_wanted(const struct store_lock *lock, const struct locks_filter *filter)
{
	return (!filter->is_held || lock->is_held) && (!filter->is_waited_for || lock->waiting > 0);
}

void locks_json(struct json_writer *json, const struct store_command *command,
		const struct locks_filter *filter)
{
	bool is_past_held = filter->is_held && command->lock_part == LOCKS_AWAITED;
	bool goes_on = command->has_more && !is_past_held;

	json_open_object(json);
	json_name(json, "locks");
	json_open_array(json);
	for (size_t i = 0; i < command->lock_count; i++) {
		if (is_wanted(&command->locks[i], filter))
			write_lock(json, &command->locks[i]);
	}
	json_close_array(json);
	list_next_json(json, goes_on ? &command->next_before : NULL, prefixes[command->lock_part]);
	json_close_object(json);
}

/* NULL: it says one of them. */
static const char *read_switch(struct str value, bool *out_is_on, const char *wrong)
{
	*out_is_on = str_equal(value, STR("true"));
	return *out_is_on || str_equal(value, STR("false")) ? NULL : wrong;
}

static const char *read_cursor(struct str value, struct store_command *command)
{
	size_t part;

	if (!query_cursor(value, prefixes, LOCKS_PARTS, command, &part))
		return "cursor is the `next` of an earlier page.";
	command->lock_part = (enum store_lock_part)part;
	return NULL;
}

struct locks_reading {
	struct locks_filter *filter;
	struct store_command *command;
};

static const char *read_parameter(void *state, struct str name, struct str value)
{
	const struct locks_reading *reading = state;

	if (str_equal(name, STR("held")))
		return read_switch(value, &reading->filter->is_held,
				   "held is true or false: only locks that are held.");
	if (str_equal(name, STR("waiting")))
		return read_switch(value, &reading->filter->is_waited_for,
				   "waiting is true or false: only locks that are waited for.");
	if (str_equal(name, STR("limit")))
		return query_limit(value, reading->command);
	if (str_equal(name, STR("cursor")))
		return read_cursor(value, reading->command);
	return "The filters are held, waiting, limit and cursor.";
}

const char *locks_query(struct str query, struct arena *mem, struct locks_filter *out_filter,
			struct store_command *command)
{
	struct locks_reading reading = {out_filter, command};

	return query_read_all(query, mem, read_parameter, &reading);
}
