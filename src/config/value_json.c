/*
 * Values of commands that stand in the configuration: YAML's spelling of a JSON value.
 *
 * What is not in quotes and reads as null, true, false or a number of JSON is that; all else
 * is text. So `1.0` is a number, and `"1.0"`, `v1`, `yes` and `007` are texts, for every
 * reader of the file alike.
 */
#include "config/table.h"

#include "base/err.h"

static bool is_null(struct str text)
{
	return text.len == 0 || str_equal(text, STR("~")) || str_equal(text, STR("null"));
}

static int plain_json(struct reading *reading, struct str text, struct json_value *value)
{
	struct json_number number;
	int r;

	value->type = JSON_STRING;
	value->string = text;
	if (is_null(text))
		value->type = JSON_NULL;
	else if (str_equal(text, STR("true")))
		value->type = JSON_TRUE;
	else if (str_equal(text, STR("false")))
		value->type = JSON_FALSE;
	if (value->type != JSON_STRING)
		return 0;
	r = json_number_read(text, &json_limits_default, &reading->settings->mem, &number);
	if (r == 0) {
		value->type = JSON_NUMBER;
		value->number = number;
	}
	return r == JSON_REFUSED ? 0 : r;
}

static int scalar_json(struct reading *reading, const struct node *node, struct json_value *value)
{
	struct str text = arena_str(&reading->settings->mem, node->text);

	if (!text.at)
		return fail(FAIL_MEMORY);
	if (node->is_plain)
		return plain_json(reading, text, value);
	value->type = JSON_STRING;
	value->string = text;
	return 0;
}

static int list_json(struct reading *reading, const struct node *node, struct json_value *value)
{
	struct json_value **items = arena_alloc(&reading->settings->mem,
						(node->count + 1) * sizeof(struct json_value *));
	size_t count = 0;
	int r = items ? 0 : fail(FAIL_MEMORY);

	for (const struct node *item = node->first; r == 0 && item; item = item->next) {
		items[count] = NULL;
		if (!item->is_refused)
			r = value_json(reading, item, &items[count]);
		count += r == 0 && items[count];
	}
	value->type = JSON_ARRAY;
	value->array.items = items;
	value->array.count = count;
	return r;
}

static int map_json(struct reading *reading, const struct node *node, struct json_value *value)
{
	struct json_member *members =
		arena_alloc(&reading->settings->mem, (node->count + 1) * sizeof(*members));
	size_t count = 0;
	int r = members ? 0 : fail(FAIL_MEMORY);

	for (const struct node *key = node->first; r == 0 && key; key = key->next) {
		if (key->is_refused || key->value->is_refused ||
		    read_is_duplicate(reading, node, key))
			continue;
		members[count].name = arena_str(&reading->settings->mem, key->text);
		members[count].value = NULL;
		r = members[count].name.at ? value_json(reading, key->value, &members[count].value)
					   : fail(FAIL_MEMORY);
		count += r == 0 && members[count].value;
	}
	value->type = JSON_OBJECT;
	value->object.members = members;
	value->object.count = count;
	return r;
}

/* As deep as the file is, which is SETTINGS_DEPTH_MAX. */
int value_json(struct reading *reading, const struct node *node, struct json_value **out_value)
{
	struct json_value *value = arena_zalloc(&reading->settings->mem, sizeof(*value));
	int r;

	if (!value)
		return fail(FAIL_MEMORY);
	value->line = (uint32_t)node->place.line;
	value->column = (uint32_t)node->place.column;
	if (node->kind == NODE_SCALAR)
		r = scalar_json(reading, node, value);
	else if (node->kind == NODE_LIST)
		r = list_json(reading, node, value);
	else if (node->count > SETTINGS_LIST_MAX)
		r = 0, report_add(reading->report, node->place, "write at most 256 members",
				  "the value has too many members");
	else
		r = map_json(reading, node, value);
	if (r == 0)
		*out_value = value;
	return r;
}
