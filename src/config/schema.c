/*
 * The table as a JSON Schema, by which editors complete and check a configuration.
 *
 * Each row becomes a property where its name leads; '*' in a name becomes the schema of every
 * property of an object. Fields hold fields, so theirs is a definition of its own. It says
 * less than `config check`, which also compares settings with each other; what that accepts
 * it accepts, too, where values are written as the type that they are.
 */
#include "config/settings.h"

#include "base/err.h"
#include "config/table.h"
#include "config/values.h"

enum { SCHEMA_MAX = 1024 * 1024, SECTION_MAX = 128 };

#define FIELD_SCHEMA "#/$defs/field"

static void write_pair(struct json_writer *json, const char *name, const char *value)
{
	json_name(json, name);
	json_text(json, value);
}

static void write_ref(struct json_writer *json)
{
	json_open_object(json);
	write_pair(json, "$ref", FIELD_SCHEMA);
	json_close_object(json);
}

/* "a | b | c" as an array. */
static void write_words(struct json_writer *json, const char *words)
{
	struct str rest = str_from(words), word;

	json_name(json, "enum");
	json_open_array(json);
	while (str_split(&rest, '|', &word))
		json_string(json, str_trim(word));
	json_close_array(json);
}

/* The ends of "1 to 64" for whole numbers. */
static void write_range(struct json_writer *json, const char *range)
{
	const char *middle = strstr(range, " to ");
	int64_t least, most;

	require(middle);
	if (value_count(str_of(range, (size_t)(middle - range)), &least)) {
		json_name(json, "minimum");
		json_integer(json, least);
	}
	if (value_count(str_from(middle + 4), &most)) {
		json_name(json, "maximum");
		json_integer(json, most);
	}
}

/* A whole number, or text of that pattern. */
static void write_number_or_text(struct json_writer *json, const char *pattern)
{
	json_name(json, "type");
	json_open_array(json);
	json_text(json, "integer");
	json_text(json, "string");
	json_close_array(json);
	json_name(json, "minimum");
	json_integer(json, 0);
	write_pair(json, "pattern", pattern);
}

/* An array whose items are of one type. */
static void write_list(struct json_writer *json, const char *type, const char *range)
{
	write_pair(json, "type", "array");
	json_name(json, "items");
	json_open_object(json);
	if (type)
		write_pair(json, "type", type);
	if (range)
		write_range(json, range);
	json_close_object(json);
}

static void write_map_of_fields(struct json_writer *json)
{
	write_pair(json, "type", "object");
	json_name(json, "additionalProperties");
	write_ref(json);
}

static void write_section(struct json_writer *json, const char *section);

/* A status, or an array of them. */
static void write_status(struct json_writer *json, const char *range)
{
	json_name(json, "type");
	json_open_array(json);
	json_text(json, "integer");
	json_text(json, "array");
	json_close_array(json);
	write_range(json, range);
	json_name(json, "items");
	json_open_object(json);
	write_pair(json, "type", "integer");
	write_range(json, range);
	json_close_object(json);
}

static void write_conditions(struct json_writer *json)
{
	write_pair(json, "type", "array");
	json_name(json, "items");
	write_section(json, "actions.*.failed_when.*");
}

/* The word, or a list. */
static void write_when(struct json_writer *json)
{
	json_name(json, "anyOf");
	json_open_array(json);
	json_open_object(json);
	write_pair(json, "const", "always");
	json_close_object(json);
	json_open_object(json);
	write_pair(json, "type", "array");
	json_name(json, "items");
	write_section(json, "actions.*.approval.when.*");
	json_close_object(json);
	json_close_array(json);
}

static void write_type(struct json_writer *json, const struct setting *setting)
{
	switch (setting->kind) {
	case KIND_BOOL:
		write_pair(json, "type", "boolean");
		return;
	case KIND_COUNT:
		write_pair(json, "type", "integer");
		write_range(json, setting->range);
		return;
	case KIND_THREADS:
		write_number_or_text(json, "^(cores|[0-9]+)$");
		return;
	case KIND_SIZE:
		write_number_or_text(json, "^[0-9]+(B|KB|MB|GB|KiB|MiB|GiB)?$");
		return;
	case KIND_DURATION:
		write_pair(json, "type", "string");
		write_pair(json, "pattern", "^(forever|[0-9]+(ms|s|m|h|d))$");
		return;
	case KIND_CHOICE:
		write_words(json, setting->range);
		return;
	case KIND_STATUSES:
		write_list(json, "integer", setting->range);
		return;
	case KIND_METHODS:
	case KIND_NETWORKS:
	case KIND_HEADERS:
	case KIND_PARTS:
	case KIND_PATHS:
	case KIND_WORDS:
	case KIND_ANCHORS:
	case KIND_WITNESSES:
		write_list(json, "string", NULL);
		return;
	case KIND_VALUES:
		write_list(json, NULL, NULL);
		return;
	case KIND_NUMBER:
		write_pair(json, "type", "number");
		return;
	case KIND_FIELDS:
		write_map_of_fields(json);
		return;
	case KIND_ITEM:
		write_pair(json, "$ref", FIELD_SCHEMA);
		return;
	case KIND_STATUS:
		write_status(json, setting->range);
		return;
	case KIND_WHEN:
		write_when(json);
		return;
	case KIND_CONDITIONS:
		write_conditions(json);
		return;
	case KIND_VALUE:
		return;
	default:
		write_pair(json, "type", "string");
		return;
	}
}

