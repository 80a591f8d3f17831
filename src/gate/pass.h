/*
 * Requests that are not protected: passed on as they are, both ways in pieces.
 */
#ifndef GATE_PASS_H
#define GATE_PASS_H

#include "gate/gate.h"

void pass_begin(struct worker *worker, struct exchange *exchange);

#endif
