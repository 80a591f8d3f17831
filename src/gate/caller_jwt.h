/*
 * Callers by tokens that somebody else issues, and by headers that something in front of the gate
 * sets. For gate/caller.c.
 */
#ifndef GATE_CALLER_JWT_H
#define GATE_CALLER_JWT_H

#include "gate/caller.h"

/*
 * As caller_identify(), for accounts.from: jwt. The account is a claim, so a renewed token is the
 * same account's; the credential's id is made of who was named, never of the token.
 */
enum problem caller_by_token(struct worker *worker, struct exchange *exchange,
			     struct caller *out_caller, struct problem_facts *out_refusal);

/* The same for accounts.from: header. */
enum problem caller_by_headers(struct worker *worker, struct exchange *exchange,
			       struct caller *out_caller, struct problem_facts *out_refusal);

/* Is the field one that names a caller, and its sender not one that may? It goes no further. */
bool caller_is_false_header(const struct settings *settings, const struct exchange *exchange,
			    struct str name);

/*
 * Does the exchange show a token whose key is not known yet? Then the keys are looked at anew, and
 * `then` is called when that has been done, whatever came of it; until then it is not to be
 * touched. False: go on with it now.
 */
bool caller_waits_for_keys(struct worker *worker, struct exchange *exchange,
			   void (*then)(struct worker *worker, struct exchange *exchange));

#endif
