/* Equal values have one canonical text; values that differ in anything have two. */
#include "json_test.h"

static void numbers_have_one_spelling(void **state)
{
	static const struct {
		struct str text, wanted;
	} rows[] = {
		{STR("-0"), STR("0")},
		{STR("49.00"), STR("49")},
		{STR("1E0"), STR("1")},
		{STR("1E30"), STR("1e+30")},
		{STR("4.50"), STR("4.5")},
		{STR("2e-3"), STR("0.002")},
		{STR("0.000000000000000000000000001"), STR("1e-27")},
		{STR("0.000001"), STR("0.000001")},
		{STR("0.0000012"), STR("0.0000012")},
		{STR("0.0000001"), STR("1e-7")},
		{STR("-1.25e-7"), STR("-1.25e-7")},
		{STR("1e20"), STR("100000000000000000000")},
		{STR("123e18"), STR("123000000000000000000")},
		{STR("1e21"), STR("1e+21")},
		{STR("-12.5e20"), STR("-1.25e+21")},
		{STR("123456789012345678901"), STR("123456789012345678901")},
		{STR("1234567890123456789012"), STR("1.234567890123456789012e+21")},
		{STR("-1e307"), STR("-1e+307")},
		{STR("1e-307"), STR("1e-307")},
		{STR("10.01"), STR("10.01")},
		{STR("0.1"), STR("0.1")},
		/* doubles, printed as short as they can be (RFC 8785, appendix B) */
		{STR("9007199254740992"), STR("9007199254740992")},
		{STR("-9007199254740992"), STR("-9007199254740992")},
		{STR("295147905179352830000"), STR("295147905179352830000")},
		{STR("9.999999999999997e22"), STR("9.999999999999997e+22")},
		{STR("1e23"), STR("1e+23")},
		{STR("1.0000000000000001e23"), STR("1.0000000000000001e+23")},
		{STR("999999999999999700000"), STR("999999999999999700000")},
		{STR("999999999999999900000"), STR("999999999999999900000")},
		{STR("9.999999999999997e-7"), STR("9.999999999999997e-7")},
		{STR("333333333.33333325"), STR("333333333.33333325")},
		{STR("-0.0000033333333333333333"), STR("-0.0000033333333333333333")},
		{STR("1424953923781206.2"), STR("1424953923781206.2")},
		/* and what a double would lose */
		{STR("9007199254740993"), STR("9007199254740993")},
		{STR("0.10000000000000001"), STR("0.10000000000000001")},
		{STR("295147905179352825856"), STR("295147905179352825856")},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_canonical(rows[i].text, rows[i].wanted);
}

static void strings_have_one_spelling(void **state)
{
	assert_canonical(STR("\"\\u0041\\/\\u002f\\u00e9\\ud83d\\ude02\""),
			 STR("\"A//\xc3\xa9\xf0\x9f\x98\x82\""));
	assert_canonical(STR("\"\\u0022\\u005c\\u0008\\u0009\\u000A\\u000c\\u000D\""),
			 STR("\"\\\"\\\\\\b\\t\\n\\f\\r\""));
	assert_canonical(STR("\"\\u0000\\u001F\\u001b\x7f\\u2028\""),
			 STR("\"\\u0000\\u001f\\u001b\x7f\xe2\x80\xa8\""));
}

static void white_space_is_left_out_and_order_of_items_kept(void **state)
{
	assert_canonical(STR(" { \"b\" : [ 3 , 1,\n2, [], {} ] ,\t\"a\" : null }\r\n"),
			 STR("{\"a\":null,\"b\":[3,1,2,[],{}]}"));
	assert_canonical(STR(" true "), STR("true"));
	assert_canonical(STR("[false,\"\"]"), STR("[false,\"\"]"));
}

static void members_are_ordered_by_utf16_code_units(void **state)
{
	/* U+10000 is d800 dc00 in UTF-16: before U+E000, U+EFFF and U+FB33, after U+D7FF */
	assert_canonical(
		STR("{\"\xee\x80\x80\":1,\"\xf0\x90\x80\x80\":2,\"\xed\x9f\xbf\":3,"
		    "\"\xef\xac\xb3\":4,\"z\":5,\"\xf4\x8f\xbf\xbf\":6,\"\xee\xbf\xbf\":7}"),
		STR("{\"z\":5,\"\xed\x9f\xbf\":3,\"\xf0\x90\x80\x80\":2,"
		    "\"\xf4\x8f\xbf\xbf\":6,\"\xee\x80\x80\":1,\"\xee\xbf\xbf\":7,"
		    "\"\xef\xac\xb3\":4}"));
	/* the same beyond the eight bytes that are compared at once */
	assert_canonical(STR("{\"12345678\xee\x80\x80\":1,\"12345678\xf0\x90\x80\x80\":2}"),
			 STR("{\"12345678\xf0\x90\x80\x80\":2,\"12345678\xee\x80\x80\":1}"));
	assert_canonical(STR("{\"ab\":1,\"a\":2,\"\":3,\"B\":4,\"a\\u0000\":5,\"10\":6,\"9\":7}"),
			 STR("{\"\":3,\"10\":6,\"9\":7,\"B\":4,\"a\":2,\"a\\u0000\":5,\"ab\":1}"));
}

/* The members of `text`, "k0".."kN" with digits of one width, step by step around the circle. */
static struct str members(struct buf *text, size_t count, size_t step)
{
	buf_clear(text);
	for (size_t i = 0; i < count; i++)
		buf_printf(text, "%c\"a long beginning, then k%06zu\":%zu", i ? ',' : '{',
			   (i * step) % count, (i * step) % count);
	buf_append_byte(text, '}');
	assert_false(text->is_spoiled);
	return buf_str(text);
}

static void any_number_of_members_is_ordered(void **state)
{
	static const size_t counts[] = {1, 2, 16, 17, 32, 33, 47, 48, 49, 64, 65, 1000, 20000};
	struct buf mixed, wanted;

	buf_init(&mixed, 4 << 20);
	buf_init(&wanted, 4 << 20);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_canonical(members(&mixed, counts[i], 7919), members(&wanted, counts[i], 1));
	buf_fini(&mixed);
	buf_fini(&wanted);
}

static void as_a_text_it_takes_no_more_than_its_arena(void **state)
{
	struct parsed parsed;
	struct arena mem;
	struct str text = STR("untouched");

	parsed_init(&parsed, STR("{\"b\": 1.0, \"a\": []}"));
	arena_init(&mem, 4096);
	assert_int_equal(json_canonical_str(parsed.value, &mem, &text), 0);
	assert_true(str_equal(text, STR("{\"a\":[],\"b\":1}")));
	arena_fini(&mem);
	arena_init(&mem, 16);
	text = STR("untouched");
	assert_int_equal(json_canonical_str(parsed.value, &mem, &text), FAIL_MEMORY);
	assert_true(str_equal(text, STR("untouched")));
	arena_fini(&mem);
	parsed_fini(&parsed);
}

static void a_full_buffer_is_a_limit(void **state)
{
	struct str text = STR("{\"a\":[1.5,-20,1e99,0.001,\"x\\ny\"],\"b\":{\"c\":null}}");
	struct parsed parsed;
	struct buf out;
	size_t max = 0;

	parsed_init(&parsed, text);
	assert_int_equal(parsed.result, 0);
	for (; max <= text.len + 1; max++) {
		int r;

		buf_init(&out, max);
		r = json_canonical(parsed.value, &parsed.mem, &out);
		buf_fini(&out);
		if (r == 0)
			break;
		assert_int_equal(r, FAIL_LIMIT);
	}
	assert_int_equal(max, text.len + 1); /* 1e99 is 1e+99 */
	parsed_fini(&parsed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_one_spelling),
		cmocka_unit_test(strings_have_one_spelling),
		cmocka_unit_test(white_space_is_left_out_and_order_of_items_kept),
		cmocka_unit_test(members_are_ordered_by_utf16_code_units),
		cmocka_unit_test(any_number_of_members_is_ordered),
		cmocka_unit_test(as_a_text_it_takes_no_more_than_its_arena),
		cmocka_unit_test(a_full_buffer_is_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
