/* Samples are within what their fields say, tell acts apart, and say when none is to be had. */
#include "drill/sample.h"

#include "base/buf.h"
#include "config/settings.h"
#include "drill_test.h"

static struct arena mem;
static struct settings *settings;

static int teardown(void **state)
{
	settings_free(settings);
	settings = NULL;
	arena_fini(&mem);
	return 0;
}

static const struct action *action(struct str rest)
{
	struct str text;
	struct settings_report report;

	arena_init(&mem, TEST_MEMORY_MAX);
	text = arena_printf(&mem,
			    "upstreams: {default: {url: \"http://127.0.0.1:9000\"}}\nactions:\n  "
			    "act:\n%.*s",
			    STR_ARG(rest));
	settings_report_init(&report);
	assert_int_equal(settings_parse(text, "test", NULL, &settings, &report), 0);
	settings_report_fini(&report);
	return &settings->actions[0];
}

static struct sample make(const struct action *of, struct sample_wish wish)
{
	char why[SAMPLE_WHY_MAX];
	struct sample sample;

	wish.run = STR("test");
	assert_int_equal(sample_make(of, &wish, &mem, &sample, why), 0);
	return sample;
}

static const struct json_value *at(struct str body, const char *pointer)
{
	struct json_value *value;
	struct json_error error;

	assert_int_equal(json_read(body, &json_limits_default, &mem, &value, &error), 0);
	return json_at(value, str_from(pointer));
}

static void test_fields(void **state)
{
	const struct action *of = action(STR(
		"    route: \"POST /v1/{shop}/orders\"\n    fields:\n"
		"      amount: {type: money, currency: currency, required: true, minimum: 500}\n"
		"      currency: {type: string, required: true}\n"
		"      kind: {type: string, enum: [big, small]}\n"
		"      code: {type: string, pattern: \"^INV-[0-9]{4,6}(-[a-f]+)?$\"}\n"
		"      short: {type: string, max_length: 4}\n"
		"      made: {type: string, server_assigned: true}\n"
		"      note: {type: string}\n"));
	struct sample one = make(of, (struct sample_wish){.number = 1});
	struct sample two = make(of, (struct sample_wish){.number = 2});
	int64_t amount;

	assert_true(str_equal(one.path, STR("/v1/drilltest00001/orders")));
	assert_true(str_equal(one.marker, STR("drilltest00001")));
	assert_true(json_number_to_i64(&at(one.body, "/amount")->number, &amount));
	assert_true(amount >= 500);
	assert_true(str_equal(at(one.body, "/currency")->string, STR("EUR")));
	assert_true(at(one.body, "/short")->string.len == 4);
	assert_null(at(one.body, "/made"));
	assert_true(str_starts_with(at(one.body, "/code")->string, STR("INV-")));
	assert_false(str_equal(at(one.body, "/code")->string, at(two.body, "/code")->string));
	assert_false(str_equal(at(one.body, "/note")->string, at(two.body, "/note")->string));
	two = make(of, (struct sample_wish){.number = 1});
	assert_str(two.body, (char *)one.body.at);
}

static void test_the_same_parts(void **state)
{
	const struct action *of = action(STR(
		"    route: POST /v1/x\n    fields: {a: {type: string, required: true}, b: {type: "
		"string}}\n    lock: {on: [a], held: refuse}\n"));
	struct sample one = make(of, (struct sample_wish){.number = 1});
	struct sample two = make(of, (struct sample_wish){.number = 2,
							  .same_number = 1,
							  .same = of->lock.on,
							  .same_count = of->lock.count});

	assert_true(str_equal(at(one.body, "/a")->string, at(two.body, "/a")->string));
	assert_false(str_equal(at(one.body, "/b")->string, at(two.body, "/b")->string));
}

static void test_a_token_in_the_body(void **state)
{
	const struct action *of =
		action(STR("    route: POST /v1/x\n    token: {from: body, pointer: /request_id}\n"
			   "    fields: {a: {type: string, required: true}}\n"));
	struct sample sample = make(of, (struct sample_wish){.number = 1, .token = STR("t-1")});

	assert_true(str_equal(at(sample.body, "/request_id")->string, STR("t-1")));
}

static void test_none_to_be_had(void **state)
{
	const struct action *of =
		action(STR("    route: POST /v1/x\n    fields:\n      a: {type: string, required: "
			   "true, pattern: \"^[[:alpha:]]{3}$\"}\n"));
	struct sample_wish wish = {.run = STR("test"), .number = 1};
	char why[SAMPLE_WHY_MAX];
	struct sample sample;

	assert_int_equal(sample_make(of, &wish, &mem, &sample, why), SAMPLE_IMPOSSIBLE);
	assert_non_null(strstr(why, "field a"));
}

static void test_patterns(void **state)
{
	static const char *const patterns[] = {"^a+$", "(x|y)[0-9]{2}", "^\\.[^a-y]$", "a?b*c",
					       "^(ab){2}$"};
	static const char *const texts[] = {"a", "x", ".z", "c", "abab"};
	struct buf out;

	buf_init(&out, 256);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		uint64_t seed = 7;

		buf_clear(&out);
		assert_true(sample_pattern(str_from(patterns[i]), 0, &seed, &out));
		assert_true(str_starts_with(buf_str(&out), str_from(texts[i])));
	}
	uint64_t seed = 7;

	assert_false(sample_pattern(STR("(a"), 0, &seed, &out));
	assert_false(sample_pattern(STR("[a"), 0, &seed, &out));
	assert_false(sample_pattern(STR("a{2"), 0, &seed, &out));
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_fields, teardown),
		cmocka_unit_test_teardown(test_the_same_parts, teardown),
		cmocka_unit_test_teardown(test_a_token_in_the_body, teardown),
		cmocka_unit_test_teardown(test_none_to_be_had, teardown),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
