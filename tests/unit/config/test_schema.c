/*
 * Shows that the JSON Schema of a configuration has every setting of the table where it
 * belongs, and its bounds.
 */
#include "config/settings.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SCHEMA_MEMORY = 4 << 20 };

#define ACTION "/properties/actions/additionalProperties/properties/"

static struct json_value *read_schema(struct arena *mem, char **out_text)
{
	struct json_value *schema = NULL;
	struct json_error error;
	size_t len;
	FILE *out = open_memstream(out_text, &len);

	assert_non_null(out);
	assert_int_equal(settings_write_schema(out), 0);
	assert_int_equal(fclose(out), 0);
	if (json_read(str_of(*out_text, len), &json_limits_default, mem, &schema, &error) != 0)
		fail_msg("%zu:%zu: %s", error.line, error.column, error.detail);
	return schema;
}

/* "actions.*.fields.*.type" as the pointer to its schema; conditions are items of a list. */
static void pointer_of(const char *name, char out[512])
{
	static const char field[] = "actions.*.fields.*";
	bool is_field = strncmp(name, field, sizeof(field) - 1) == 0;
	struct str rest = str_from(is_field ? name + sizeof(field) : name), part;
	int len = snprintf(out, 512, "%s", is_field ? "/$defs/field" : "");

	while (str_split(&rest, '.', &part)) {
		if (part.at[0] != '*')
			len += snprintf(out + len, 512 - (size_t)len, "/properties/%.*s",
					STR_ARG(part));
		else
			len += snprintf(out + len, 512 - (size_t)len, "%s",
					strstr(out, "failed_when") ? "/items"
					: strstr(out, "/when")	   ? "/anyOf/1/items"
								   : "/additionalProperties");
	}
}

static void every_row_has_its_place(void **state)
{
	struct arena mem;
	struct settings_row row;
	struct json_value *schema;
	char *text, pointer[512];

	arena_init(&mem, SCHEMA_MEMORY);
	schema = read_schema(&mem, &text);
	for (size_t i = 0; settings_row_at(i, &row); i++) {
		const struct json_value *found;

		pointer_of(row.name, pointer);
		found = json_at(schema, str_from(pointer));
		if (!found || !json_member(found, STR("description")))
			fail_msg("%s is not at %s", row.name, pointer);
	}
	arena_fini(&mem);
	free(text);
}

static void it_says_what_values_may_be(void **state)
{
	struct arena mem;
	const struct json_value *found;
	struct json_value *schema;
	char *text;
	int64_t number;

	arena_init(&mem, SCHEMA_MEMORY);
	schema = read_schema(&mem, &text);
	found = json_at(schema, STR("/$defs/field/properties/type/enum/4"));
	assert_true(found && str_equal(found->string, STR("money")));
	found = json_at(schema, STR("/$defs/field/properties/items/$ref"));
	assert_true(found && str_equal(found->string, STR("#/$defs/field")));
	found = json_at(schema, STR("/properties/tokens/properties/max_waiters/maximum"));
	assert_true(found && json_number_to_i64(&found->number, &number) && number == 1000000);
	found = json_at(schema, STR("/properties/actions/additionalProperties/required/0"));
	assert_true(found && str_equal(found->string, STR("route")));
	found = json_at(schema, STR("/$defs/field/additionalProperties"));
	assert_true(found && found->type == JSON_FALSE);
	assert_non_null(json_at(schema, STR(ACTION "approval/properties/when/anyOf/0/const")));
	found = json_at(schema,
			STR(ACTION "approval/properties/when/anyOf/1/items/additionalProperties"));
	assert_true(found && found->type == JSON_FALSE);
	found = json_at(schema, STR(ACTION "downstream_key/type/1"));
	assert_true(found && str_equal(found->string, STR("object")));
	found = json_at(schema,
			STR(ACTION "probe/properties/found/properties/status/items/maximum"));
	assert_true(found && json_number_to_i64(&found->number, &number) && number == 299);
	found = json_at(schema, STR(ACTION "unique/required/0"));
	assert_true(found && str_equal(found->string, STR("by")));
	found = json_at(schema, STR(ACTION "failed_when/items/additionalProperties"));
	assert_true(found && found->type == JSON_FALSE);
	arena_fini(&mem);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_its_place),
		cmocka_unit_test(it_says_what_values_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
