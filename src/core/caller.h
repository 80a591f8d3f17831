/*
 * Who calls, and what that lets them do. Pure.
 *
 * A caller is what the gate has made sure of: an account (the tenant), an agent inside it, the
 * credential that was shown, a role. A role is a set of powers; a credential may narrow the actions
 * it can be used for, and says whether it reaches beyond its own account. What is not said is not
 * allowed.
 */
#ifndef CORE_CALLER_H
#define CORE_CALLER_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The numbers are stored; they never change. */
enum caller_role {
	ROLE_AGENT = 1,	   /* calls actions, and looks at its own account's operations */
	ROLE_APPROVER = 2, /* looks, and answers approvals */
	ROLE_OPERATOR =
		3, /* all that a person may do: approvals, unknown ones, locks, keys, secrets */
	ROLE_AUDITOR = 4, /* looks at everything, the audit log too, and changes nothing */
	ROLE_COUNT = 5,
};

enum caller_power {
	POWER_CALL,	  /* make writes, through the data listener */
	POWER_LOOK,	  /* operations, approvals, locks, budgets */
	POWER_DECIDE,	  /* approve and deny */
	POWER_OPERATE,	  /* cancel, resolve, release */
	POWER_ADMINISTER, /* keys and secrets */
	POWER_AUDIT,	  /* read the audit log */
	POWER_COUNT,
};

enum { CALLER_PATTERNS_MAX = 32 };

struct caller {
	struct str account;    /* the scope of its tokens; never empty for who has POWER_CALL */
	struct str agent;      /* who, inside the account; or empty */
	struct str credential; /* id of what was shown: two requests with one id are one caller's;
				  never the secret itself. Empty: none has an id */
	enum caller_role role;
	bool has_all_accounts; /* it may look at, and decide about, every account */
	struct str *actions;   /* patterns of the actions it may call: "tickets.*"; */
	size_t action_count;   /* 0: all, and what no action is */
	int64_t expires_ms;    /* Unix time from which on it is nobody's; 0: not by its own word */
};

/* May somebody in that role? */
bool role_may(enum caller_role role, enum caller_power power);

const char *role_name(enum caller_role role);
bool role_from(struct str name, enum caller_role *out_role);

/* May it call the action of that name (empty: what is no action's)? */
bool caller_may_call(const struct caller *caller, struct str action);

/* Is what belongs to `account` its to see? */
bool caller_may_see(const struct caller *caller, struct str account);

/*
 * Is `pattern` one: a name of an action, in which `*` at its end stands for any rest that is not
 * empty, or `*` alone for all?
 */
bool caller_pattern_is_good(struct str pattern);

#endif
