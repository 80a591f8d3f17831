/*
 * Bodies become one canonical command as their action declares it; all that is wrong with one is
 * told at once, by pointer, without the values of secrets.
 */
#include "core/command.h"

#include "base/err.h"
#include "declare.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY_MAX = 16 << 20 };

/* One reading: declare, read, look. */
struct trial {
	struct arena mem;
	struct action action;
	struct buf out;
	const struct json_value *command;
	struct command_faults faults;
	int result;
};

static void begin(struct trial *trial, const char *fields)
{
	arena_init(&trial->mem, MEMORY_MAX);
	buf_init(&trial->out, 1 << 20);
	trial->action = declare_action(declare_json(fields, &trial->mem), &trial->mem);
}

static void read_body(struct trial *trial, const char *body)
{
	buf_clear(&trial->out);
	trial->result = command_read(&trial->action, declare_json(body, &trial->mem), &trial->mem,
				     &trial->out, &trial->command, &trial->faults);
}

static void end(struct trial *trial)
{
	declare_forget(&trial->action);
	buf_fini(&trial->out);
	arena_fini(&trial->mem);
}

static void expect_command(struct trial *trial, const char *body, const char *command)
{
	read_body(trial, body);
	if (trial->result != 0)
		fail_msg("%s: %.*s: %s", body, STR_ARG(trial->faults.faults[0].pointer),
			 trial->faults.faults[0].detail);
	if (!str_equal(buf_str(&trial->out), str_from(command)))
		fail_msg("%s: %.*s", body, STR_ARG(buf_str(&trial->out)));
}

/* One fault, there, with these words in it. */
static void expect_fault(struct trial *trial, const char *body, const char *pointer,
			 const char *words)
{
	const struct command_fault *fault = &trial->faults.faults[0];

	read_body(trial, body);
	if (trial->result != COMMAND_REFUSED || trial->faults.count != 1)
		fail_msg("%s: %d, %zu faults", body, trial->result, trial->faults.count);
	assert_int_equal(trial->out.len, 0);
	if (!str_equal(fault->pointer, str_from(pointer)) || !strstr(fault->detail, words))
		fail_msg("%s: %.*s: %s", body, STR_ARG(fault->pointer), fault->detail);
}

static void check_command(const char *fields, const char *body, const char *command)
{
	struct trial trial;

	begin(&trial, fields);
	expect_command(&trial, body, command);
	end(&trial);
}

static void check_fault(const char *fields, const char *body, const char *pointer,
			const char *words)
{
	struct trial trial;

	begin(&trial, fields);
	expect_fault(&trial, body, pointer, words);
	end(&trial);
}

static void test_body(void **state)
{
	struct trial trial;

	begin(&trial, "{\"a\":{\"type\":\"string\"}}");
	expect_command(&trial, "{}", "{}");
	expect_fault(&trial, "[]", "", "Expected a JSON object; an array was sent.");
	expect_fault(&trial, "null", "", "Expected a JSON object; null was sent.");
	trial.result = command_read(&trial.action, NULL, &trial.mem, &trial.out, &trial.command,
				    &trial.faults);
	assert_int_equal(trial.result, COMMAND_REFUSED);
	assert_non_null(strstr(trial.faults.faults[0].detail, "empty"));
	end(&trial);
}

static void test_without_fields(void **state)
{
	struct trial trial;

	begin(&trial, "{}");
	trial.action.has_fields = false;
	expect_command(&trial, "[2, {\"b\":1.0,\"a\":null}]", "[2,{\"a\":null,\"b\":1}]");
	expect_command(&trial, "\"x\"", "\"x\"");
	buf_clear(&trial.out);
	trial.result = command_read(&trial.action, NULL, &trial.mem, &trial.out, &trial.command,
				    &trial.faults);
	assert_int_equal(trial.result, 0);
	assert_int_equal(trial.out.len, 0);
	assert_null(trial.command);
	end(&trial);
}

