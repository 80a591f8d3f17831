/*
 * What the store keeps, as plain data: operations, their answers and attempts, the requests that
 * the gate may have to send by itself, the locks they hold.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "base/hash.h"
#include "base/str.h"
#include "core/caller.h"
#include "core/money.h"
#include "core/operation.h"
#include "core/outcome.h"

#include <stdbool.h>
#include <stdint.h>

/* The upstream's answer, as it is replayed. */
struct store_answer {
	int status;	    /* 0: none was recorded */
	bool is_kept;	    /* headers and body are whole; else only what follows is */
	struct str headers; /* "Name: value\r\n" lines, end-to-end ones only */
	struct str body;
	uint64_t length;    /* of the body, also when it is not kept */
	struct hash digest; /* SHA-256 of the body */
};

/* One operation as the ledger has it. */
struct store_operation {
	struct operation_id id;
	struct str account;
	struct str token;
	struct hash fingerprint;
	struct str method;
	struct str path;     /* without the query */
	struct str action;   /* declared action; empty: none */
	struct str upstream; /* its name in the configuration */
	struct str retry_of; /* id text of the failed one that this retries; or empty */
	enum operation_state state;
	uint32_t epoch;	    /* grows each time it is picked up for sending; see claim_epoch() */
	uint32_t attempts;  /* recorded so far, also those no longer kept */
	int64_t created_ms; /* Unix time */
	int64_t updated_ms;
	int64_t expires_ms;    /* a terminal one may be forgotten from then on */
	bool is_dispatched;    /* while queued it is the dispatcher's to send, not an attempt's */
	bool is_asked;	       /* a person was asked: it has an approval */
	uint32_t tries;	       /* sendings, and questions once it was unknown, in a row */
	int64_t sent_ms;       /* when it was first picked up for sending; 0: never */
	int64_t due_ms;	       /* when the gate sees to it by itself; 0: it does not, INT64_MAX: it
				  waits for a lock, or has given up */
	struct str probe;      /* the question of its probe, inquiry_mark()ed; or empty */
	struct str reference;  /* what the service calls the effect; or empty */
	struct str resource;   /* the URL or path of what it made; or empty */
	struct str reason;     /* why it was resolved, cancelled or failed by the gate; or empty */
	struct str decided_by; /* who resolved or cancelled it; or empty */
	struct store_answer answer;
};

/* A request that is kept until its operation has ended. No method: none is. */
struct store_request {
	struct str method;
	struct str target;  /* path and query, as it came */
	struct str headers; /* "Name: value\r\n" lines, as they go upstream, but for what each
			       sending adds (downstream key, fencing number) */
	struct str body;    /* as it came */
	bool has_body;
	struct str lookup;    /* the question of its look-up, inquiry_mark()ed; or empty */
	struct str key_place; /* which service it is for, and where its downstream key goes there:
				 downstream_key_place() */
};

/* Whose doing something was. The numbers are stored; they never change. */
enum store_actor {
	ACTOR_CALLER = 0,
	ACTOR_DISPATCHER = 1,
	ACTOR_RECONCILER = 2,
	ACTOR_OPERATOR = 3,
};

/* As it is told, in answers and in the audit log: "caller", …; "?" for a number that is none. */
const char *store_actor_name(enum store_actor actor);

/* One request that carried the token, or one thing that the gate or an operator did. */
struct store_attempt {
	int64_t at_ms;	       /* never before the operation's creation: the store sees to it */
	enum outcome outcome;  /* 0: under way */
	struct str agent;      /* who, inside the account; or empty */
	struct str credential; /* id of what they showed, never a secret; or empty */
	struct str task;       /* the workflow's own ids; or empty */
	struct str step;
	struct str request_id;
	int delivered; /* 1 the answer got out whole, 0 it did not, -1 not known to have failed */
	enum store_actor by;
	struct str note; /* what was learned, or why; or empty */
};

/* What is learned about an attempt when it has its number already. */
struct store_amendment {
	struct operation_id id;
	uint32_t attempt_number;
	int delivered; /* 0 or 1 */
};

/* A lock and who is in it. */
struct store_lock {
	struct str account;
	struct str name;  /* "environment=production service=web" */
	uint64_t version; /* successes so far */
	uint64_t fence;	  /* how often it has been taken */
	bool is_held;
	struct operation_id holder;
	enum operation_state holder_state;
	int64_t since_ms;	      /* it is held */
	struct operation_id *waiters; /* `waiter_count` of them, in their order */
	size_t waiter_count;	      /* listed: STORE_WAITERS_LISTED at most */
	size_t waiting;		      /* all of them */
};

/* What was opened, and what is spent of it by those that have not failed. */
struct store_budget {
	struct operation_id opener; /* zero: not known, or forgotten; then the texts are empty */
	struct str account, action;
	struct str reference; /* what the service calls the opener's effect; or empty */
	char currency[4];
	int64_t total, used; /* minor units */
	int64_t until_ms;
};

