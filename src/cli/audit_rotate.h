/*
 * Ending the audit log's epoch where no gate runs: on the store itself, as the gate would.
 */
#ifndef CLI_AUDIT_ROTATE_H
#define CLI_AUDIT_ROTATE_H

#include "cli/data_place.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Open the store, which takes it from any gate that would start; end the epoch, publish its last
 * checkpoint, erase its key. What was running when the gate stopped is unknown from then on, as
 * after a start. `reason` may be NULL. EXIT_DONE: *out_epoch has begun; *out_is_erased: the key
 * before it is gone (else the next start ends what is left to do). Otherwise the exit status after
 * a message.
 */
int audit_rotate_here(const struct data_place *place, const char *reason, uint32_t *out_epoch,
		      bool *out_is_erased);

#endif
