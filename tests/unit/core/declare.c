/* Declarations from JSON, for tests. What is not understood fails the test. */
#include "declare.h"

static struct action_field *declare_fields(const struct json_value *fields, struct arena *mem);

struct json_value *declare_json(const char *text, struct arena *mem)
{
	struct json_value *value;
	struct json_error error;

	if (json_read(str_from(text), &json_limits_default, mem, &value, &error) != 0)
		fail_msg("%zu:%zu: %s in %s", error.line, error.column, error.detail, text);
	return value;
}

struct action declare_action(const struct json_value *fields, struct arena *mem)
{
	return (struct action){
		.name = STR("things.create"),
		.summary = STR("Create {title}"),
		.fields = declare_fields(fields, mem),
		.field_count = fields->object.count,
		.has_fields = true,
	};
}

static void forget_fields(struct action_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fields[i].pattern)
			matcher_fini(fields[i].pattern);
		forget_fields(fields[i].fields, fields[i].field_count);
	}
}

void declare_forget(struct action *action)
{
	forget_fields(action->fields, action->field_count);
}

static struct str text_of(const struct json_value *object, const char *name)
{
	const struct json_value *value = json_member(object, str_from(name));

	return value ? value->string : str_of(NULL, 0);
}

static bool is_on(const struct json_value *object, const char *name)
{
	const struct json_value *value = json_member(object, str_from(name));

	return value && value->type == JSON_TRUE;
}

static bool size_of(const struct json_value *object, const char *name, size_t *out_size)
{
	const struct json_value *value = json_member(object, str_from(name));
	int64_t size;

	if (!value)
		return false;
	assert_true(json_number_to_i64(&value->number, &size));
	*out_size = (size_t)size;
	return true;
}

static const struct json_number *number_of(const struct json_value *object, const char *name)
{
	const struct json_value *value = json_member(object, str_from(name));

	return value ? &value->number : NULL;
}

static struct matcher *compile(struct str pattern, struct arena *mem)
{
	struct matcher *compiled = arena_alloc(mem, sizeof(*compiled));
	struct str copy = arena_str(mem, pattern);

	assert_non_null(compiled);
	assert_int_equal(matcher_init(compiled, copy.at), 0);
	return compiled;
}

static void declare_choices(const struct json_value *declared, struct arena *mem,
			    struct action_field *field)
{
	const struct json_value *choices = json_member(declared, STR("enum"));

	if (!choices)
		return;
	field->choice_count = choices->array.count;
	field->choices = arena_alloc(mem, field->choice_count * sizeof(field->choices[0]));
	assert_non_null(field->choices);
	for (size_t i = 0; i < field->choice_count; i++)
		field->choices[i] = choices->array.items[i];
}

static void declare_money(const struct json_value *declared, const struct json_value *beside,
			  struct action_field *field)
{
	struct str currency = text_of(declared, "currency");

	if (json_member(beside, currency))
		field->currency_field = currency;
	else
		field->currency = currency;
	field->is_major = str_equal(text_of(declared, "unit"), STR("major"));
}

static void declare_field(const struct json_value *declared, const struct json_value *beside,
			  struct arena *mem, struct action_field *field)
{
	const struct json_value *fields = json_member(declared, STR("fields"));
	const struct json_value *items = json_member(declared, STR("items"));

	assert_true(field_type_from(text_of(declared, "type"), &field->type));
	field->is_required = is_on(declared, "required");
	field->is_nullable = is_on(declared, "nullable");
	field->is_server_assigned = is_on(declared, "server_assigned");
	field->is_secret = is_on(declared, "secret");
	field->text = text_of(declared, "description");
	field->default_value = json_member(declared, STR("default"));
	field->has_minimum_length = size_of(declared, "min_length", &field->minimum_length);
	field->has_maximum_length = size_of(declared, "max_length", &field->maximum_length);
	field->minimum = number_of(declared, "min");
	field->maximum = number_of(declared, "max");
	field->keeps_unknown = str_equal(text_of(declared, "unknown_fields"), STR("keep"));
	field->pattern_text = text_of(declared, "pattern");
	if (field->pattern_text.len)
		field->pattern = compile(field->pattern_text, mem);
	declare_choices(declared, mem, field);
	if (field->type == FIELD_MONEY)
		declare_money(declared, beside, field);
	if (fields) {
		field->fields = declare_fields(fields, mem);
		field->field_count = fields->object.count;
	}
	if (items) {
		field->fields = arena_zalloc(mem, sizeof(*field->fields));
		assert_non_null(field->fields);
		field->field_count = 1;
		declare_field(items, beside, mem, field->fields);
	}
}

static struct action_field *declare_fields(const struct json_value *fields, struct arena *mem)
{
	struct action_field *declared;

	declared = arena_zalloc(mem, fields->object.count * sizeof(*declared) + 1);
	assert_non_null(declared);
	for (size_t i = 0; i < fields->object.count; i++) {
		declared[i].name = fields->object.members[i].name;
		declare_field(fields->object.members[i].value, fields, mem, &declared[i]);
	}
	return declared;
}
