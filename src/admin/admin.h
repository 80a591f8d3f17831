/*
 * The admin listener: health, metrics, and the people's side of the gate.
 *
 * What it serves is the table in api_table.c. All but health needs a credential: the bearer token
 * in the file `admin-token` of the data directory (mode 0600) lets in whoever may read that
 * directory, as operator of all accounts. It runs on the control loop.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "gate/gate.h"
#include "gate/problem.h"

enum { ADMIN_TOKEN_TEXT = 64 };

/*
 * Header lines of every answer but the console's own pages: what a browser gets here is neither
 * guessed at, nor framed, nor run, nor named to others. Cache-Control: no-store is with each
 * answer's own lines, because problems have it already.
 */
#define ADMIN_GUARDS                                                                               \
	"X-Content-Type-Options: nosniff\r\n"                                                      \
	"X-Frame-Options: DENY\r\n"                                                                \
	"Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"                  \
	"Referrer-Policy: no-referrer\r\n"

struct sessions;
struct listeners;
struct outcomes;
struct verification;

struct admin {
	struct service service;
	struct server server;
	struct gate *gate;
	char token[ADMIN_TOKEN_TEXT + 1];
	char address_text[64];	   /* as bound */
	char url[80];		   /* with its scheme */
	char near_url[80];	   /* the same for programs of this machine, as gate.json has it */
	struct sessions *sessions; /* of people at the console */
	struct listeners *listeners;	   /* to /api/events */
	struct outcomes *outcomes;	   /* for /api/outcomes */
	struct verification *verification; /* of the audit log */
	struct loop_timer verify_timer;	   /* where it is verified by itself */
};

/*
 * Listen on the gate's control loop, make the token's file if there is none, write gate.json;
 * each reload of the gate gives the listener its certificate anew.
 * 0, or a failure that `why` explains.
 */
int admin_start(struct admin *admin, struct gate *gate, char *why, size_t why_size);

/* Stop listening, remove gate.json. Before gate_close(). */
void admin_stop(struct admin *admin);

/* api.c: one exchange, from its head to its answer. */
void admin_api(struct admin *admin, struct exchange *exchange);

/* metrics.c: all of them as Prometheus text (version 0.0.4). */
void admin_metrics(const struct admin *admin, struct buf *out);

/*
 * The address of the console with a link for one use in it: whoever opens it first is signed in as
 * operator. In `out`, whole or empty.
 */
enum { ADMIN_LINK_SIZE = 192 };
void admin_console_link(struct admin *admin, char out[ADMIN_LINK_SIZE]);

/* api_events.c: who listens to /api/events. NULL without memory; free it after the listener. */
struct listeners *listeners_new(struct admin *admin);
void listeners_free(struct listeners *listeners);

/* api_outcomes.c: keeps count of how requests end. NULL without memory. */
struct outcomes *outcomes_new(struct admin *admin);
void outcomes_free(struct outcomes *outcomes);

/* api_audit_verify.c: what verifies the log, when asked and by itself. 0; FAIL_MEMORY, FAIL_LIMIT.
 */
int admin_verification_new(struct admin *admin);
void admin_verification_free(struct admin *admin);

/* metrics.c: protected requests with that outcome since the start. */
uint64_t admin_outcome_count(const struct gate *gate, enum outcome outcome);

/* Answers that several files need. */
void admin_answer_text(struct exchange *exchange, int status, struct str text);
void admin_answer_problem(struct exchange *exchange, enum problem problem, const char *detail);

#endif
