/*
 * Answers that the gate makes itself: application/problem+json (RFC 9457).
 *
 * One table has them all: slug, status, title, advice and a text of help. The answers, the
 * help page and the metrics come from it. An agent that follows `retry.advice` alone is safe.
 */
#ifndef GATE_PROBLEM_H
#define GATE_PROBLEM_H

#include "base/buf.h"
#include "core/command.h"
#include "core/outcome.h"
#include "net/server.h"
#include "store/record.h"

enum problem {
	PROBLEM_NONE,
	PROBLEM_KEY_MISSING,
	PROBLEM_KEY_MALFORMED,
	PROBLEM_REQUEST_MALFORMED,
	PROBLEM_BODY_MALFORMED,
	PROBLEM_BODY_TOO_LARGE,
	PROBLEM_CODING_UNKNOWN,
	PROBLEM_METHOD_OVERRIDE,
	PROBLEM_UNDECLARED,
	PROBLEM_COMMAND_INVALID,
	PROBLEM_REFERENCE_MUTABLE,
	PROBLEM_KEY_REUSED,
	PROBLEM_OPERATION_RUNNING,
	PROBLEM_OPERATION_QUEUED,
	PROBLEM_APPROVAL_PENDING,
	PROBLEM_APPROVAL_DENIED,
	PROBLEM_APPROVAL_EXPIRED,
	PROBLEM_APPROVAL_OWN,
	PROBLEM_APPROVAL_TWICE,
	PROBLEM_APPROVAL_OTHER,
	PROBLEM_APPROVAL_OVER,
	PROBLEM_OPERATION_CANCELLED,
	PROBLEM_OPERATION_FAILED,
	PROBLEM_OUTCOME_UNKNOWN,
	PROBLEM_OUTCOME_UNKNOWN_NOW, /* the same, first time: 504 */
	PROBLEM_KEY_EXPIRED,
	PROBLEM_RESPONSE_NOT_RETAINED,
	PROBLEM_RETRY_REFUSED,
	PROBLEM_LOCK_HELD,
	PROBLEM_VERSION_MISMATCH,
	PROBLEM_BUDGET_EXCEEDED,
	PROBLEM_BUDGET_UNKNOWN,
	PROBLEM_BUDGET_CURRENCY,
	PROBLEM_NOT_SENT,
	PROBLEM_STORE_UNAVAILABLE,
	PROBLEM_UPSTREAM_UNREACHABLE,
	PROBLEM_UPSTREAM_FAILED,
	PROBLEM_UPSTREAM_TIMEOUT,
	PROBLEM_NOT_FOUND,
	PROBLEM_METHOD_NOT_ALLOWED,
	PROBLEM_NOT_CANCELLABLE,
	PROBLEM_NOT_RESOLVABLE,
	PROBLEM_NOT_RELEASABLE,
	PROBLEM_AUDIT_EPOCH,
	PROBLEM_QUERY_MALFORMED,
	PROBLEM_UNAUTHENTICATED,
	PROBLEM_FORBIDDEN,
	PROBLEM_KEYS_UNAVAILABLE,
	PROBLEM_CREDENTIAL_UNCHECKED,
	PROBLEM_ACTION_FORBIDDEN,
	PROBLEM_TOO_MANY_ATTEMPTS,
	PROBLEM_SIGNATURE_INVALID,
	PROBLEM_OVERLOADED,
	PROBLEM_COUNT,
};

struct problem_kind {
	const char *slug; /* urn:counterfoil:problem:<slug> */
	int status;
	const char *title; /* the same for every occurrence */
	enum advice advice;
	int after_s;	  /* seconds before that; 0: at once, or never */
	const char *help; /* for the help page: what it means, what to do */
};
const struct problem_kind *problem_kind(enum problem problem);

/* One occurrence. Zero what does not apply; after_s counts from 0, -1 is the kind's own. */
struct problem_facts {
	enum problem problem;
	int status;			     /* 0: the kind's own */
	int after_s;			     /* seconds; -1: the kind's own */
	const char *detail;		     /* this occurrence's own sentence; NULL: none */
	const struct operation_id *id;	     /* of the operation it is about; NULL: none */
	enum operation_state state;	     /* of that operation */
	const struct command_faults *faults; /* of a command: each field that is wrong; or NULL */

	/* What a rule refused for. Of another operation no more than id and state: it is the same
	 * account's, and no more is needed to wait for it. */
	const struct store_rule_view *view; /* lock-held, version-mismatch, budget-…; or NULL */
	enum operation_state holder_state;  /* of view->holder */
};

int problem_status(const struct problem_facts *facts);

/* Of a message or body that the codec refused: with the status and the words it chose. */
struct problem_facts problem_of_refusal(const struct http_refusal *refusal);

/*
 * Answer with it: its own header lines, then `more_headers`. Counted in `metrics` (NULL: in none).
 * Without memory for the answer the exchange is broken off.
 */
struct metrics;
void problem_answer(struct exchange *exchange, const struct problem_facts *facts,
		    struct str more_headers, struct metrics *metrics);

/*
 * The detail of a budget's problem, in words and major units: "31.50 EUR are left of 49.00 EUR;
 * this asks for 40.00 EUR." `asked` is what the command spends.
 */
void problem_budget_detail(enum problem problem, const struct store_rule_view *view,
			   const struct money *asked, char *out, size_t size);

/* The body, appended to `body`. */
void problem_write(struct buf *body, const struct problem_facts *facts);

/* Its header lines: Content-Type, Cache-Control, Link; Retry-After where there is a wait, a
 * challenge where a credential is missing. */
void problem_headers(struct buf *headers, const struct problem_facts *facts);

/* The page at /.counterfoil/help, as plain text. */
struct settings;
void problem_help(struct buf *body, const struct settings *settings);

/* The nearest problem for a status that the codec refused with. */
enum problem problem_of_status(int status);

#endif
