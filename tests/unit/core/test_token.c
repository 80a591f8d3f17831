/*
 * A token is one and the same quoted or bare, and whatever two readers could take for
 * different tokens is refused with a sentence that says why.
 */
#include "base/err.h"
#undef fail /* cmocka has one too */
#include "core/token.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check_read(struct str value, struct str expected)
{
	struct arena mem;
	const char *detail = NULL;
	struct str token;
	int r;

	arena_init(&mem, 4096);
	r = token_read(value, &mem, &token, &detail);
	if (r != 0)
		fail_msg("%.*s is refused: %s", STR_ARG(value), detail ? detail : "-");
	if (!str_equal(token, expected))
		fail_msg("%.*s was read as %.*s", STR_ARG(value), STR_ARG(token));
	arena_fini(&mem);
}

/* Refused, and the sentence has `word` in it. */
static void check_refused(struct str value, const char *word)
{
	struct arena mem;
	const char *detail = NULL;
	struct str token = STR("untouched");

	arena_init(&mem, 4096);
	if (token_read(value, &mem, &token, &detail) != TOKEN_MALFORMED)
		fail_msg("taken for a token: %.*s", STR_ARG(value));
	assert_true(str_equal(token, STR("untouched")));
	assert_non_null(detail);
	if (!strstr(detail, word))
		fail_msg("%.*s: no \"%s\" in: %s", STR_ARG(value), word, detail);
	arena_fini(&mem);
}

static void test_quoted_and_bare_are_one(void **state)
{
	check_read(STR("abc"), STR("abc"));
	check_read(STR("\"abc\""), STR("abc"));
	check_read(STR(" \t\"abc\" \t"), STR("abc"));
	check_read(STR("  abc "), STR("abc"));
	check_read(STR("8e03978e-40d5-43e8-bc93-6894a57f9324"),
		   STR("8e03978e-40d5-43e8-bc93-6894a57f9324"));
	check_read(STR("\"!~#$%&'()*+-./:;<=>?@[]^_`{|}\""), STR("!~#$%&'()*+-./:;<=>?@[]^_`{|}"));
	check_read(STR("!~#$%&'()*+-./:;<=>?@[]^_`{|}"), STR("!~#$%&'()*+-./:;<=>?@[]^_`{|}"));
	check_read(STR("\"a,b\""), STR("a,b"));
}

static void test_escapes(void **state)
{
	check_read(STR("\"a\\\"b\""), STR("a\"b"));
	check_read(STR("\"\\\\\""), STR("\\"));
	check_read(STR("\"\\\"\""), STR("\""));
	check_read(STR("a\\b"), STR("a\\b")); /* bare: a backslash is itself */
	check_refused(STR("\"a\\b\""), "backslash");
	check_refused(STR("\"a\\"), "backslash");
	check_refused(STR("\"a\\\""), "closed");
}

static void test_empty(void **state)
{
	check_refused(STR(""), "empty");
	check_refused(STR("   \t"), "empty");
	check_refused(STR("\"\""), "empty");
	check_refused(str_of(NULL, 0), "empty");
}

static void test_lists_and_parameters(void **state)
{
	check_refused(STR("a, b"), "list");
	check_refused(STR("a,b"), "list");
	check_refused(STR(","), "list");
	check_refused(STR("\"a\", \"b\""), "list");
	check_refused(STR("\"a\" , b"), "list");
	check_refused(STR("a, \"b\""), "list");
	check_refused(STR("\"a\";x=1"), "Parameters");
	check_refused(STR("\"a\" ;x"), "Parameters");
	check_refused(STR("\"a\"b"), "follows");
	check_refused(STR("\"a\"\"b\""), "follows");
}

static void test_bytes(void **state)
{
	for (int c = 0; c < 256; c++) {
		char bare[3] = {'a', (char)c, 'b'}, quoted[5] = {'"', 'a', (char)c, 'b', '"'};

		if (c > 0x20 && c < 0x7f)
			continue;
		check_refused(str_of(bare, 3), "visible ASCII");
		check_refused(str_of(quoted, 5), "visible ASCII");
	}
	check_refused(STR("a\"b"), "quote");
	check_refused(STR("a\""), "quote");
	check_refused(STR("\""), "closed");
	check_refused(STR("\"abc"), "closed");
}

static void test_length(void **state)
{
	char text[2 * 256 + 2];

	memset(text, 'x', sizeof(text));
	check_read(str_of(text, 255), str_of(text, 255));
	check_refused(str_of(text, 256), "longer");
	text[0] = '"';
	text[256] = '"';
	check_read(str_of(text, 257), str_of(text + 1, 255));
	text[256] = 'x';
	text[257] = '"';
	check_refused(str_of(text, 258), "longer");
}

/* The length is that of the token, not of its spelling. */
static void test_length_counts_without_escapes(void **state)
{
	char text[2 * 255 + 2], token[255];

	text[0] = text[511] = '"';
	for (size_t i = 0; i < 255; i++) {
		text[1 + 2 * i] = '\\';
		text[2 + 2 * i] = token[i] = '"';
	}
	check_read(str_of(text, sizeof(text)), str_of(token, 255));
}

static void test_no_memory(void **state)
{
	struct arena mem;
	struct str token;
	const char *detail;

	arena_init(&mem, 0);
	assert_int_equal(token_read(STR("\"a\\\\b\""), &mem, &token, &detail), FAIL_MEMORY);
	assert_int_equal(token_read(STR("\"ab\""), &mem, &token, &detail), 0);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quoted_and_bare_are_one),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_lists_and_parameters),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_length_counts_without_escapes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
