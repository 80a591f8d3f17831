/*
 * The practice API as a service, with faults.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include "net/server.h"
#include "sandbox/api.h"

/*
 * A service on one loop. Answer its exchanges with faults as asked for; everything about the
 * answers themselves is in api.h.
 */
struct sandbox {
	struct service service;
	struct world *world;
	struct list visits; /* exchanges that have begun */
};

/* 0 or FAIL_MEMORY. */
int sandbox_init(struct sandbox *sandbox);

/* Break off every exchange, also those that hang. They finish soon after. */
void sandbox_break_off(struct sandbox *sandbox);

/* Once no exchange is left. */
void sandbox_fini(struct sandbox *sandbox);

/*
 * Serve on `address` until SIGINT or SIGTERM. Prints one line with the address on stdout.
 * 0, or a failure with its reason in *why (a constant text).
 */
int sandbox_main(struct sockaddr_storage *address, const char **why);

#endif