static void test_types(void **state)
{
	check_command("{\"i\":{\"type\":\"integer\"}}", "{\"i\":1.0}", "{\"i\":1}");
	check_command("{\"i\":{\"type\":\"integer\"}}", "{\"i\":-1e2}", "{\"i\":-100}");
	check_command("{\"i\":{\"type\":\"integer\"}}", "{\"i\":9007199254740993000001}",
		      "{\"i\":9.007199254740993000001e+21}");
	check_fault("{\"i\":{\"type\":\"integer\"}}", "{\"i\":1.5}", "/i",
		    "Expected a whole number; 1.5 was sent.");
	check_fault("{\"i\":{\"type\":\"integer\"}}", "{\"i\":\"1\"}", "/i", "without quotes");
	check_command("{\"d\":{\"type\":\"decimal\"}}", "{\"d\":1.50}", "{\"d\":1.5}");
	check_fault("{\"d\":{\"type\":\"decimal\"}}", "{\"d\":\"1.5\"}", "/d", "without quotes");
	check_command("{\"b\":{\"type\":\"boolean\"}}", "{\"b\":false}", "{\"b\":false}");
	check_fault("{\"b\":{\"type\":\"boolean\"}}", "{\"b\":0}", "/b", "true or false; 0 was");
	check_command("{\"s\":{\"type\":\"string\"}}", "{\"s\":\"\\u00e9\"}",
		      "{\"s\":\"\xc3\xa9\"}");
	check_fault("{\"s\":{\"type\":\"string\"}}", "{\"s\":1}", "/s", "Expected a string; 1 was");
	check_fault("{\"o\":{\"type\":\"object\"}}", "{\"o\":[]}", "/o", "Expected an object");
	check_fault("{\"l\":{\"type\":\"array\"}}", "{\"l\":{}}", "/l", "Expected an array");
	check_command("{\"o\":{\"type\":\"object\"}}", "{\"o\":{\"z\":[1.0],\"a\":null}}",
		      "{\"o\":{\"a\":null,\"z\":[1]}}");
}

static void test_presence(void **state)
{
	check_fault("{\"a\":{\"type\":\"string\",\"required\":true}}", "{}", "/a",
		    "required (string)");
	check_fault("{\"a\":{\"type\":\"string\",\"required\":true}}", "{\"a\":null}", "/a",
		    "not nullable");
	check_fault("{\"a\":{\"type\":\"string\"}}", "{\"a\":null}", "/a", "or leave it out");
	check_command("{\"a\":{\"type\":\"string\",\"nullable\":true}}", "{\"a\":null}",
		      "{\"a\":null}");
	check_command("{\"a\":{\"type\":\"string\",\"nullable\":true,\"required\":true}}",
		      "{\"a\":null}", "{\"a\":null}");
	check_command("{\"a\":{\"type\":\"string\",\"nullable\":true,\"enum\":[\"x\"]}}",
		      "{\"a\":null}", "{\"a\":null}");
	check_command("{\"a\":{\"type\":\"string\"}}", "{\"a\":\"\"}", "{\"a\":\"\"}");
	check_command("{\"a\":{\"type\":\"any\"}}", "{\"a\":null}", "{\"a\":null}");
	check_command("{\"a\":{\"type\":\"any\"}}", "{\"a\":[{\"b\":[]}]}", "{\"a\":[{\"b\":[]}]}");
	check_fault("{\"a\":{\"type\":\"any\",\"required\":true}}", "{\"a\":null}", "/a",
		    "not nullable");
	check_fault("{\"a\":{\"type\":\"any\",\"enum\":[1]}}", "{\"a\":null}", "/a", "one of 1");
}

static void test_defaults(void **state)
{
	check_command("{\"a\":{\"type\":\"string\",\"default\":\"x\"}}", "{}", "{\"a\":\"x\"}");
	check_command("{\"a\":{\"type\":\"string\",\"default\":\"x\"}}", "{\"a\":\"y\"}",
		      "{\"a\":\"y\"}");
	check_command("{\"a\":{\"type\":\"string\",\"default\":\"x\",\"required\":true}}", "{}",
		      "{\"a\":\"x\"}");
	check_fault("{\"a\":{\"type\":\"string\",\"default\":\"x\"}}", "{\"a\":null}", "/a",
		    "not nullable");
	check_command("{\"at\":{\"type\":\"timestamp\",\"default\":\"2026-01-01T01:00:00+01:00\"}}",
		      "{}", "{\"at\":\"2026-01-01T00:00:00Z\"}");
	check_command("{\"o\":{\"type\":\"object\",\"fields\":{\"p\":{\"type\":\"integer\","
		      "\"default\":7}}}}",
		      "{\"o\":{}}", "{\"o\":{\"p\":7}}");
	check_command("{\"a\":{\"type\":\"money\",\"currency\":\"c\",\"unit\":\"major\","
		      "\"default\":\"1.50\"},\"c\":{\"type\":\"string\",\"default\":\"eur\"}}",
		      "{}", "{\"a\":{\"currency\":\"EUR\",\"minor_units\":150},\"c\":\"EUR\"}");
	check_command("{\"a\":{\"type\":\"string\",\"default\":\"x\",\"server_assigned\":true}}",
		      "{}", "{}");
}

