/*
 * From the schema of a body to the fields of a command.
 *
 * Each property becomes a field with what the schema says of it. What has no counterpart is
 * said in a comment beside the field, so that nothing disappears silently. A schema that lies
 * inside itself ends in `any`.
 */
#include "config/import_parts.h"

#include "config/settings.h"
#include "json/json.h"

enum { INDENT = 2, COUNT_MAX = 1000000, NAME_MAX_BYTES = 256, CHOICES_MAX = 256 };

/* May YAML print it? Else a space stands in its place. Returns the bytes of the character. */
static size_t printable(struct str text, size_t at, bool *out_is_fine)
{
	unsigned char c = (unsigned char)text.at[at];
	unsigned char next = at + 1 < text.len ? (unsigned char)text.at[at + 1] : 0;
	unsigned char last = at + 2 < text.len ? (unsigned char)text.at[at + 2] : 0;
	size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	*out_is_fine = c >= 0x20 && c != 0x7f && !(c == 0xc2 && next < 0xa0) &&
		       !(c == 0xe2 && next == 0x80 && (last == 0xa8 || last == 0xa9)) && c != 0xef;
	return at + len <= text.len ? len : text.len - at;
}

void import_plain(struct buf *out, struct str text, size_t max)
{
	bool is_after_space = true;
	size_t at = 0;

	text = str_trim(text);
	while (at < text.len) {
		bool is_fine;
		size_t len = printable(text, at, &is_fine);
		bool is_space = !is_fine || text.at[at] == ' ';

		if (at + len > max) {
			buf_append_str(out, STR("..."));
			return;
		}
		if (!is_space)
			buf_append(out, text.at + at, len);
		else if (!is_after_space)
			buf_append_byte(out, ' ');
		is_after_space = is_space;
		at += len;
	}
}

void import_quoted(struct buf *out, struct str text, size_t max)
{
	struct json_writer json;
	struct buf plain;

	buf_init(&plain, max + 16);
	import_plain(&plain, text, max);
	json_writer_init(&json, out);
	json_string(&json, plain.len > 0 ? buf_str(&plain) : STR("-"));
	buf_fini(&plain);
}

/* A text in quotes exactly as it is: names and values, in which every byte counts. */
static void write_exact(struct buf *out, struct str text)
{
	struct json_writer json;

	json_writer_init(&json, out);
	json_string(&json, text);
}

