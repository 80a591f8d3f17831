/*
 * The JSON Schema of a command: what an agent is told before it writes one.
 *
 * Draft 2020-12, from the same declaration that command_read() goes by. The two must not differ
 * in one direction: what the schema refuses, command_read() refuses. So a pattern is handed on
 * only where POSIX and ECMA-262 read it alike (else it is in the description), and an amount is
 * allowed as number and as text. A secret field is writeOnly, and its default and choices stay
 * untold.
 *
 * Depth: one C call a declared level, like the reading.
 */
#include "core/command_internal.h"

#include "base/err.h"
#include "core/money.h"

#include <stdio.h>

enum { SCHEMA_MEMORY_MAX = 1 << 20 };

static void write_record(struct json_writer *json, const struct record *record, struct str token);
static void write_text(struct json_writer *json, const char *name, struct str text);

void command_schema(struct json_writer *json, const struct action *action)
{
	const struct record record = {
		.fields = action->fields,
		.field_count = action->field_count,
		.keeps_unknown = action->keeps_unknown,
	};

	json_open_object(json);
	json_name(json, "$schema");
	json_text(json, "https://json-schema.org/draft/2020-12/schema");
	write_text(json, "title", action->name);
	write_text(json, "description", action->summary);
	if (action->has_fields)
		write_record(json, &record, action->token_pointer);
	json_close_object(json);
}

static void write_text(struct json_writer *json, const char *name, struct str text)
{
	if (text.len == 0)
		return;
	json_pair(json, name, text);
}

static void write_size(struct json_writer *json, const char *name, bool is_set, size_t size)
{
	if (!is_set)
		return;
	json_name(json, name);
	json_integer(json, size > INT64_MAX ? INT64_MAX : (int64_t)size);
}

/* A whole tree as one value; `name` is NULL for an item of an array. */
static void write_value(struct json_writer *json, const char *name, const struct json_value *value)
{
	struct arena mem;

	if (name)
		json_name(json, name);
	if (json->needs_comma)
		(void)buf_append_byte(json->out, ',');
	arena_init(&mem, SCHEMA_MEMORY_MAX);
	if (json_canonical(value, &mem, json->out) != 0)
		json->out->is_spoiled = true;
	arena_fini(&mem);
	json->needs_comma = true;
}

static void write_number(struct json_writer *json, const char *name,
			 const struct json_number *number)
{
	struct json_value value = {.type = JSON_NUMBER};

	if (!number)
		return;
	value.number = *number;
	write_value(json, name, &value);
}

/* Objects */

static void write_field(struct json_writer *json, const struct record *beside,
			const struct action_field *field);
static void write_token(struct json_writer *json, const struct record *record, struct str token);
static void write_required(struct json_writer *json, const struct record *record);

static void write_record(struct json_writer *json, const struct record *record, struct str token)
{
	json_name(json, "type");
	json_text(json, "object");
	json_name(json, "properties");
	json_open_object(json);
	for (size_t i = 0; i < record->field_count; i++) {
		json_name_str(json, record->fields[i].name);
		write_field(json, record, &record->fields[i]);
	}
	write_token(json, record, token);
	json_close_object(json);
	write_required(json, record);
	json_name(json, "additionalProperties");
	json_boolean(json, record->keeps_unknown);
}

/* A token at the top of the body that no field is declared for is allowed nevertheless. */
static void write_token(struct json_writer *json, const struct record *record, struct str token)
{
	struct str name = str_from_index(token, 1);

	if (token.len == 0 || str_find(name, '/') < name.len || str_find(name, '~') < name.len ||
	    record_field(record, name))
		return;
	json_name_str(json, name);
	json_open_object(json);
	json_name(json, "type");
	json_text(json, "string");
	json_name(json, "description");
	json_text(json, "The token of the intended action: the same on every retry of it.");
	json_close_object(json);
}

static bool must_be_sent(const struct action_field *field)
{
	return field->is_required && !field->default_value;
}

static void write_required(struct json_writer *json, const struct record *record)
{
	bool is_open = false;

	for (size_t i = 0; i < record->field_count; i++) {
		if (!must_be_sent(&record->fields[i]))
			continue;
		if (!is_open) {
			json_name(json, "required");
			json_open_array(json);
		}
		is_open = true;
		json_string(json, record->fields[i].name);
	}
	if (is_open)
		json_close_array(json);
}

/* Fields */

static void write_description(struct json_writer *json, const struct action_field *field);
static void write_type(struct json_writer *json, const struct action_field *field);
static void write_string_rules(struct json_writer *json, const struct record *beside,
			       const struct action_field *field);
static void write_money_rules(struct json_writer *json, const struct action_field *field);
static void write_choices(struct json_writer *json, const struct record *beside,
			  const struct action_field *field);

