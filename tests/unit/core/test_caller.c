/*
 * Roles, powers and what a credential may be used for: core/caller.h.
 */
#include "core/caller.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Shows what each role may: a letter a power, in the order of the enumeration. */
static void roles_have_their_powers(void **state)
{
	static const struct {
		enum caller_role role;
		const char *may;
	} rows[] = {
		{ROLE_AGENT, "y-----"},		 {ROLE_APPROVER, "-yy---"},
		{ROLE_OPERATOR, "-yyyyy"},	 {ROLE_AUDITOR, "-y---y"},
		{(enum caller_role)0, "------"}, {ROLE_COUNT, "------"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned power = 0; power < POWER_COUNT; power++)
			assert_int_equal(role_may(rows[i].role, (enum caller_power)power),
					 rows[i].may[power] == 'y');
}

static void names_of_roles_go_both_ways(void **state)
{
	enum caller_role role = ROLE_COUNT;

	for (unsigned i = ROLE_AGENT; i < ROLE_COUNT; i++) {
		assert_true(role_from(str_from(role_name((enum caller_role)i)), &role));
		assert_int_equal(role, i);
	}
	assert_false(role_from(STR("Agent"), &role));
	assert_false(role_from(STR(""), &role));
}

static bool may_call(const char *pattern, const char *action)
{
	struct str patterns[] = {str_from(pattern)};
	const struct caller caller = {.role = ROLE_AGENT, .actions = patterns, .action_count = 1};

	return caller_may_call(&caller, str_from(action));
}

/* Shows which actions a pattern lets through: nothing that only looks alike. */
static void patterns_narrow_a_credential(void **state)
{
	const struct caller any = {.role = ROLE_AGENT};
	const struct caller person = {.role = ROLE_OPERATOR};

	assert_true(may_call("tickets.create", "tickets.create"));
	assert_false(may_call("tickets.create", "tickets.created"));
	assert_true(may_call("tickets.*", "tickets.create"));
	assert_false(may_call("tickets.*", "tickets."));
	assert_false(may_call("tickets.*", "ticketsx.create"));
	assert_false(may_call("tickets.*", "payments.create"));
	assert_true(may_call("*", "payments.create"));
	assert_false(
		may_call("*", "")); /* what is no action's needs a credential without patterns */
	assert_true(caller_may_call(&any, STR("")));
	assert_true(caller_may_call(&any, STR("tickets.create")));
	assert_false(caller_may_call(&person, STR("tickets.create")));
}

static void a_star_stands_at_the_end_alone(void **state)
{
	assert_true(caller_pattern_is_good(STR("tickets.create")));
	assert_true(caller_pattern_is_good(STR("tickets.*")));
	assert_true(caller_pattern_is_good(STR("*")));
	assert_false(caller_pattern_is_good(STR("")));
	assert_false(caller_pattern_is_good(STR("*.create")));
	assert_false(caller_pattern_is_good(STR("a*b*")));
}

static void accounts_are_kept_apart(void **state)
{
	const struct caller one = {.account = STR("a"), .role = ROLE_OPERATOR};
	const struct caller all = {.account = STR("a"), .has_all_accounts = true};

	assert_true(caller_may_see(&one, STR("a")));
	assert_false(caller_may_see(&one, STR("b")));
	assert_false(caller_may_see(&one, STR("")));
	assert_true(caller_may_see(&all, STR("b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_have_their_powers),
		cmocka_unit_test(names_of_roles_go_both_ways),
		cmocka_unit_test(patterns_narrow_a_credential),
		cmocka_unit_test(a_star_stands_at_the_end_alone),
		cmocka_unit_test(accounts_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