static bool is_word(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = ascii_lower(text.at[i]);

		if (!((c >= 'a' && c <= 'z') || c == '_' || (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return text.len > 1 && !str_equal_nocase(text, STR("null")) &&
	       !str_equal_nocase(text, STR("true")) && !str_equal_nocase(text, STR("false")) &&
	       !str_equal_nocase(text, STR("yes")) && !str_equal_nocase(text, STR("no")) &&
	       !str_equal_nocase(text, STR("on")) && !str_equal_nocase(text, STR("off"));
}

static void write_name(struct buf *out, struct str name)
{
	if (is_word(name))
		buf_append_str(out, name);
	else
		write_exact(out, name);
}

static void write_comment(struct import *import, int indent, const char *text)
{
	buf_printf(import->out, "%*s# %s\n", indent, "", text);
}

static bool is_number(struct str text)
{
	struct json_number number;
	struct arena mem;
	int r;

	arena_init(&mem, 4096);
	r = json_number_read(text, &json_limits_default, &mem, &number);
	arena_fini(&mem);
	return r == 0;
}

/* Could the scalar be a value of a field of that type? */
static bool is_value_of(const struct node *node, const char *type)
{
	if (!node || node->kind != NODE_SCALAR)
		return false;
	if (strcmp(type, "string") == 0)
		return true;
	if (strcmp(type, "boolean") == 0)
		return node->is_plain && (node_is(node, "true") || node_is(node, "false"));
	return node->is_plain && is_number(node->text) &&
	       (strcmp(type, "decimal") == 0 ||
		(strcmp(type, "integer") == 0 && str_find(node->text, '.') == node->text.len));
}

static void write_value(struct buf *out, const struct node *node, const char *type)
{
	if (strcmp(type, "string") == 0)
		write_exact(out, node->text);
	else
		buf_append_str(out, node->text);
}

static bool is_null(const struct node *node)
{
	return node->is_plain && (node_is(node, "null") || node_is(node, "~"));
}

/* All of them, or none: an enum with a value left out would refuse good commands. */
static void write_choices(struct import *import, const struct node *list, const char *type,
			  int indent)
{
	const char *separator = "";

	if (!list || list->kind != NODE_LIST || list->count == 0 || list->count > CHOICES_MAX)
		return;
	for (const struct node *item = list->first; item; item = item->next) {
		if (!is_value_of(item, type) && !is_null(item)) {
			write_comment(import, indent,
				      "enum is not taken over: its values are not "
				      "all of this type");
			return;
		}
	}
	if (list->count == 1 && is_null(list->first))
		return;
	buf_printf(import->out, "%*senum: [", indent, "");
	for (const struct node *item = list->first; item; item = item->next) {
		if (is_null(item))
			continue;
		buf_append_str(import->out, str_from(separator));
		write_value(import->out, item, type);
		separator = ", ";
	}
	buf_append_str(import->out, STR("]\n"));
}

static void write_count(struct import *import, const struct schema_view *view, const char *key,
			const char *name, int indent)
{
	const struct node *node = view_get(import, view, key);
	uint64_t count;

	if (node && node->kind == NODE_SCALAR && str_to_u64(node->text, COUNT_MAX, &count))
		buf_printf(import->out, "%*s%s: %llu\n", indent, "", name,
			   (unsigned long long)count);
}

static void write_bound(struct import *import, const struct schema_view *view, const char *key,
			int indent)
{
	const struct node *node = view_get(import, view, key);

	if (node && node->kind == NODE_SCALAR && is_number(node->text))
		buf_printf(import->out, "%*s%s: %.*s\n", indent, "", key, STR_ARG(node->text));
}

static void write_pattern(struct import *import, const struct schema_view *view, int indent)
{
	const struct node *node = view_get(import, view, "pattern");
	struct buf pattern;

	if (!node || node->kind != NODE_SCALAR)
		return;
	buf_init(&pattern, SETTINGS_PATTERN_MAX + 1);
	if (import_pattern(node->text, &pattern)) {
		buf_printf(import->out, "%*spattern: ", indent, "");
		write_exact(import->out, buf_str(&pattern));
		buf_append_byte(import->out, '\n');
	} else {
		buf_printf(import->out, "%*s# the pattern cannot be said in POSIX: ", indent, "");
		import_plain(import->out, node->text, IMPORT_TEXT_MAX);
		buf_append_byte(import->out, '\n');
	}
	buf_fini(&pattern);
}

static void write_rules(struct import *import, const struct schema_view *view, const char *type,
			int indent)
{
	const struct node *only = view_get(import, view, "const");

	write_choices(import, view_get(import, view, "enum"), type, indent);
	if (only && !view_get(import, view, "enum") && is_value_of(only, type)) {
		buf_printf(import->out, "%*senum: [", indent, "");
		write_value(import->out, only, type);
		buf_append_str(import->out, STR("]\n"));
	}
	if (strcmp(type, "string") == 0) {
		write_count(import, view, "minLength", "min_length", indent);
		write_count(import, view, "maxLength", "max_length", indent);
		write_pattern(import, view, indent);
		return;
	}
	write_bound(import, view, "minimum", indent);
	write_bound(import, view, "maximum", indent);
	if (view_get(import, view, "exclusiveMinimum") ||
	    view_get(import, view, "exclusiveMaximum"))
		write_comment(import, indent, "exclusive bounds are not taken over");
}

static void write_default(struct import *import, const struct schema_view *view, const char *type,
			  int indent)
{
	const struct node *node = view_get(import, view, "default");

	if (!is_value_of(node, type) || is_null(node))
		return;
	buf_printf(import->out, "%*sdefault: ", indent, "");
	write_value(import->out, node, type);
	buf_append_byte(import->out, '\n');
}

/* The type of the gate for a type and a format of the document. */
static const char *type_of(const struct import *import, const struct schema_view *view)
{
	struct str type = view_type(import, view);

	if (view->is_cyclic || view->is_foreign || view->is_cut || view->is_one_of)
		return "any";
	if (str_equal(type, STR("string")))
		return node_is(view_get(import, view, "format"), "date-time") ? "timestamp"
									      : "string";
	if (str_equal(type, STR("integer")) || str_equal(type, STR("boolean")) ||
	    str_equal(type, STR("object")) || str_equal(type, STR("array")))
		return str_equal(type, STR("integer"))	 ? "integer"
		       : str_equal(type, STR("boolean")) ? "boolean"
		       : str_equal(type, STR("object"))	 ? "object"
							 : "array";
	return str_equal(type, STR("number")) ? "decimal" : "any";
}

static const char *why_any(const struct schema_view *view)
{
	if (view->is_cyclic)
		return "any, as its schema lies inside itself";
	if (view->is_foreign)
		return "any, as its $ref leads out of the document, or nowhere";
	if (view->is_one_of)
		return "any, as it has several shapes (oneOf, anyOf)";
	return view->is_cut ? "any, as its schema has too many parts" : NULL;
}

enum role { ROLE_ITEM, ROLE_OPTIONAL, ROLE_REQUIRED };

static void write_field(struct import *import, const struct node *schema, enum role role,
			int indent, int level, const struct schema_path *path);

static void write_items(struct import *import, const struct schema_view *view, int indent,
			int level, const struct schema_path *path)
{
	const struct node *items = view_get(import, view, "items");

	if (import->detail == IMPORT_ALL) {
		write_count(import, view, "minItems", "min_items", indent);
		write_count(import, view, "maxItems", "max_items", indent);
	}
	if (!items || items->kind != NODE_MAP || level >= SETTINGS_FIELD_DEPTH_MAX)
		return;
	buf_printf(import->out, "%*sitems:\n", indent, "");
	write_field(import, items, ROLE_ITEM, indent + INDENT, level + 1, path);
}

static void write_description(struct import *import, const struct schema_view *view, int indent)
{
	const struct node *text = view_get(import, view, "description");

	if (!text || text->kind != NODE_SCALAR || str_trim(text->text).len == 0)
		return;
	buf_printf(import->out, "%*sdescription: ", indent, "");
	import_quoted(import->out, text->text, IMPORT_TEXT_MAX);
	buf_append_byte(import->out, '\n');
}

static void write_flags(struct import *import, const struct schema_view *view, bool is_required,
			bool is_assigned, int indent)
{
	bool is_secret = node_is(view_get(import, view, "writeOnly"), "true") ||
			 node_is(view_get(import, view, "format"), "password");

	if (is_assigned)
		buf_printf(import->out, "%*sserver_assigned: true\n", indent, "");
	if (is_required && !is_assigned)
		buf_printf(import->out, "%*srequired: true\n", indent, "");
	if (view->is_nullable)
		buf_printf(import->out, "%*snullable: true\n", indent, "");
	if (is_secret)
		buf_printf(import->out, "%*ssecret: true\n", indent, "");
}

/* The rules of one field, `indent` columns in; as deep as SETTINGS_FIELD_DEPTH_MAX. */
static void write_field(struct import *import, const struct node *schema, enum role role,
			int indent, int level, const struct schema_path *path)
{
	struct schema_view view;
	struct schema_path here = {.node = import_resolve(import, schema), .outer = path};
	const char *type;
	bool is_assigned;

	import_view(import, schema, path, &view);
	type = type_of(import, &view);
	is_assigned = role != ROLE_ITEM && node_is(view_get(import, &view, "readOnly"), "true");
	if (why_any(&view))
		write_comment(import, indent, why_any(&view));
	buf_printf(import->out, "%*stype: %s\n", indent, "", type);
	write_description(import, &view, indent);
	write_flags(import, &view, role == ROLE_REQUIRED, is_assigned, indent);
	if (strcmp(type, "object") == 0 && level < SETTINGS_FIELD_DEPTH_MAX)
		import_fields(import, &view, indent, level + 1, here.node ? &here : path);
	if (strcmp(type, "array") == 0)
		write_items(import, &view, indent, level, here.node ? &here : path);
	if (import->detail != IMPORT_ALL || strcmp(type, "any") == 0)
		return;
	if (strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
	    strcmp(type, "decimal") == 0)
		write_rules(import, &view, type, indent);
	if (role == ROLE_OPTIONAL && !is_assigned)
		write_default(import, &view, type, indent);
}

static bool looks_like_money(struct str name)
{
	static const char *const words[] = {"amount", "price", "total", "fee",
					    "value",  "cost",  "sum",	"balance"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct str word = str_from(words[i]);

		if (name.len >= word.len &&
		    (str_equal_nocase(str_of(name.at, word.len), word) ||
		     str_equal_nocase(str_from_index(name, name.len - word.len), word)))
			return true;
	}
	return false;
}

/* The property that holds a currency beside others; empty: none. */
static struct str find_currency(const struct import *import, const struct schema_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct node *map = import_get(import, view->parts[i], "properties");

		for (const struct node *key = map && map->kind == NODE_MAP ? map->first : NULL; key;
		     key = key->next) {
			size_t len = strlen("currency");

			if (key->text.len >= len &&
			    (str_equal_nocase(str_of(key->text.at, len), STR("currency")) ||
			     str_equal_nocase(str_from_index(key->text, key->text.len - len),
					      STR("currency"))))
				return key->text;
		}
	}
	return STR("");
}

static void write_money_hint(struct import *import, const struct schema_view *object,
			     const struct node *key, int indent)
{
	struct str currency = find_currency(import, object);
	struct schema_view view;
	struct str type;

	if (currency.len == 0 || !looks_like_money(key->text))
		return;
	import_view(import, key->value, NULL, &view);
	type = view_type(import, &view);
	if (!str_equal(type, STR("integer")) && !str_equal(type, STR("number")) &&
	    !str_equal(type, STR("string")))
		return;
	buf_printf(import->out, "%*s# Decide: is it money? Then {type: money, currency: ", indent,
		   "");
	import_plain(import->out, currency, IMPORT_TEXT_MAX);
	buf_append_str(import->out, STR(", unit: minor}, or unit: major for 49.00\n"));
}

static bool looks_like_identity(struct str name)
{
	static const char *const ends[] = {"_id",    "Id",	 "_ref", "reference",
					   "number", "external", "_key"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct str end = str_from(ends[i]);

		if (name.len >= end.len && str_equal(str_from_index(name, name.len - end.len), end))
			return true;
	}
	return false;
}

/* Does a property of that name stand in an earlier part? The first one counts. */
static bool is_taken(const struct import *import, const struct schema_view *view, size_t part,
		     struct str name)
{
	for (size_t i = 0; i < part; i++) {
		if (node_key(import_get(import, view->parts[i], "properties"), name))
			return true;
	}
	return false;
}

static void write_property(struct import *import, const struct schema_view *view,
			   const struct node *key, int indent, int level,
			   const struct schema_path *path)
{
	buf_printf(import->out, "%*s", indent, "");
	write_name(import->out, key->text);
	buf_append_str(import->out, STR(":\n"));
	write_money_hint(import, view, key, indent + INDENT);
	if (level == 1 && looks_like_identity(key->text))
		write_comment(import, indent + INDENT,
			      "Decide: does it name one business effect (a business key)?");
	write_field(import, key->value,
		    view_requires(view, key->text) ? ROLE_REQUIRED : ROLE_OPTIONAL, indent + INDENT,
		    level, path);
}

static size_t count_properties(const struct import *import, const struct schema_view *view)
{
	size_t count = 0;

	for (size_t i = 0; i < view->count; i++) {
		const struct node *map = import_get(import, view->parts[i], "properties");

		count += map && map->kind == NODE_MAP ? map->count : 0;
	}
	return count;
}

static void write_part(struct import *import, const struct schema_view *view, size_t part,
		       int indent, int level, const struct schema_path *path)
{
	const struct node *map = import_get(import, view->parts[part], "properties");

	for (const struct node *key = map && map->kind == NODE_MAP ? map->first : NULL; key;
	     key = key->next) {
		bool is_first = node_key(map, key->text) == key;

		if (key->text.len > 0 && key->text.len <= NAME_MAX_BYTES && is_first &&
		    !is_taken(import, view, part, key->text) && !import->out->is_spoiled)
			write_property(import, view, key, indent, level, path);
	}
}

bool import_fields(struct import *import, const struct schema_view *view, int indent, int level,
		   const struct schema_path *path)
{
	const struct node *more = view_get(import, view, "additionalProperties");
	size_t count = count_properties(import, view);

	if (count == 0)
		return false;
	if (count > SETTINGS_FIELDS_MAX) {
		write_comment(import, indent, "its fields are not taken over: there are too many");
		return false;
	}
	if (more && !node_is(more, "false"))
		buf_printf(import->out, "%*sunknown_fields: keep\n", indent, "");
	buf_printf(import->out, "%*sfields:\n", indent, "");
	for (size_t i = 0; i < view->count; i++)
		write_part(import, view, i, indent + INDENT, level, path);
	return true;
}