static void test_server_assigned(void **state)
{
	static const char fields[] =
		"{\"at\":{\"type\":\"timestamp\",\"server_assigned\":true},\"o\":{\"type\":"
		"\"object\",\"fields\":{\"id\":{\"type\":\"integer\",\"server_assigned\":true}}}}";

	check_command(fields, "{\"at\":\"2026-01-01T00:00:00Z\",\"o\":{\"id\":4}}", "{\"o\":{}}");
	check_fault(fields, "{\"at\":\"yesterday\"}", "/at", "RFC 3339");
	check_fault(fields, "{\"o\":{\"id\":\"4\"}}", "/o/id", "whole number");
}

static void test_strings(void **state)
{
	static const char fields[] =
		"{\"s\":{\"type\":\"string\",\"min_length\":2,\"max_length\":3}}";

	check_command(fields, "{\"s\":\"\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac\"}",
		      "{\"s\":\"\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac\"}");
	check_fault(fields, "{\"s\":\"\xf0\x9f\x98\x80\"}", "/s", "at least 2 characters");
	check_fault(fields, "{\"s\":\"abcd\"}", "/s", "at most 3 characters; \"abcd\" was sent.");
}

static void test_patterns(void **state)
{
	static const char fields[] =
		"{\"s\":{\"type\":\"string\",\"pattern\":\"^[a-z]+-[0-9]{2}$\"}}";

	check_command(fields, "{\"s\":\"ab-12\"}", "{\"s\":\"ab-12\"}");
	check_fault(fields, "{\"s\":\"ab-123\"}", "/s", "pattern \"^[a-z]+-[0-9]{2}$\"");
	check_fault(fields, "{\"s\":\"ab-12\\u0000; drop\"}", "/s", "pattern");
	check_command("{\"s\":{\"type\":\"string\",\"pattern\":\"b\"}}", "{\"s\":\"abc\"}",
		      "{\"s\":\"abc\"}");
}

/* {"s": ["aaa…!", …]}: of so many texts, each so long. */
static void read_texts(const char *pattern, size_t count, size_t len, struct trial *trial)
{
	struct buf body;

	begin(trial, pattern);
	buf_init(&body, 1 << 20);
	buf_append_str(&body, STR("{\"s\":["));
	for (size_t i = 0; i < count; i++) {
		buf_append_str(&body, i ? STR(",\"") : STR("\""));
		for (size_t at = 1; at < len; at++)
			buf_append_byte(&body, 'a');
		buf_append_str(&body, STR("!\""));
	}
	buf_append(&body, "]}", 3);
	assert_false(body.is_spoiled);
	read_body(trial, buf_str(&body).at);
	buf_fini(&body);
}

static void expect_detail(const struct trial *trial, const char *words)
{
	assert_int_equal(trial->result, COMMAND_REFUSED);
	assert_true(trial->faults.count > 0);
	if (!strstr(trial->faults.faults[trial->faults.count - 1].detail, words))
		fail_msg("%s", trial->faults.faults[trial->faults.count - 1].detail);
}

/* The time that matching takes is bounded, whatever is sent. */
static void test_much_matching(void **state)
{
	static const char unanchored[] =
		"{\"s\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":"
		"\"[a-z]+$\"}}}";
	static const char anchored[] =
		"{\"s\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":"
		"\"^[a-z]+!$\"}}}";
	struct trial trial;

	(void)state;
	read_texts(unanchored, 1, 20000, &trial);
	expect_detail(&trial, "at most 8192 bytes");
	end(&trial);
	read_texts(unanchored, 20, 4000, &trial);
	expect_detail(&trial, "too much text");
	end(&trial);
	read_texts(anchored, 100, 8000, &trial);
	assert_int_equal(trial.result, 0);
	end(&trial);
}

