/*
 * Requests that are not protected: passed on as they are, both ways in pieces.
 */
#ifndef GATE_PASS_H
#define GATE_PASS_H

#include "gate/gate.h"

/* `action`: the natural one that it is, which needs no token; NULL: none. */
void pass_begin(struct worker *worker, struct exchange *exchange, const struct action *action);

#endif
