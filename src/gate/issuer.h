/*
 * The keys of whoever issues tokens (accounts.jwt.jwks): kept fresh by the control thread, used by
 * all.
 *
 * A set comes from a file, which is looked at again every few seconds, or from a URL, which is
 * fetched now and then. A token with an unknown key may wait for one look that is made for it:
 * that is how a new key is known a moment after its first use. Such looks are rare, however many
 * tokens ask (ISSUER_QUIET_MS), and so are those who wait for one (ISSUER_WAITERS_MAX).
 *
 * The last good set stays in force while nothing better comes. Where the source itself is another
 * one after a reload, the old one's keys do not.
 */
#ifndef GATE_ISSUER_H
#define GATE_ISSUER_H

#include "auth/jwks.h"
#include "base/list.h"
#include "net/loop.h"

struct gate;
struct issuer;

enum {
	ISSUER_QUIET_MS = 1000,	     /* between two looks, whoever wishes for one */
	ISSUER_FILE_LOOK_MS = 2000,  /* is the file another one? */
	ISSUER_TIMEOUT_MS = 5000,    /* of one fetch */
	ISSUER_WAITERS_MAX = 1024,   /* requests that wait for a look at once */
	ISSUER_PAUSE_MAX_MS = 30000, /* between fetches that fail */
};

/* Somebody who waits for the next look to be over. */
struct issuer_waiter {
	/* the owner's to fill */
	struct loop *loop;
	void (*woken)(struct issuer_waiter *waiter); /* once, on that loop, never inside the wait */

	/* the issuer's */
	struct list link;
	struct loop_post post;
};

/* Any thread: the newest good set, held for the caller (jwks_drop()); NULL: there is none yet.
 * *out_is_stale: the last look failed, so a key that is not in it may be good all the same. */
struct jwks *issuer_keys(struct issuer *issuer, bool *out_is_stale);

/* Any thread: wait for one look. False: too many do, or there is nothing to look at. */
bool issuer_wait(struct issuer *issuer, struct issuer_waiter *waiter);

/*
 * Its life, from the control thread. Open: with the newest settings of the gate; NULL without
 * memory. Reload: there are newer ones. Stop: nothing is looked at any more, and nobody waits.
 * Close: once the control loop has ended, before it is freed.
 */
struct issuer *issuer_open(struct gate *gate);
void issuer_reload(struct issuer *issuer);
void issuer_stop(struct issuer *issuer);
void issuer_close(struct issuer *issuer); /* NULL is fine */

#endif