static void test_bounds(void **state)
{
	static const char fields[] = "{\"n\":{\"type\":\"decimal\",\"min\":0.5,\"max\":1e1}}";

	check_command(fields, "{\"n\":0.5}", "{\"n\":0.5}");
	check_command(fields, "{\"n\":10.0}", "{\"n\":10}");
	check_fault(fields, "{\"n\":0.49999999999999999999999}", "/n", "Expected 0.5 or more");
	check_fault(fields, "{\"n\":10.00000000000000000000001}", "/n", "Expected 10 or less");
}

static void test_choices(void **state)
{
	check_command("{\"n\":{\"type\":\"decimal\",\"enum\":[1.50,2]}}", "{\"n\":15e-1}",
		      "{\"n\":1.5}");
	check_fault("{\"p\":{\"type\":\"string\",\"enum\":[\"low\",\"high\"]}}",
		    "{\"p\":\"urgent\"}", "/p",
		    "Expected one of \"low\", \"high\"; \"urgent\" was sent.");
	check_fault("{\"p\":{\"type\":\"integer\",\"enum\":[1000000000,1000000001,1000000002,"
		    "1000000003,1000000004,1000000005,1000000006,1000000007,1000000008]}}",
		    "{\"p\":1}", "/p", "1000000006, 1000000007, …; 1 was sent.");
	check_command("{\"at\":{\"type\":\"timestamp\",\"enum\":[\"2026-01-01T01:00:00+01:00\"]}}",
		      "{\"at\":\"2026-01-01T00:00:00Z\"}", "{\"at\":\"2026-01-01T00:00:00Z\"}");
	check_command("{\"a\":{\"type\":\"any\",\"enum\":[{\"b\":1,\"a\":[2.0]}]}}",
		      "{\"a\":{\"a\":[2],\"b\":1.0}}", "{\"a\":{\"a\":[2],\"b\":1}}");
	check_fault("{\"a\":{\"type\":\"any\",\"enum\":[{\"a\":[2]}]}}", "{\"a\":{\"a\":[3]}}",
		    "/a", "one of an object");
	check_command("{\"a\":{\"type\":\"money\",\"currency\":\"EUR\",\"unit\":\"major\","
		      "\"enum\":[49,\"99.00\"]}}",
		      "{\"a\":99}", "{\"a\":{\"currency\":\"EUR\",\"minor_units\":9900}}");
	check_command("{\"a\":{\"type\":\"money\",\"currency\":\"c\"},\"c\":{\"type\":\"string\","
		      "\"enum\":[\"EUR\"],\"pattern\":\"^[A-Z]+$\"}}",
		      "{\"a\":1,\"c\":\"eur\"}",
		      "{\"a\":{\"currency\":\"EUR\",\"minor_units\":1},\"c\":\"EUR\"}");
}

static const char money_fields[] =
	"{\"amount\":{\"type\":\"money\",\"currency\":\"currency\",\"unit\":\"major\"},"
	"\"currency\":{\"type\":\"string\"}}";

static void test_money(void **state)
{
	check_command(
		money_fields, "{\"amount\":\"49.00\",\"currency\":\"usd\"}",
		"{\"amount\":{\"currency\":\"USD\",\"minor_units\":4900},\"currency\":\"USD\"}");
	check_command("{\"a\":{\"type\":\"money\",\"currency\":\"EUR\",\"unit\":\"minor\"}}",
		      "{\"a\":49}", "{\"a\":{\"currency\":\"EUR\",\"minor_units\":49}}");
	check_command("{\"a\":{\"type\":\"money\",\"currency\":\"EUR\",\"unit\":\"major\"}}",
		      "{\"a\":49}", "{\"a\":{\"currency\":\"EUR\",\"minor_units\":4900}}");
	check_fault(money_fields, "{\"amount\":\"1,000\",\"currency\":\"USD\"}", "/amount",
		    "major units, like 49.00");
	check_fault(money_fields, "{\"amount\":{},\"currency\":\"USD\"}", "/amount",
		    "an object was");
	check_fault(money_fields, "{\"amount\":\"1.001\",\"currency\":\"USD\"}", "/amount",
		    "at most 2 digits after the point");
	check_fault(money_fields, "{\"amount\":1e30,\"currency\":\"USD\"}", "/amount", "2^63 - 1");
}

