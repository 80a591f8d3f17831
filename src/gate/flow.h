/*
 * The life of a protected request, as a table of named steps.
 *
 *  receive ─► identify ─► recognise ─► claim ─► lookup ─► send ─────► settle ─► answer ─► finish
 *                │           │         │  ▲       │         └─► pipe ─┘ ▲ ▲ │     ▲  │
 *                │           │         ▼  │       └─────────────────────┘ └pause◄─┼──┘
 *                │           │   wait, find out, queued ◄─(not sent)────────┘     │
 *                │           │   approve, replace                                 │
 *                └───────────┴──────────┴────────────────(refusals)───────────────┘
 *
 * lookup is for actions that have one; queued for what the dispatcher sends; check, where a record
 * is met and auth.check is in force, asks about the caller's credential and claims again; approve
 * for what people have to agree to, which is the dispatcher's once they have.
 *
 * A step does its part and says where to go; one that has to wait says so, and whoever wakes
 * it calls flow_wake() and does nothing else. The machine refuses a move that the table does
 * not have. No step calls another.
 */
#ifndef GATE_FLOW_H
#define GATE_FLOW_H

#include "net/server.h"

struct action;
struct request;
struct worker;

enum step {
	STEP_RECEIVE,
	STEP_IDENTIFY,
	STEP_RECOGNISE,
	STEP_CLAIM,
	STEP_WAIT,
	STEP_FIND_OUT,
	STEP_REPLACE,
	STEP_QUEUED,
	STEP_CHECK,
	STEP_APPROVE,
	STEP_LOOKUP,
	STEP_SEND,
	STEP_PIPE,
	STEP_SETTLE,
	STEP_PAUSE,
	STEP_ANSWER,
	STEP_FINISH,
	STEP_COUNT,
	FLOW_WAITS, /* not a step: this one goes on when it is woken */
	FLOW_ENDS,  /* not a step: the request is gone */
};

/* A protected request has come (`action` NULL: of none that is declared): take it through. */
void flow_begin(struct worker *worker, struct exchange *exchange, const struct action *action);

/* What the waiting step waited for has happened. Never called from inside that step's start. */
void flow_wake(struct request *request);

/* The same, soon. */
void flow_wake_soon(struct request *request);

/* The steps. `_start` runs on entry, `_finish` when it is woken. */
enum step step_receive(struct request *request);
enum step step_identify(struct request *request);
enum step step_recognise_start(struct request *request);
enum step step_recognise_finish(struct request *request);
enum step step_claim_start(struct request *request);
enum step step_claim_finish(struct request *request);
enum step step_wait_start(struct request *request);
enum step step_wait_finish(struct request *request);
enum step step_find_out_start(struct request *request);
enum step step_find_out_finish(struct request *request);
enum step step_replace_start(struct request *request);
enum step step_replace_finish(struct request *request);
enum step step_queued_start(struct request *request);
enum step step_queued_finish(struct request *request);
enum step step_check_start(struct request *request);
enum step step_check_finish(struct request *request);
enum step step_approve_start(struct request *request);
enum step step_approve_finish(struct request *request);
enum step step_lookup_start(struct request *request);
enum step step_lookup_finish(struct request *request);
enum step step_send_start(struct request *request);
enum step step_send_finish(struct request *request);
enum step step_pipe_start(struct request *request);
enum step step_pipe_finish(struct request *request);
enum step step_settle_start(struct request *request);
enum step step_settle_finish(struct request *request);
enum step step_pause_start(struct request *request);
enum step step_pause_finish(struct request *request);
enum step step_answer_start(struct request *request);
enum step step_answer_finish(struct request *request);
enum step step_finish_start(struct request *request);
enum step step_finish_finish(struct request *request);

/* Enter the waiting room of the operation that the request has met. False: it is full, or closed.
 */
bool step_wait_enter(struct request *request);

/* Leave the waiting room: the step that returns this is woken when that is done. */
enum step step_wait_leave(struct request *request);

/* Is the service to be asked about the caller's credential, before it is told of a record? */
bool step_check_is_due(const struct request *request);

/* Does its caller wait, and for how much longer? */
bool step_wait_is_wished(const struct request *request);

/* The operation is the dispatcher's to send: wait for its end where that is wished, or tell so. */
enum step step_queued_or_wait(struct request *request);

/* Put the question to people, where there is one, into the claim. 0, FAIL_MEMORY. */
struct store_command;
int step_approve_ask(struct request *request, struct store_command *command);

/* It waits for people: wait for its end where that is wished, or tell so. */
enum step step_approve_or_wait(struct request *request);

/* What reaches a step while it waits: the client of a waiting one has gone; the next piece of an
 * answer that is not kept (false: not now); its client takes more. */
void step_wait_gone(struct request *request);
bool step_pipe_data(struct request *request, struct str piece);
void step_pipe_drained(struct request *request);

#endif
