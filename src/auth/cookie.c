/*
 * Reading a Cookie field.
 *
 * Browsers keep cookies by host and not by port, so whatever else is served on this machine can set
 * one of our name. Which of two a browser sends first says nothing of whose it is: two are refused,
 * never chosen from.
 */
#include "auth/cookie.h"

/* RFC 6265 § 4.1.1: no control, blank, quote, comma, semicolon or backslash. */
static bool is_octet(char c)
{
	return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

/* A value may stand in quotes, which belong to it and are not wanted. */
static bool read_value(struct str text, struct str *out_value)
{
	if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"')
		text = str_of(text.at + 1, text.len - 2);
	for (size_t i = 0; i < text.len; i++) {
		if (!is_octet(text.at[i]))
			return false;
	}
	*out_value = text;
	return true;
}

int cookie_find(struct str field, struct str name, struct str *out_value)
{
	struct str pair, value, found = {0};
	int count = 0;

	while (str_split(&field, ';', &pair)) {
		size_t equals;

		pair = str_trim(pair);
		equals = str_find(pair, '=');
		if (equals == pair.len || !str_equal(str_of(pair.at, equals), name) ||
		    !read_value(str_from_index(pair, equals + 1), &value))
			continue;
		found = value;
		count++;
	}
	if (count != 1)
		return count ? COOKIE_TWICE : COOKIE_ABSENT;
	*out_value = found;
	return 0;
}

static bool is_called(struct str pair, struct str name)
{
	pair = str_trim(pair);
	return str_equal(str_of(pair.at, str_find(pair, '=')), name);
}

void cookie_append_others(struct str field, struct str name, struct buf *out)
{
	bool is_first = true;
	struct str pair;

	while (str_split(&field, ';', &pair)) {
		if (is_called(pair, name))
			continue;
		if (!is_first)
			buf_append_byte(out, ';');
		buf_append_str(out, is_first ? str_trim(pair) : pair);
		is_first = false;
	}
}
