/*
 * A query is pairs of name and value, "a=b&c=d". Names are compared as they stand; values are
 * decoded as a form's are: %41 is A, + is a blank, and what is no escape stands for itself.
 *
 * A name that means nothing of its own is a member's, and a record is wanted where all of them
 * agree. Records keep their members as a text, so looking into one is reading it: slow, and
 * soon enough for the few thousands there are.
 */
#include "sandbox/query.h"

#include "json/json.h"

enum { RECORD_MEMORY = 4 * 1024 * 1024 }; /* for reading one; a body has 64 KiB */

static struct str decode(struct str text, struct arena *mem)
{
	char *out = arena_alloc(mem, text.len + 1);
	size_t len = 0;

	for (size_t i = 0; out && i < text.len; i++) {
		int high = i + 2 < text.len ? hex_digit(text.at[i + 1]) : -1;
		int low = i + 2 < text.len ? hex_digit(text.at[i + 2]) : -1;

		if (text.at[i] == '%' && high >= 0 && low >= 0) {
			out[len++] = (char)(high << 4 | low);
			i += 2;
		} else {
			out[len++] = text.at[i] == '+' ? ' ' : text.at[i];
		}
	}
	return out ? str_of(out, len) : STR("");
}

struct str query_member(struct str query, struct str name, struct arena *mem)
{
	struct str pair;

	do {
		if (!str_split(&query, '&', &pair))
			return STR("");
	} while (!str_equal(str_of(pair.at, str_find(pair, '=')), name));
	return decode(str_from_index(pair, name.len + 1), mem);
}

static bool read_limit(struct str text, size_t *out_limit)
{
	uint64_t limit = QUERY_LIMIT_MAX;

	if (text.len && (!str_to_u64(text, QUERY_LIMIT_MAX, &limit) || limit == 0))
		return false;
	*out_limit = (size_t)limit;
	return true;
}

bool query_read(struct str text, struct arena *mem, struct query *out_query, const char **out_why)
{
	struct str pair, rest = text;

	*out_query = (struct query){.reference = query_member(text, STR("reference"), mem)};
	*out_why = "limit= takes a number from 1 to 100.";
	if (!read_limit(query_member(text, STR("limit"), mem), &out_query->limit))
		return false;
	*out_why = "A query compares at most 8 members.";
	while (text.len && str_split(&rest, '&', &pair)) {
		struct str name = str_of(pair.at, str_find(pair, '='));

		if (!pair.len || str_equal(name, STR("reference")) || str_equal(name, STR("limit")))
			continue;
		if (out_query->filter_count == QUERY_MEMBERS_MAX)
			return false;
		out_query->filters[out_query->filter_count++] = (struct query_filter){
			.name = name, .value = decode(str_from_index(pair, name.len + 1), mem)};
	}
	return true;
}

static bool has_value(const struct json_value *value, struct str wanted, struct arena *mem)
{
	struct buf text;
	bool is_it;

	if (!value)
		return false;
	if (value->type == JSON_STRING)
		return str_equal(value->string, wanted);
	buf_init(&text, RECORD_MEMORY);
	is_it = json_canonical(value, mem, &text) == 0 && str_equal(buf_str(&text), wanted);
	buf_fini(&text);
	return is_it;
}

static bool passes_filters(const struct query *query, const struct record *record)
{
	struct arena mem;
	struct json_value *members;
	struct json_error error;
	struct str text;
	bool passes;

	arena_init(&mem, RECORD_MEMORY);
	text = arena_printf(&mem, "{%.*s}", STR_ARG(record->members));
	passes = text.len && json_read(text, &json_limits_default, &mem, &members, &error) == 0;
	for (size_t i = 0; passes && i < query->filter_count; i++)
		passes = has_value(json_member(members, query->filters[i].name),
				   query->filters[i].value, &mem);
	arena_fini(&mem);
	return passes;
}

bool query_wants(const struct query *query, const struct record *record)
{
	if (query->reference.len && !str_equal(record->reference, query->reference) &&
	    !str_equal(record->key, query->reference))
		return false;
	return query->filter_count == 0 || passes_filters(query, record);
}
