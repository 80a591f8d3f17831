/* Text as pointer and length: comparing, cutting, numbers. */
#include "base/str.h"

bool str_equal_nocase(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		if (ascii_lower(a.at[i]) != ascii_lower(b.at[i]))
			return false;
	}
	return true;
}

bool str_starts_with(struct str text, struct str prefix)
{
	return text.len >= prefix.len && str_equal(str_of(text.at, prefix.len), prefix);
}

bool str_starts_with_nocase(struct str text, struct str prefix)
{
	return text.len >= prefix.len && str_equal_nocase(str_of(text.at, prefix.len), prefix);
}

int str_compare(struct str a, struct str b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.at, b.at, common) : 0;

	if (order != 0)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct str str_trim(struct str text)
{
	while (text.len && is_blank(text.at[0])) {
		text.at++;
		text.len--;
	}
	while (text.len && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

size_t str_find(struct str text, char byte)
{
	const char *found = text.len ? memchr(text.at, byte, text.len) : NULL;

	return found ? (size_t)(found - text.at) : text.len;
}

struct str str_from_index(struct str text, size_t from)
{
	if (from >= text.len)
		return str_of(text.at ? text.at + text.len : NULL, 0);
	return str_of(text.at + from, text.len - from);
}

struct str str_cut(struct str text, size_t max)
{
	enum { FOLLOWING_MAX = 3 }; /* bytes of a character behind its first */

	if (text.len <= max)
		return text;
	for (size_t back = 0; back <= FOLLOWING_MAX && back <= max; back++)
		if (((unsigned char)text.at[max - back] & 0xc0) != 0x80)
			return str_of(text.at, max - back);
	return str_of(text.at, max);
}

bool str_split(struct str *rest, char separator, struct str *out_part)
{
	size_t end;

	if (!rest->at)
		return false;
	end = str_find(*rest, separator);
	*out_part = str_of(rest->at, end);
	if (end == rest->len)
		*rest = str_of(NULL, 0);
	else
		*rest = str_of(rest->at + end + 1, rest->len - end - 1);
	return true;
}

bool str_to_u64(struct str text, uint64_t max, uint64_t *out_number)
{
	uint64_t number = 0;

	if (text.len == 0)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text.at[i] - '0';

		if (digit > 9 || number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (number > max)
		return false;
	*out_number = number;
	return true;
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = ascii_lower(c);
	return (c >= 'a' && c <= 'f') ? c - 'a' + 10 : -1;
}

void hex_write(const uint8_t *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
}