static void test_currencies(void **state)
{
	struct trial trial;

	check_fault(money_fields, "{\"amount\":1}", "/amount",
		    "send its code, like EUR, in \"currency\"");
	check_fault(money_fields, "{\"amount\":1,\"currency\":\"ZZZ\"}", "/currency",
		    "ISO 4217, like EUR or JPY; \"ZZZ\" was sent.");
	check_fault(money_fields, "{\"amount\":1,\"currency\":\"XAU\"}", "/currency", "minor unit");
	check_fault(money_fields, "{\"amount\":1,\"currency\":7}", "/currency", "a string");
	check_fault(money_fields, "{\"currency\":\"ZZZ\"}", "/currency", "ISO 4217");
	check_command(money_fields, "{\"currency\":\"eur\"}", "{\"currency\":\"EUR\"}");
	begin(&trial, money_fields);
	read_body(&trial, "{\"amount\":\"x\",\"currency\":\"ZZZ\"}");
	assert_int_equal(trial.faults.count, 2);
	end(&trial);
}

static void test_money_bounds(void **state)
{
	static const char fields[] =
		"{\"a\":{\"type\":\"money\",\"currency\":\"EUR\",\"unit\":\"major\",\"min\":0.5,"
		"\"max\":100}}";

	check_command(fields, "{\"a\":\"0.50\"}",
		      "{\"a\":{\"currency\":\"EUR\",\"minor_units\":50}}");
	check_command(fields, "{\"a\":100}",
		      "{\"a\":{\"currency\":\"EUR\",\"minor_units\":10000}}");
	check_fault(fields, "{\"a\":\"0.49\"}", "/a", "Expected 0.5 or more; \"0.49\" was sent.");
	check_fault(fields, "{\"a\":100.01}", "/a", "Expected 100 or less");
	check_fault("{\"a\":{\"type\":\"money\",\"currency\":\"JPY\",\"min\":1}}", "{\"a\":0}",
		    "/a", "Expected 1 or more");
}

static void test_money_in_lists(void **state)
{
	static const char fields[] =
		"{\"currency\":{\"type\":\"string\"},\"lines\":{\"type\":\"array\",\"items\":"
		"{\"type\":\"money\",\"currency\":\"currency\"}}}";
	struct trial trial;

	begin(&trial, fields);
	trial.action.fields[1].fields[0].currency_field = STR("currency");
	trial.action.fields[1].fields[0].currency = STR("");
	expect_command(
		&trial, "{\"currency\":\"jpy\",\"lines\":[1]}",
		"{\"currency\":\"JPY\",\"lines\":[{\"currency\":\"JPY\",\"minor_units\":1}]}");
	expect_fault(&trial, "{\"currency\":\"JPY\",\"lines\":[1,2.5]}", "/lines/1", "minor units");
	end(&trial);
}

static void test_references(void **state)
{
	static const char fields[] = "{\"r\":{\"type\":\"reference\"}}";
	struct trial trial;

	begin(&trial, fields);
	expect_command(&trial, "{\"r\":\"4DD86A84C0FFEE4DD86A84C0FFEE4DD86A84C0FF\"}",
		       "{\"r\":\"4dd86a84c0ffee4dd86a84c0ffee4dd86a84c0ff\"}");
	expect_fault(&trial, "{\"r\":\"app:latest\"}", "/r", "can change");
	assert_true(trial.faults.faults[0].is_mutable_reference);
	expect_fault(&trial, "{\"r\":\"sha256:12\"}", "/r", "64 hexadecimal digits");
	assert_false(trial.faults.faults[0].is_mutable_reference);
	expect_fault(&trial, "{\"r\":12}", "/r", "12 was sent");
	end(&trial);
}

static const char nested_fields[] =
	"{\"a/b~\":{\"type\":\"array\",\"min_length\":1,\"max_length\":2,\"items\":{\"type\":"
	"\"object\",\"fields\":{\"n\":{\"type\":\"integer\",\"required\":true}}}}}";

