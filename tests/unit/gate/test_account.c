/* Shows that an account is its credential: the same one the same account, another one another,
 * and nothing of the credential to be seen in it. */
#include "gate_test.h"

#include "gate/account.h"

static void assert_account(const char *lines, const char *expected)
{
	struct exchange exchange;
	char head[512];

	snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: x\r\n%s", lines);
	exchange_from(&exchange, head);
	assert_text(account_of(&exchange), str_from(expected));
	exchange_done(&exchange);
}

#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void an_account_is_the_digest_of_its_credential(void **state)
{
	/* SHA-256 of "Bearer abc" and of "bearer abc", from sha256sum. */
	assert_account("Authorization: Bearer abc\r\n",
		       "c355dce96c1612880d11940ffdd9014d386c253e0c3652a6cd06a7226f7bd2b6");
	assert_account("authorization:   Bearer abc  \r\n",
		       "c355dce96c1612880d11940ffdd9014d386c253e0c3652a6cd06a7226f7bd2b6");
	assert_account("Authorization: bearer abc\r\n",
		       "46e38e9ce4c432c3ca84636e27ba624263cfe0e4ad78886dcbad9942a0f3f36a");
}

static void requests_without_a_credential_share_one(void **state)
{
	assert_account("", OF_NOTHING);
	assert_account("Authorization:\r\n", OF_NOTHING);
	assert_account("Cookie: session=1\r\nX-Authorization: Bearer abc\r\n", OF_NOTHING);
}

/* An inbox's account is as long as its action's name. */
static void the_log_shows_no_more_than_there_is(void **state)
{
	assert_text(account_shown(STR("c355dce96c1612880d11940ffdd9014d")), STR("c355dce96c16"));
	assert_text(account_shown(STR("inbox/paid")), STR("inbox/paid"));
	assert_text(account_shown(STR("")), STR(""));
}

static void without_memory_there_is_no_account(void **state)
{
	struct exchange exchange;

	exchange_from(&exchange, "GET / HTTP/1.1\r\nHost: x\r\n");
	exchange.mem.ceiling = exchange.mem.used;
	assert_null(account_of(&exchange).at);
	exchange_done(&exchange);
}

static void names_are_texts(void **state)
{
	static const char *const names[] = {"acme", "a b", "b\xc3\xbc", "inbox", "Inbox/paid"};
	static const char *const none[] = {"",	    "a\tb",	"\x7f",		"\xff",
					   "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "a\nb"};
	char long_one[ACCOUNT_NAME_MAX + 1];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(account_is_a_name(str_from(names[i])));
		assert_true(account_is_a_callers(str_from(names[i])));
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(account_is_a_name(str_from(none[i])));
	memset(long_one, 'x', sizeof(long_one));
	assert_true(account_is_a_name(str_of(long_one, ACCOUNT_NAME_MAX)));
	assert_false(account_is_a_name(str_of(long_one, ACCOUNT_NAME_MAX + 1)));
	assert_false(account_is_a_callers(STR("inbox/paid")));
	assert_false(account_is_a_callers(STR("inbox/")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_is_the_digest_of_its_credential),
		cmocka_unit_test(requests_without_a_credential_share_one),
		cmocka_unit_test(the_log_shows_no_more_than_there_is),
		cmocka_unit_test(without_memory_there_is_no_account),
		cmocka_unit_test(names_are_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
