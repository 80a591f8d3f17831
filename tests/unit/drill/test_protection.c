/* What protects an action is said where a rule says it, and what is missing is said, too. */
#include "drill/protection.h"

#include "drill_test.h"

static struct arena mem;
static struct settings *settings;

#define HEAD "upstreams: {default: {url: \"http://127.0.0.1:9000\"}}\n"

static int teardown(void **state)
{
	settings_free(settings);
	settings = NULL;
	arena_fini(&mem);
	return 0;
}

static struct protection protect(struct str text)
{
	struct settings_report report;
	struct protection protection;

	arena_init(&mem, TEST_MEMORY_MAX);
	settings_report_init(&report);
	assert_int_equal(settings_parse(text, "test", NULL, &settings, &report), 0);
	settings_report_fini(&report);
	assert_int_equal(protection_of(settings, &settings->actions[0], &mem, &protection), 0);
	return protection;
}

static bool says(const struct str *lines, size_t count, const char *words)
{
	for (size_t i = 0; i < count; i++) {
		if (memmem(lines[i].at, lines[i].len, words, strlen(words)))
			return true;
	}
	return false;
}

static void test_without_rules(void **state)
{
	struct protection protection =
		protect(STR(HEAD "actions: {refunds.create: {route: POST /v1/refunds}}\n"));

	assert_true(str_equal(protection.summary,
			      STR("token yes, business key none, lock none, budget none, "
				  "approval none")));
	assert_true(says(protection.holds, protection.hold_count, "A token is required"));
	assert_true(says(protection.gaps, protection.gap_count,
			 "two agents with two tokens would do refunds.create twice"));
	assert_true(says(protection.gaps, protection.gap_count, "After a lost answer"));
}

static void test_with_rules(void **state)
{
	struct protection protection = protect(
		STR(HEAD "actions:\n  pay:\n    route: POST /v1/payments\n"
			 "    fields: {invoice: {type: string, required: true}}\n"
			 "    unique: {by: [invoice], for: forever}\n"
			 "    lock: {on: [invoice], held: queue}\n    approval: {when: always}\n"));

	assert_true(str_equal(protection.summary,
			      STR("token yes, business key invoice, lock invoice, budget none, "
				  "approval always")));
	assert_true(says(protection.holds, protection.hold_count, "One effect for each invoice"));
	assert_true(says(protection.holds, protection.hold_count, "whoever comes meanwhile waits"));
	assert_true(says(protection.holds, protection.hold_count, "before a person has agreed"));
	assert_false(says(protection.gaps, protection.gap_count, "two agents"));
}

static void test_without_a_token(void **state)
{
	struct protection protection =
		protect(STR(HEAD "tokens: {required: false}\nundeclared: pass\n"
				 "actions: {pay: {route: POST /v1/payments}}\n"));

	assert_true(says(protection.gaps, protection.gap_count, "A token is optional"));
	assert_false(says(protection.holds, protection.hold_count, "token"));
	assert_non_null(strstr(protection_undeclared(settings), "pass unprotected"));
}

static void test_natural(void **state)
{
	struct protection protection =
		protect(STR(HEAD "actions: {put: {route: \"PUT /v1/o/{id}\", natural: true}}\n"));

	assert_true(says(protection.holds, protection.hold_count, "needs no token"));
	assert_int_equal(protection.gap_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_without_rules, teardown),
		cmocka_unit_test_teardown(test_with_rules, teardown),
		cmocka_unit_test_teardown(test_without_a_token, teardown),
		cmocka_unit_test_teardown(test_natural, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