static void test_nested(void **state)
{
	check_command(nested_fields, "{\"a/b~\":[{\"n\":1.0}]}", "{\"a/b~\":[{\"n\":1}]}");
	check_fault(nested_fields, "{\"a/b~\":[{\"n\":1},{\"n\":\"x\"}]}", "/a~1b~0/1/n", "number");
	check_fault(nested_fields, "{\"a/b~\":[{\"n\":1},{}]}", "/a~1b~0/1/n", "required");
	check_fault(nested_fields, "{\"a/b~\":[null]}", "/a~1b~0/0", "not nullable");
	check_fault(nested_fields, "{\"a/b~\":[]}", "/a~1b~0", "at least 1 items, not 0");
	check_fault(nested_fields, "{\"a/b~\":[{\"n\":1},{\"n\":1},{\"n\":1}]}", "/a~1b~0",
		    "at most 2 items, not 3");
	check_fault(nested_fields, "{\"a/b~\":[{\"n\":1,\"n/\":2}]}", "/a~1b~0/0/n~1",
		    "no field \"n/\"; did you mean \"n\"?");
}

static void test_unknown(void **state)
{
	static const char fields[] =
		"{\"priority\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"}}";
	struct trial trial;

	begin(&trial, fields);
	expect_fault(&trial, "{\"prioritty\":\"high\"}", "/prioritty",
		     "did you mean \"priority\"?");
	expect_fault(&trial, "{\"Title\":\"high\"}", "/Title", "did you mean \"title\"?");
	expect_fault(&trial, "{\"tilte\":\"high\"}", "/tilte", "did you mean \"title\"?");
	expect_fault(&trial, "{\"colour\":1}", "/colour",
		     "There is no field \"colour\"; known are priority, title.");
	expect_fault(&trial, "{\"\\u001b[31m\\u202e\":1}", "/\x1b[31m\xe2\x80\xae",
		     "no field \"?[31m???\";");
	trial.action.keeps_unknown = true;
	expect_command(&trial, "{\"colour\":{\"b\":1.0,\"a\":null},\"title\":\"x\"}",
		       "{\"colour\":{\"a\":null,\"b\":1},\"title\":\"x\"}");
	end(&trial);
	check_fault("{}", "{\"a\":1}", "/a", "none is expected");
	check_fault(
		"{\"first_of_many_long_names\":{\"type\":\"any\"},\"second_of_many_long_names\":"
		"{\"type\":\"any\"},\"third_of_many_long_names\":{\"type\":\"any\"},"
		"\"fourth_of_many_long_names\":{\"type\":\"any\"}}",
		"{\"a\":1}", "/a",
		"known are first_of_many_long_names, second_of_many_long_names, "
		"third_of_many_long_names, ….");
}

static void test_long_unknown(void **state)
{
	struct trial trial;
	char body[300];

	snprintf(body, sizeof(body), "{\"%0200d\":1}", 0);
	begin(&trial, "{\"a\":{\"type\":\"string\"}}");
	expect_fault(&trial, body, "", "There is no field \"0000");
	end(&trial);
}

static void test_every_fault(void **state)
{
	struct trial trial;

	begin(&trial, "{\"a\":{\"type\":\"string\",\"required\":true},\"b\":{\"type\":\"integer\"},"
		      "\"o\":{\"type\":\"object\",\"fields\":{\"c\":{\"type\":\"boolean\"}}}}");
	read_body(&trial, "{\"b\":\"x\",\"o\":{\"c\":1,\"d\":2},\"e\":3}");
	assert_int_equal(trial.result, COMMAND_REFUSED);
	assert_int_equal(trial.faults.count, 5);
	assert_true(str_equal(trial.faults.faults[0].pointer, STR("/a")));
	assert_true(str_equal(trial.faults.faults[1].pointer, STR("/b")));
	assert_true(str_equal(trial.faults.faults[2].pointer, STR("/o/c")));
	assert_true(str_equal(trial.faults.faults[3].pointer, STR("/o/d")));
	assert_true(str_equal(trial.faults.faults[4].pointer, STR("/e")));
	assert_int_equal(trial.faults.left_out, 0);
	end(&trial);
}

