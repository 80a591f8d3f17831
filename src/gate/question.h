/*
 * The question to a person, as a request or its record gives it.
 *
 * It is put together when the operation is claimed, from the command as it was read; and once more
 * where the declaration that asks has changed since: then from the request that is kept, under the
 * declaration as it is now.
 */
#ifndef GATE_QUESTION_H
#define GATE_QUESTION_H

#include "auth/callers.h"
#include "config/settings.h"
#include "core/fingerprint.h"
#include "gate/policy.h"
#include "store/store.h"

/* Who asks. */
struct question_asker {
	struct str account;
	struct str agent;      /* or empty */
	struct str credential; /* or empty */
};

/* What is sent besides the body. */
struct question_request {
	struct str target; /* path and query */
	struct str lines;  /* its headers, "Name: value\r\n", as they go upstream */
};

/*
 * Does the command need people, by its action? 0: *out is the question (needed 0: there is none),
 * in `mem`; FAIL_MEMORY.
 */
int question_of(const struct policy *policy, const struct question_asker *asker,
		const struct fingerprint_command *reading, const struct question_request *request,
		const struct hash *fingerprint, struct arena *mem, struct store_approval *out);

/* What has become of the declaration that asked, and of those who agreed. */
enum question_rule {
	QUESTION_STANDS,  /* it is as it was, or nothing is asked any more: what was asked stays
			     asked, and what was agreed to stays agreed to */
	QUESTION_CHANGED, /* the rule, the service's address or credential, or how the command reads
			     is another: people are asked anew */
	QUESTION_REVOKED, /* so they are where the key of somebody who agreed has been revoked */
	QUESTION_GONE,	  /* its action is not declared: there is nothing to agree to */
	QUESTION_UNREADABLE, /* its command is none of the action any more */
};

/*
 * Read the kept request under the declaration as it is now, and hold it against what was asked:
 * one of those, with the question anew (for STORE_ASK_AGAIN) where people are asked anew;
 * FAIL_MEMORY.
 */
int question_judge(const struct settings *settings, struct callers *callers,
		   const struct store_operation *operation, const struct store_request *request,
		   const struct store_approval *approval, struct arena *mem,
		   struct store_approval *out_again);

/* Why people are asked anew, as the history says it. */
struct str question_why_anew(enum question_rule rule);

#endif
