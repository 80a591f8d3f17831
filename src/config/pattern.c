/*
 * A regular expression is a program, and compiling one can take more memory than there is:
 * repetitions inside repetitions multiply. So before the library sees it, the pattern is
 * walked once and its written-out length estimated: every atom counts one, every {m,n}
 * multiplies what it repeats. Back references, which POSIX does not have here and which make
 * matching exponential, are refused.
 */
#include "config/pattern.h"

#include "base/err.h"
#include "config/settings.h"

enum {
	GROUPS_MAX = 32,	 /* open parentheses at once */
	WRITTEN_OUT_MAX = 20000, /* atoms once every repetition is written out */
};

/* The length of what is open, and of the last atom of each: what a repetition multiplies. */
struct walk {
	struct str text;
	size_t at;
	size_t depth;
	size_t total[GROUPS_MAX + 1];
	size_t last[GROUPS_MAX + 1];
	const char *wrong; /* a constant sentence; NULL: nothing yet */
};

static void refuse(struct walk *walk, const char *why)
{
	walk->wrong = why;
	walk->at = walk->text.len;
}

static void add_atom(struct walk *walk, size_t length)
{
	walk->last[walk->depth] = length;
	walk->total[walk->depth] += length;
	if (walk->total[walk->depth] > WRITTEN_OUT_MAX)
		refuse(walk, "its repetitions multiply to more than 20000 characters");
}

/* Past a bracket expression; `]` right after its start is one of its characters. */
static void skip_bracket(struct walk *walk)
{
	size_t at = walk->at + 1;

	if (at < walk->text.len && walk->text.at[at] == '^')
		at++;
	if (at < walk->text.len && walk->text.at[at] == ']')
		at++;
	while (at < walk->text.len && walk->text.at[at] != ']') {
		char kind = at + 1 < walk->text.len ? walk->text.at[at + 1] : '\0';

		if (walk->text.at[at] == '[' && (kind == ':' || kind == '.' || kind == '=')) {
			at += 2;
			while (at + 1 < walk->text.len &&
			       !(walk->text.at[at] == kind && walk->text.at[at + 1] == ']'))
				at++;
			at++;
		}
		at++;
	}
	walk->at = at + 1;
	add_atom(walk, 1);
}

/* The larger bound of {m}, {m,}, {m,n}. */
static void repeat(struct walk *walk)
{
	size_t number = 0, largest = 1, length = walk->last[walk->depth];

	for (walk->at++; walk->at < walk->text.len && walk->text.at[walk->at] != '}'; walk->at++) {
		char c = walk->text.at[walk->at];

		number = c >= '0' && c <= '9' ? number * 10 + (size_t)(c - '0') : 0;
		if (number > WRITTEN_OUT_MAX)
			number = WRITTEN_OUT_MAX;
		largest = number > largest ? number : largest;
	}
	walk->at++;
	add_atom(walk, length * (largest - 1));
	walk->last[walk->depth] = length * largest;
}

static void open_group(struct walk *walk)
{
	walk->at++;
	if (walk->depth == GROUPS_MAX) {
		refuse(walk, "it has more than 32 parentheses inside one another");
		return;
	}
	walk->depth++;
	walk->total[walk->depth] = walk->last[walk->depth] = 0;
}

static void close_group(struct walk *walk)
{
	size_t length = walk->total[walk->depth] + 1;

	walk->at++;
	if (walk->depth == 0)
		return; /* the library will say so */
	walk->depth--;
	add_atom(walk, length);
}

static void step(struct walk *walk)
{
	switch (walk->text.at[walk->at]) {
	case '(':
		open_group(walk);
		return;
	case ')':
		close_group(walk);
		return;
	case '[':
		skip_bracket(walk);
		return;
	case '{':
		repeat(walk);
		return;
	case '\\':
		walk->at++;
		if (walk->at < walk->text.len && walk->text.at[walk->at] >= '1' &&
		    walk->text.at[walk->at] <= '9') {
			refuse(walk, "back references are not taken");
			return;
		}
		break;
	default:
		break;
	}
	walk->at++;
	add_atom(walk, 1);
}

static const char *why_not(struct str text)
{
	struct walk walk = {.text = text};

	if (text.len > SETTINGS_PATTERN_MAX)
		return "it is longer than 512 bytes";
	if (str_find(text, '\0') < text.len)
		return "it holds a NUL";
	while (walk.at < text.len)
		step(&walk);
	return walk.wrong;
}

int pattern_compile(struct str text, struct matcher *out_matcher,
		    char out_detail[PATTERN_DETAIL_MAX])
{
	const char *wrong = why_not(text);
	int r;

	if (wrong) {
		snprintf(out_detail, PATTERN_DETAIL_MAX, "%s", wrong);
		return PATTERN_WRONG;
	}
	r = matcher_init(out_matcher, text.at);
	if (r == REG_ESPACE)
		return fail(FAIL_MEMORY);
	if (r == 0)
		return 0;
	regerror(r, &out_matcher->regex, out_detail, PATTERN_DETAIL_MAX);
	return PATTERN_WRONG;
}