static void write_keys(struct json_writer *json, const char *section);

/* A text that is short for a section: what an object must be is then said beside it. */
static void write_short(struct json_writer *json, const struct setting *setting)
{
	json_name(json, "type");
	json_open_array(json);
	json_text(json, "string");
	json_text(json, "object");
	json_close_array(json);
	write_keys(json, setting->name);
}

static void write_setting(struct json_writer *json, const struct setting *setting)
{
	json_open_object(json);
	if (setting_is_short(setting))
		write_short(json, setting);
	else
		write_type(json, setting);
	write_pair(json, "description", setting->help);
	json_close_object(json);
}

/* Is `name` below `section`? Then *out_child is the next part of it. */
static bool is_below(struct str section, struct str name, struct str *out_child)
{
	size_t from = section.len ? section.len + 1 : 0;

	if (section.len &&
	    !(name.len > from && str_starts_with(name, section) && name.at[section.len] == '.'))
		return false;
	*out_child = str_from_index(name, from);
	out_child->len = str_find(*out_child, '.');
	return true;
}

/* Has a row before `index` led to the same child? */
static bool is_written(struct str section, size_t index, struct str child)
{
	struct str other;

	for (size_t i = 0; i < index; i++) {
		if (is_below(section, str_from(setting_at(i)->name), &other) &&
		    setting_at(i)->kind != KIND_LATER && str_equal(other, child))
			return true;
	}
	return false;
}

static void write_required(struct json_writer *json, struct str section)
{
	const struct setting *setting;
	bool is_open = false;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		struct str name = str_from(setting->name), child;

		if (!setting->is_required || !is_below(section, name, &child) ||
		    section.len + 1 + child.len != name.len)
			continue;
		if (!is_open) {
			json_name(json, "required");
			json_open_array(json);
		}
		is_open = true;
		json_string(json, child);
	}
	if (is_open)
		json_close_array(json);
}

static void write_child(struct json_writer *json, const char *section, struct str child)
{
	char path[SECTION_MAX];
	const struct setting *setting;

	snprintf(path, sizeof(path), "%s%s%.*s", section, section[0] ? "." : "", STR_ARG(child));
	setting = setting_find(str_from(path));
	if (setting)
		write_setting(json, setting);
	else
		write_section(json, path);
}

static void write_properties(struct json_writer *json, const char *section)
{
	const struct setting *setting;

	json_name(json, "properties");
	json_open_object(json);
	for (size_t i = 0; (setting = setting_at(i)); i++) {
		struct str child;

		if (setting->kind == KIND_LATER ||
		    !is_below(str_from(section), str_from(setting->name), &child) ||
		    is_written(str_from(section), i, child))
			continue;
		json_name_str(json, child);
		write_child(json, section, child);
	}
	json_close_object(json);
}

static void write_keys(struct json_writer *json, const char *section)
{
	write_properties(json, section);
	write_required(json, str_from(section));
	json_name(json, "additionalProperties");
	json_boolean(json, false);
}

/* The members of the object that the rows below `section` make; as deep as names have dots. */
static void write_members(struct json_writer *json, const char *section)
{
	bool has_names = str_equal(str_from(section), STR("upstreams")) ||
			 str_equal(str_from(section), STR("actions"));

	write_pair(json, "type", "object");
	if (has_names) {
		json_name(json, "additionalProperties");
		write_child(json, section, STR("*"));
		return;
	}
	write_keys(json, section);
}

static void write_section(struct json_writer *json, const char *section)
{
	json_open_object(json);
	write_members(json, section);
	json_close_object(json);
}

int settings_write_schema(FILE *out)
{
	struct json_writer json;
	struct buf text;
	bool is_whole;

	buf_init(&text, SCHEMA_MAX);
	json_writer_init(&json, &text);
	json_open_object(&json);
	write_pair(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	write_pair(&json, "title", "Configuration of a Counterfoil gate");
	write_members(&json, "");
	json_name(&json, "$defs");
	json_open_object(&json);
	json_name(&json, "field");
	write_section(&json, "actions.*.fields.*");
	json_close_object(&json);
	json_close_object(&json);
	is_whole = !text.is_spoiled;
	fprintf(out, "%.*s\n", STR_ARG(buf_str(&text)));
	buf_fini(&text);
	return is_whole ? 0 : fail(FAIL_MEMORY);
}
