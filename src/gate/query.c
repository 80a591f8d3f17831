/* Paths and queries of the gate's own resources. */
#include "gate/query.h"

enum { LIST_DEFAULT = 50 };

/* Percent escapes and '+'. False: broken. */
static bool decode(struct str text, struct arena *mem, struct str *out)
{
	char *copy = arena_alloc(mem, text.len + 1);
	size_t len = 0;

	if (!copy)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (c == '%') {
			int high = i + 2 < text.len ? hex_digit(text.at[i + 1]) : -1;
			int low = high >= 0 ? hex_digit(text.at[i + 2]) : -1;

			if (low < 0)
				return false;
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		copy[len++] = c;
	}
	*out = str_of(copy, len);
	return true;
}

bool query_value(struct str query, struct str name, struct arena *mem, struct str *out_value)
{
	struct str pair;

	while (str_split(&query, '&', &pair)) {
		size_t equals = str_find(pair, '=');

		if (str_equal(str_of(pair.at, equals), name))
			return decode(str_from_index(pair, equals + 1), mem, out_value);
	}
	return false;
}

static const char *read_state(struct str query, struct arena *mem, struct store_command *command)
{
	struct str value;

	if (!query_value(query, STR("state"), mem, &value))
		return NULL;
	if (!operation_state_from(value, &command->filter_state))
		return "state is one of awaiting_approval, queued, running, unknown, completed, "
		       "failed, "
		       "cancelled.";
	return NULL;
}

static const char *read_page(struct str query, struct arena *mem, struct store_command *command)
{
	struct str value;
	uint64_t limit = LIST_DEFAULT;

	if (query_value(query, STR("limit"), mem, &value) &&
	    (!str_to_u64(value, STORE_LIST_MAX, &limit) || limit == 0))
		return "limit is a number from 1 to 200.";
	command->limit = limit;
	if (query_value(query, STR("cursor"), mem, &value) &&
	    !operation_id_read(value, &command->before))
		return "cursor is the `next` of a former page.";
	return NULL;
}

const char *query_list(struct str query, bool may_choose_account, struct arena *mem,
		       struct store_command *command)
{
	const char *wrong;

	query_value(query, STR("token"), mem, &command->filter_token);
	query_value(query, STR("task"), mem, &command->filter_task);
	if (may_choose_account)
		query_value(query, STR("account"), mem, &command->filter_account);
	wrong = read_state(query, mem, command);
	return wrong ? wrong : read_page(query, mem, command);
}

bool query_operation_path(struct str path, struct str prefix, struct operation_id *out_id,
			  struct str *out_verb)
{
	struct str rest = str_from_index(path, prefix.len);
	size_t end;

	if (!str_starts_with(path, prefix) || rest.len < 2 || rest.at[0] != '/')
		return false;
	rest = str_from_index(rest, 1);
	end = str_find(rest, '/');
	*out_verb = str_from_index(rest, end + 1);
	if (end < rest.len && out_verb->len == 0)
		return false;
	return operation_id_read(str_of(rest.at, end), out_id);
}
