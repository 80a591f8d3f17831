/*
 * The credential with which the gate itself speaks to a service, put into each call at the moment
 * of sending.
 *
 * Where an upstream has one, no caller's own goes any further than the gate: its Authorization is
 * taken out of what is kept and of what is sent, and so is the header that takes the credential.
 * Nothing of it is kept with an operation, and no text of it is written anywhere but into the call.
 *
 * Whatever keeps it from being had (a secret that is not set, a token endpoint that does not
 * answer) ends the call as one that never left, which is certain.
 */
#ifndef GATE_CREDENTIAL_H
#define GATE_CREDENTIAL_H

#include "gate/gate.h"
#include "gate/grant.h"

enum { CREDENTIAL_WHY_MAX = 256 };

/* One an upstream, in the settings' order; of one settings_hold, for all loops. */
struct credential {
	const struct settings_upstream *upstream;
	struct secrets *secrets;
	struct grant *grant;		/* NULL: the secret itself is sent, or there is none */
	char unset[CREDENTIAL_WHY_MAX]; /* what is said while the secret is not set */
};

/* `credentials` has room for one an upstream. Free: fine for zeroed ones. */
int credentials_init(struct credential *credentials, const struct settings *settings,
		     struct secrets *secrets);
void credentials_fini(struct credential *credentials, const struct settings *settings);

/* Fill `secrets` with what the store keeps, while the gate starts. 0, or a failure. */
int credentials_load(struct store *store, struct secrets *secrets);

/* Warn of each secret that an upstream wants and that is not set. */
void credentials_warn(const struct settings *settings, struct secrets *secrets, struct log *log);

/* Has the upstream a credential of the gate's own, which replaces the caller's line of this name?
 */
bool credential_replaces(const struct settings_upstream *upstream, struct str name);

/* The part of one call. Zero it. */
struct credential_use {
	bool is_unset; /* out: the secret is not set, so nothing was even tried */

	/* its own */
	const struct credential *credential;
	struct log *log;
	struct call *call;
	struct buf *headers;
	struct token *token;
	struct grant_wait *wait;
};

/*
 * Start `call`, in which all but the headers is filled, to the upstream at `index`. They are
 * `headers`, and the credential, which is added there. `done` comes later, and begins with
 * credential_end().
 */
void credential_start(struct credential_use *use, struct generation *generation, size_t index,
		      struct call *call, struct buf *headers);

/*
 * The call is over, or not wanted any more. True: the service refused a token that can be renewed,
 * so that the same question may be answered another time.
 */
bool credential_end(struct credential_use *use);

#endif
