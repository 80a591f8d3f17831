/*
 * What the rules of an action say of one command: the facts that its claim is judged by.
 *
 * Pure: a command, the path, the account and the declaration in; hashes, names and amounts
 * out. Whether an identity is taken, a lock held or a budget spent is for the store to say,
 * in the transaction of the claim.
 *
 * Every hash is SHA-256 over a tag, NUL, then parts as a 32-bit big-endian length and bytes,
 * and has the account in it: nothing here reaches across accounts.
 */
#ifndef CORE_RULE_FACTS_H
#define CORE_RULE_FACTS_H

#include "base/hash.h"
#include "core/action.h"
#include "core/money.h"

/* The rules in force for one command; all false: none. */
struct rule_facts {
	bool has_unique; /* all parts are there and not null */
	struct hash unique;
	int64_t unique_ms; /* how long the identity is taken */

	bool has_lock;
	struct hash lock;
	struct str lock_name; /* for people: "environment=production service=web" */
	bool lock_queues;     /* wait for it in order of arrival; else be refused */
	bool has_version;     /* the version that is expected of it */
	int64_t version;

	bool has_budget;
	struct hash budget;
	bool lets_unknown_budget;
	struct money spends;

	bool opens_budget; /* if it succeeds; whose, its answer says: see budget_hash() */
	struct money opens;
	int64_t budget_ms; /* how long it is kept */
};

/*
 * The facts of `command`, the canonical tree of command_read() (money is
 * {"currency", "minor_units"} there), sent to the normalised `path` of the action's route at
 * `upstream`, its name. NULL: no command, all parts are parameters of the route.
 * 0; FAIL_MEMORY. `lock_name` lives in `mem`.
 *
 * Names of locks are compared without case: folded by Unicode's full case folding and NFC before
 * they are hashed, and shown as first sent. Two actions share a lock where its kind (resource, or
 * the names of the parts) and values are the same. A part is a text, number or boolean (objects and
 * arrays by their canonical text), or a parameter of the route without its escapes; 17 and "17" are
 * one. Fields of a lock or a budget are always there and not null: the configuration sees to it
 * (FAIL_UNPLANNED, logged). Values of secret fields are not in `lock_name`, long ones are cut. A
 * negative amount spends nothing and opens nothing.
 */
int rule_facts_of(const struct action *action, struct str account, struct str upstream,
		  struct str path, const struct json_value *command, struct arena *mem,
		  struct rule_facts *out_facts);

/*
 * Whose budget: `id` is what the answer of the one that opens it says, a text or a number's text.
 * Budgets are kept for long, so `upstream` is its name and not its place in a configuration.
 */
void budget_hash(struct str account, struct str upstream, struct str id, struct hash *out_hash);

#endif
