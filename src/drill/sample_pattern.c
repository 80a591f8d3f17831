/*
 * Texts out of patterns.
 *
 * A walk along the pattern that takes the first branch of every choice, draws one character of
 * every set, and repeats what may be repeated as often as `stretch` says. What it does not know
 * (classes by name, back references) ends it.
 */
#include "base/buf.h"
#include "drill/sample.h"

enum { DEPTH_MAX = 16, REPEAT_MAX = 256, SET_MAX = 128 };

struct walk {
	struct str rest;
	unsigned stretch;
	uint64_t *seed;
	struct buf *out;
	bool is_lost;
};

static void walk_branches(struct walk *walk, bool is_written, int depth);

static uint64_t draw(uint64_t *seed)
{
	uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

bool sample_pattern(struct str pattern, unsigned stretch, uint64_t *seed, struct buf *out)
{
	struct walk walk = {pattern, stretch, seed, out, false};

	walk_branches(&walk, true, 0);
	return !walk.is_lost && walk.rest.len == 0 && !out->is_spoiled;
}

static char take(struct walk *walk)
{
	char c;

	if (!walk->rest.len) {
		walk->is_lost = true;
		return '\0';
	}
	c = walk->rest.at[0];
	walk->rest = str_from_index(walk->rest, 1);
	return c;
}

static char peek(const struct walk *walk)
{
	return walk->rest.len ? walk->rest.at[0] : '\0';
}

/* A set, behind its "[": one of what is in it; of a negated one a letter that is not. */
static char draw_of_set(struct walk *walk)
{
	bool has[SET_MAX] = {false}, is_negated = peek(walk) == '^', is_first = true;
	unsigned candidates[SET_MAX], count = 0;

	if (is_negated)
		take(walk);
	while (!walk->is_lost && (is_first || peek(walk) != ']')) {
		unsigned char from = (unsigned char)take(walk), to = from;

		is_first = false;
		if (from == '[' || from >= SET_MAX)
			walk->is_lost = true; /* a class by name */
		if (peek(walk) == '-' && walk->rest.len > 1 && walk->rest.at[1] != ']') {
			take(walk);
			to = (unsigned char)take(walk);
		}
		for (unsigned c = from; c <= to && c < SET_MAX; c++)
			has[c] = true;
	}
	take(walk);
	for (unsigned c = ' '; c < 127; c++) {
		if (has[c] != is_negated && (!is_negated || (c >= 'a' && c <= 'z')))
			candidates[count++] = c;
	}
	if (count)
		return (char)candidates[draw(walk->seed) % count];
	walk->is_lost = true;
	return '\0';
}

static unsigned read_number(struct walk *walk)
{
	unsigned number = 0;

	while (peek(walk) >= '0' && peek(walk) <= '9' && number <= REPEAT_MAX)
		number = number * 10 + (unsigned)(take(walk) - '0');
	return number;
}

/* How often the piece that was just read is to be there. */
static unsigned read_times(struct walk *walk)
{
	unsigned least, most;

	switch (peek(walk)) {
	case '*':
		take(walk);
		return walk->stretch;
	case '+':
		take(walk);
		return walk->stretch ? walk->stretch : 1;
	case '?':
		take(walk);
		return walk->stretch ? 1 : 0;
	case '{':
		take(walk);
		least = most = read_number(walk);
		if (peek(walk) == ',') {
			take(walk);
			most = peek(walk) == '}' ? REPEAT_MAX : read_number(walk);
		}
		walk->is_lost |= take(walk) != '}';
		return walk->stretch < least ? least : walk->stretch > most ? most : walk->stretch;
	default:
		return 1;
	}
}

/* One piece, without what follows it. */
static void walk_piece(struct walk *walk, bool is_written, int depth)
{
	char c = take(walk);

	if (c == '(') {
		walk_branches(walk, is_written, depth + 1);
		walk->is_lost |= take(walk) != ')';
		return;
	}
	if (c == '^' || c == '$')
		return;
	if (c == '[')
		c = draw_of_set(walk);
	else if (c == '.')
		c = (char)('a' + draw(walk->seed) % 26);
	else if (c == '\\') {
		c = take(walk);
		walk->is_lost |=
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
	}
	if (is_written && !walk->is_lost)
		buf_append_byte(walk->out, c);
}

static void walk_branch(struct walk *walk, bool is_written, int depth)
{
	while (!walk->is_lost && walk->rest.len && peek(walk) != '|' && peek(walk) != ')') {
		struct walk ahead = *walk;
		unsigned times;

		walk_piece(&ahead, false, depth);
		times = read_times(&ahead);
		for (unsigned i = 0; is_written && i < times && !ahead.is_lost; i++) {
			struct walk again = *walk;

			walk_piece(&again, true, depth);
			ahead.is_lost |= again.is_lost;
		}
		*walk = ahead;
	}
}

static void walk_branches(struct walk *walk, bool is_written, int depth)
{
	if (depth > DEPTH_MAX) {
		walk->is_lost = true;
		return;
	}
	walk_branch(walk, is_written, depth);
	while (!walk->is_lost && peek(walk) == '|') {
		take(walk);
		walk_branch(walk, false, depth);
	}
}
