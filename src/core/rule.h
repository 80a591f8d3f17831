/*
 * The rules of a declared action, as plain data.
 *
 * What the configuration says of an action beyond its fields: which commands are the same
 * business, which resource only one may hold, which amounts have a ceiling, what its answers
 * mean, and how the gate may find out what became of an unknown one. Filled by src/config,
 * never changed afterwards; every text lives in the settings' memory. What the rules say of one
 * command is in rule_facts.h.
 */
#ifndef CORE_RULE_H
#define CORE_RULE_H

#include "base/hash.h"
#include "core/caller.h"
#include "core/matcher.h"
#include "core/outcome.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a rule finds a value of the request. */
struct rule_part {
	struct str name;    /* as it is written: "project", "/customer/id" */
	struct str pointer; /* JSON pointer into the command; empty: a parameter of the route */
	size_t parameter;   /* which, counted along the route */
};

/* Something that may be true of a JSON document. */
struct rule_condition {
	struct str pointer;		   /* where to look; "" is the whole */
	const struct json_value **choices; /* true where the value is one of these; */
	size_t choice_count;		   /* 0: true where there is a value that is not null */
};

/* One effect for each business identity, across tokens and agents of an account. */
struct rule_unique {
	struct rule_part *by;
	size_t count; /* 0: no such rule */
	int64_t for_ms;
};

/* One holder for each resource. */
struct rule_lock {
	struct rule_part *on;
	size_t count;	     /* 0: no such rule */
	struct str resource; /* what kind of thing it is; empty: only `on` names it */
	bool is_queue;	     /* held: queue; else refuse */
	struct str version;  /* pointer to the field with the version it expects; or empty */
	struct str fencing;  /* header that takes the fencing number upstream; or empty */
};

/* The sum of amounts that are not known to have failed stays below what was opened. */
struct rule_budget {
	bool is_declared;
	struct rule_part of; /* whose budget */
	struct str amount;   /* pointer to the money in the command */
	bool lets_unknown;   /* if_unknown: allow; one that nobody opened does not count */
};

/* A success opens a budget. */
struct rule_opens_budget {
	bool is_declared;
	struct str id;	   /* pointer into the answer */
	struct str amount; /* pointer to the money in the command */
	int64_t for_ms;	   /* how long it is known; at least retention */
};

/* What an answer says beyond its status. Pointers into its JSON; empty: nothing. */
struct rule_response {
	struct str reference;		    /* what the service calls the effect */
	struct str resource;		    /* the URL or path of what was made */
	struct rule_condition *failed_when; /* any: a failure, whatever the status */
	size_t failed_when_count;
};

/* A key that the service honours: the same one, the same effect. At most one of the two. */
struct rule_downstream_key {
	struct str header; /* it goes in this header; or */
	struct str field;  /* in this member of the JSON body; both empty: there is none */
	int64_t for_ms;	   /* how long after the first sending the service still knows it */
};

/* A question to the service: is it there? Of `probe` and of `lookup`. */
struct rule_inquiry {
	struct str get; /* path and query with {names}, see core/template.h; empty: no such rule */
	uint64_t found[STATUS_WORDS];  /* statuses */
	struct str found_at;	       /* pointer to what is found; "" is the whole answer */
	int found_as;		       /* status of its replays */
	uint64_t absent[STATUS_WORDS]; /* statuses; none: absence is never certain */
	struct str absent_empty;       /* pointer to what is then there and empty or null; */
	bool has_absent_empty;	       /* else the status is enough */
	int64_t settle_ms;	       /* probe: absence counts only so long after the sending */
	int64_t every_ms;	       /* probe: the first pause between two; they grow */
	int64_t give_up_ms;	       /* probe: then it is a person's */
	int64_t timeout_ms;	       /* of one question */
};

/* Events that come in from a service: Standard Webhooks. */
struct rule_inbox {
	bool is_declared;
	struct str id_pointer; /* pointer to the event's id in the body; empty: webhook-id */
	struct str *secrets;   /* raw keys, as they sign; none: not verified */
	size_t secret_count;
	int64_t tolerance_ms; /* how far its timestamp may be from now, either way */
};

/* Something that may be true of a command, and then a person is asked. */
struct rule_approval_condition {
	struct rule_part part;		   /* whose value; no name: the next but one */
	const struct json_value **choices; /* true where it is one of these; or */
	size_t choice_count;
	bool is_first_use; /* true until a command of this action and agent has been agreed to */
	const struct json_number *over; /* true where it is more; of money, minor units; or NULL */
	struct str currency;	 /* `over` counts in this one, and another is always over it */
	struct str pattern_text; /* true where the text matches; as written; or empty */
	struct matcher *pattern;
};

/* A person has to agree before it is sent. */
struct rule_approval {
	bool is_declared;
	bool is_always;
	struct rule_approval_condition *when; /* any of them */
	size_t when_count;
	unsigned approvers;	  /* how many different people, 1 or 2 */
	bool by_role[ROLE_COUNT]; /* who may answer */
	struct str *by_accounts;  /* callers of these alone; */
	size_t by_account_count;  /* 0: whoever may see the operation */
	int64_t expires_ms;	  /* how long the question is open */
	struct hash policy;	  /* approval_policy() of all this */
	struct str summary;	  /* with {field} in it; empty: the action's */
	struct str consequence;	  /* what happens then, for people; or empty */
	struct str class_name;	  /* what kind of thing it is; or empty */
	bool says_reversible;	  /* whether `is_reversible` was said */
	bool is_reversible;
};

enum {
	RULE_PARTS_MAX = 16,	  /* of one rule */
	RULE_CONDITIONS_MAX = 16, /* of failed_when, and of approval.when */
	RULE_APPROVERS_MAX = 2,
	RULE_SECRETS_MAX = 8,
};

#endif
