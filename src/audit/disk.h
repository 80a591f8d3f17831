/*
 * Putting whole files on a disk, so that a reader, and the next start, finds all of one or none.
 *
 * Written under a name of its own, synced, renamed. The folder is synced by whoever needs the name
 * to last: several files share that. On failure errno says why. Any thread.
 *
 * Files that come one after another are a group: each is on its way to the disk as soon as it is
 * put there, and nobody waits for it before the group is kept.
 */
#ifndef AUDIT_DISK_H
#define AUDIT_DISK_H

#include "base/str.h"

#include <sys/types.h>

enum { DISK_GROUP_MAX = 16, DISK_NAME_SIZE = 256 };

/* Files that are written and have no names yet. Zeroed: none. */
struct disk_group {
	size_t count;
	struct disk_file {
		int fd;
		char name[DISK_NAME_SIZE];
	} files[DISK_GROUP_MAX];
};

/* Write the file `name` in the open folder. 0, FAIL_IO. */
int disk_replace(int folder, const char *name, struct str bytes, mode_t mode);

/* The same, but for its name, into a group that is not full. */
int disk_group_put(struct disk_group *group, int folder, const char *name, struct str bytes,
		   mode_t mode);

/* Every file of the group has its name in that folder. 0, FAIL_IO: some have not. It is empty. */
int disk_group_keep(struct disk_group *group, int folder);

/* None will have one. It is empty; errno is as it was. */
void disk_group_drop(struct disk_group *group, int folder);

/* Sync the open folder's own folder, so that its name lasts too. 0, FAIL_IO. */
int disk_sync_parent(int folder);

#endif
