/* Nothing that a client sends makes a terminal do something. */
#include "base/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(struct str text, const char *shown)
{
	struct buf out;

	buf_init(&out, 4096);
	terminal_append(&out, text);
	buf_append_byte(&out, '\0');
	assert_false(out.is_spoiled);
	assert_string_equal(out.at, shown);
	buf_fini(&out);
}

static void controls_become_escapes(void **state)
{
	expect(STR("\x1b[2Jx"), "\\x1b[2Jx");
	expect(STR("a\nb\tc\rd"), "a\\nb\\tc\\rd");
	expect(STR("\0\x7f"), "\\x00\\x7f");
	expect(STR("\xc2\x9b"), "\\u009b");	      /* C1: a control sequence in one character */
	expect(STR("\xe2\x80\xae"), "\\u202e");	      /* turns the reading direction */
	expect(STR("ann\xe2\x80\x8b"), "ann\\u200b"); /* not to be seen, and another name */
	expect(STR("\xe3\x85\xa4"), "\\u3164");
	expect(STR("\xe2\x81\xa6"), "\\u2066");
	expect(STR("\xe2\x80\xa8"), "\\u2028");
}

static void text_stays(void **state)
{
	expect(STR("plain"), "plain");
	expect(STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void no_utf8_is_shown_byte_by_byte(void **state)
{
	expect(STR("\xff\xc0\x80"), "\\xff\\xc0\\x80");		 /* never, overlong */
	expect(STR("\xe2\x82"), "\\xe2\\x82");			 /* cut short */
	expect(STR("\xed\xa0\x80"), "\\xed\\xa0\\x80");		 /* a surrogate */
	expect(STR("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); /* past the last one */
	expect(STR("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");		 /* overlong */
}

static void expect_cut(const char *text, size_t width, const char *shown)
{
	struct buf out;

	buf_init(&out, 4096);
	buf_append_str(&out, STR(">"));
	terminal_append_cut(&out, str_from(text), width);
	assert_true(terminal_width(str_of(out.at + 1, out.len - 1)) <= width);
	buf_append_byte(&out, '\0');
	assert_string_equal(out.at + 1, shown);
	buf_fini(&out);
}

static void a_long_text_is_cut_between_characters(void **state)
{
	expect_cut("abcdef", 6, "abcdef");
	expect_cut("abcdefg", 6, "abcde…");
	expect_cut("éééé", 3, "éé…");
	expect_cut("a\x1b", 5, "a\\x1b");
	expect_cut("a\x1bzz", 5, "a…"); /* an escape is left out whole */
	expect_cut("", 5, "");
}

static void json_keeps_its_meaning(void **state)
{
	struct buf out;

	buf_init(&out, 4096);
	terminal_append_json(&out, STR("{\"a\":\"\xc2\x9b\xe2\x80\xae\x7f\xc3\xa9\"}\n"));
	assert_true(str_equal(buf_str(&out), STR("{\"a\":\"\\u009b\\u202e\\u007f\xc3\xa9\"}\n")));
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_become_escapes),
		cmocka_unit_test(text_stays),
		cmocka_unit_test(no_utf8_is_shown_byte_by_byte),
		cmocka_unit_test(a_long_text_is_cut_between_characters),
		cmocka_unit_test(json_keeps_its_meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
