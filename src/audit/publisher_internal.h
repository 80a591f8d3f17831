/*
 * What the parts of publishing share.
 *
 *   publisher.c         takes entries and seals them
 *   publisher_open.c    goes on with what is there
 *   publisher_anchor.c  compares with what others keep, proves to them, takes their cosignatures
 *   publisher_tidy.c    takes away what is no longer needed
 */
#ifndef AUDIT_PUBLISHER_INTERNAL_H
#define AUDIT_PUBLISHER_INTERNAL_H

#include "audit/checkpoint.h"
#include "audit/publisher.h"

/* The whole tile, else the part of this width. `state` is the publisher; else as log_reader.read.
 */
int publisher_read_tile(void *state, const struct tile *tile, struct buf *out);

/* NULL, or what is wrong with a checkpoint that should be this log's. */
const char *publisher_read_ours(const struct publisher *publisher, const struct buf *bytes,
				struct checkpoint *out_checkpoint);

/* Put a file there for good, with the folders on its way. 0, FAIL_IO and errno. */
int publisher_put_file(int folder, const char *path, struct str bytes);

/* Put a checkpoint into the history and under `checkpoint`. 0, FAIL_IO and errno. */
int publisher_put_checkpoint(int folder, uint64_t size, struct str checkpoint);

#endif
