/*
 * The reader takes what RFC 8259 allows, into the tree the text describes, and refuses the
 * rest with the place where it goes wrong.
 */
#include "json_test.h"

static void a_tree_has_types_and_places(void **state)
{
	struct parsed parsed;
	const struct json_value *root, *list;

	parsed_init(&parsed, STR("{\n  \"a\": [1, true,\n null],\r\n\t\"b\": \"x\"}"));
	assert_int_equal(parsed.result, 0);
	root = parsed.value;
	assert_int_equal(root->type, JSON_OBJECT);
	assert_int_equal(root->object.count, 2);
	assert_true(str_equal(root->object.members[0].name, STR("a")));
	assert_true(str_equal(root->object.members[1].name, STR("b")));
	assert_true(str_equal(root->object.members[1].value->string, STR("x")));
	list = root->object.members[0].value;
	assert_int_equal(list->type, JSON_ARRAY);
	assert_int_equal(list->array.count, 3);
	assert_int_equal(list->array.items[0]->type, JSON_NUMBER);
	assert_int_equal(list->array.items[1]->type, JSON_TRUE);
	assert_int_equal(list->array.items[2]->type, JSON_NULL);
	assert_int_equal(root->line, 1);
	assert_int_equal(root->column, 1);
	assert_int_equal(list->line, 2);
	assert_int_equal(list->column, 8);
	assert_int_equal(list->array.items[2]->line, 3);
	assert_int_equal(list->array.items[2]->column, 2);
	assert_int_equal(root->object.members[1].value->line, 4);
	assert_int_equal(root->object.members[1].value->column, 7);
	parsed_fini(&parsed);
}

