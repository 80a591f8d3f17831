/*
 * Looking things up in an OpenAPI document.
 *
 * $ref leads from one node to another inside the document; allOf makes one schema of several.
 * Both are resolved here into a view, a short list of nodes in which a keyword is looked up.
 * Documents come from anywhere, so every walk has a bound, and a schema that lies inside
 * itself is seen by the path that led to it.
 */
#include "config/import_parts.h"

bool node_is(const struct node *node, const char *word)
{
	return node && node->kind == NODE_SCALAR && str_equal(node->text, str_from(word));
}

static const struct node *value_of(const struct node *map, struct str name)
{
	const struct node *key = node_key(map, name);

	return key ? key->value : NULL;
}

/* One part of a reference: %XX, then ~1 and ~0 (RFC 6901 § 6). False: it is too long. */
static bool decode_part(struct str part, char out[256], size_t *out_len)
{
	size_t len = 0;

	for (size_t i = 0; i < part.len; i++) {
		char c = part.at[i];

		if (len == 255)
			return false;
		if (c == '%' && i + 2 < part.len && hex_digit(part.at[i + 1]) >= 0 &&
		    hex_digit(part.at[i + 2]) >= 0) {
			c = (char)(hex_digit(part.at[i + 1]) * 16 + hex_digit(part.at[i + 2]));
			i += 2;
		}
		if (len > 0 && out[len - 1] == '~' && (c == '0' || c == '1'))
			out[len - 1] = c == '0' ? '~' : '/';
		else
			out[len++] = c;
	}
	*out_len = len;
	return true;
}

static const struct node *item_at(const struct node *list, struct str index)
{
	const struct node *item = list->first;
	uint64_t number;

	if (!str_to_u64(index, list->count, &number))
		return NULL;
	while (item && number-- > 0)
		item = item->next;
	return item;
}

static const struct node *follow(const struct import *import, struct str reference)
{
	const struct node *node = import->root;
	struct str part;

	if (!str_starts_with(reference, STR("#/")))
		return NULL;
	reference = str_from_index(reference, 2);
	while (node && str_split(&reference, '/', &part)) {
		char decoded[256];
		size_t len;

		if (!decode_part(part, decoded, &len))
			return NULL;
		node = node->kind == NODE_LIST ? item_at(node, str_of(decoded, len))
					       : value_of(node, str_of(decoded, len));
	}
	return node;
}

const struct node *import_resolve(const struct import *import, const struct node *node)
{
	for (int i = 0; i < IMPORT_REFS_MAX; i++) {
		const struct node *reference = value_of(node, STR("$ref"));

		if (!reference || reference->kind != NODE_SCALAR)
			return node;
		node = follow(import, reference->text);
	}
	return NULL;
}

const struct node *import_get(const struct import *import, const struct node *map, const char *key)
{
	const struct node *value = value_of(map, str_from(key));

	return value ? import_resolve(import, value) : NULL;
}

static bool is_null_schema(const struct import *import, const struct node *schema)
{
	return node_is(import_get(import, schema, "type"), "null");
}

static void add_part(struct import *import, const struct node *schema, struct schema_view *view);

/* anyOf: [X, {type: null}] is how 3.1 says that X may be null; all else is a choice. */
static void add_choice(struct import *import, const struct node *list, struct schema_view *view)
{
	const struct node *only = NULL;

	if (!list || list->kind != NODE_LIST)
		return;
	for (const struct node *item = list->first; item; item = item->next) {
		if (is_null_schema(import, item)) {
			view->is_nullable = true;
			continue;
		}
		view->is_one_of = view->is_one_of || only;
		only = item;
	}
	if (only && !view->is_one_of)
		add_part(import, only, view);
}

static void add_part(struct import *import, const struct node *schema, struct schema_view *view)
{
	const struct node *node = import_resolve(import, schema), *all;

	if (!node || node->kind != NODE_MAP) {
		view->is_foreign = view->is_foreign || !node;
		return;
	}
	if (view->count == IMPORT_PARTS_MAX || import->visits == IMPORT_VISITS_MAX) {
		view->is_cut = true;
		return;
	}
	for (size_t i = 0; i < view->count; i++) {
		if (view->parts[i] == node)
			return;
	}
	import->visits++;
	view->parts[view->count++] = node;
	all = import_get(import, node, "allOf");
	for (const struct node *item = all && all->kind == NODE_LIST ? all->first : NULL; item;
	     item = item->next)
		add_part(import, item, view);
	add_choice(import, import_get(import, node, "oneOf"), view);
	add_choice(import, import_get(import, node, "anyOf"), view);
}

static bool says_null(const struct import *import, const struct schema_view *view)
{
	const struct node *type = view_get(import, view, "type");

	if (node_is(view_get(import, view, "nullable"), "true"))
		return true;
	for (const struct node *item = type && type->kind == NODE_LIST ? type->first : NULL; item;
	     item = item->next) {
		if (node_is(item, "null"))
			return true;
	}
	return false;
}

void import_view(struct import *import, const struct node *schema, const struct schema_path *path,
		 struct schema_view *out_view)
{
	*out_view = (struct schema_view){0};
	add_part(import, schema, out_view);
	for (; path; path = path->outer) {
		for (size_t i = 0; i < out_view->count; i++)
			out_view->is_cyclic = out_view->is_cyclic ||
					      path->node->first == out_view->parts[i]->first;
	}
	out_view->is_nullable = out_view->is_nullable || says_null(import, out_view);
}

const struct node *view_get(const struct import *import, const struct schema_view *view,
			    const char *key)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct node *value = import_get(import, view->parts[i], key);

		if (value)
			return value;
	}
	return NULL;
}

bool view_requires(const struct schema_view *view, struct str name)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct node *list = value_of(view->parts[i], STR("required"));

		if (!list || list->kind != NODE_LIST)
			continue;
		for (const struct node *item = list->first; item; item = item->next) {
			if (item->kind == NODE_SCALAR && str_equal(item->text, name))
				return true;
		}
	}
	return false;
}

struct str view_type(const struct import *import, const struct schema_view *view)
{
	const struct node *type = view_get(import, view, "type");
	const struct node *only = NULL;

	if (type && type->kind == NODE_SCALAR)
		return type->text;
	for (const struct node *item = type && type->kind == NODE_LIST ? type->first : NULL; item;
	     item = item->next) {
		if (node_is(item, "null"))
			continue;
		if (only)
			return STR(""); /* several: any */
		only = item;
	}
	if (only)
		return only->text;
	if (view_get(import, view, "properties"))
		return STR("object");
	return view_get(import, view, "items") ? STR("array") : STR("");
}
