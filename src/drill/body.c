/*
 * Other bodies out of a JSON body.
 *
 * A body is read with the reader that keeps numbers exact and written again here, because the
 * canonical form would put the order right again. The walk is as deep as the reader allows.
 */
#include "drill/body.h"

#include "base/err.h"
#include "json/json.h"

enum { BODY_MAX = 1024 * 1024 };

struct writing {
	struct arena *mem;
	struct buf out;
	bool is_reversed;
	int failure;
};

static void write_value(struct writing *writing, const struct json_value *value);

static int read(struct str body, struct arena *mem, struct json_value **out_value)
{
	struct json_error error;
	int r = json_read(body, &json_limits_default, mem, out_value, &error);

	if (r == JSON_REFUSED)
		return BODY_UNFIT;
	if (r == 0 && (*out_value)->type != JSON_OBJECT && (*out_value)->type != JSON_ARRAY)
		return BODY_UNFIT;
	return r;
}

static int write(const struct json_value *value, bool is_reversed, struct arena *mem,
		 struct str *out_body)
{
	struct writing writing = {.mem = mem, .is_reversed = is_reversed};

	buf_init(&writing.out, BODY_MAX);
	write_value(&writing, value);
	if (writing.failure == 0 && !writing.out.is_spoiled)
		*out_body = arena_str(mem, buf_str(&writing.out));
	else
		writing.failure = fail(FAIL_MEMORY);
	buf_fini(&writing.out);
	return writing.failure;
}

int body_reordered(struct str body, struct arena *mem, struct str *out_body)
{
	struct json_value *value;
	int r = read(body, mem, &value);

	return r == 0 ? write(value, true, mem, out_body) : r;
}

static void space(struct writing *writing)
{
	if (writing->is_reversed)
		buf_append_str(&writing->out, STR("\n  "));
}

/* Numbers and texts have one spelling here, the canonical one. */
static void write_scalar(struct writing *writing, const struct json_value *value)
{
	struct str text;
	int r = json_canonical_str(value, writing->mem, &text);

	if (r == 0)
		buf_append_str(&writing->out, text);
	else
		writing->failure = r;
}

static void write_member(struct writing *writing, const struct json_member *member)
{
	const struct json_value name = {.type = JSON_STRING, .string = member->name};

	space(writing);
	write_scalar(writing, &name);
	buf_append_str(&writing->out, writing->is_reversed ? STR(" : ") : STR(":"));
	write_value(writing, member->value);
}

static void write_value(struct writing *writing, const struct json_value *value)
{
	size_t count = value->type == JSON_OBJECT ? value->object.count : 0;

	if (value->type == JSON_ARRAY) {
		buf_append_byte(&writing->out, '[');
		for (size_t i = 0; i < value->array.count; i++) {
			if (i)
				buf_append_byte(&writing->out, ',');
			space(writing);
			write_value(writing, value->array.items[i]);
		}
		buf_append_byte(&writing->out, ']');
	} else if (value->type == JSON_OBJECT) {
		buf_append_byte(&writing->out, '{');
		for (size_t i = 0; i < count; i++) {
			if (i)
				buf_append_byte(&writing->out, ',');
			write_member(
				writing,
				&value->object.members[writing->is_reversed ? count - 1 - i : i]);
		}
		space(writing);
		buf_append_byte(&writing->out, '}');
	} else {
		write_scalar(writing, value);
	}
}

/* -- another payload ----------------------------------------------------------------- */

/* The first text or number below `value`, in the order of the body; NULL: there is none. */
static struct json_value *first_leaf(struct json_value *value)
{
	struct json_value *found = NULL;

	if (value->type == JSON_STRING || value->type == JSON_NUMBER)
		return value;
	if (value->type == JSON_ARRAY) {
		for (size_t i = 0; !found && i < value->array.count; i++)
			found = first_leaf(value->array.items[i]);
	} else if (value->type == JSON_OBJECT) {
		for (size_t i = 0; !found && i < value->object.count; i++)
			found = first_leaf(value->object.members[i].value);
	}
	return found;
}

/* A digit before the others makes another number of any. */
static int change_leaf(struct json_value *leaf, struct arena *mem)
{
	struct str changed;

	if (leaf->type == JSON_STRING) {
		changed = arena_printf(mem, "%.*s-changed", STR_ARG(leaf->string));
		leaf->string = changed;
	} else {
		changed = arena_printf(mem, "%d%.*s", 1, STR_ARG(leaf->number.digits));
		leaf->number.digits = changed;
		leaf->number.point++;
	}
	return changed.at ? 0 : fail(FAIL_MEMORY);
}

static int apply(struct json_value *body, const struct scenario_pair *change, struct arena *mem)
{
	struct json_value *place = (struct json_value *)(uintptr_t)json_at(body, change->name);
	struct json_value *value;
	struct json_error error;
	int r;

	if (!place)
		return BODY_UNFIT;
	r = json_read(change->value, &json_limits_default, mem, &value, &error);
	if (r != 0)
		return r == JSON_REFUSED ? BODY_UNFIT : r;
	value->next = place->next;
	*place = *value;
	return 0;
}

int body_changed(struct str body, const struct scenario_pairs *changes, struct arena *mem,
		 struct str *out_body)
{
	struct json_value *value, *leaf;
	int r = read(body, mem, &value);

	if (r == 0 && changes->count == 0) {
		leaf = first_leaf(value);
		r = leaf ? change_leaf(leaf, mem) : BODY_UNFIT;
	}
	for (size_t i = 0; r == 0 && i < changes->count; i++)
		r = apply(value, &changes->items[i], mem);
	return r == 0 ? write(value, false, mem, out_body) : r;
}
