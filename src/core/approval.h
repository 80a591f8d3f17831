/*
 * Approvals: whether people have to agree to a command, and what they are shown of it. Pure.
 *
 * What is shown is all that a person has to go by, and most of it are texts of whoever wants the
 * approval. So nothing in it can pretend to be something else: what cannot be seen, or changes how
 * its neighbours are seen (control characters, other spaces than the one, overrides of direction,
 * joiners, tags, what is not assigned), is written as \u{202E}; a value that stands in a sentence
 * stands in quotation marks that it cannot close. Values of secret fields are not shown at all.
 * What is sent later are the caller's own bytes, and never made of this.
 */
#ifndef CORE_APPROVAL_H
#define CORE_APPROVAL_H

#include "base/hash.h"
#include "core/action.h"
#include "core/caller.h"

#define APPROVAL_MASK "••••" /* in place of a secret value, whatever it is */

enum {
	APPROVAL_SUMMARY_MAX = 2000, /* bytes; more is cut, and ends in … */
	APPROVAL_VALUE_MAX = 200,    /* bytes of one value in a sentence */
};

/* When is a person asked? */
struct approval_need {
	bool is_asked;	   /* a person has to agree; */
	bool unless_known; /* but only if nobody has agreed to this agent's use of the action yet */
};

/*
 * Does `command`, the canonical tree of command_read() (NULL: none), sent to the normalised `path`
 * of the action's route, need people? A condition is true of a value that is there: one that is
 * absent or null makes none true, but for `in` or `is` with null among its values. A text is one of
 * those that are named where a service might take it for that (core/alike.h). What cannot be judged
 * makes it true: a text that is too long to be matched, a value of another kind. 0, FAIL_MEMORY.
 */
int approval_is_asked(const struct action *action, struct str path,
		      const struct json_value *command, struct arena *mem,
		      struct approval_need *out_need);

/* What a person is shown; all in the memory it was asked with. */
struct approval_question {
	struct str summary; /* "Refund 31.50 EUR of “pay_1”": the template's, values filled in */
	struct str consequence;
	struct str class_name;
	bool says_reversible, is_reversible;
	struct str command; /* JSON: as canonical as command_read() has it, secrets masked */
	struct str shown;   /* JSON: {"summary", "consequence", "reversible": true | false | null,
			       "class", "command"}, what store_approval.shown keeps */
};
/* 0, FAIL_MEMORY. */
int approval_question(const struct action *action, struct str path,
		      const struct json_value *command, struct arena *mem,
		      struct approval_question *out_question);

/* Of the declaration: who has to agree, to what, for how long, and what they are told. 0,
 * FAIL_MEMORY. Computed once, as rule_approval.policy. */
int approval_policy(const struct action *action, struct arena *mem, struct hash *out_policy);

/* Questions of one agent about one and the same command, whatever its token. */
void approval_alike(struct str account, struct str agent, struct str action,
		    const struct hash *fingerprint, struct hash *out_hash);

/* An agent and what it uses, for first_use. An agent without a name is its account. */
void approval_agent(struct str account, struct str agent, struct str action, struct hash *out_hash);

/* May `caller` answer, by the declaration alone? Its power to decide, and what it may see, are
 * asked elsewhere. */
bool approval_may_answer(const struct rule_approval *rule, const struct caller *caller);

/* Append `text` with everything made visible. Failures show in out->is_spoiled. */
void approval_visible(struct str text, struct buf *out);

#endif
