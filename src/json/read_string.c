/*
 * Strings of a JSON text.
 *
 * Most strings have no escape: one look finds their end, and they stay where they are. A
 * string with escapes is looked at twice: the first look checks every byte and finds the
 * end, the second writes the unescaped text, which is never longer than the escaped one.
 *
 * Always true: what comes out is UTF-8. A lone surrogate, which UTF-8 cannot write, is
 * refused rather than replaced: two texts that differ must not become one.
 */
#include "base/err.h"
#include "json/internal.h"

static int check_escape(const char *at, const char *end, size_t *out_length,
			struct json_fault *fault);
static struct str unescape(const char *from, const char *to, char *out);

int json_scan_string(const char **at, const char *end, struct arena *mem, struct str *out_string,
		     struct json_fault *fault)
{
	const char *from = *at + 1, *to = from;
	bool is_escaped = false;
	size_t length = 0;
	char *room;
	int r;

	for (;;) {
		to = json_skip_plain(to, end);
		if (to == end || (unsigned char)*to < 0x20)
			return json_fault_expected(fault, to, end, "the string's closing quote");
		if (*to == '"')
			break;
		if (*to == '\\') {
			r = check_escape(to, end, &length, fault);
			if (r != 0)
				return r;
			is_escaped = true;
		} else {
			length = json_utf8_length(to, end);
			if (length == 0)
				return json_fault_expected(fault, to, end, "UTF-8");
		}
		to += length;
	}
	*at = to + 1;
	*out_string = str_of(from, (size_t)(to - from));
	if (!is_escaped)
		return 0;
	room = arena_alloc(mem, out_string->len);
	if (!room)
		return FAIL_MEMORY;
	*out_string = unescape(from, to, room);
	return 0;
}

/* Four hexadecimal digits, or -1. */
static int32_t code_unit(const char *at, const char *end)
{
	int32_t unit = 0;
	int digit;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		digit = hex_digit(at[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static bool is_high_surrogate(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The bytes of the escape at `at`: 2, 6, or 12 for a pair of surrogates. */
static int check_escape(const char *at, const char *end, size_t *out_length,
			struct json_fault *fault)
{
	int32_t unit;

	if (end - at < 2 || at[1] == '\0' || !strchr("\"\\/bfnrtu", at[1]))
		return json_fault_expected(fault, at + 1, end,
					   "one of \" \\ / b f n r t u after a backslash");
	*out_length = 2;
	if (at[1] != 'u')
		return 0;
	unit = code_unit(at + 2, end);
	if (unit < 0)
		return json_fault_says(fault, at, "\\u without four hexadecimal digits");
	*out_length = 6;
	if (is_low_surrogate(unit))
		return json_fault_says(fault, at, "a low surrogate without a high one before it");
	if (!is_high_surrogate(unit))
		return 0;
	if (end - at < 8 || at[6] != '\\' || at[7] != 'u' ||
	    !is_low_surrogate(code_unit(at + 8, end)))
		return json_fault_says(fault, at, "a high surrogate without a low one after it");
	*out_length = 12;
	return 0;
}

static size_t utf8_write(int32_t point, char *out)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* The character that an escape (already checked) stands for; *at goes past it. */
static int32_t escaped_point(const char **at, const char *end)
{
	char letter = (*at)[1];
	int32_t unit;

	*at += 2;
	switch (letter) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'u':
		break;
	default:
		return letter;
	}
	unit = code_unit(*at, end);
	*at += 4;
	if (!is_high_surrogate(unit))
		return unit;
	unit = 0x10000 + ((unit - 0xd800) << 10) + (code_unit(*at + 2, end) - 0xdc00);
	*at += 6;
	return unit;
}

static struct str unescape(const char *from, const char *to, char *out)
{
	char *write = out;
	const char *escape;
	size_t plain;

	while (from < to) {
		escape = memchr(from, '\\', (size_t)(to - from));
		plain = (size_t)((escape ? escape : to) - from);
		memcpy(write, from, plain);
		write += plain;
		from += plain;
		if (escape)
			write += utf8_write(escaped_point(&from, to), write);
	}
	return str_of(out, (size_t)(write - out));
}
