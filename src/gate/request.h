/*
 * One protected request on its way through the gate. Its fields are grouped by the step that
 * fills them; everything lives until step_90_finish.
 */
#ifndef GATE_REQUEST_H
#define GATE_REQUEST_H

#include "core/caller.h"
#include "core/fingerprint.h"
#include "core/rule_facts.h"
#include "gate/ask.h"
#include "gate/credential_check.h"
#include "gate/flow.h"
#include "gate/forward.h"
#include "gate/gate.h"
#include "gate/policy.h"
#include "gate/problem.h"

struct request {
	struct worker *worker;
	struct generation *generation;
	struct exchange *exchange;

	struct policy policy; /* what is in force for it */

	/* the flow's */
	enum step step;
	bool is_waiting;       /* somebody will call flow_wake() */
	struct loop_task soon; /* a wake that must not run inside its cause */

	/* step_10_receive */
	struct str request_id;
	struct str task, task_step; /* the workflow's own ids */
	struct str retry_of;
	int64_t wait_until_ms; /* monotonic; 0: it does not wait for another attempt */

	/* step_20_identify */
	struct caller caller; /* of an event: its inbox's account, and nothing else */
	struct str account;   /* the caller's */
	struct str token;

	/* step_30_recognise */
	struct hash fingerprint;
	const struct http_refusal *body_refusal;
	struct fingerprint_command *reading; /* its body, and what is wrong with it */
	struct rule_facts rules;	     /* what the rules of its action say of it */

	/* step_40_claim */
	struct store_command command;
	struct str lookup;  /* the question of its look-up, but for what only the operation knows */
	bool is_dispatched; /* the dispatcher sends it, whenever it is queued */
	bool is_claimed;    /* we hold it: it is ours to settle */
	bool is_maker;	    /* we made it, and the dispatcher sends it */
	bool is_reuse;	    /* it is another's, which has our business identity */
	struct operation_id id;
	uint32_t epoch;
	uint32_t attempt_number; /* of ours, which its settlement ends; 0: none */
	enum operation_state state;
	int64_t expires_ms;
	bool has_operation; /* id, state and expires_ms are filled */
	bool did_pick_up;   /* the claim: an earlier request made it */

	/* step_45_wait */
	struct waiter waiter;
	bool has_waiter; /* it is in the room */
	bool is_leaving;
	bool has_waited; /* for the end of an operation */

	/* step_47_find_out */
	bool has_looked; /* once is enough for one attempt */

	/* step_48_queued, step_50_approve */
	struct store_operation made; /* as our claim made it; state 0: it did not */
	bool has_reported;
	struct buf report; /* the operation as JSON */
	bool is_report;	   /* it is the answer */

	/* step_49_check */
	struct credential_check check;
	bool has_checked; /* its credential holds, as the service says */

	/* step_55_lookup */
	struct ask ask;
	struct arena ask_mem;
	bool is_found; /* it was there already: nothing is sent */

	/* step_60_send */
	struct buf lines; /* as they go upstream; see request_lines() */
	struct forward forward;
	bool is_call_open;
	bool is_piped; /* the answer is over the limit: passed on, not kept */
	bool is_full;  /* its client takes no more at the moment */

	/* step_70_settle */
	enum operation_event event;
	bool must_settle;    /* the store could not; the caller has been answered */
	bool has_given_up;   /* it did not arrive, and the dispatcher would try no more often */
	struct str given_up; /* why */
	bool is_untried;     /* nothing was even tried to be sent: the claim was in doubt */
	int64_t settle_pause_ms;
	struct loop_timer pause;

	/* step_80_answer */
	enum outcome outcome;	      /* 0: none was reached */
	struct problem_facts problem; /* problem.problem 0: the answer is the upstream's */
	char detail[256];	      /* for the problem */
	int status;
	struct str headers; /* lines */
	struct str body;
	bool is_replay;
	bool is_answered; /* the exchange is over */
	enum delivery delivery;
};

/* Header lines of the upstream's answer with the operation's on top. */
enum { ANSWER_HEAD_MAX = 256 * 1024 };
void answer_headers(const struct request *request, struct buf *out);

/* The lines of the request as they go upstream, made once. Spoiled ones are no lines at all. */
const struct buf *request_lines(struct request *request);

/* Answer 202 with the operation that request->command has found; or with `problem`, which says the
 * same in short. */
enum step request_report(struct request *request, enum problem problem);

/* Ask the store how the request's operation stands, into request->command; waits for it. */
enum step request_look(struct request *request);

/* The credential, as it is kept with the attempt; empty where it is what names the account. */
static inline struct str request_credential(const struct request *request)
{
	return str_equal(request->caller.credential, request->account) ? STR("")
								       : request->caller.credential;
}

/* Whose request it is, and what it asks for, once it is recognised. Strings are the request's. */
struct store_operation request_subject(const struct request *request);

/* What goes upstream as a body, even an empty one? */
bool request_has_body(const struct request *request);

/* Answer with a problem. `detail` is a constant text, or lives in the request. */
enum step request_problem(struct request *request, enum problem problem, const char *detail);

#endif
