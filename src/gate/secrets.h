/*
 * The secrets by which the gate speaks to services, as all threads share them.
 *
 * Filled from the store when the gate starts, and changed when a change has been committed there;
 * so a new value counts from the next sending on. Values are kept in memory of their own, locked
 * where the system allows it and overwritten when they go. Nothing here writes one anywhere.
 *
 * Each put gives the secret a new version, so that whoever keeps something that was made with one
 * (an access token) sees that it has changed.
 */
#ifndef GATE_SECRETS_H
#define GATE_SECRETS_H

#include "base/arena.h"
#include "base/buf.h"

enum { SECRETS_ABSENT = 1, SECRETS_FULL = 2 };
enum { SECRETS_MAX = 4096 };

struct secrets;

/* 0 or FAIL_MEMORY. */
int secrets_new(struct secrets **out);
void secrets_free(struct secrets *secrets); /* NULL is fine */

/*
 * Put it in place of the one that had the name; the store kept it at `updated_ms`. Any thread. 0,
 * SECRETS_FULL, FAIL_MEMORY.
 */
int secrets_put(struct secrets *secrets, struct str name, struct str value, int64_t updated_ms);

/* Forget it. Any thread; fine where there is none. */
void secrets_drop(struct secrets *secrets, struct str name);

/*
 * Append the value. Any thread. 0 and *out_version, above 0; SECRETS_ABSENT. A refusal of the
 * buffer shows in out->is_spoiled; make it one that is wiped.
 */
int secrets_read(struct secrets *secrets, struct str name, struct buf *out, uint64_t *out_version);

/* What is told of one: never its value. */
struct secret_note {
	struct str name;
	int64_t updated_ms;
};

/* All of them by name, in `mem`. Any thread. 0 or FAIL_MEMORY (not logged). */
int secrets_list(struct secrets *secrets, struct arena *mem, struct secret_note **out_notes,
		 size_t *out_count);

/* Its version; 0: it is not there. Any thread. */
uint64_t secrets_version(struct secrets *secrets, struct str name);

#endif
