/*
 * The admin listener: health, metrics, and the operator's side of operations.
 *
 *   GET  /healthz                          the process answers
 *   GET  /readyz                           it would take work: store healthy, not draining
 *   GET  /metrics                          Prometheus text
 *   GET  /api/operations[?…]               a page, newest first
 *   GET  /api/operations/{id}              one, with its attempts
 *   POST /api/operations/{id}/cancel       {"why"}
 *   POST /api/operations/{id}/resolve      {"happened", "retry", "why", "reference", "epoch"}
 *   POST /api/operations/{id}/release      {"why"}: it loses its lock
 *   GET  /api/locks[?held=true][&waiting=true]
 *
 * Everything under /api needs the bearer token in the file `admin-token` of the data directory
 * (mode 0600), so it is for those who may read that directory. It runs on the control loop.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "gate/gate.h"
#include "gate/problem.h"

enum { ADMIN_TOKEN_TEXT = 64 };

struct admin {
	struct service service;
	struct server server;
	struct gate *gate;
	char token[ADMIN_TOKEN_TEXT + 1];
	char address_text[64]; /* as bound */
	char url[80];	       /* with its scheme */
	char near_url[80];     /* the same for programs of this machine, as gate.json has it */
};

/*
 * Listen on the gate's control loop, make the token's file if there is none, write gate.json;
 * each reload of the gate gives the listener its certificate anew.
 * 0, or a failure that `why` explains.
 */
int admin_start(struct admin *admin, struct gate *gate, char *why, size_t why_size);

/* Stop listening, remove gate.json. Before gate_close(). */
void admin_stop(struct admin *admin);

/* api.c: one exchange under /api, whose body is wanted. */
void admin_api(struct admin *admin, struct exchange *exchange);

/* metrics.c: all of them as Prometheus text (version 0.0.4). */
void admin_metrics(const struct gate *gate, struct buf *out);

/* Answers that several files need. */
void admin_answer_text(struct exchange *exchange, int status, struct str text);
void admin_answer_problem(struct exchange *exchange, enum problem problem, const char *detail);

#endif
