/*
 * Shows that steps, tokens, payloads and marks are what tests/vectors/call.json says, which every
 * client in every language has to pass: they share one journal.
 */
#include "client/identity.h"
#include "client/payload.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FILE_MAX = 1 << 20, MEMORY_MAX = 64 << 20 };

static struct json_value *vectors;
static struct arena mem; /* of the vectors, and of one test's results */

static void read_vectors(const char *file_name)
{
	FILE *file = fopen(file_name, "rb");
	struct json_error error;
	char *text = malloc(FILE_MAX);
	size_t len;

	arena_init(&mem, MEMORY_MAX);
	if (!file || !text)
		exit(2);
	len = fread(text, 1, FILE_MAX, file);
	(void)fclose(file);
	if (json_read(arena_str(&mem, str_of(text, len)), &json_limits_default, &mem, &vectors,
		      &error) != 0)
		exit(2);
	free(text);
}

/* The lines of a section, of which there have to be some. */
static size_t count_of(const char *section)
{
	struct json_value *lines = json_member(vectors, str_from(section));

	assert_non_null(lines);
	assert_true(lines->array.count > 0);
	return lines->array.count;
}

static struct json_value *line_of(const char *section, size_t at)
{
	return json_member(vectors, str_from(section))->array.items[at];
}

static bool has(struct json_value *line, const char *name)
{
	return json_member(line, str_from(name)) != NULL;
}

static struct str text_of(struct json_value *line, const char *name)
{
	struct json_value *value = json_member(line, str_from(name));

	if (!value || value->type != JSON_STRING)
		fail_msg("a line has no %s", name);
	return value->string;
}

static bool is_refused(struct json_value *line)
{
	struct json_value *value = json_member(line, STR("refused"));

	return value && value->type == JSON_TRUE;
}

static void assert_text(struct str got, struct str wanted)
{
	if (!str_equal(got, wanted))
		fail_msg("got %.*s in the place of %.*s", STR_ARG(got), STR_ARG(wanted));
}

/* It is refused with a sentence where the line says so, else spelled as it says. */
static void assert_outcome(struct json_value *line, struct str written, int r, struct str got,
			   const char *why, const char *wanted)
{
	if (is_refused(line) != (r == IDENTITY_REFUSED))
		fail_msg("%.*s: %s", STR_ARG(written), r ? why : "is not refused");
	if (r)
		assert_true(strlen(why) > 10);
	else
		assert_text(got, text_of(line, wanted));
}

static void urls_are_spelled(void **state)
{
	for (size_t i = 0; i < count_of("urls"); i++) {
		struct json_value *line = line_of("urls", i);
		struct str url = text_of(line, "url"), spelled = STR("");
		const char *why = "";
		int r = url_spell(url, &mem, &spelled, &why);

		assert_outcome(line, url, r, spelled, why, "spelled");
		if (r == 0) { /* what is spelled spells to itself */
			assert_int_equal(url_spell(spelled, &mem, &spelled, &why), 0);
			assert_text(spelled, text_of(line, "spelled"));
		}
	}
}

static void methods_are_spelled(void **state)
{
	for (size_t i = 0; i < count_of("methods"); i++) {
		struct json_value *line = line_of("methods", i);
		struct step wish = {.task = STR("a"),
				    .step = STR("b"),
				    .method = text_of(line, "method"),
				    .url = STR("http://h.test/")};
		struct step step = {.method = STR("")};
		const char *why = "";
		int r = step_read(&wish, &mem, &step, &why);

		assert_outcome(line, wish.method, r, step.method, why, "spelled");
	}
}

static void names_are_plain_text(void **state)
{
	for (size_t i = 0; i < count_of("names"); i++) {
		struct json_value *line = line_of("names", i);
		struct step wish = {.task = text_of(line, "task"),
				    .step = text_of(line, "step"),
				    .method = STR("POST"),
				    .url = STR("http://h.test/")};
		struct step step = {.task = STR("")};
		const char *why = "";
		int r = step_read(&wish, &mem, &step, &why);

		assert_outcome(line, wish.task, r, step.task, why, "task");
	}
}

static void tokens_by_hand_are_read(void **state)
{
	for (size_t i = 0; i < count_of("hand_tokens"); i++) {
		struct json_value *line = line_of("hand_tokens", i);
		struct step wish = {.method = STR("POST"),
				    .url = STR("http://h.test/"),
				    .token = text_of(line, "written")};
		struct step step = {.token = STR("")};
		const char *why = "";
		int r = step_read(&wish, &mem, &step, &why);

		assert_outcome(line, wish.token, r, step.token, why, "token");
	}
}

