/*
 * The status resource: what a caller may ask about its own operations, under /.counterfoil of
 * the data listener; and the help page.
 */
#ifndef GATE_STATUS_H
#define GATE_STATUS_H

#include "gate/gate.h"

/* Does this path belong to the gate itself? */
bool status_is_ours(struct str path);

void status_begin(struct worker *worker, struct exchange *exchange);

/* Refuse a write that is not declared (undeclared: deny). */
void status_deny(struct worker *worker, struct exchange *exchange);

#endif