static void write_inner(struct json_writer *json, const struct record *beside,
			const struct action_field *field)
{
	const struct record record = {
		.fields = field->fields,
		.field_count = field->field_count,
		.keeps_unknown = field->keeps_unknown,
	};

	if (field->type == FIELD_OBJECT && field->fields) {
		write_record(json, &record, str_of(NULL, 0));
		return;
	}
	write_type(json, field);
	if (field->type == FIELD_ARRAY && field->fields) {
		json_name(json, "items");
		write_field(json, beside, field->fields);
	}
}

/*
 * A nullable object or array has its rules in one branch and null in the other; scalars say it
 * in their type.
 */
static void write_shape(struct json_writer *json, const struct record *beside,
			const struct action_field *field)
{
	bool has_branches = field->is_nullable && field->type == FIELD_OBJECT && field->fields;

	if (has_branches) {
		json_name(json, "anyOf");
		json_open_array(json);
		json_open_object(json);
	}
	write_inner(json, beside, field);
	if (has_branches) {
		json_close_object(json);
		json_open_object(json);
		json_name(json, "type");
		json_text(json, "null");
		json_close_object(json);
		json_close_array(json);
	}
}

static void write_mark(struct json_writer *json, const char *name, bool is_set)
{
	if (!is_set)
		return;
	json_name(json, name);
	json_boolean(json, true);
}

static void write_field(struct json_writer *json, const struct record *beside,
			const struct action_field *field)
{
	bool is_array = field->type == FIELD_ARRAY;

	json_open_object(json);
	write_description(json, field);
	write_shape(json, beside, field);
	if (field->type == FIELD_STRING)
		write_string_rules(json, beside, field);
	if (field->type == FIELD_MONEY)
		write_money_rules(json, field);
	write_size(json, "minItems", is_array && field->has_minimum_length, field->minimum_length);
	write_size(json, "maxItems", is_array && field->has_maximum_length, field->maximum_length);
	write_number(json, "minimum", field->minimum);
	write_number(json, "maximum", field->maximum);
	if (field->choices && !field->is_secret)
		write_choices(json, beside, field);
	if (field->default_value && !field->is_secret)
		write_value(json, "default", field->default_value);
	write_mark(json, "readOnly", field->is_server_assigned);
	write_mark(json, "writeOnly", field->is_secret);
	json_close_object(json);
}

static const char *const type_names[FIELD_TYPE_COUNT] = {
	[FIELD_STRING] = "string",   [FIELD_INTEGER] = "integer",  [FIELD_DECIMAL] = "number",
	[FIELD_BOOLEAN] = "boolean", [FIELD_REFERENCE] = "string", [FIELD_TIMESTAMP] = "string",
	[FIELD_OBJECT] = "object",   [FIELD_ARRAY] = "array",
};

static void write_reference_rules(struct json_writer *json)
{
	json_name(json, "pattern");
	json_text(json, "^(([A-Za-z0-9._/:-]+@)?(sha256:[0-9A-Fa-f]{64}|sha512:[0-9A-Fa-f]{128})|"
			"[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})$");
}

static void write_type(struct json_writer *json, const struct action_field *field)
{
	bool is_money = field->type == FIELD_MONEY;
	const char *name = is_money ? "number" : type_names[field->type];

	if (!name)
		return;
	json_name(json, "type");
	if (is_money || field->is_nullable)
		json_open_array(json);
	json_text(json, name);
	if (is_money)
		json_text(json, "string");
	if (field->is_nullable)
		json_text(json, "null");
	if (is_money || field->is_nullable)
		json_close_array(json);
	if (field->type == FIELD_REFERENCE)
		write_reference_rules(json);
	if (field->type == FIELD_TIMESTAMP) {
		json_name(json, "format");
		json_text(json, "date-time");
	}
}

static bool is_repeated(struct str pattern, size_t i)
{
	return i < pattern.len && (pattern.at[i] == '*' || pattern.at[i] == '+');
}

/* The index behind the bracket expression that opens at `i`; 0 when it is a doubtful one. */
static size_t bracket_end(struct str pattern, size_t i)
{
	bool is_negated = str_starts_with(str_from_index(pattern, i), STR("[^"));
	size_t first = i + (is_negated ? 2 : 1), end = first;

	while (end < pattern.len && pattern.at[end] != ']') {
		if (pattern.at[end] == '\\' || pattern.at[end] == '[')
			return 0;
		end++;
	}
	if (end == first || end == pattern.len || (is_negated && !is_repeated(pattern, end + 1)))
		return 0;
	return end + 1;
}

