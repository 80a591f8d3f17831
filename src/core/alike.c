/* Texts that a service may take for one another (see alike.h). */
#include "core/alike.h"

#include "base/err.h"

#include <stdlib.h>
#include <unicase.h>
#include <uninorm.h>
#include <unistr.h>

/* No folding makes a text so many times shorter or longer; what is beyond need not be folded. */
enum { GROWTH_MAX = 64 };

static bool is_blank(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

static struct str trim(struct str text)
{
	text.len = str_find(text, '\0');
	while (text.len && is_blank(text.at[0]))
		text = str_from_index(text, 1);
	while (text.len && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

static bool is_ascii(struct str text)
{
	unsigned char all = 0;

	for (size_t i = 0; i < text.len; i++)
		all |= (unsigned char)text.at[i];
	return all < 0x80;
}

int alike_plain(struct str text, struct arena *mem, struct str *out_plain)
{
	struct str trimmed = trim(text);
	const uint8_t *bytes = (const uint8_t *)trimmed.at;
	uint8_t *folded;
	size_t len = 0;

	*out_plain = trimmed;
	if (is_ascii(trimmed) || u8_check(bytes, trimmed.len))
		return 0;
	folded = u8_casefold(bytes, trimmed.len, NULL, UNINORM_NFKC, NULL, &len);
	if (!folded)
		return fail(FAIL_MEMORY);
	*out_plain = trim(arena_str(mem, str_of((const char *)folded, len)));
	free(folded);
	return out_plain->at ? 0 : FAIL_MEMORY;
}

int alike_ask_plain(struct str plain, struct str text, struct arena *mem, bool *out_are)
{
	struct str other;
	int r = alike_plain(text, mem, &other);

	if (r == 0)
		*out_are = str_equal_nocase(plain, other);
	return r;
}

static bool is_far_longer(struct str a, struct str b)
{
	return a.len > GROWTH_MAX * (b.len + 1);
}

int alike_ask(struct str a, struct str b, struct arena *mem, bool *out_are)
{
	struct str plain;
	int r;

	a = trim(a);
	b = trim(b);
	*out_are = false;
	if (is_far_longer(a, b) || is_far_longer(b, a))
		return 0;
	r = alike_plain(a, mem, &plain);
	return r < 0 ? r : alike_ask_plain(plain, b, mem, out_are);
}
