/*
 * The canonical form: one text for all the ways to write one value (RFC 8785).
 *
 * It is what a fingerprint hashes, so two rules matter more than the format: values that
 * are equal come out as the same bytes, and values that differ never do. RFC 8785 alone
 * breaks the second, because it makes a double of every number; here numbers keep all
 * their digits and only the style is its.
 *
 * The walk keeps the arrays and objects it is inside of on a stack in the arena.
 */
#include "base/err.h"
#include "json/internal.h"

enum { LEVELS_FIRST = 16 };

/* An array or object that is being written. */
struct level {
	const struct json_value *value;
	const struct json_place *places; /* an object's members, in order */
	size_t next;			 /* the item or member to write next */
};

struct walk {
	struct arena *mem;
	struct buf *out;
	struct level *levels; /* outermost first */
	size_t depth;
	size_t capacity;
	struct level first_levels[LEVELS_FIRST];
};

static int write_value(struct walk *walk, const struct json_value *value);
static int go_on(struct walk *walk, struct level *level);

int json_canonical(const struct json_value *value, struct arena *mem, struct buf *out)
{
	struct walk walk;
	int r;

	walk.mem = mem;
	walk.out = out;
	walk.levels = walk.first_levels;
	walk.depth = 0;
	walk.capacity = LEVELS_FIRST;

	r = write_value(&walk, value);
	while (r == 0 && walk.depth > 0)
		r = go_on(&walk, &walk.levels[walk.depth - 1]);
	return r;
}

int json_canonical_str(const struct json_value *value, struct arena *mem, struct str *out_text)
{
	struct str text = str_of(NULL, 0);
	struct buf out;

	buf_init(&out, mem->ceiling);
	if (json_canonical(value, mem, &out) == 0)
		text = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	if (!text.at)
		return FAIL_MEMORY;
	*out_text = text;
	return 0;
}

static int open_level(struct walk *walk, const struct json_value *value);
static int write_number(struct buf *out, const struct json_number *number);

/* A scalar whole; of an array or object the opening bracket. */
static int write_value(struct walk *walk, const struct json_value *value)
{
	switch (value->type) {
	case JSON_NULL:
		return buf_append(walk->out, "null", 4);
	case JSON_FALSE:
		return buf_append(walk->out, "false", 5);
	case JSON_TRUE:
		return buf_append(walk->out, "true", 4);
	case JSON_NUMBER:
		return write_number(walk->out, &value->number);
	case JSON_STRING:
		return json_put_string(walk->out, value->string);
	case JSON_ARRAY:
	case JSON_OBJECT:
		return open_level(walk, value);
	}
	unreachable("a JSON value of no type");
}

static int add_levels(struct walk *walk)
{
	struct level *levels;

	if (walk->capacity > SIZE_MAX / 2 / sizeof(*levels))
		return FAIL_MEMORY;
	levels = arena_alloc(walk->mem, 2 * walk->capacity * sizeof(*levels));
	if (!levels)
		return FAIL_MEMORY;
	memcpy(levels, walk->levels, walk->depth * sizeof(*levels));
	walk->levels = levels;
	walk->capacity *= 2;
	return 0;
}

static int open_level(struct walk *walk, const struct json_value *value)
{
	struct json_place *places = NULL;
	int r = 0;

	if (walk->depth == walk->capacity)
		r = add_levels(walk);
	if (r == 0 && value->type == JSON_OBJECT && value->object.count)
		r = json_order(value->object.members, value->object.count, walk->mem, &places);
	if (r != 0)
		return r;
	walk->levels[walk->depth++] = (struct level){.value = value, .places = places};
	return buf_append_byte(walk->out, value->type == JSON_OBJECT ? '{' : '[');
}

static int write_item(struct walk *walk, struct level *level);
static int write_member(struct walk *walk, struct level *level);

/* The next item or member, or the closing bracket. */
static int go_on(struct walk *walk, struct level *level)
{
	bool is_object = level->value->type == JSON_OBJECT;
	size_t count = is_object ? level->value->object.count : level->value->array.count;
	int r = 0;

	if (level->next == count) {
		walk->depth--;
		return buf_append_byte(walk->out, is_object ? '}' : ']');
	}
	if (level->next > 0)
		r = buf_append_byte(walk->out, ',');
	if (r != 0)
		return r;
	return is_object ? write_member(walk, level) : write_item(walk, level);
}

static int write_item(struct walk *walk, struct level *level)
{
	return write_value(walk, level->value->array.items[level->next++]);
}

static int write_member(struct walk *walk, struct level *level)
{
	const struct json_member *member = level->places[level->next++].member;
	int r = json_put_string(walk->out, member->name);

	if (r == 0)
		r = buf_append_byte(walk->out, ':');
	return r ? r : write_value(walk, member->value);
}

/* Numbers: the four layouts of ECMA-262, Number::toString */

static int write_zeros(struct buf *out, size_t count)
{
	static const char zeros[] = "000000000000000000000";

	require(count < sizeof(zeros));
	return buf_append(out, zeros, count);
}

/* 4900 */
static int write_whole(struct buf *out, struct str digits, size_t point)
{
	int r = buf_append_str(out, digits);

	return r ? r : write_zeros(out, point - digits.len);
}

/* 4.9 */
static int write_mixed(struct buf *out, struct str digits, size_t point)
{
	int r = buf_append(out, digits.at, point);

	if (r == 0)
		r = buf_append_byte(out, '.');
	return r ? r : buf_append_str(out, str_from_index(digits, point));
}

/* 0.0049 */
static int write_small(struct buf *out, struct str digits, size_t zeros)
{
	int r = buf_append(out, "0.", 2);

	if (r == 0)
		r = write_zeros(out, zeros);
	return r ? r : buf_append_str(out, digits);
}

/* 4.9e+30 */
static int write_scientific(struct buf *out, struct str digits, int32_t exponent)
{
	uint64_t magnitude = (uint64_t)(exponent < 0 ? -(int64_t)exponent : exponent);
	int r = digits.len == 1 ? buf_append_str(out, digits) : write_mixed(out, digits, 1);

	if (r == 0)
		r = buf_append(out, exponent < 0 ? "e-" : "e+", 2);
	return r ? r : buf_append_u64(out, magnitude);
}

static int write_number(struct buf *out, const struct json_number *number)
{
	struct str digits = number->digits;
	int32_t point = number->point;
	int r;

	if (digits.len == 0)
		return buf_append_byte(out, '0');
	if (number->is_negative) {
		r = buf_append_byte(out, '-');
		if (r != 0)
			return r;
	}
	if (point > 21 || point <= -6)
		return write_scientific(out, digits, point - 1);
	if (point <= 0)
		return write_small(out, digits, (size_t)-point);
	if ((size_t)point >= digits.len)
		return write_whole(out, digits, (size_t)point);
	return write_mixed(out, digits, (size_t)point);
}
