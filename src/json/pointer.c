/*
 * Finding a value in a tree: by name, and by JSON pointer (RFC 6901).
 */
#include "json/internal.h"

struct json_value *json_member(const struct json_value *object, struct str name)
{
	if (object->type != JSON_OBJECT)
		return NULL;
	for (size_t i = 0; i < object->object.count; i++) {
		if (str_equal(object->object.members[i].name, name))
			return object->object.members[i].value;
	}
	return NULL;
}

static bool is_well_formed(struct str pointer);
static const struct json_value *child(const struct json_value *value, struct str token);

const struct json_value *json_at(const struct json_value *value, struct str pointer)
{
	struct str rest = pointer, token;

	if (pointer.len == 0)
		return value;
	if (!is_well_formed(pointer))
		return NULL;
	rest = str_from_index(pointer, 1);
	while (value && str_split(&rest, '/', &token))
		value = child(value, token);
	return value;
}

/* It starts with a slash, and each tilde is ~0 or ~1. */
static bool is_well_formed(struct str pointer)
{
	if (pointer.at[0] != '/')
		return false;
	for (size_t i = 0; i < pointer.len; i++) {
		if (pointer.at[i] != '~')
			continue;
		if (i + 1 == pointer.len || (pointer.at[i + 1] != '0' && pointer.at[i + 1] != '1'))
			return false;
	}
	return true;
}

/* `token` with ~1 as a slash and ~0 as a tilde is `name`. */
static bool token_is(struct str token, struct str name)
{
	size_t at = 0;

	for (size_t i = 0; i < token.len; i++, at++) {
		char byte = token.at[i];

		if (byte == '~')
			byte = token.at[++i] == '1' ? '/' : '~';
		if (at == name.len || name.at[at] != byte)
			return false;
	}
	return at == name.len;
}

static const struct json_value *child(const struct json_value *value, struct str token)
{
	uint64_t index;

	if (value->type == JSON_OBJECT) {
		for (size_t i = 0; i < value->object.count; i++) {
			if (token_is(token, value->object.members[i].name))
				return value->object.members[i].value;
		}
		return NULL;
	}
	if (value->type != JSON_ARRAY || (token.len > 1 && token.at[0] == '0') ||
	    !str_to_u64(token, SIZE_MAX, &index) || index >= value->array.count)
		return NULL;
	return value->array.items[index];
}
