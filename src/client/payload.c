/*
 * Payloads: a digest of the whole, and one of each leaf to name what differs.
 *
 * Always true: two bodies have one payload exactly where a gate in its default settings would take
 * them for the same body; a leaf's digest says nothing to who does not have its token.
 * Can fail: no memory. A body that is no JSON in one reading only, or has too many leaves, is still
 * a payload, whose differences cannot be named.
 */
#include "client/payload.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "json/json.h"

#include <stdio.h>

enum { LEAF_HEX = 16, MEMBERS_BYTES_MAX = 256 * 1024, NAMED_BYTES_MAX = 80 };

/* The walk over a body's leaves. */
struct walk {
	struct str token;
	struct arena *mem;
	struct json_writer writer;
	struct buf pointer; /* of where it is */
	size_t leaves;
	int r; /* 0; FAIL_LIMIT: too many; FAIL_MEMORY */
};

static bool is_json(struct str type);
static struct str essence(struct str content_type, struct arena *mem);
static struct str members_of(const struct json_value *value, struct str token, struct arena *mem);

int payload_of(struct str content_type, struct str body, struct str token, struct arena *mem,
	       struct payload *out_payload)
{
	static const char tag[] = "counterfoil/payload/1"; /* hashed with its NUL */
	struct payload payload = {.members = STR("")};
	struct str text = body, type = essence(content_type, mem);
	struct json_value *value;
	struct json_error error;
	struct hasher hasher;
	struct hash hash;
	int r = JSON_REFUSED;

	if (!type.at)
		return FAIL_MEMORY;
	if (is_json(type))
		r = json_read(body, &json_limits_default, mem, &value, &error);
	if (r == 0)
		r = json_canonical_str(value, mem, &text);
	if (r < 0)
		return r;
	if (r == 0)
		payload.members = members_of(value, token, mem);
	if (r == 0 && !payload.members.at)
		return FAIL_MEMORY;
	hasher_init(&hasher);
	hasher_add(&hasher, tag, sizeof(tag));
	hasher_add_part(&hasher, type);
	hasher_add_part(&hasher, text);
	hasher_end(&hasher, &hash);
	hex_write(hash.bytes, HASH_SIZE, payload.hex);
	payload.hex[PAYLOAD_HEX] = '\0';
	*out_payload = payload;
	return 0;
}

/*
 * application/json, and a/b+json. Parameters say nothing: what is read as JSON is UTF-8, or it is
 * not read.
 */
static bool is_json(struct str type)
{
	struct str suffix = STR("+json");
	size_t slash = str_find(type, '/');
	struct str subtype = str_from_index(type, slash < type.len ? slash + 1 : slash);

	if (str_equal(type, STR("application/json")))
		return true;
	return slash > 0 && subtype.len > suffix.len && str_find(subtype, '/') == subtype.len &&
	       str_equal(str_from_index(subtype, subtype.len - suffix.len), suffix);
}

/* "application/json" of "Application/JSON; charset=utf-8". {NULL, 0} without memory. */
static struct str essence(struct str content_type, struct arena *mem)
{
	struct str text = str_trim(str_of(content_type.at, str_find(content_type, ';')));
	char *at = arena_alloc(mem, text.len + 1);

	for (size_t i = 0; at && i < text.len; i++)
		at[i] = ascii_lower(text.at[i]);
	return str_of(at, at ? text.len : 0);
}

static void walk_value(struct walk *walk, const struct json_value *value);

/* JSON {pointer: digest}; "" where there are too many leaves, {NULL, 0} without memory. */
static struct str members_of(const struct json_value *value, struct str token, struct arena *mem)
{
	struct walk walk = {.token = token, .mem = mem};
	struct str members = STR("");
	struct buf out;

	buf_init(&out, MEMBERS_BYTES_MAX);
	buf_init(&walk.pointer, MEMBERS_BYTES_MAX);
	json_writer_init(&walk.writer, &out);
	json_open_object(&walk.writer);
	walk_value(&walk, value);
	json_close_object(&walk.writer);
	if (walk.r == 0 && !out.is_spoiled && !walk.pointer.is_spoiled)
		members = arena_str(mem, buf_str(&out));
	else if (walk.r == FAIL_MEMORY)
		members = str_of(NULL, 0);
	buf_fini(&walk.pointer);
	buf_fini(&out);
	return members;
}

/* "/" and the name, with ~ and / escaped (RFC 6901 § 3). */
static void enter(struct buf *pointer, struct str name)
{
	buf_append_byte(pointer, '/');
	for (size_t i = 0; i < name.len; i++) {
		if (name.at[i] == '~' || name.at[i] == '/')
			buf_append_str(pointer, name.at[i] == '~' ? STR("~0") : STR("~1"));
		else
			buf_append_byte(pointer, name.at[i]);
	}
}

