/* The writer puts commas, colons and escapes where they belong, and says when it could not. */
#include "json_test.h"

static void pieces_become_one_text(void **state)
{
	struct json_writer writer;
	struct buf out;

	buf_init(&out, 4096);
	json_writer_init(&writer, &out);
	json_open_object(&writer);
	json_name(&writer, "list");
	json_open_array(&writer);
	json_integer(&writer, INT64_MIN);
	json_integer(&writer, INT64_MAX);
	json_integer(&writer, 0);
	json_open_array(&writer);
	json_close_array(&writer);
	json_open_object(&writer);
	json_close_object(&writer);
	json_null(&writer);
	json_close_array(&writer);
	json_name_str(&writer, STR("q\"q"));
	json_boolean(&writer, true);
	json_name(&writer, "f");
	json_boolean(&writer, false);
	json_name(&writer, "text");
	json_text(&writer, "a");
	json_name(&writer, "none");
	json_text(&writer, NULL);
	json_name(&writer, "when");
	json_time(&writer, 1769847300250);
	json_close_object(&writer);
	assert_false(out.is_spoiled);
	assert_true(str_equal(buf_str(&out),
			      STR("{\"list\":[-9223372036854775808,9223372036854775807,0,[],{},"
				  "null],\"q\\\"q\":true,\"f\":false,\"text\":\"a\",\"none\":null,"
				  "\"when\":\"2026-01-31T08:15:00.250Z\"}")));
	assert_int_equal(result_of(buf_str(&out)), 0);
	buf_fini(&out);
}

static void pairs_are_names_and_texts(void **state)
{
	struct json_writer writer;
	struct buf out;

	buf_init(&out, 4096);
	json_writer_init(&writer, &out);
	json_open_object(&writer);
	json_pair(&writer, "a", STR("plain"));
	json_pair(&writer, "b", STR("\"\n"));
	json_pair(&writer, "c", STR(""));
	json_pair(&writer, "d", STR("\xff"));
	json_close_object(&writer);
	assert_true(str_equal(
		buf_str(&out),
		STR("{\"a\":\"plain\",\"b\":\"\\\"\\n\",\"c\":\"\",\"d\":\"\xef\xbf\xbd\"}")));
	buf_fini(&out);
	buf_init(&out, 8);
	json_writer_init(&writer, &out);
	json_pair(&writer, "a", STR("too long"));
	assert_true(out.is_spoiled);
	assert_int_equal(out.len, 0);
	buf_fini(&out);
}

static void assert_written(struct str text, struct str wanted)
{
	struct json_writer writer;
	struct buf out;

	buf_init(&out, 4096);
	json_writer_init(&writer, &out);
	json_string(&writer, text);
	assert_true(str_equal(buf_str(&out), wanted));
	assert_int_equal(result_of(buf_str(&out)), 0);
	buf_fini(&out);
}

static void strings_are_escaped(void **state)
{
	assert_written(STR(""), STR("\"\""));
	assert_written(str_of(NULL, 0), STR("\"\""));
	assert_written(STR("plain / text \x7f"), STR("\"plain / text \x7f\""));
	assert_written(STR("\"\\\b\f\n\r\t"), STR("\"\\\"\\\\\\b\\f\\n\\r\\t\""));
	assert_written(STR("a\0b\x1f"), STR("\"a\\u0000b\\u001f\""));
	assert_written(STR("\xc3\xa9\xf0\x9f\x98\x82"), STR("\"\xc3\xa9\xf0\x9f\x98\x82\""));
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
	assert_written(STR("a\xff\x62"), STR("\"a\xef\xbf\xbd\x62\""));
	assert_written(STR("\xc3"), STR("\"\xef\xbf\xbd\""));
	assert_written(STR("\xed\xa0\x80"), STR("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
	assert_written(STR("\xe2\x82\"\xc3\xa9"), STR("\"\xef\xbf\xbd\xef\xbf\xbd\\\"\xc3\xa9\""));
}

/* Every byte, in every company of two, comes back as itself when it is ASCII. */
static void what_is_written_reads_as_it_was(void **state)
{
	struct json_writer writer;
	struct parsed parsed;
	struct buf out;

	buf_init(&out, 4096);
	for (int a = 0; a < 128; a++) {
		for (int b = 0; b < 128; b++) {
			const char pair[2] = {(char)a, (char)b};

			buf_clear(&out);
			json_writer_init(&writer, &out);
			json_string(&writer, str_of(pair, 2));
			parsed_init(&parsed, buf_str(&out));
			assert_int_equal(parsed.result, 0);
			assert_true(str_equal(parsed.value->string, str_of(pair, 2)));
			parsed_fini(&parsed);
		}
	}
	buf_fini(&out);
}

static void a_full_buffer_is_remembered(void **state)
{
	struct json_writer writer;
	struct buf out;

	buf_init(&out, 8);
	json_writer_init(&writer, &out);
	json_open_array(&writer);
	json_text(&writer, "123456");
	assert_true(out.is_spoiled);
	json_close_array(&writer);
	assert_true(out.is_spoiled);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_become_one_text),
		cmocka_unit_test(pairs_are_names_and_texts),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
		cmocka_unit_test(what_is_written_reads_as_it_was),
		cmocka_unit_test(a_full_buffer_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
