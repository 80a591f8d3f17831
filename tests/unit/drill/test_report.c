/* What the reports say; and that no text of a server's breaks out of any of them. */
#include "drill/report.h"

#include "drill_test.h"
#include "json/json.h"

enum { REPORT_MAX = 1 << 20, ROUNDS = 3000, TEXT_MAX = 48 };

static struct arena mem;

static int setup(void **state)
{
	arena_init(&mem, TEST_MEMORY_MAX);
	return 0;
}

static int teardown(void **state)
{
	arena_fini(&mem);
	return 0;
}

/* One scenario, and a case of each verdict; `text` is wherever a server's could be. */
struct sample {
	struct drill_event event;
	struct drill_case_result cases[DRILL_VERDICTS];
	struct drill_scenario_result scenario;
	struct drill_report report;
};

static void sample_of(struct sample *sample, struct str text)
{
	static const char *const names[] = {"replay", "copies", "expiry", "other-route"};

	sample->event =
		(struct drill_event){.at_us = 1500, .move = DRILL_LOST_TO_CLIENT, .text = text};
	for (int i = 0; i < DRILL_VERDICTS; i++)
		sample->cases[i] = (struct drill_case_result){.name = names[i],
							      .what = "sends it again",
							      .why = "somebody pays twice",
							      .verdict = (enum drill_verdict)i,
							      .seen = text,
							      .effects_before = 0,
							      .effects_after = 2,
							      .effects_wanted = 1,
							      .duration_us = 2500,
							      .events = &sample->event,
							      .event_count = 1};
	sample->scenario =
		(struct drill_scenario_result){text, text, text, sample->cases, DRILL_VERDICTS};
	sample->report = (struct drill_report){STR("1.0"), 0, &sample->scenario, 1};
}

static void colourless(const struct drill_report *report, struct buf *out)
{
	report_table(report, false, out);
}

static void coloured(const struct drill_report *report, struct buf *out)
{
	report_table(report, true, out);
}

/* The whole report, in the arena. */
static const char *written(void (*report)(const struct drill_report *, struct buf *),
			   struct str text)
{
	struct sample sample;
	struct buf out;
	const char *copy;

	sample_of(&sample, text);
	buf_init(&out, REPORT_MAX);
	report(&sample.report, &out);
	assert_false(out.is_spoiled);
	if (!json_is_utf8(buf_str(&out)) || (out.len && memchr(out.at, 0, out.len)))
		fail_msg("it is no text: %.*s", STR_ARG(buf_str(&out)));
	buf_append_byte(&out, 0);
	copy = arena_str(&mem, buf_str(&out)).at;
	buf_fini(&out);
	assert_non_null(copy);
	return copy;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s\n-- is not in --\n%s", part, text);
}

static void test_table(void **state)
{
	const char *text = written(colourless, STR("201, then 201"));

	assert_has(text, "  ok    replay                201, then 201\n");
	assert_has(text, "  FAIL  copies ");
	assert_has(text, "counted  2 effects where 1 was wanted\n");
	assert_has(text, "matters  somebody pays twice\n");
	assert_has(text, "     1.5 ms  wire    201, then 201\n");
	assert_has(text, "\n1 passed, 1 failed, 1 not applicable, 1 not judged\n");
	assert_null(strchr(text, '\x1b'));
	assert_has(written(coloured, STR("x")), "\x1b[31mFAIL\x1b[0m");
}

static void test_tap(void **state)
{
	const char *text = written(report_tap, STR("a#b \\\nnot ok 7"));

	assert_has(text, "TAP version 14\n1..1\n# Subtest: a\\#b \\\\\\\\nnot ok 7\n");
	assert_has(text, "\n    1..4\n    ok 1 - replay\n      ---\n      verdict: \"pass\"\n");
	assert_has(text, "\n    not ok 2 - copies\n");
	assert_has(text, "\n      counted: \"2 effects where 1 was wanted\"\n");
	assert_has(text, "\n    ok 3 - expiry # SKIP a\\#b");
	assert_has(text, "\n    not ok 4 - other-route\n");
	assert_has(text, "\nnot ok 1 - a\\#b");
	assert_null(strstr(text, "\nnot ok 7"));
}

