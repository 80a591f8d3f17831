/*
 * The typed pairs of tests/vectors/fingerprint.json (its path is the argument) are the same
 * command, differ or are refused as each of them says.
 */
#include "core/command.h"
#include "declare.h"

#include <stdio.h>

enum { FILE_MAX = 4 << 20, MEMORY_MAX = 64 << 20 };

static const char *file_name = "fingerprint.json";

static struct str text_at(const struct json_value *value, struct str name)
{
	struct json_value *found = json_member(value, name);

	return found && found->type == JSON_STRING ? found->string : str_of(NULL, 0);
}

static int read_side(const struct action *action, struct str body, struct arena *mem,
		     struct buf *out)
{
	struct str copy = arena_str(mem, body);
	const struct json_value *command;
	struct command_faults faults;
	int r = command_read(action, declare_json(copy.at, mem), mem, out, &command, &faults);

	assert_true(r == 0 || (r == COMMAND_REFUSED && faults.count > 0));
	return r;
}

static const char *verdict_of(const struct json_value *pair, struct arena *mem)
{
	struct action action = declare_action(json_member(pair, STR("fields")), mem);
	struct buf a, b;
	const char *verdict;
	int ra, rb;

	buf_init(&a, 1 << 20);
	buf_init(&b, 1 << 20);
	ra = read_side(&action, text_at(pair, STR("a")), mem, &a);
	rb = read_side(&action, text_at(pair, STR("b")), mem, &b);
	if (ra != 0 || rb != 0)
		verdict = ra == 0 ? "refuse_b" : rb == 0 ? "refuse_a" : "refuse_both";
	else
		verdict = str_equal(buf_str(&a), buf_str(&b)) ? "same" : "differ";
	buf_fini(&a);
	buf_fini(&b);
	declare_forget(&action);
	return verdict;
}

static const struct json_value *read_pairs(struct arena *mem)
{
	char *text = arena_zalloc(mem, FILE_MAX);
	FILE *file = fopen(file_name, "rb");
	const struct json_value *pairs;
	size_t len;

	assert_non_null(file);
	assert_non_null(text);
	len = fread(text, 1, FILE_MAX - 1, file);
	fclose(file);
	assert_in_range(len, 1, FILE_MAX - 2);
	pairs = json_member(declare_json(text, mem), STR("typed"));
	assert_non_null(pairs);
	return pairs;
}

static void test_every_pair(void **state)
{
	const struct json_value *pairs;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	pairs = read_pairs(&mem);
	assert_true(pairs->array.count >= 20);
	for (size_t i = 0; i < pairs->array.count; i++) {
		const struct json_value *pair = pairs->array.items[i];
		struct str want = text_at(pair, STR("want"));
		const char *got = verdict_of(pair, &mem);

		if (!str_equal(want, str_from(got)))
			fail_msg("%.*s: want %.*s, got %s", STR_ARG(text_at(pair, STR("name"))),
				 STR_ARG(want), got);
	}
	arena_fini(&mem);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),
	};

	if (argc == 2)
		file_name = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
