/*
 * Declared actions: from their part of the file to drafts.
 *
 * An action and each of its fields is a mapping that the table's rows describe, so reading
 * them is reading settings; what is here are the kinds that only they have, and the lists of
 * fields, which hold lists of fields. A field is checked as soon as the ones beside it are
 * read (check_field.c), an action when the whole file is (check_action.c).
 *
 * Bounds: SETTINGS_ACTIONS_MAX, SETTINGS_FIELDS_MAX side by side, SETTINGS_FIELD_DEPTH_MAX
 * inside one another.
 */
#include "config/table.h"

#include "base/err.h"
#include "config/pattern.h"
#include "config/values.h"
#include "core/fingerprint.h"

#include <stdlib.h>

enum {
	ACTION_NAME_MAX = 64, /* bytes: what tools of agents may be called */
	HEADERS_MAX = 16, /* of one action; fewer than FINGERPRINT_HEADERS_MAX, as lines repeat */
};

static int read_action(struct reading *reading, struct node *key);

int read_actions(struct reading *reading, struct node *map)
{
	int r = 0;

	if (map->count > SETTINGS_ACTIONS_MAX) {
		report_add(reading->report, map->place, "declare 1024 at most",
			   "there are too many actions");
		return 0;
	}
	reading->drafts = calloc(map->count + 1, sizeof(*reading->drafts));
	if (!reading->drafts)
		return fail(FAIL_MEMORY);
	for (struct node *key = map->first; r == 0 && key; key = key->next) {
		if (!key->is_refused && !read_is_duplicate(reading, map, key))
			r = read_action(reading, key);
	}
	return r;
}

