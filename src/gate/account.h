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

/* What the log shows of an account: the beginning, which tells accounts apart. Borrowed from it. */
struct str account_shown(struct str account);

#endif
