/*
 * Who sends a request of the data listener: the one place that knows what `accounts.from` means.
 *
 * Asked for every request but the events of inboxes, before anything else of it is read; and asked
 * again (caller_holds()) before somebody who has waited is told anything, because a credential may
 * have been revoked meanwhile. Whoever fails is counted by address, and told of in the audit log.
 */
#ifndef GATE_CALLER_H
#define GATE_CALLER_H

#include "core/caller.h"
#include "gate/gate.h"
#include "gate/problem.h"

/*
 * PROBLEM_NONE: *out_caller is who sends it; its texts live in exchange->mem. Else the problem that
 * is its answer, with *out_refusal filled: PROBLEM_UNAUTHENTICATED, PROBLEM_TOO_MANY_ATTEMPTS,
 * PROBLEM_OVERLOADED.
 */
enum problem caller_identify(struct worker *worker, struct exchange *exchange,
			     struct caller *out_caller, struct problem_facts *out_refusal);

/* May the caller make this write (an action's name, or empty)? PROBLEM_NONE, or its answer. */
enum problem caller_permit(const struct caller *caller, struct str action,
			   struct problem_facts *out_refusal);

/*
 * Where accounts are digests (accounts.from: credential), and the bearer token is a key of ours all
 * the same: *out_id is its id, however the header is spelled; else it is left. 0, FAIL_MEMORY.
 */
int caller_key_id(struct worker *worker, struct exchange *exchange, struct str *out_id);

/* Is it in force still? Any thread. */
bool caller_holds(const struct gate *gate, const struct caller *caller);

/*
 * Somebody at `address` failed to authenticate: count it, and tell of it unless there were too
 * many. The problem that is the answer, with the seconds to wait in *out_after_s. Any thread.
 */
enum problem caller_failed(struct gate *gate, enum door door, const char *address, struct str why,
			   int *out_after_s);

/*
 * Is the field a credential of the gate's own, under these settings? Such a one never goes upstream
 * and is never kept.
 */
bool caller_is_own_credential(const struct settings *settings, const struct http_field *field);

/*
 * The key that a request shows: Counterfoil-Key, or a bearer token; or empty. Of two lines
 * Counterfoil-Key one may be somebody else's: none is chosen.
 */
struct str caller_key_shown(const struct http_request *request);

#endif