static void faults_have_a_place_and_a_reason(void **state)
{
	static const struct {
		struct str text;
		size_t line, column;
		const char *detail; /* part of it */
	} rows[] = {
		{STR(""), 1, 1, "the end of the text found where a value was expected"},
		{STR(" \n "), 2, 2, "the end of the text"},
		{STR("[1,]"), 1, 4, "']' found where a value was expected"},
		{STR("[1 2]"), 1, 4, "'2' found where ',' or ']' was expected"},
		{STR("[1"), 1, 3, "the end of the text found where ',' or ']' was expected"},
		{STR("[1}"), 1, 3, "'}' found where ',' or ']' was expected"},
		{STR("{\"a\":1,}"), 1, 8, "'}' found where a name in quotes was expected"},
		{STR("{a:1}"), 1, 2, "'a' found where a name in quotes was expected"},
		{STR("{\"a\" 1}"), 1, 6, "'1' found where ':' was expected"},
		{STR("{\"a\":1 \"b\":2}"), 1, 8, "'\"' found where ',' or '}' was expected"},
		{STR("{\n\"a\":1,\n \"b\":x}"), 3, 6, "'x' found where a value was expected"},
		{STR("{}{}"), 1, 3, "'{' found where the end of the text was expected"},
		{STR("1 \0"), 1, 3, "byte 0x00 found where the end of the text was expected"},
		{STR("\xef\xbb\xbf{}"), 1, 1, "byte-order mark"},
		{STR("tru"), 1, 1, "an unknown word"},
		{STR("01"), 1, 1, "leading zero"},
		{STR("-"), 1, 2, "the end of the text found where a digit was expected"},
		{STR("1."), 1, 3, "a digit after the point"},
		{STR("[1e+]"), 1, 5, "']' found where a digit of the exponent was expected"},
		{STR("[1e308]"), 1, 2, "exponent is beyond"},
		{STR("\"ab"), 1, 4, "the end of the text found where the string's closing quote"},
		{STR("\"a\nb\""), 1, 3, "byte 0x0a found where the string's closing quote"},
		{STR("\"a\\x\""), 1, 4, "'x' found where one of"},
		{STR("\"a\\\0\""), 1, 4, "byte 0x00 found where one of"},
		{STR("\"\\u12g4\""), 1, 2, "\\u without four hexadecimal digits"},
		{STR("\"\\ud83d\""), 1, 2, "a high surrogate without a low one"},
		{STR("\"\\ud83d\\ud83d\""), 1, 2, "a high surrogate without a low one"},
		{STR("\"\\ude02\""), 1, 2, "a low surrogate without a high one"},
		{STR("\"a\xc3(\""), 1, 3, "byte 0xc3 found where UTF-8 was expected"},
		{STR("{\"a\":1,\n \"b\":2,\n  \"\\u0061\":3\n}"), 3, 3, "the name \"a\" is in"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct parsed parsed;

		parsed_init(&parsed, rows[i].text);
		if (parsed.result != JSON_REFUSED || parsed.error.line != rows[i].line ||
		    parsed.error.column != rows[i].column ||
		    !strstr(parsed.error.detail, rows[i].detail))
			fail_msg("%.*s: %d, %zu:%zu, %s", STR_ARG(rows[i].text), parsed.result,
				 parsed.error.line, parsed.error.column, parsed.error.detail);
		assert_null(parsed.value);
		parsed_fini(&parsed);
	}
}

static void a_long_name_is_shown_in_part(void **state)
{
	char text[512];
	struct parsed parsed;
	int length;

	length = snprintf(text, sizeof(text), "{\"%0100d\":1,\"%0100d\":2}", 7, 7);
	parsed_init(&parsed, str_of(text, (size_t)length));
	assert_int_equal(parsed.result, JSON_REFUSED);
	assert_non_null(strstr(parsed.error.detail, "0…\" is in its object twice"));
	assert_true(strlen(parsed.error.detail) < 100);
	parsed_fini(&parsed);
}

static void strings_are_unescaped(void **state)
{
	static const struct {
		struct str text, wanted;
	} rows[] = {
		{STR("\"\""), STR("")},
		{STR("\"plain text of more than eight bytes\""),
		 STR("plain text of more than eight bytes")},
		{STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR("\"\\/\b\f\n\r\t")},
		{STR("\"a\\u0000b\""), STR("a\0b")},
		{STR("\"\\u00E9\\u20ac\\uFFFF\""), STR("\u00e9\u20ac\xef\xbf\xbf")},
		{STR("\"x\\ud83d\\ude02y\\uDBFF\\uDFFF\""),
		 STR("x\xf0\x9f\x98\x82y\xf4\x8f\xbf\xbf")},
		{STR("\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\""),
		 STR("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80")},
		{STR("\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
		 STR("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct parsed parsed;

		parsed_init(&parsed, rows[i].text);
		assert_int_equal(parsed.result, 0);
		assert_int_equal(parsed.value->type, JSON_STRING);
		assert_true(str_equal(parsed.value->string, rows[i].wanted));
		parsed_fini(&parsed);
	}
}

static void strings_that_are_no_utf8_are_refused(void **state)
{
	static const struct str rows[] = {
		STR("\"\x80\""),
		STR("\"\xc0\xaf\""),
		STR("\"\xc1\xbf\""),
		STR("\"\xe0\x9f\xbf\""),
		STR("\"\xed\xa0\x80\""),
		STR("\"\xed\xbf\xbf\""),
		STR("\"\xf0\x8f\xbf\xbf\""),
		STR("\"\xf4\x90\x80\x80\""),
		STR("\"\xf5\x80\x80\x80\""),
		STR("\"\xff\""),
		STR("\"\xe2\x82\""),
		STR("\"\xf0\x9f\x98\""),
		STR("\"\xe2\x82"),
		STR("{\"\xc3\":1}"),
		STR("\"12345678\xfe\""),
		STR("\"1234567\x1f\""),
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(result_of(rows[i]), JSON_REFUSED);
}

/* A special byte is seen at each place of the eight that are looked at together. */
static void every_byte_of_a_word_is_looked_at(void **state)
{
	static const unsigned char special[] = {0x00, 0x1f, '"', '\\', 0x80, 0xff};

	assert_int_equal(result_of(STR("\"111111111111111111111111\"")), 0);
	for (size_t place = 0; place < 24; place++) {
		for (size_t i = 0; i < sizeof(special); i++) {
			char text[] = "\"111111111111111111111111\"";

			text[1 + place] = (char)special[i];
			assert_int_equal(result_of(str_of(text, sizeof(text) - 1)), JSON_REFUSED);
		}
	}
}

/* `open` times `depth`, `middle`, `close` times `depth`. */
static struct str nested(const char *open, const char *middle, const char *close, size_t depth,
			 struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < depth; i++)
		assert_int_equal(buf_append_str(out, str_from(open)), 0);
	assert_int_equal(buf_append_str(out, str_from(middle)), 0);
	for (size_t i = 0; i < depth; i++)
		assert_int_equal(buf_append_str(out, str_from(close)), 0);
	return buf_str(out);
}

static void depth_128_is_read_and_129_is_not(void **state)
{
	struct parsed parsed;
	struct buf text;

	buf_init(&text, 1 << 20);
	assert_int_equal(result_of(nested("[", "", "]", 128, &text)), 0);
	assert_int_equal(result_of(nested("{\"a\":", "1", "}", 128, &text)), 0);
	assert_int_equal(result_of(nested("[{\"a\":", "1", "}]", 64, &text)), 0);
	assert_canonical(nested("[{\"a\":", "1", "}]", 64, &text), buf_str(&text));
	assert_int_equal(result_of(nested("{\"a\":", "1", "}", 129, &text)), JSON_REFUSED);
	assert_int_equal(result_of(nested("[", "", "", 100000, &text)), JSON_REFUSED);
	parsed_init(&parsed, nested("[", "", "]", 129, &text));
	assert_int_equal(parsed.result, JSON_REFUSED);
	assert_int_equal(parsed.error.column, 129);
	assert_non_null(strstr(parsed.error.detail, "more than 128 deep"));
	parsed_fini(&parsed);
	buf_fini(&text);
}

/* A limit far over what a C stack would bear, both ways. */
static void depth_is_no_matter_of_the_stack(void **state)
{
	struct json_limits limits = json_limits_default;
	struct json_error error;
	struct json_value *value;
	struct buf text, out;
	struct arena mem;

	limits.depth = 500000;
	buf_init(&text, 4 << 20);
	buf_init(&out, 4 << 20);
	arena_init(&mem, 512 << 20);
	assert_int_equal(
		json_read(nested("[", "", "]", 500000, &text), &limits, &mem, &value, &error), 0);
	assert_int_equal(json_canonical(value, &mem, &out), 0);
	assert_true(str_equal(buf_str(&text), buf_str(&out)));
	arena_fini(&mem);
	buf_fini(&text);
	buf_fini(&out);
}

static void a_million_values_are_read_and_one_more_is_not(void **state)
{
	const size_t count = 999999; /* and the array itself */
	struct parsed parsed;
	struct buf text;

	buf_init(&text, 4 << 20);
	parsed_init(&parsed, nested("[1", "", "", 1, &text));
	parsed_fini(&parsed);
	buf_clear(&text);
	buf_append_byte(&text, '[');
	for (size_t i = 0; i < count; i++)
		buf_append(&text, i ? ",1" : "1", i ? 2 : 1);
	buf_append_byte(&text, ']');
	assert_false(text.is_spoiled);
	parsed_init(&parsed, buf_str(&text));
	assert_int_equal(parsed.result, 0);
	assert_int_equal(parsed.value->array.count, count);
	parsed_fini(&parsed);

	text.at[text.len - 1] = ',';
	buf_append(&text, "1]", 2);
	parsed_init(&parsed, buf_str(&text));
	assert_int_equal(parsed.result, JSON_REFUSED);
	assert_int_equal(parsed.error.column, text.len - 1);
	assert_non_null(strstr(parsed.error.detail, "more than 1000000 values"));
	parsed_fini(&parsed);
	buf_fini(&text);
}

static void many_members(struct buf *text, size_t count, size_t twin)
{
	buf_clear(text);
	for (size_t i = 0; i < count; i++)
		buf_printf(text, "%c\"a name with a long beginning %zu\":0", i ? ',' : '{',
			   (i * 7919) % count);
	if (twin < count)
		buf_printf(text, ",\"a name with a long beginning %zu\":0", twin);
	buf_append_byte(text, '}');
	assert_false(text->is_spoiled);
}

static void twins_are_found_among_any_number_of_members(void **state)
{
	static const size_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 1000, 100000};
	struct buf text;

	buf_init(&text, 16 << 20);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		many_members(&text, counts[i], SIZE_MAX);
		assert_int_equal(result_of(buf_str(&text)), 0);
		many_members(&text, counts[i], 0);
		assert_int_equal(result_of(buf_str(&text)), JSON_REFUSED);
		many_members(&text, counts[i], counts[i] / 2);
		assert_int_equal(result_of(buf_str(&text)), JSON_REFUSED);
		many_members(&text, counts[i], counts[i] - 1);
		assert_int_equal(result_of(buf_str(&text)), JSON_REFUSED);
	}
	buf_fini(&text);
}

static void names_are_one_only_if_every_byte_is(void **state)
{
	assert_int_equal(result_of(STR("{\"\":1,\"\":2}")), JSON_REFUSED);
	assert_int_equal(result_of(STR("{\"a\\/b\":1,\"a/b\":2}")), JSON_REFUSED);
	assert_int_equal(result_of(STR("{\"\\u00e9\":1,\"\xc3\xa9\":2}")), JSON_REFUSED);
	assert_int_equal(result_of(STR("{\"a\":1,\"A\":2}")), 0);
	assert_int_equal(result_of(STR("{\"e\\u0301\":1,\"\\u00e9\":2}")), 0);
	assert_int_equal(result_of(STR("{\"\":1,\"\\u0000\":2,\"\\u0000\\u0000\":3}")), 0);
	assert_int_equal(result_of(STR("{\"12345678\":1,\"12345678\\u0000\":2}")), 0);
	assert_int_equal(result_of(STR("{\"a\":{\"b\":1},\"b\":{\"b\":1}}")), 0);
}

/* Repeat `piece` in an array until the text has at least `size` bytes. */
static struct str repeated(const char *piece, size_t size, struct buf *out)
{
	buf_clear(out);
	buf_append_byte(out, '[');
	while (out->len < size) {
		buf_append_str(out, str_from(piece));
		buf_append_byte(out, ',');
	}
	out->at[out->len - 1] = ']';
	assert_false(out->is_spoiled);
	return buf_str(out);
}

/* Seventeen and more are merged, which takes room of its own. */
#define MANY_MEMBERS                                                                               \
	"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"        \
	"\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1,\"r\":1,\"s\":1,\"t\":1}"

static void a_text_costs_what_the_header_says(void **state)
{
	static const char *const pieces[] = {
		"1",
		"[]",
		"{}",
		"[1]",
		"[[]]",
		"\"\\n\"",
		"1.1",
		"{\"\":1}",
		"{\"\":{}}",
		"{\"\":[1]}",
		"[[[[[[]]]]]]",
		"[-1.1]",
		"{\"\":1,\"a\":1}",
		"{\"\\n\":1,\"a\":{\"\":1}}",
		"[{}]",
		MANY_MEMBERS,
	};
	struct buf text, deep;

	buf_init(&text, 1 << 20);
	buf_init(&deep, 1 << 10);
	for (size_t i = 0; i <= sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct parsed parsed;
		bool is_deep = i == sizeof(pieces) / sizeof(pieces[0]);

		nested("[", "", "]", 127, &deep);
		buf_append_byte(&deep, '\0');
		parsed_init(&parsed, repeated(is_deep ? deep.at : pieces[i], 200000, &text));
		assert_int_equal(parsed.result, 0);
		assert_true(parsed.mem.used <= 32 * text.len + 16384);
		parsed_fini(&parsed);
	}
	buf_fini(&text);
	buf_fini(&deep);
}

/* Whatever the ceiling, the answer is FAIL_MEMORY or the whole tree, and nothing leaks. */
static void a_full_arena_is_a_failure_at_every_piece(void **state)
{
	struct json_error error;
	struct json_value *value;
	struct arena mem;
	struct buf text, out;
	size_t needed = 0;
	bool was_read = false;

	buf_init(&text, 1 << 16);
	buf_init(&out, 1 << 16);
	nested("[{\"a\":", "[1.25,\"\\n\",{\"b\":1,\"c\":null}]", "}]", 20, &text);
	for (size_t ceiling = 0; ceiling < 65536 && needed == 0; ceiling += 16) {
		int r;

		value = NULL;
		buf_clear(&out);
		arena_init(&mem, ceiling);
		r = json_read(buf_str(&text), &json_limits_default, &mem, &value, &error);
		if (r == 0) {
			was_read = true;
			r = json_canonical(value, &mem, &out);
			if (r == 0)
				needed = ceiling;
		} else {
			assert_null(value);
			assert_false(was_read);
		}
		assert_true(r == 0 || r == FAIL_MEMORY);
		arena_fini(&mem);
	}
	assert_true(was_read);
	assert_true(needed > 0);
	buf_fini(&text);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_has_types_and_places),
		cmocka_unit_test(faults_have_a_place_and_a_reason),
		cmocka_unit_test(a_long_name_is_shown_in_part),
		cmocka_unit_test(strings_are_unescaped),
		cmocka_unit_test(strings_that_are_no_utf8_are_refused),
		cmocka_unit_test(every_byte_of_a_word_is_looked_at),
		cmocka_unit_test(depth_128_is_read_and_129_is_not),
		cmocka_unit_test(depth_is_no_matter_of_the_stack),
		cmocka_unit_test(a_million_values_are_read_and_one_more_is_not),
		cmocka_unit_test(twins_are_found_among_any_number_of_members),
		cmocka_unit_test(names_are_one_only_if_every_byte_is),
		cmocka_unit_test(a_text_costs_what_the_header_says),
		cmocka_unit_test(a_full_arena_is_a_failure_at_every_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
