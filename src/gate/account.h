/*
 * In whose name a request is made.
 */
#ifndef GATE_ACCOUNT_H
#define GATE_ACCOUNT_H

#include "net/server.h"

/*
 * The account of a request: with accounts.from `credential`, the SHA-256 of its Authorization
 * value in hexadecimal. Requests without one share an account of their own. Lives in the
 * exchange's memory; {NULL, 0} without memory.
 */
struct str account_of(struct exchange *exchange);

/*
 * Accounts of events that come in begin so, and an inbox's name follows; no caller's does, whoever
 * names them.
 */
#define ACCOUNT_OF_INBOXES "inbox/"

/*
 * May somebody else's word (a proxy's, an issuer's) name a caller so? UTF-8 without control
 * characters, at most ACCOUNT_NAME_MAX bytes, not empty: two names are two texts wherever they are
 * shown.
 */
enum { ACCOUNT_NAME_MAX = 255 };
bool account_is_a_name(struct str name);

/* And is it no inbox's? */
bool account_is_a_callers(struct str account);

/* What the log shows of an account: the beginning, which tells accounts apart. Borrowed from it. */
struct str account_shown(struct str account);

#endif
