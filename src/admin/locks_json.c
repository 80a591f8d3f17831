/*
 * Locks as JSON.
 *
 * The store lists those that are held or waited for; a lock may be both, and one that is waited
 * for but not held has its turn just now.
 */
#include "admin/locks_json.h"

#include "gate/query.h"

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
	json_open_object(json);
	json_name(json, "locks");
	json_open_array(json);
	for (size_t i = 0; i < command->lock_count; i++) {
		if (is_wanted(&command->locks[i], filter))
			write_lock(json, &command->locks[i]);
	}
	json_close_array(json);
	json_name(json, "more");
	json_boolean(json, command->has_more);
	json_close_object(json);
}

/* False: it says neither. */
static bool read_switch(struct str value, bool *out_is_on)
{
	*out_is_on = str_equal(value, STR("true"));
	return *out_is_on || str_equal(value, STR("false"));
}

const char *locks_query(struct str query, struct arena *mem, struct locks_filter *out_filter)
{
	struct str name, value;

	while (query_next(&query, mem, &name, &value)) {
		if (str_equal(name, STR("held")) && !read_switch(value, &out_filter->is_held))
			return "held is true or false: only locks that are held.";
		if (str_equal(name, STR("waiting")) &&
		    !read_switch(value, &out_filter->is_waited_for))
			return "waiting is true or false: only locks that are waited for.";
	}
	return NULL;
}
