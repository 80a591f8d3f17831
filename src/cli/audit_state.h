/*
 * Operations recomputed from the audit log, held against the store of a gate that rests.
 */
#ifndef CLI_AUDIT_STATE_H
#define CLI_AUDIT_STATE_H

#include "cli/data_place.h"

#include <stdbool.h>
#include <stdint.h>

struct audit_state {
	uint64_t operations; /* that the store has */
	uint64_t different;  /* of both together */
	uint64_t forgotten;  /* that had ended, and whose time is over: the log has them alone */
	uint64_t untold;     /* that entries told of which nobody can read any more */
};

/*
 * Compare; each operation that differs is printed, with what it is in either (`is_json`: as an
 * object). 0 and *out_state; < 0, and a message has been written.
 */
int audit_state_compare(const struct data_place *place, bool is_json,
			struct audit_state *out_state);

#endif
