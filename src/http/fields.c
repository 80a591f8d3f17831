/*
 * Fields: finding them, the lists in them, and which of them end at this hop.
 *
 * Names compare without case. A request has at most a hundred fields, so that looking
 * through them beats any index.
 */
#include "http/reader.h"

const struct http_field *http_field_find(const struct http_field *fields, size_t count,
					 struct str name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(fields[i].name, name))
			return &fields[i];
	}
	return NULL;
}

size_t http_field_count(const struct http_field *fields, size_t count, struct str name)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += str_equal_nocase(fields[i].name, name);
	return found;
}

bool http_field_lists(const struct http_field *fields, size_t count, struct str name,
		      struct str member)
{
	for (size_t i = 0; i < count; i++) {
		struct str rest = fields[i].value;
		struct str candidate;

		if (!str_equal_nocase(fields[i].name, name))
			continue;
		while (http_next_member(&rest, &candidate)) {
			if (str_equal_nocase(candidate, member))
				return true;
		}
	}
	return false;
}

bool http_is_hop_by_hop(const struct http_field *fields, size_t count, struct str name)
{
	static const struct str always[] = {
		{"connection", 10},
		{"keep-alive", 10},
		{"proxy-connection", 16},
		{"te", 2},
		{"trailer", 7},
		{"transfer-encoding", 17},
		{"upgrade", 7},
		{"proxy-authenticate", 18},
		{"proxy-authorization", 19},
		{"content-length", 14},
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		if (str_equal_nocase(name, always[i]))
			return true;
	}
	return http_field_lists(fields, count, STR("connection"), name);
}

/* The index of the comma that ends the first member; the length when none does. */
static size_t member_end(struct str list)
{
	bool is_quoted = false;

	for (size_t i = 0; i < list.len; i++) {
		char c = list.at[i];

		if (c == ',' && !is_quoted)
			return i;
		if (c == '"')
			is_quoted = !is_quoted;
		else if (c == '\\' && is_quoted)
			i++;
	}
	return list.len;
}

bool http_next_member(struct str *rest, struct str *out_member)
{
	while (rest->len > 0) {
		size_t end = member_end(*rest);
		struct str member = str_trim(str_of(rest->at, end));

		*rest = str_from_index(*rest, end + 1);
		if (member.len > 0) {
			*out_member = member;
			return true;
		}
	}
	return false;
}

bool http_next_line(struct str *headers, struct http_field *out_field)
{
	while (headers->len > 0) {
		size_t end = str_find(*headers, '\n');
		struct str line = str_of(headers->at, end);
		size_t colon;

		*headers = str_from_index(*headers, end + 1);
		if (line.len > 0 && line.at[line.len - 1] == '\r')
			line.len--;
		colon = str_find(line, ':');
		if (colon == line.len || !http_is_token(str_of(line.at, colon)) ||
		    !http_is_field_value(str_from_index(line, colon + 1)))
			continue;
		out_field->name = str_of(line.at, colon);
		out_field->value = str_trim(str_from_index(line, colon + 1));
		return true;
	}
	return false;
}

struct str http_line_value(struct str headers, struct str name)
{
	struct http_field field;

	while (http_next_line(&headers, &field)) {
		if (str_equal_nocase(field.name, name))
			return field.value;
	}
	return STR("");
}

/* The seconds of one preference: `wait=10`, `wait="10"; extra`. False: it is another one. */
static bool read_wait(struct str preference, uint32_t *out_seconds)
{
	struct str pair = str_of(preference.at, str_find(preference, ';'));
	size_t equals = str_find(pair, '=');
	struct str number = str_trim(str_from_index(pair, equals + 1));
	uint64_t seconds;

	if (!str_equal_nocase(str_trim(str_of(pair.at, equals)), STR("wait")))
		return false;
	if (number.len >= 2 && number.at[0] == '"' && number.at[number.len - 1] == '"')
		number = str_of(number.at + 1, number.len - 2);
	*out_seconds = 0;
	if (str_to_u64(number, UINT64_MAX, &seconds))
		*out_seconds = seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
	return true;
}

uint32_t http_prefer_wait(const struct http_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct str rest = fields[i].value;
		struct str preference;
		uint32_t seconds;

		if (!str_equal_nocase(fields[i].name, STR("prefer")))
			continue;
		while (http_next_member(&rest, &preference)) {
			if (read_wait(preference, &seconds))
				return seconds; /* RFC 7240 § 2: the first one counts */
		}
	}
	return 0;
}
