/* The JSON Schema says of every field what the reading of a command asks of it. */
#include "core/command.h"
#include "declare.h"

static struct arena mem;

/* The schema of an action, which is JSON or the test fails. */
static struct json_value *schema_of(struct action *action)
{
	struct json_writer json;
	struct json_value *schema;
	struct buf out;

	buf_init(&out, 1 << 20);
	json_writer_init(&json, &out);
	command_schema(&json, action);
	assert_false(out.is_spoiled);
	assert_int_equal(buf_append_byte(&out, '\0'), 0);
	schema = declare_json(arena_str(&mem, buf_str(&out)).at, &mem);
	buf_fini(&out);
	return schema;
}

static void expect_at(struct json_value *schema, const char *pointer, const char *want)
{
	const struct json_value *found = json_at(schema, str_from(pointer));
	struct buf text;

	if (!found)
		fail_msg("nothing at %s", pointer);
	buf_init(&text, 1 << 16);
	assert_int_equal(json_canonical(found, &mem, &text), 0);
	if (!str_equal(buf_str(&text), str_from(want)))
		fail_msg("%s: %.*s", pointer, STR_ARG(buf_str(&text)));
	buf_fini(&text);
}

/* What the schema says of the one field "f". */
static void expect_field(const char *declared, const char *want)
{
	struct str fields = arena_printf(&mem, "{\"f\":%s}", declared);
	struct action action = declare_action(declare_json(fields.at, &mem), &mem);

	expect_at(schema_of(&action), "/properties/f", want);
	declare_forget(&action);
}

static void test_whole(void **state)
{
	struct action action = declare_action(
		declare_json("{\"a\":{\"type\":\"string\",\"required\":true},\"b\":{\"type\":"
			     "\"integer\","
			     "\"required\":true,\"default\":1},\"c\":{\"type\":\"boolean\"}}",
			     &mem),
		&mem);

	expect_at(schema_of(&action), "",
		  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
		  "\"additionalProperties\":false,\"description\":\"Create {title}\","
		  "\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"default\":1,\"type\":"
		  "\"integer\"},\"c\":{\"type\":\"boolean\"}},\"required\":[\"a\"],\"title\":"
		  "\"things.create\",\"type\":\"object\"}");
	action.keeps_unknown = true;
	expect_at(schema_of(&action), "/additionalProperties", "true");
	action.token_pointer = STR("/key");
	expect_at(schema_of(&action), "/properties/key/type", "\"string\"");
	action.has_fields = false;
	assert_null(json_at(schema_of(&action), STR("/type")));
}

static void test_scalars(void **state)
{
	expect_field("{\"type\":\"decimal\",\"min\":0.5,\"max\":1e3,\"description\":\"How much\"}",
		     "{\"description\":\"How much\",\"maximum\":1000,\"minimum\":0.5,\"type\":"
		     "\"number\"}");
	expect_field("{\"type\":\"string\",\"min_length\":1,\"max_length\":9,\"nullable\":true}",
		     "{\"maxLength\":9,\"minLength\":1,\"type\":[\"string\",\"null\"]}");
	expect_field("{\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"default\":\"a\"}",
		     "{\"default\":\"a\",\"enum\":[\"a\",\"b\"],\"type\":\"string\"}");
	expect_field("{\"type\":\"integer\",\"enum\":[1,null],\"nullable\":true}",
		     "{\"enum\":[1,null],\"type\":[\"integer\",\"null\"]}");
	expect_field("{\"type\":\"timestamp\"}", "{\"format\":\"date-time\",\"type\":\"string\"}");
	expect_field("{\"type\":\"any\"}", "{}");
	expect_field("{\"type\":\"string\",\"server_assigned\":true}",
		     "{\"readOnly\":true,\"type\":\"string\"}");
	expect_field("{\"type\":\"string\",\"secret\":true,\"enum\":[\"hush\"]}",
		     "{\"type\":\"string\",\"writeOnly\":true}");
	expect_field("{\"type\":\"string\",\"secret\":true,\"default\":\"hush\"}",
		     "{\"type\":\"string\",\"writeOnly\":true}");
}

static void test_patterns(void **state)
{
	static const char *const told[] = {"^[a-z]+-[0-9]{2}$", "^a\\\\.b$", "[^/]+", "a.*b",
					   "x|y"};
	static const char *const untold[] = {
		"^[[:alpha:]]$", "[]a]", "[^]a]*", "[\\\\d]", "\\\\<a", "a\\\\S", "^.$", "^[^a]$",
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct str field =
			arena_printf(&mem, "{\"type\":\"string\",\"pattern\":\"%s\"}", told[i]);
		struct str want =
			arena_printf(&mem, "{\"pattern\":\"%s\",\"type\":\"string\"}", told[i]);

		expect_field(field.at, want.at);
	}
	for (size_t i = 0; i < sizeof(untold) / sizeof(untold[0]); i++) {
		struct str field =
			arena_printf(&mem, "{\"type\":\"string\",\"pattern\":\"%s\"}", untold[i]);
		struct str want = arena_printf(
			&mem,
			"{\"description\":\"Matches the POSIX expression %s\",\"type\":\"string\"}",
			untold[i]);

		expect_field(field.at, want.at);
	}
}

static void test_money(void **state)
{
	struct action action = declare_action(
		declare_json("{\"amount\":{\"type\":\"money\",\"currency\":\"currency\",\"unit\":"
			     "\"minor\",\"min\":1},\"currency\":{\"type\":\"string\",\"enum\":["
			     "\"EUR\"]}}",
			     &mem),
		&mem);
	struct json_value *schema = schema_of(&action);

	expect_at(
		schema, "/properties/amount",
		"{\"description\":\"An amount in minor units (4900) of currency, the field beside "
		"it.\",\"minimum\":1,\"pattern\":\"^-?(0|[1-9][0-9]*)$\",\"type\":[\"number\","
		"\"string\"]}");
	expect_at(schema, "/properties/currency",
		  "{\"pattern\":\"^[A-Za-z]{3}$\",\"type\":\"string\"}");
	expect_field("{\"type\":\"money\",\"currency\":\"KWD\",\"unit\":\"major\"}",
		     "{\"description\":\"An amount in major units (49.00) of KWD.\",\"pattern\":"
		     "\"^-?(0|[1-9][0-9]*)(\\\\.[0-9]{1,3})?$\",\"type\":[\"number\",\"string\"]}");
}

static void test_nested(void **state)
{
	expect_field(
		"{\"type\":\"object\",\"fields\":{\"n\":{\"type\":\"integer\",\"required\":true}},"
		"\"unknown_fields\":\"keep\"}",
		"{\"additionalProperties\":true,\"properties\":{\"n\":{\"type\":\"integer\"}},"
		"\"required\":[\"n\"],\"type\":\"object\"}");
	expect_field("{\"type\":\"object\"}", "{\"type\":\"object\"}");
	expect_field("{\"type\":\"object\",\"nullable\":true,\"fields\":{}}",
		     "{\"anyOf\":[{\"additionalProperties\":false,\"properties\":{},\"type\":"
		     "\"object\"},{\"type\":\"null\"}]}");
	expect_field("{\"type\":\"array\",\"min_length\":1,\"items\":{\"type\":\"boolean\"}}",
		     "{\"items\":{\"type\":\"boolean\"},\"minItems\":1,\"type\":\"array\"}");
}

static int open_memory(void **state)
{
	arena_init(&mem, 16 << 20);
	return 0;
}

static int close_memory(void **state)
{
	arena_fini(&mem);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	 cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_money),
		cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests(tests, open_memory, close_memory);
}