static void walk_leaf(struct walk *walk, const struct json_value *value)
{
	char hex[LEAF_HEX];
	struct hasher hasher;
	struct hash hash;
	struct str text;

	if (walk->leaves++ == PAYLOAD_LEAVES_MAX) {
		walk->r = FAIL_LIMIT;
		return;
	}
	walk->r = json_canonical_str(value, walk->mem, &text);
	if (walk->r)
		return;
	hasher_init(&hasher);
	hasher_add(&hasher, walk->token.at, walk->token.len);
	hasher_add(&hasher, "", 1);
	hasher_add(&hasher, walk->pointer.at, walk->pointer.len);
	hasher_add(&hasher, "", 1);
	hasher_add(&hasher, text.at, text.len);
	hasher_end(&hasher, &hash);
	hex_write(hash.bytes, LEAF_HEX / 2, hex);
	json_name_str(&walk->writer, buf_str(&walk->pointer));
	json_string(&walk->writer, str_of(hex, LEAF_HEX));
}

static size_t children(const struct json_value *value)
{
	if (value->type == JSON_OBJECT)
		return value->object.count;
	return value->type == JSON_ARRAY ? value->array.count : 0;
}

/* Bounded by json_limits_default.depth. */
static void walk_value(struct walk *walk, const struct json_value *value)
{
	size_t count = children(value), here = walk->pointer.len;
	const struct json_value *child;
	char number[24];

	if (!count)
		walk_leaf(walk, value);
	for (size_t i = 0; i < count && !walk->r; i++) {
		if (value->type == JSON_OBJECT) {
			enter(&walk->pointer, value->object.members[i].name);
			child = value->object.members[i].value;
		} else {
			snprintf(number, sizeof(number), "%zu", i);
			enter(&walk->pointer, str_from(number));
			child = value->array.items[i];
		}
		walk_value(walk, child);
		walk->pointer.len = here;
	}
}

/* What a difference says so far. */
struct difference {
	struct buf text;
	size_t named, left_out;
};

static void name_those(struct difference *difference, const char *what, const struct json_value *of,
		       const struct json_value *beside, bool is_in_both);

struct str payload_difference(struct str before, struct str after, struct arena *mem)
{
	struct difference difference = {.named = 0};
	struct json_value *old, *new;
	struct json_error error;
	struct str text;

	if (!before.len || !after.len ||
	    json_read(before, &json_limits_default, mem, &old, &error) != 0 ||
	    json_read(after, &json_limits_default, mem, &new, &error) != 0)
		return arena_str(mem, STR("the body differs"));
	buf_init(&difference.text, MEMBERS_BYTES_MAX);
	name_those(&difference, "changed", new, old, true);
	name_those(&difference, "added", new, old, false);
	name_those(&difference, "missing", old, new, false);
	if (difference.left_out)
		buf_printf(&difference.text, "; and %zu more", difference.left_out);
	text = arena_str(mem, difference.named ? buf_str(&difference.text)
					       : STR("the media type differs"));
	buf_fini(&difference.text);
	return text;
}

/* Those of `of` that differ in `beside`, or (not is_in_both) that `beside` lacks. */
static void name_those(struct difference *difference, const char *what, const struct json_value *of,
		       const struct json_value *beside, bool is_in_both)
{
	bool is_first = true;

	for (size_t i = 0; i < of->object.count; i++) {
		const struct json_member *member = &of->object.members[i];
		const struct json_value *other = json_member(beside, member->name);

		if (is_in_both != (other != NULL) ||
		    (other && str_equal(other->string, member->value->string)))
			continue;
		if (difference->named == PAYLOAD_NAMED_MAX) {
			difference->left_out++;
			continue;
		}
		difference->named++;
		buf_printf(&difference->text, "%s%s%s%s",
			   is_first && difference->text.len ? "; " : "", is_first ? what : "",
			   is_first ? ": " : ", ", member->name.len ? "" : "the whole");
		buf_append_str(&difference->text, str_cut(member->name, NAMED_BYTES_MAX));
		is_first = false;
	}
}

void credential_mark(struct str token, struct str authorization, char out[CREDENTIAL_MARK + 1])
{
	static const char tag[] = "counterfoil/credential/1"; /* hashed with its NUL */
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add(&hasher, tag, sizeof(tag));
	hasher_add_part(&hasher, token);
	hasher_add_part(&hasher, authorization);
	hasher_end(&hasher, &hash);
	hex_write(hash.bytes, CREDENTIAL_MARK / 2, out);
	out[CREDENTIAL_MARK] = '\0';
}
