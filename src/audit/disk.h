/*
 * Putting whole files on a disk, so that a reader, and the next start, finds all of one or none.
 *
 * Written under a name of its own, synced, renamed. The folder is synced by whoever needs the name
 * to last: several files share that. On failure errno says why. Any thread.
 */
#ifndef AUDIT_DISK_H
#define AUDIT_DISK_H

#include "base/str.h"

#include <sys/types.h>

/* Write the file `name` in the open folder. 0, FAIL_IO. */
int disk_replace(int folder, const char *name, struct str bytes, mode_t mode);

/* Sync the open folder's own folder, so that its name lasts too. 0, FAIL_IO. */
int disk_sync_parent(int folder);

#endif
