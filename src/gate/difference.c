/* Differences between two JSON values (see difference.h). */
#include "gate/difference.h"

struct walk {
	struct json_writer *json;
	struct arena *mem;
	size_t told;
};

static void compare(struct walk *walk, struct str path, const struct json_value *from,
		    const struct json_value *to);

static void spoil(struct walk *walk)
{
	walk->json->out->is_spoiled = true;
}

static void write_side(struct walk *walk, const char *name, const struct json_value *value)
{
	struct str text;

	if (!value)
		return;
	json_name(walk->json, name);
	if (json_canonical_str(value, walk->mem, &text) == 0)
		json_raw(walk->json, text);
	else
		spoil(walk);
}

static void tell(struct walk *walk, struct str path, const struct json_value *from,
		 const struct json_value *to)
{
	if (walk->told++ >= DIFFERENCES_MAX)
		return;
	json_open_object(walk->json);
	json_name(walk->json, "path");
	json_string(walk->json, path);
	write_side(walk, "from", from);
	write_side(walk, "to", to);
	json_close_object(walk->json);
}

/* RFC 6901: ~ and / of a name are written ~0 and ~1. {NULL, 0} without memory. */
static struct str below(struct walk *walk, struct str path, struct str name)
{
	char *text = arena_alloc(walk->mem, path.len + 1 + 2 * name.len);
	size_t len = path.len + 1;

	if (!text)
		return (struct str){0};
	if (path.len)
		memcpy(text, path.at, path.len);
	text[path.len] = '/';
	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i];

		text[len++] = c == '~' || c == '/' ? '~' : c;
		if (c == '~' || c == '/')
			text[len++] = c == '~' ? '0' : '1';
	}
	return str_of(text, len);
}

static void compare_member(struct walk *walk, struct str path, struct str name,
			   const struct json_value *from, const struct json_value *to)
{
	struct str at = below(walk, path, name);

	if (!at.at)
		spoil(walk);
	else if (from && to)
		compare(walk, at, from, to);
	else
		tell(walk, at, from, to);
}

static void compare_objects(struct walk *walk, struct str path, const struct json_value *from,
			    const struct json_value *to)
{
	for (size_t i = 0; i < from->object.count && walk->told < DIFFERENCES_MAX; i++) {
		const struct json_member *member = &from->object.members[i];

		compare_member(walk, path, member->name, member->value,
			       json_member(to, member->name));
	}
	for (size_t i = 0; i < to->object.count && walk->told < DIFFERENCES_MAX; i++) {
		const struct json_member *member = &to->object.members[i];

		if (!json_member(from, member->name))
			compare_member(walk, path, member->name, NULL, member->value);
	}
}

static void compare(struct walk *walk, struct str path, const struct json_value *from,
		    const struct json_value *to)
{
	struct str left, right;

	if (from->type == JSON_OBJECT && to->type == JSON_OBJECT) {
		compare_objects(walk, path, from, to);
		return;
	}
	if (json_canonical_str(from, walk->mem, &left) != 0 ||
	    json_canonical_str(to, walk->mem, &right) != 0)
		spoil(walk);
	else if (!str_equal(left, right))
		tell(walk, path, from, to);
}

void difference_json(struct json_writer *json, const struct json_value *from,
		     const struct json_value *to, struct arena *mem)
{
	struct walk walk = {.json = json, .mem = mem};

	json_open_array(json);
	if (from && to)
		compare(&walk, STR(""), from, to);
	else if (from || to)
		tell(&walk, STR(""), from, to);
	json_close_array(json);
}
