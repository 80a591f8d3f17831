/*
 * The status resource: what a caller may ask about its own operations, under /.counterfoil of
 * the data listener; and the help page.
 */
#ifndef GATE_STATUS_H
#define GATE_STATUS_H

#include "gate/gate.h"

/* Does its path, however it is spelled, belong to the gate itself? */
bool status_is_ours(struct exchange *exchange);

void status_begin(struct worker *worker, struct exchange *exchange);

/* Refuse a write that is not declared (undeclared: deny). */
void status_deny(struct worker *worker, struct exchange *exchange);

#endif