/* May the character at `i`, no bracket and no backslash, stand where it does? */
static bool is_plain_operator(struct str pattern, size_t i)
{
	char c = pattern.at[i];

	if (c == '.')
		return is_repeated(pattern, i + 1);
	if (strchr("*+?{", c))
		return i > 0 && !strchr("*+?{(|^", pattern.at[i - 1]);
	return c != '\0';
}

/*
 * Does this expression mean the same to POSIX, which looks at bytes here, and to ECMA-262? A
 * doubtful one does not: classes, escapes that only one of them knows, and what takes exactly
 * one character that may be none of ASCII.
 */
static bool is_portable(struct str pattern)
{
	size_t i = 0;

	while (i < pattern.len) {
		char next = i + 1 < pattern.len ? pattern.at[i + 1] : '\0';

		if (pattern.at[i] == '[') {
			i = bracket_end(pattern, i);
			if (i == 0)
				return false;
		} else if (pattern.at[i] == '\\') {
			if (next == '\0' || !strchr(".[]{}()*+?^$|/\\wb", next))
				return false;
			i += 2;
		} else {
			if (!is_plain_operator(pattern, i))
				return false;
			i++;
		}
	}
	return true;
}

static bool is_pattern_told(const struct action_field *field)
{
	return field->pattern && is_portable(field->pattern_text);
}

static void write_string_rules(struct json_writer *json, const struct record *beside,
			       const struct action_field *field)
{
	bool is_currency = record_has_currency(beside, field);

	write_size(json, "minLength", field->has_minimum_length, field->minimum_length);
	write_size(json, "maxLength", field->has_maximum_length, field->maximum_length);
	/* A currency is brought to upper case before its pattern is looked at. */
	if (is_currency) {
		json_name(json, "pattern");
		json_text(json, "^[A-Za-z]{3}$");
	} else if (is_pattern_told(field)) {
		json_name(json, "pattern");
		json_string(json, field->pattern_text);
	}
}

static void write_money_rules(struct json_writer *json, const struct action_field *field)
{
	int digits = field->currency.len ? money_exponent(field->currency) : 4;
	char pattern[64];

	if (field->is_major && digits > 0)
		snprintf(pattern, sizeof(pattern), "^-?(0|[1-9][0-9]*)(\\.[0-9]{1,%d})?$", digits);
	else
		snprintf(pattern, sizeof(pattern), "^-?(0|[1-9][0-9]*)$");
	json_name(json, "pattern");
	json_text(json, pattern);
}

/* Choices as they stand, where a value can be spelled in one way only. */
static void write_choices(struct json_writer *json, const struct record *beside,
			  const struct action_field *field)
{
	bool has_one_spelling = field->type == FIELD_STRING || field->type == FIELD_INTEGER ||
				field->type == FIELD_DECIMAL || field->type == FIELD_BOOLEAN ||
				field->type == FIELD_ANY;

	if (!has_one_spelling || record_has_currency(beside, field))
		return;
	json_name(json, "enum");
	json_open_array(json);
	for (size_t i = 0; i < field->choice_count; i++) {
		if (field->choices[i]->type != JSON_NULL || !field->is_nullable)
			write_value(json, NULL, field->choices[i]);
	}
	if (field->is_nullable)
		json_null(json);
	json_close_array(json);
}

/* Descriptions: the declared one, and what the keywords cannot say. */

/* A sentence in three pieces. */
static void add_sentence(struct buf *text, struct str start, struct str what, struct str end)
{
	if (text->len)
		(void)buf_append_byte(text, ' ');
	(void)buf_append_str(text, start);
	(void)buf_append_str(text, what);
	(void)buf_append_str(text, end);
}

static void add_money(struct buf *text, const struct action_field *field)
{
	struct str start = field->is_major ? STR("An amount in major units (49.00) of ")
					   : STR("An amount in minor units (4900) of ");

	if (field->currency.len)
		add_sentence(text, start, field->currency, STR("."));
	else
		add_sentence(text, start, field->currency_field, STR(", the field beside it."));
}

static void write_description(struct json_writer *json, const struct action_field *field)
{
	struct buf text;

	buf_init(&text, SCHEMA_MEMORY_MAX);
	(void)buf_append_str(&text, field->text);
	if (field->type == FIELD_MONEY)
		add_money(&text, field);
	if (field->type == FIELD_REFERENCE)
		add_sentence(&text,
			     STR("A reference that never changes: a digest or a full commit id."),
			     str_of(NULL, 0), str_of(NULL, 0));
	if (field->pattern && !is_pattern_told(field))
		add_sentence(&text, STR("Matches the POSIX expression "), field->pattern_text,
			     str_of(NULL, 0));
	if (text.is_spoiled)
		json->out->is_spoiled = true;
	write_text(json, "description", buf_str(&text));
	buf_fini(&text);
}