static void test_many_faults(void **state)
{
	enum { UNKNOWN = 1000 };
	char *body = malloc(UNKNOWN * 10 + 20);
	struct trial trial;
	size_t len = 0;

	assert_non_null(body);
	for (int i = 0; i < UNKNOWN; i++)
		len += (size_t)snprintf(body + len, 12, "%c\"x%d\":1", i ? ',' : '{', i);
	snprintf(body + len, 2, "}");
	begin(&trial, "{\"title\":{\"type\":\"string\"}}");
	read_body(&trial, body);
	assert_int_equal(trial.result, COMMAND_REFUSED);
	assert_int_equal(trial.faults.count, COMMAND_FAULTS_MAX);
	assert_int_equal(trial.faults.left_out, UNKNOWN - COMMAND_FAULTS_MAX);
	end(&trial);
	free(body);
}

/* No fault has the word in its sentence or pointer. */
static void expect_untold(const char *fields, const char *body)
{
	struct trial trial;

	begin(&trial, fields);
	read_body(&trial, body);
	assert_int_equal(trial.result, COMMAND_REFUSED);
	assert_true(trial.faults.count > 0);
	for (size_t i = 0; i < trial.faults.count; i++) {
		struct str pointer = trial.faults.faults[i].pointer;

		assert_null(strstr(trial.faults.faults[i].detail, "hush"));
		assert_true(pointer.len == 0 || !memmem(pointer.at, pointer.len, "hush", 4));
	}
	end(&trial);
}

static void test_secrets(void **state)
{
	expect_untold("{\"s\":{\"type\":\"string\",\"secret\":true,\"max_length\":3}}",
		      "{\"s\":\"hush\"}");
	check_fault("{\"s\":{\"type\":\"string\",\"secret\":true,\"enum\":[\"hush\"]}}",
		    "{\"s\":\"x\"}", "/s", "Expected one of its declared values.");
	expect_untold("{\"s\":{\"type\":\"string\",\"secret\":true,\"pattern\":\"^x\"}}",
		      "{\"s\":\"hush\"}");
	expect_untold("{\"s\":{\"type\":\"string\",\"secret\":true,\"enum\":[\"x\"]}}",
		      "{\"s\":\"hush\"}");
	expect_untold("{\"s\":{\"type\":\"reference\",\"secret\":true}}", "{\"s\":\"hush\"}");
	expect_untold("{\"s\":{\"type\":\"timestamp\",\"secret\":true}}", "{\"s\":\"hush\"}");
	expect_untold("{\"s\":{\"type\":\"money\",\"currency\":\"EUR\",\"secret\":true}}",
		      "{\"s\":\"hush\"}");
	expect_untold("{\"s\":{\"type\":\"object\",\"secret\":true,\"fields\":{\"t\":{\"type\":"
		      "\"integer\"}}}}",
		      "{\"s\":{\"t\":\"hush\",\"hush\":1}}");
	expect_untold(
		"{\"s\":{\"type\":\"array\",\"secret\":true,\"items\":{\"type\":\"integer\"}}}",
		"{\"s\":[\"hush\"]}");
	expect_untold(
		"{\"s\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"secret\":true}}}",
		"{\"s\":[\"hush\"]}");
}

static void test_shown_values(void **state)
{
	static const char fields[] = "{\"i\":{\"type\":\"integer\"}}";

	check_fault(fields, "{\"i\":\"a\\u0007\\\"b\"}", "/i", "\"a??b\" was sent.");
	check_fault(fields, "{\"i\":\"0123456789012345678901234567890123456789tail\"}", "/i",
		    "; \"0123456789012345678901234567890123456789...\" was sent.");
	check_fault(fields, "{\"i\":1.0000000000000000000000000000000000000000000000001}", "/i",
		    "; 1.00000000000000000000000000000000000000... was sent.");
}

static void test_token(void **state)
{
	struct trial trial;

	begin(&trial, "{\"a\":{\"type\":\"any\"},\"m\":{\"type\":\"object\",\"fields\":{\"key\":"
		      "{\"type\":\"string\",\"required\":true}}}}");
	trial.action.token_pointer = STR("/m/key");
	expect_command(&trial, "{\"m\":{\"key\":\"k1\"}}", "{\"m\":{}}");
	expect_fault(&trial, "{\"m\":{}}", "/m/key", "required");
	trial.action.token_pointer = STR("/request~1key");
	expect_command(&trial, "{\"request/key\":\"k1\",\"a\":1}", "{\"a\":1}");
	expect_fault(&trial, "{\"request/key\":1}", "/request~1key", "token, a string");
	expect_fault(&trial, "{\"request/key2\":\"x\"}", "/request~1key2", "no field");
	trial.action.token_pointer = STR("/a/b/key");
	expect_command(&trial, "{\"a\":{\"b\":{\"key\":\"k\",\"c\":1,\"keys\":2},\"key\":3}}",
		       "{\"a\":{\"b\":{\"c\":1,\"keys\":2},\"key\":3}}");
	expect_command(&trial, "{\"a\":[1]}", "{\"a\":[1]}");
	trial.action.has_fields = false;
	expect_command(&trial, "{\"a\":{\"b\":{\"key\":\"k\"}},\"key\":1}",
		       "{\"a\":{\"b\":{}},\"key\":1}");
	end(&trial);
}

