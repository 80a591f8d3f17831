/*
 * Looking into the store of a gate that does not run, for whoever holds it against something else.
 *
 * Opened to be read; the directory's lock is held meanwhile, so that no gate starts. One thread.
 */
#ifndef STORE_LOOK_H
#define STORE_LOOK_H

#include "store/record.h"

#include <stdbool.h>

struct store_look;

/* Is there a store in that data directory, and no gate that has it now? */
bool store_rests(const char *directory);

/* Open the store in a data directory. 0; FAIL_STORE, FAIL_MEMORY and `why`. */
int store_look_open(const char *directory, struct store_look **out_look, char *why,
		    size_t why_size);
void store_look_close(struct store_look *look); /* safe on NULL */

/*
 * Every operation, oldest first: id, account, token, fingerprint, state, epoch, reference,
 * resource, and of its answer status and digest (status 0: it has none). Strings last until `visit`
 * returns; it returns 0 to go on, and anything else is returned. 0, FAIL_STORE.
 */
int store_look_operations(struct store_look *look,
			  int (*visit)(void *state, const struct store_operation *operation),
			  void *state);

/* The first entry of the audit log that the database still has; 0 where it has none. 0, FAIL_STORE.
 */
int store_look_first_entry(struct store_look *look, uint64_t *out_seq);

/* Every entry of the audit log from `seq` on that the database still has. As above. */
int store_look_entries(struct store_look *look, uint64_t seq,
		       int (*visit)(void *state, struct str bytes), void *state);

#endif
