/*
 * Roles and powers, as one table: a row a role, a column a power. An empty cell is a no.
 */
#include "core/caller.h"

#include "base/err.h"

static const char *const role_names[ROLE_COUNT] = {
	[ROLE_AGENT] = "agent",
	[ROLE_APPROVER] = "approver",
	[ROLE_OPERATOR] = "operator",
	[ROLE_AUDITOR] = "auditor",
};

/* An agent's view is the data listener's status resource, which is its own account's alone. */
static const bool powers[ROLE_COUNT][POWER_COUNT] = {
	[ROLE_AGENT] = {[POWER_CALL] = true},
	[ROLE_APPROVER] = {[POWER_LOOK] = true, [POWER_DECIDE] = true},
	[ROLE_OPERATOR] =
		{
			[POWER_LOOK] = true,
			[POWER_DECIDE] = true,
			[POWER_OPERATE] = true,
			[POWER_ADMINISTER] = true,
			[POWER_AUDIT] = true,
		},
	[ROLE_AUDITOR] = {[POWER_LOOK] = true, [POWER_AUDIT] = true},
};

static bool is_role(enum caller_role role)
{
	return (unsigned)role >= ROLE_AGENT && (unsigned)role < ROLE_COUNT;
}

bool role_may(enum caller_role role, enum caller_power power)
{
	return is_role(role) && (unsigned)power < POWER_COUNT && powers[role][power];
}

const char *role_name(enum caller_role role)
{
	require(is_role(role));
	return role_names[role];
}

bool role_from(struct str name, enum caller_role *out_role)
{
	for (unsigned role = ROLE_AGENT; role < ROLE_COUNT; role++) {
		if (str_equal(name, str_from(role_names[role]))) {
			*out_role = (enum caller_role)role;
			return true;
		}
	}
	return false;
}

static bool is_open_ended(struct str pattern)
{
	return pattern.len && pattern.at[pattern.len - 1] == '*';
}

static bool pattern_matches(struct str pattern, struct str action)
{
	if (!is_open_ended(pattern))
		return str_equal(pattern, action);
	pattern.len--;
	return action.len > pattern.len && str_starts_with(action, pattern);
}

bool caller_may_call(const struct caller *caller, struct str action)
{
	if (!role_may(caller->role, POWER_CALL))
		return false;
	for (size_t i = 0; i < caller->action_count; i++) {
		if (pattern_matches(caller->actions[i], action))
			return true;
	}
	return caller->action_count == 0;
}

bool caller_may_see(const struct caller *caller, struct str account)
{
	return caller->has_all_accounts || str_equal(caller->account, account);
}

bool caller_pattern_is_good(struct str pattern)
{
	size_t star = str_find(pattern, '*');

	return pattern.len && (star == pattern.len || star == pattern.len - 1);
}
