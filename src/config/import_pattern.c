/*
 * Patterns of JSON Schema (ECMA-262) as POSIX extended ones.
 *
 * Most patterns of real documents need \d, \w, \s and (?:…) alone, which POSIX says in other
 * words. What it cannot say (looking ahead, lazy repetition, word boundaries, code points) is
 * refused: a pattern that means something else would refuse good commands. The result is
 * compiled before it is believed.
 */
#include "config/import_parts.h"

#include "config/pattern.h"

struct translation {
	struct str text;
	size_t at;
	struct buf *out;
	bool is_hopeless;
};

static char peek(const struct translation *t, size_t ahead)
{
	return t->at + ahead < t->text.len ? t->text.at[t->at + ahead] : '\0';
}

static void give_up(struct translation *t)
{
	t->is_hopeless = true;
}

/* \d and its kind: what stands inside of brackets for it; NULL: no class. */
static const char *class_of(char c)
{
	switch (c) {
	case 'd':
	case 'D':
		return "0-9";
	case 'w':
	case 'W':
		return "A-Za-z0-9_";
	case 's':
	case 'S':
		return "[:space:]";
	default:
		return NULL;
	}
}

/* Characters whose backslash only says that they are themselves. */
static bool is_itself(char c)
{
	return c != '\0' && strchr("^$\\.*+?()[]{}|/-", c);
}

static void take_escape(struct translation *t)
{
	char c = peek(t, 1);
	const char *class = class_of(c);

	t->at += 2;
	if (class)
		buf_printf(t->out, "[%s%s]", c < 'a' ? "^" : "", class);
	else if (c == '/' || c == '-')
		buf_append_byte(t->out, c);
	else if (is_itself(c))
		buf_printf(t->out, "\\%c", c);
	else
		give_up(t);
}

/* An escape inside of brackets; a dash is put off to their end, where it is itself. */
static void take_escape_in_bracket(struct translation *t, bool *has_dash)
{
	char c = peek(t, 1);
	const char *class = class_of(c);

	t->at += 2;
	if (class && c >= 'a')
		buf_append_str(t->out, str_from(class));
	else if (c == '-')
		*has_dash = true;
	else if (!class && is_itself(c) && c != ']' && c != '[' && c != '^')
		buf_append_byte(t->out, c);
	else
		give_up(t);
}

static void take_bracket(struct translation *t)
{
	bool has_dash = false;
	size_t start;

	buf_append_byte(t->out, '[');
	t->at++;
	if (peek(t, 0) == '^') {
		buf_append_byte(t->out, '^');
		t->at++;
	}
	start = t->out->len;
	if (peek(t, 0) == ']')
		give_up(t); /* [] matches nothing, [^] everything: POSIX reads them differently */
	while (!t->is_hopeless && t->at < t->text.len && peek(t, 0) != ']') {
		char c = peek(t, 0);

		if (c == '\\') {
			take_escape_in_bracket(t, &has_dash);
		} else if (c == '[' || (unsigned char)c >= 0x80 ||
			   (c == '-' && peek(t, 1) == '\\')) {
			give_up(t);
		} else {
			buf_append_byte(t->out, c);
			t->at++;
		}
	}
	if (peek(t, 0) != ']' || (t->out->len == start && !has_dash))
		give_up(t);
	buf_append_str(t->out, has_dash ? STR("-]") : STR("]"));
	t->at++;
}

static void take_group(struct translation *t)
{
	buf_append_byte(t->out, '(');
	t->at++;
	if (peek(t, 0) != '?')
		return;
	if (peek(t, 1) != ':')
		give_up(t);
	t->at += 2;
}

/* A repetition that is followed by `?` is lazy; one of these alone repeats nothing. */
static void take_repetition(struct translation *t)
{
	if (peek(t, 1) == '?' || peek(t, 1) == '+' || peek(t, 1) == '*')
		give_up(t);
	buf_append_byte(t->out, peek(t, 0));
	t->at++;
}

static void take(struct translation *t)
{
	char c = peek(t, 0);

	switch (c) {
	case '\\':
		take_escape(t);
		return;
	case '[':
		take_bracket(t);
		return;
	case '(':
		take_group(t);
		return;
	case '*':
	case '+':
	case '?':
	case '}':
		take_repetition(t);
		return;
	case '{':
		if (peek(t, 1) < '0' || peek(t, 1) > '9')
			give_up(t);
		break;
	default:
		break;
	}
	if ((unsigned char)c >= 0x80 && (peek(t, 1) == '*' || peek(t, 1) == '+'))
		give_up(t); /* a repetition would take its last byte alone */
	buf_append_byte(t->out, c);
	t->at++;
}

bool import_pattern(struct str pattern, struct buf *out)
{
	struct translation t = {.text = pattern, .out = out};
	char detail[PATTERN_DETAIL_MAX];
	struct matcher matcher;
	int r;

	while (!t.is_hopeless && t.at < pattern.len)
		take(&t);
	if (t.is_hopeless || out->len == 0 || buf_append_byte(out, '\0') != 0)
		return false;
	out->len--;
	r = pattern_compile(buf_str(out), &matcher, detail);
	if (r == 0)
		matcher_fini(&matcher);
	return r == 0;
}