/* However little memory there is: a failure, never a wrong command. */
static void test_little_memory(void **state)
{
	static const char body[] =
		"{\"amount\":\"49.00\",\"currency\":\"usd\",\"at\":\"2026-01-01T01:00:00+01:00\","
		"\"list\":[{\"n\":1}],\"wrong\":1}";
	size_t ceiling = 0;
	struct trial trial;
	struct json_value *tree;
	int r = FAIL_MEMORY;

	begin(&trial,
	      "{\"amount\":{\"type\":\"money\",\"currency\":\"currency\",\"unit\":\"major\"},"
	      "\"currency\":{\"type\":\"string\",\"pattern\":\"^[A-Z]*$\"},\"at\":{\"type\":"
	      "\"timestamp\"},\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	      "\"fields\":{\"n\":{\"type\":\"integer\",\"enum\":[1]}}}}}");
	tree = declare_json(body, &trial.mem);
	for (; r == FAIL_MEMORY && ceiling < 65536; ceiling += 8) {
		struct arena mem;

		arena_init(&mem, ceiling);
		r = command_read(&trial.action, tree, &mem, &trial.out, &trial.command,
				 &trial.faults);
		arena_fini(&mem);
	}
	assert_int_equal(r, COMMAND_REFUSED);
	assert_true(ceiling > 512);
	end(&trial);
}

static void test_tree(void **state)
{
	const struct json_value *money;
	struct trial trial;
	int64_t amount;

	begin(&trial, "{\"m\":{\"type\":\"money\",\"currency\":\"EUR\",\"unit\":\"major\"},"
		      "\"d\":{\"type\":\"string\",\"default\":\"x\"}}");
	read_body(&trial, "{\"m\":49.00}");
	assert_int_equal(trial.result, 0);
	money = json_member(trial.command, STR("m"));
	assert_true(json_number_to_i64(&json_member(money, STR("minor_units"))->number, &amount));
	assert_int_equal(amount, 4900);
	assert_true(str_equal(json_member(trial.command, STR("d"))->string, STR("x")));
	end(&trial);
}

static void test_the_gates_own_field(void **state)
{
	struct trial trial;

	begin(&trial, "{\"a\":{\"type\":\"object\",\"unknown_fields\":\"keep\",\"fields\":{}}}");
	trial.action.downstream_key.field = STR("key");
	expect_fault(&trial, "{\"key\":1}", "/key", "This field is set by the gate; leave it out.");
	trial.action.keeps_unknown = true;
	expect_fault(&trial, "{\"\\u006bey\":null}", "/key", "set by the gate");
	expect_command(&trial, "{\"a\":{\"key\":1},\"Key\":2}", "{\"Key\":2,\"a\":{\"key\":1}}");
	end(&trial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	       cmocka_unit_test(test_the_gates_own_field),
		cmocka_unit_test(test_body),	       cmocka_unit_test(test_without_fields),
		cmocka_unit_test(test_types),	       cmocka_unit_test(test_presence),
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_server_assigned),
		cmocka_unit_test(test_strings),	       cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_much_matching),  cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_choices),	       cmocka_unit_test(test_money),
		cmocka_unit_test(test_currencies),     cmocka_unit_test(test_money_bounds),
		cmocka_unit_test(test_money_in_lists), cmocka_unit_test(test_references),
		cmocka_unit_test(test_nested),	       cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_long_unknown),   cmocka_unit_test(test_every_fault),
		cmocka_unit_test(test_many_faults),    cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_shown_values),   cmocka_unit_test(test_token),
		cmocka_unit_test(test_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
