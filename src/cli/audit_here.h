/*
 * What becomes of the audit log's epochs where no gate runs: on the store itself, as the gate
 * would.
 *
 * The store is opened, which takes it from any gate that would start, and closed, which publishes
 * what is there. What was running when the gate stopped is unknown from then on, as after a start.
 */
#ifndef CLI_AUDIT_HERE_H
#define CLI_AUDIT_HERE_H

#include "cli/data_place.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * End the epoch, publish its last checkpoint, erase the key that signed it. `why` may be NULL.
 * EXIT_DONE: *out_epoch has begun; *out_is_erased: the key before it is gone (else the next start
 * does what is left). Otherwise the exit status after a message.
 */
int audit_rotate_here(const struct data_place *place, const char *why, uint32_t *out_epoch,
		      bool *out_is_erased);

/* Erase the data key of an epoch that has ended, and take its entries away where it `prunes`. As
 * above. */
int audit_erase_here(const struct data_place *place, uint32_t epoch, bool prunes, const char *why,
		     bool *out_is_erased);

#endif
