/* A mistyped word finds the one that was meant, and a foreign one finds none. */
#include "cli/suggest.h"

#include "cli_test.h"

#include <string.h>

static const char *nearest(const char *word)
{
	static const char *const known[] = {"sandbox", "op",	  "config",
					    "help",    "resolve", "--state"};
	struct suggestion suggestion;

	suggest_begin(&suggestion, word);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		suggest_offer(&suggestion, known[i]);
	return suggestion.best;
}

static void one_edit_is_near(void **state)
{
	assert_string_equal(nearest("sandbx"), "sandbox");
	assert_string_equal(nearest("sandboxx"), "sandbox");
	assert_string_equal(nearest("sendbox"), "sandbox");
	assert_string_equal(nearest("hlep"), "help");
	assert_string_equal(nearest("po"), "op");
	assert_string_equal(nearest("--stat"), "--state");
}

static void another_word_is_not(void **state)
{
	assert_null(nearest("nope"));
	assert_null(nearest("frobnicate"));
	assert_null(nearest("a-word-longer-than-any-that-a-command-could-have"));
}

static void the_first_of_equals_wins(void **state)
{
	struct suggestion suggestion;

	suggest_begin(&suggestion, "lost");
	suggest_offer(&suggestion, "list");
	suggest_offer(&suggestion, "last");
	assert_string_equal(suggestion.best, "list");
	suggest_offer(&suggestion, "lost");
	assert_string_equal(suggestion.best, "lost");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_edit_is_near),
		cmocka_unit_test(another_word_is_not),
		cmocka_unit_test(the_first_of_equals_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