static void tokens_are_derived(void **state)
{
	for (size_t i = 0; i < count_of("tokens"); i++) {
		struct json_value *line = line_of("tokens", i);
		struct step step = {.task = text_of(line, "task"),
				    .step = text_of(line, "step"),
				    .method = text_of(line, "method"),
				    .url = text_of(line, "url")};
		char token[STEP_TOKEN_TEXT + 1];

		token_derive(&step, token);
		assert_text(str_from(token), text_of(line, "token"));
	}
}

static struct str body_of(struct json_value *line)
{
	struct str hex;
	char *bytes;

	if (!has(line, "body_hex"))
		return text_of(line, "body");
	hex = text_of(line, "body_hex");
	bytes = arena_alloc(&mem, hex.len / 2);
	assert_non_null(bytes);
	for (size_t i = 0; i < hex.len / 2; i++)
		bytes[i] = (char)(hex_digit(hex.at[2 * i]) << 4 | hex_digit(hex.at[2 * i + 1]));
	return str_of(bytes, hex.len / 2);
}

/* The same names with the same digests; no text where there are to be none. */
static void assert_members(struct json_value *line, struct str members)
{
	struct json_value *wanted = json_member(line, STR("members")), *got;
	struct json_error error;
	int64_t count = wanted && wanted->type == JSON_OBJECT ? (int64_t)wanted->object.count : 0;

	if (wanted && wanted->type == JSON_NULL) {
		assert_int_equal(members.len, 0);
		return;
	}
	assert_int_equal(json_read(members, &json_limits_default, &mem, &got, &error), 0);
	if (!wanted)
		assert_true(json_number_to_i64(&json_member(line, STR("member_count"))->number,
					       &count));
	assert_int_equal(got->object.count, count);
	for (size_t i = 0; wanted && i < wanted->object.count; i++) {
		struct json_value *digest = json_member(got, wanted->object.members[i].name);

		assert_non_null(digest);
		assert_text(digest->string, wanted->object.members[i].value->string);
	}
}

static void payloads_are_digested(void **state)
{
	for (size_t i = 0; i < count_of("payloads"); i++) {
		struct json_value *line = line_of("payloads", i);
		struct payload payload;

		assert_int_equal(payload_of(text_of(line, "content_type"), body_of(line),
					    text_of(line, "token"), &mem, &payload),
				 0);
		if (!str_equal(str_from(payload.hex), text_of(line, "payload")))
			fail_msg("%.*s", STR_ARG(text_of(line, "name")));
		assert_members(line, payload.members);
	}
}

static struct payload side_of(struct json_value *line, const char *side, const char *type)
{
	struct payload payload;

	assert_int_equal(payload_of(has(line, type) ? text_of(line, type) : STR("application/json"),
				    text_of(line, side), STR("token"), &mem, &payload),
			 0);
	return payload;
}

static void differences_are_named(void **state)
{
	for (size_t i = 0; i < count_of("differences"); i++) {
		struct json_value *line = line_of("differences", i);
		struct payload before = side_of(line, "before", "before_type");
		struct payload after = side_of(line, "after", "after_type");

		assert_string_not_equal(before.hex, after.hex);
		assert_text(payload_difference(before.members, after.members, &mem),
			    text_of(line, "text"));
	}
}

static void credentials_are_marked(void **state)
{
	for (size_t i = 0; i < count_of("marks"); i++) {
		struct json_value *line = line_of("marks", i);
		char mark[CREDENTIAL_MARK + 1];

		credential_mark(text_of(line, "token"), text_of(line, "authorization"), mark);
		assert_text(str_from(mark), text_of(line, "mark"));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_spelled),	 cmocka_unit_test(methods_are_spelled),
		cmocka_unit_test(names_are_plain_text),	 cmocka_unit_test(tokens_by_hand_are_read),
		cmocka_unit_test(tokens_are_derived),	 cmocka_unit_test(payloads_are_digested),
		cmocka_unit_test(differences_are_named), cmocka_unit_test(credentials_are_marked),
	};
	int r;

	if (argc != 2)
		return 2;
	read_vectors(argv[1]);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	arena_fini(&mem);
	return r;
}
