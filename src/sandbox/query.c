/*
 * A query is pairs of name and value, "a=b&c=d". Names are compared as they stand; values are
 * decoded as a form's are: %41 is A, + is a blank, and what is no escape stands for itself.
 */
#include "sandbox/query.h"

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
