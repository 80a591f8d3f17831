/*
 * The practice API, from request to answer, without sockets.
 *
 * It is deliberately naive: every POST makes a new effect, however often the same one is
 * sent, and refunds may be of more than was paid. That is what a gate in front of it is for.
 *
 *   /v1/tickets  /v1/payments  /v1/refunds  /v1/deployments   POST, GET, GET /{id}
 *   /v1/orders/{id}                                           PUT, GET
 *   /v1/environments/{name}                                   GET: raised by deployments,
 *                                                             with the X-Fence last seen
 *   /hooks/{name}                                             POST: an event, whatever it is
 *   /effects                                                  GET: counts; DELETE: start anew
 *   /faults                                                   GET, PUT: queue one, DELETE
 *
 * Lists take `reference=` (the body's field, or the Idempotency-Key that came with it),
 * `limit=`, and any other name as that of a member to compare. Money is in minor units, an integer.
 *
 * Asked to honour keys (see faults.h), it is less naive: a POST whose Idempotency-Key, or
 * whose `reference` where there is none, came with a record of its kind before is answered 200
 * with that record, as it is now.
 *
 * Always true: an answer of 201 to a POST, of 201 or 200 to a PUT, of 200 to an event, is one
 * effect, counted (an event by its webhook-id); any other is none.
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "base/arena.h"
#include "base/buf.h"
#include "sandbox/effects.h"
#include "sandbox/faults.h"
#include "sandbox/shelf.h"

enum {
	API_BODY_MAX = 64 * 1024,	   /* bytes of a request's body */
	API_ANSWER_MAX = 16 * 1024 * 1024, /* bytes of an answer's */
	API_NAME_MAX = 200,		   /* bytes of a name the client chooses */
};
#define API_AMOUNT_MAX INT64_C(1000000000000)

/* All that the practice API knows. */
struct world {
	struct shelf shelves[KIND_COUNT];
	struct shelf environments;
	struct effects effects;
	struct faults faults;
};

/* NULL without memory. */
struct world *world_new(void);
void world_free(struct world *world); /* NULL is fine */

struct api_request {
	struct str method;
	struct str path;
	struct str query;
	struct str key;	  /* Idempotency-Key; empty: none */
	struct str fence; /* X-Fence; empty: none */
	struct str event; /* webhook-id; empty: none */
	struct str body;
	int64_t wall_ms;
	int64_t hide_ms;   /* how long what it makes is not to be seen */
	bool is_twice;	   /* a list shows each record twice */
	struct arena *mem; /* for what lives as long as the request */
};

struct api_reply {
	int status;
	struct buf headers; /* "Name: value\r\n" lines */
	struct buf body;
};

void api_reply_init(struct api_reply *reply);
void api_reply_fini(struct api_reply *reply);

/* Do what `request` asks and write the answer into an initialised `reply`. */
void api_answer(struct world *world, const struct api_request *request, struct api_reply *reply);

/* An answer that is an error, {"error": {"code", "message"}}; whatever was there is dropped. */
void api_error(struct api_reply *reply, int status, const char *code, const char *message);

#endif