static void test_junit(void **state)
{
	const char *text = written(report_junit, STR("<&\"'\x01>"));

	assert_has(text, "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"");
	assert_has(text, "<failure message=\"&lt;&amp;&quot;&#39;\\x01&gt;\">");
	assert_has(text, "<error message=");
	assert_has(text, "<skipped message=");
	assert_has(text, "name=\"copies\" time=\"0.002500\">");
}

static void test_html(void **state)
{
	const char *text = written(report_html, STR("<script>alert(1)</script>"));

	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "http:"));
	assert_null(strstr(text, "https:"));
	assert_has(text, "default-src 'none'");
	assert_has(text, "&lt;script&gt;");
	assert_has(text, "<b>Counted:</b> 2 effects where 1 was wanted");
}

/* -- hostile texts ------------------------------------------------------------------- */

/* What a text could break out with, and what it could hide behind. */
static const char *const pieces[] = {"<",
				     ">",
				     "&",
				     "\"",
				     "'",
				     "]]>",
				     "-->",
				     "</td>",
				     "\n",
				     "\r",
				     "\t",
				     "#",
				     "\\",
				     " # SKIP ",
				     "\nnot ok ",
				     "...\n",
				     "---",
				     "\x1b[2J",
				     "\x07",
				     "\x7f",
				     "\x80",
				     "\xff",
				     "\xc3",
				     "\xe2\x82",
				     "\xc2\x9b",
				     "\xe2\x80\xae",
				     "\xe2\x81\xa6",
				     "\xe2\x80\xa8",
				     "\xef\xbf\xbe",
				     "\xed\xa0\x80",
				     "\xf4\x90\x80\x80",
				     "\xf0\x9f\x92\xa9",
				     "é",
				     "a",
				     "%s%n",
				     "Bail out!",
				     "\nBail out!",
				     "{}"};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static struct str hostile(uint32_t *seed, char out[TEXT_MAX])
{
	size_t len = 0, parts = 1 + next_random(seed) % 6;

	for (size_t i = 0; i < parts; i++) {
		const char *piece =
			pieces[next_random(seed) % (sizeof(pieces) / sizeof(pieces[0]))];
		size_t size = strlen(piece);

		if (len + size <= TEXT_MAX) {
			memcpy(out + len, piece, size);
			len += size;
		}
	}
	return str_of(out, len);
}

static size_t count(const char *text, char c)
{
	size_t found = 0;

	for (; *text; text++)
		found += *text == c;
	return found;
}

/* No controls, and none of those that turn the reading direction or end a line. */
static void assert_calm(const char *text, const char *allowed, struct str from)
{
	static const char *const turns[] = {"\xe2\x80\xae", "\xe2\x81\xa6"};

	for (const char *at = text; *at; at++)
		if (((unsigned char)*at < ' ' || *at == 0x7f) && !strchr(allowed, *at))
			fail_msg("control %02x, from %.*s", (unsigned char)*at, STR_ARG(from));
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
		if (strstr(text, turns[i]))
			fail_msg("it turns the reading direction: %.*s", STR_ARG(from));
}

/* A report has as many of `marks` whatever the text: it adds no line, no element, no quote. */
static void check(void (*report)(const struct drill_report *, struct buf *), const char *marks,
		  const char *allowed, struct str text)
{
	const char *plain = written(report, STR("x")), *spoken = written(report, text);

	for (; *marks; marks++)
		if (count(plain, *marks) != count(spoken, *marks))
			fail_msg("\"%.*s\" made or took a %02x:\n%s", STR_ARG(text), *marks,
				 spoken);
	assert_calm(spoken, allowed, text);
}

static void test_hostile_texts(void **state)
{
	uint32_t seed = 1;
	char bytes[TEXT_MAX];

	for (int i = 0; i < ROUNDS; i++) {
		struct str text = hostile(&seed, bytes);

		check(colourless, "\n", "\n", text);
		check(report_tap, "\n", "\n", text);
		check(report_junit, "<>\"", "\n", text);
		check(report_html, "<>\"", "\n", text);
		arena_fini(&mem);
		arena_init(&mem, TEST_MEMORY_MAX);
	}
}

static void test_hostile_json(void **state)
{
	uint32_t seed = 2;
	char bytes[TEXT_MAX];

	for (int i = 0; i < ROUNDS; i++) {
		const char *text = written(report_json, hostile(&seed, bytes));
		struct json_value *value = NULL;
		struct json_error fault;

		if (json_read(str_from(text), &json_limits_default, &mem, &value, &fault) != 0)
			fail_msg("no JSON: %s", text);
		assert_calm(text, "\n", STR("JSON"));
		arena_fini(&mem);
		arena_init(&mem, TEST_MEMORY_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	      cmocka_unit_test(test_tap),
		cmocka_unit_test(test_junit),	      cmocka_unit_test(test_html),
		cmocka_unit_test(test_hostile_texts), cmocka_unit_test(test_hostile_json),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
