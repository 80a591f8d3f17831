/* Paths and queries of the gate's own resources. */
#include "gate/query.h"

enum { LIST_DEFAULT = 50 };

bool query_unescape(struct str text, bool is_query, struct arena *mem, struct str *out)
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
		} else if (c == '+' && is_query) {
			c = ' ';
		}
		copy[len++] = c;
	}
	*out = str_of(copy, len);
	return true;
}

static void decode_if_escaped(struct str *text, struct arena *mem)
{
	if (str_find(*text, '%') < text->len)
		(void)query_unescape(*text, true, mem, text);
}

bool query_next(struct str *query, struct arena *mem, struct str *out_name, struct str *out_value)
{
	struct str pair;
	size_t equals;

	if (!query->len || !str_split(query, '&', &pair))
		return false;
	equals = str_find(pair, '=');
	*out_name = str_of(pair.at, equals);
	*out_value = str_from_index(pair, equals + 1);
	decode_if_escaped(out_name, mem);
	decode_if_escaped(out_value, mem);
	return true;
}

/* The value as it is written. */
static bool find_raw(struct str query, struct str name, struct str *out_raw)
{
	struct str pair;

	while (str_split(&query, '&', &pair)) {
		size_t equals = str_find(pair, '=');

		if (!str_equal(str_of(pair.at, equals), name))
			continue;
		*out_raw = str_from_index(pair, equals + 1);
		return true;
	}
	return false;
}

const char *query_read_all(struct str query, struct arena *mem, query_reader *read, void *state)
{
	struct str name, value;
	const char *wrong = NULL;

	while (!wrong && query_next(&query, mem, &name, &value))
		wrong = read(state, name, value);
	return wrong;
}

bool query_value(struct str query, struct str name, struct arena *mem, struct str *out_value)
{
	struct str raw;

	return find_raw(query, name, &raw) && query_unescape(raw, true, mem, out_value);
}

/*
 * One filter: NULL when it is not there or has been read, else `wrong`. One that cannot be read,
 * or is empty, is never taken for none: who looks for one operation must not be shown others.
 */
static const char *read_filter(struct str query, struct str name, struct arena *mem,
			       const char *wrong, struct str *out_value)
{
	struct str raw, value;

	if (!find_raw(query, name, &raw))
		return NULL;
	if (!query_unescape(raw, true, mem, &value) || !value.len)
		return wrong;
	*out_value = value;
	return NULL;
}

static const char *read_texts(struct str query, bool may_choose_account, struct arena *mem,
			      struct store_command *command)
{
	const char *wrong =
		read_filter(query, STR("token"), mem, "token is a token, percent-encoded.",
			    &command->filter_token);

	if (!wrong)
		wrong = read_filter(query, STR("task"), mem,
				    "task is a workflow's own id, percent-encoded.",
				    &command->filter_task);
	if (!wrong)
		wrong = read_filter(query, STR("action"), mem,
				    "action is a declared action's name, percent-encoded.",
				    &command->filter_action);
	if (!wrong)
		wrong = read_filter(query, STR("reference"), mem,
				    "reference is the service's name for it, percent-encoded.",
				    &command->filter_reference);
	if (!wrong && may_choose_account)
		wrong = read_filter(query, STR("account"), mem,
				    "account is an account's id, percent-encoded.",
				    &command->filter_account);
	return wrong;
}

static const char *read_state(struct str query, struct arena *mem, struct store_command *command)
{
	static const char wrong[] = "state is one of awaiting_approval, queued, running, unknown, "
				    "completed, failed, cancelled.";
	struct str value = {0};
	const char *said = read_filter(query, STR("state"), mem, wrong, &value);

	if (said || !value.len)
		return said;
	return operation_state_from(value, &command->filter_state) ? NULL : wrong;
}

static const char wrong_limit[] = "limit is a number from 1 to 200.";

const char *query_limit(struct str value, struct store_command *command)
{
	uint64_t number;

	if (!str_to_u64(value, STORE_LIST_MAX, &number) || number == 0)
		return wrong_limit;
	command->limit = (size_t)number;
	return NULL;
}

bool query_cursor(struct str value, const char *const *prefixes, size_t prefix_count,
		  struct store_command *command, size_t *out_part)
{
	for (size_t i = 0; i < prefix_count; i++) {
		struct str prefix = str_from(prefixes[i]);

		if (!str_starts_with(value, prefix) ||
		    !operation_id_read(str_from_index(value, prefix.len), &command->before))
			continue;
		*out_part = i;
		return true;
	}
	return false;
}

static const char *read_page(struct str query, struct arena *mem, struct store_command *command)
{
	static const char wrong_cursor[] = "cursor is the `next` of a former page.";
	struct str limit = {0}, cursor = {0};
	const char *said = read_filter(query, STR("limit"), mem, wrong_limit, &limit);

	command->limit = LIST_DEFAULT;
	if (!said && limit.len)
		said = query_limit(limit, command);
	if (!said)
		said = read_filter(query, STR("cursor"), mem, wrong_cursor, &cursor);
	if (!said && cursor.len && !operation_id_read(cursor, &command->before))
		said = wrong_cursor;
	return said;
}

const char *query_list(struct str query, bool may_choose_account, struct arena *mem,
		       struct store_command *command)
{
	const char *wrong = read_texts(query, may_choose_account, mem, command);

	if (!wrong)
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