/* What the rules have to do with one operation, for whoever reads about it. */
struct store_rule_view {
	bool has_unique, has_lock, has_budget, opens_budget;
	int64_t unique_until_ms;
	struct str lock_name;
	bool holds_lock;
	bool waits_for_lock;
	uint64_t fence; /* of its last sending */
	uint64_t lock_version;
	struct operation_id holder;		   /* of the lock; zero: nobody */
	char currency[4];			   /* of the budget it spends from */
	int64_t spends, budget_total, budget_used; /* minor units */
};

/* How a question stands. The numbers are stored; they never change. */
enum approval_stand {
	APPROVAL_WAITS = 1,
	APPROVAL_GIVEN = 2, /* by all who were needed */
	APPROVAL_DENIED = 3,
	APPROVAL_LAPSED = 4,	/* nobody answered in time */
	APPROVAL_WITHDRAWN = 5, /* by its caller or an operator, before it was answered */
};
enum { APPROVAL_STANDS = APPROVAL_WITHDRAWN + 1 };

/*
 * A question to people: may this operation be sent? It is asked with the claim, about this very
 * fingerprint, and is open from asked_ms to expires_ms.
 */
struct store_approval {
	unsigned needed, given; /* people; needed 0: there is no question */
	enum approval_stand stand;
	int64_t for_ms; /* in: how long it is open */
	int64_t asked_ms, expires_ms;
	struct hash policy;	/* of the declaration that asks; another one asks again */
	struct hash alike;	/* equal questions of one agent have equal ones */
	struct str shown;	/* JSON of what the person is shown */
	struct str asked_by;	/* the requester's credential; or empty */
	struct str asked_agent; /* and agent; or empty */
	struct str answers;	/* JSON array of {"by", "agent", "account", "role", "verdict"
				   ("approved",     "denied"), "at_ms", "why"}, in their order */
	bool is_told;		/* in: claim: somebody outside is to be told of it */
	bool unless_known;	/* in: claim: only where nobody has agreed to anything of agent_hash
				   yet; whatever is agreed to makes it known */
	struct hash agent_hash;
};

/* What there is to tell of a question. The numbers are stored; they never change. */
enum notice_event {
	NOTICE_ASKED = 1,    /* also anew, when its rule has changed */
	NOTICE_AGREED = 2,   /* one person has, and another has to */
	NOTICE_APPROVED = 3, /* all who were needed have */
	NOTICE_DENIED = 4,
	NOTICE_EXPIRED = 5,
	NOTICE_WITHDRAWN = 6,
};

/* One thing that somebody outside is to be told, and how often that was tried. */
struct store_notice {
	struct operation_id id; /* with the number: its name, for good */
	uint32_t number;	/* of its question's notices, from 1 */
	enum notice_event event;
	int64_t at_ms;	/* it came about */
	int64_t due_ms; /* it is told next; 0: it has been */
	uint32_t tries;
};

/* One person's answer. */
struct store_consent {
	struct hash fingerprint; /* of what was shown to them */
	struct hash policy;	 /* approve: and store_approval.policy of it */
	struct str by;		 /* their credential */
	struct str agent, account;
	enum caller_role role;
	struct str why; /* or empty */
};

/* What documents are of. The numbers are stored; they never change. */
enum document_kind {
	DOCUMENT_KEY = 1,     /* a caller's key */
	DOCUMENT_SECRET = 2,  /* a credential of an upstream */
	DOCUMENT_SETTING = 3, /* what is set while the gate runs */
};

/* A small record with a name of its own. What is in it is its writer's. */
struct store_document {
	enum document_kind kind;
	struct str name;    /* within its kind; never empty */
	struct str value;   /* never told by the audit log */
	int64_t updated_ms; /* the store's: when it was kept last */
};

/* What somebody who runs the gate did, or tried to, as the audit log tells it. */
struct store_administration {
	const char *event;     /* "key_created"; NULL: nothing is told */
	struct str subject;    /* what it was done to: the id of a key, the name of a secret */
	struct str account;    /* whose that is; or empty */
	struct str by;	       /* who did it */
	struct str why;	       /* or empty */
	struct str agent;      /* of a key: who shows it; or empty */
	enum caller_role role; /* of a key: what it lets them do; or 0 */
};

/* An operation that is the gate's own to see to. */
struct store_errand {
	struct store_operation operation; /* without its answer */
	struct store_request request;
	uint32_t attempt_number;	/* of the sending that has begun; 0: none has */
	uint64_t fence;			/* of its lock; 0: it has none */
	struct store_approval approval; /* without `shown`; needed 0: nobody was asked */
};

#endif
