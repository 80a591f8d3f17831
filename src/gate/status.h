/*
 * The status resource: what a caller may ask about its own operations, under /.counterfoil of
 * the data listener; and the help page.
 */
#ifndef GATE_STATUS_H
#define GATE_STATUS_H

#include "gate/gate.h"
#include "gate/problem.h"

/* Does its path, however it is spelled, belong to the gate itself? */
bool status_is_ours(struct exchange *exchange);

void status_begin(struct worker *worker, struct exchange *exchange);

/* Refuse a request by what its head says; what is malformed is the path of a write. */
void status_refuse(struct worker *worker, struct exchange *exchange, enum problem problem);

#endif