/* Letters, digits, `.`, `_` and `-`, a letter first: it is also the name of a tool. */
static bool is_action_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = ascii_lower(name.at[i]);
		bool is_letter = c >= 'a' && c <= 'z';

		if (!is_letter &&
		    (i == 0 || !((c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-')))
			return false;
	}
	return name.len > 0 && name.len <= ACTION_NAME_MAX && !action_is_named_like_method(name);
}

static int read_action(struct reading *reading, struct node *key)
{
	struct action_draft *draft = &reading->drafts[reading->draft_count];
	char shown[QUOTE_SIZE];
	int r;

	if (!is_action_name(key->text)) {
		report_add(reading->report, key->place,
			   "write 1 to 64 letters, digits, `.`, `_` or `-`, a letter first and not "
			   "capitals alone",
			   "`%s` cannot be the name of an action", quote(shown, key->text));
		return 0;
	}
	if (!read_is_mapping(reading, quote(shown, key->text), "route: POST /v1/tickets",
			     key->value))
		return 0;
	*draft = (struct action_draft){.key = key};
	draft->action.name = arena_str(&reading->settings->mem, key->text);
	if (!draft->action.name.at)
		return fail(FAIL_MEMORY);
	reading->draft_count++;
	r = read_defaults(reading, draft, OWNER_ACTION);
	if (r == 0)
		r = read_map(reading, "actions.*", draft, key->value);
	if (r == 0 && !node_key(key->value, STR("route")))
		report_add(reading->report, key->place, "add route: POST /its/path under its name",
			   "the action %s has no route", draft->action.name.at);
	return r;
}

/* "POST /v1/payments/{id}": everything up to the first space is the method. */
static int read_route(struct reading *reading, const struct setting *setting, struct action *action,
		      const struct node *node)
{
	struct arena *mem = &reading->settings->mem;
	size_t space = str_find(node->text, ' ');
	struct str method = str_of(node->text.at, space);
	struct value_refusal refusal;
	char shown[QUOTE_SIZE];
	const char *detail;
	int r;

	if (space == node->text.len) {
		value_report(reading, setting, node->place,
			     "write a method and a path, like POST /v1/payments",
			     "is `%s`, which lacks one of the two", quote(shown, node->text));
		return 0;
	}
	if (value_method(method, &refusal) != 0) {
		value_report(reading, setting, node->place, refusal.mend, "has `%s`, which %s",
			     quote(shown, method), refusal.what);
		return 0;
	}
	r = route_read(str_trim(str_from_index(node->text, space)), mem, &action->route, &detail);
	if (r == ROUTE_WRONG) {
		value_report(reading, setting, node->place, "write it like /v1/orders/{order_id}",
			     "cannot be read: %.*s", (int)strcspn(detail, ";."), detail);
		return 0;
	}
	if (r != 0)
		return r;
	action->method = arena_str(mem, method);
	return action->method.at ? 0 : fail(FAIL_MEMORY);
}

static int read_pointer(struct reading *reading, const struct setting *setting, struct str *member,
			const struct node *node)
{
	char shown[QUOTE_SIZE];

	if (!value_is_pointer(node->text)) {
		value_report(reading, setting, node->place,
			     "write a slash before each name, like /request_id or /meta/token",
			     "is `%s`, which is not a JSON pointer", quote(shown, node->text));
		return 0;
	}
	*member = arena_str(&reading->settings->mem, node->text);
	return member->at ? 0 : fail(FAIL_MEMORY);
}

/* Does a header of that name stand before the item? Names compare without case. */
static bool is_header_repeated(const struct node *list, const struct node *item)
{
	for (const struct node *other = list->first; other != item; other = other->next) {
		if (other->kind == NODE_SCALAR && str_equal_nocase(other->text, item->text))
			return true;
	}
	return false;
}

/* May the item be part of a fingerprint? Else it has been reported. */
static bool is_fine_header(struct reading *reading, const struct setting *setting,
			   const struct node *list, const struct node *item)
{
	struct value_refusal refusal = {"is there already", "remove one of the two"};
	char shown[QUOTE_SIZE];

	if (item->is_refused)
		return false;
	if (item->kind != NODE_SCALAR) {
		value_report(reading, setting, item->place, "write a list like [X-Tenant]",
			     "has an item that is not a single value");
		return false;
	}
	if (value_header(item->text, &refusal) == 0 && !is_header_repeated(list, item))
		return true;
	value_report(reading, setting, item->place, refusal.mend, "lists `%s`, which %s",
		     quote(shown, item->text), refusal.what);
	return false;
}

static int read_headers(struct reading *reading, const struct setting *setting,
			struct action *action, const struct node *node)
{
	if (node->count > HEADERS_MAX) {
		value_report(reading, setting, node->place, "write at most 16",
			     "has too many items");
		return 0;
	}
	action->headers =
		arena_alloc(&reading->settings->mem, (node->count + 1) * sizeof(*action->headers));
	if (!action->headers)
		return fail(FAIL_MEMORY);
	for (const struct node *item = node->first; item; item = item->next) {
		struct str *header = &action->headers[action->header_count];

		if (!is_fine_header(reading, setting, node, item))
			continue;
		*header = arena_str(&reading->settings->mem, item->text);
		if (!header->at)
			return fail(FAIL_MEMORY);
		action->header_count++;
	}
	return 0;
}

static int read_values(struct reading *reading, const struct setting *setting,
		       struct value_list *member, const struct node *node)
{
	const struct json_value **choices = arena_alloc(
		&reading->settings->mem, (node->count + 1) * sizeof(const struct json_value *));
	size_t count = 0;

	if (!choices)
		return fail(FAIL_MEMORY);
	if (node->count == 0)
		value_report(reading, setting, node->place,
			     "write at least one value, or remove it", "is empty");
	for (const struct node *item = node->first; item; item = item->next) {
		struct json_value *value = NULL;
		int r = item->is_refused ? 0 : value_json(reading, item, &value);

		if (r != 0)
			return r;
		if (value)
			choices[count++] = value;
	}
	member->values = choices;
	member->count = count;
	return 0;
}

static int read_pattern(struct reading *reading, const struct setting *setting,
			struct action_field *field, const struct node *node)
{
	struct settings *settings = reading->settings;
	struct settings_pattern *pattern = arena_alloc(&settings->mem, sizeof(*pattern));
	struct str text = arena_str(&settings->mem, node->text);
	char detail[PATTERN_DETAIL_MAX];
	int r;

	if (!pattern || !text.at)
		return fail(FAIL_MEMORY);
	r = pattern_compile(text, &pattern->matcher, detail);
	if (r == PATTERN_WRONG) {
		value_report(
			reading, setting, node->place,
			"write a POSIX extended regular expression, like \"^[A-Z]{3}-[0-9]+$\"",
			"cannot be used: %s", detail);
		return 0;
	}
	if (r != 0)
		return r;
	pattern->next = settings->patterns;
	settings->patterns = pattern;
	field->pattern_text = text;
	field->pattern = &pattern->matcher;
	return 0;
}

static int read_number(struct reading *reading, const struct setting *setting,
		       const struct json_number **member, const struct node *node)
{
	struct json_number *number = arena_alloc(&reading->settings->mem, sizeof(*number));
	struct str text = arena_str(&reading->settings->mem, node->text);
	char shown[QUOTE_SIZE];
	int r;

	if (!number || !text.at)
		return fail(FAIL_MEMORY);
	r = json_number_read(text, &json_limits_default, &reading->settings->mem, number);
	if (r == JSON_REFUSED) {
		value_report(reading, setting, node->place, "write digits, like 100 or 0.5",
			     "is `%s`, which is not a number", quote(shown, node->text));
		return 0;
	}
	if (r == 0)
		*member = number;
	return r;
}

/* The rules of one field, or of an array's items, as they stand. */
static int read_field(struct reading *reading, struct str name, struct node *map,
		      struct field_draft *draft)
{
	size_t before = reading_errors(reading);
	char shown[QUOTE_SIZE];
	int r;

	draft->map = map;
	draft->field.name = arena_str(&reading->settings->mem, name);
	if (!draft->field.name.at)
		return fail(FAIL_MEMORY);
	r = read_map(reading, "actions.*.fields.*", draft, map);
	if (r == 0 && !node_key(map, STR("type")))
		report_add(reading->report, map->place, "add type: string, or another type",
			   "%s%s has no type", name.len ? "the field " : "items",
			   quote(shown, name));
	draft->is_wrong = reading_errors(reading) > before;
	return r;
}

static int read_named_field(struct reading *reading, const struct node *map, struct node *key,
			    struct field_draft *drafts, size_t *count)
{
	char shown[QUOTE_SIZE];

	if (key->is_refused || read_is_duplicate(reading, map, key))
		return 0;
	if (!value_is_member(key->text)) {
		report_add(reading->report, key->place, "write 1 to 256 bytes of text",
			   "`%s` cannot be the name of a field", quote(shown, key->text));
		return 0;
	}
	if (!read_is_mapping(reading, quote(shown, key->text), "type: string", key->value))
		return 0;
	return read_field(reading, key->text, key->value, &drafts[(*count)++]);
}

/* Put drafts together as fields, once all that stand side by side are there. */
static int finish_fields(struct reading *reading, struct field_draft *drafts, size_t count,
			 struct field_list *out_list)
{
	struct field_list list = {
		.fields = arena_zalloc(&reading->settings->mem, (count + 1) * sizeof(*list.fields)),
		.count = count,
	};
	int r = list.fields ? 0 : fail(FAIL_MEMORY);

	for (size_t i = 0; r == 0 && i < count; i++) {
		list.fields[i] = drafts[i].field;
		list.fields[i].type = (enum field_type)drafts[i].type;
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = check_field(reading, &drafts[i], &list);
		list.fields[i] = drafts[i].field;
	}
	if (r == 0)
		*out_list = list;
	return r;
}

static int read_field_drafts(struct reading *reading, bool is_item, struct node *map,
			     struct field_list *out_list)
{
	size_t room = is_item ? 1 : map->count, count = 0;
	struct field_draft *drafts = calloc(room + 1, sizeof(*drafts));
	int r = 0;

	if (!drafts)
		return fail(FAIL_MEMORY);
	if (is_item)
		r = read_field(reading, STR(""), map, &drafts[count++]);
	for (struct node *key = is_item ? NULL : map->first; r == 0 && key; key = key->next)
		r = read_named_field(reading, map, key, drafts, &count);
	if (r == 0)
		r = finish_fields(reading, drafts, count, out_list);
	free(drafts);
	return r;
}

static int read_fields(struct reading *reading, const struct setting *setting,
		       struct field_list *member, struct node *map)
{
	int r;

	if (reading->field_depth == SETTINGS_FIELD_DEPTH_MAX) {
		value_report(reading, setting, map->place,
			     "describe what lies deeper with type: any",
			     "is nested too deeply: fields lie 16 inside one another at most");
		return 0;
	}
	if (map->count > SETTINGS_FIELDS_MAX) {
		value_report(reading, setting, map->place, "declare 256 at most",
			     "has too many fields");
		return 0;
	}
	reading->field_depth++;
	r = read_field_drafts(reading, setting->kind == KIND_ITEM, map, member);
	reading->field_depth--;
	return r;
}

static int read_value(struct reading *reading, const struct json_value **member,
		      const struct node *node)
{
	struct json_value *value = NULL;
	int r = value_json(reading, node, &value);

	if (value)
		*member = value;
	return r;
}

int value_read_of_action(struct reading *reading, const struct setting *setting, void *member,
			 struct node *node)
{
	switch (setting->kind) {
	case KIND_ROUTE:
		return read_route(reading, setting, member, node);
	case KIND_POINTER:
		return read_pointer(reading, setting, member, node);
	case KIND_HEADERS:
		return read_headers(reading, setting, member, node);
	case KIND_FIELDS:
	case KIND_ITEM:
		return read_fields(reading, setting, member, node);
	case KIND_VALUE:
		return read_value(reading, member, node);
	case KIND_VALUES:
		return read_values(reading, setting, member, node);
	case KIND_PATTERN:
		return read_pattern(reading, setting, member, node);
	case KIND_NUMBER:
		return read_number(reading, setting, member, node);
	default:
		unreachable("a kind without a reader");
	}
}
