/* Whole files, or none (see disk.h). */
#include "audit/disk.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_BESIDE_SIZE = DISK_NAME_SIZE + sizeof(".new") };

static int write_all(int fd, struct str bytes)
{
	size_t done = 0;

	while (done < bytes.len) {
		ssize_t wrote = write(fd, bytes.at + done, bytes.len - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return FAIL_IO;
		done += (size_t)wrote;
	}
	return 0;
}

static void close_files(struct disk_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		close(group->files[i].fd);
	group->count = 0;
}

int disk_replace(int folder, const char *name, struct str bytes, mode_t mode)
{
	struct disk_group group = {0};
	int r = disk_group_put(&group, folder, name, bytes, mode);

	return r == 0 ? disk_group_keep(&group, folder) : r;
}

/* -- a group ----------------------------------------------------------------------- */

/* The name under which a file is written. */
static void name_beside(const char *name, char out[NAME_BESIDE_SIZE])
{
	require(snprintf(out, NAME_BESIDE_SIZE, "%s.new", name) < NAME_BESIDE_SIZE);
}

int disk_group_put(struct disk_group *group, int folder, const char *name, struct str bytes,
		   mode_t mode)
{
	struct disk_file *file = &group->files[group->count];
	char beside[NAME_BESIDE_SIZE];
	int r;

	require(group->count < DISK_GROUP_MAX);
	require(snprintf(file->name, sizeof(file->name), "%s", name) < DISK_NAME_SIZE);
	name_beside(name, beside);
	file->fd =
		openat(folder, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (file->fd < 0)
		return FAIL_IO;
	group->count++;
	r = write_all(file->fd, bytes);
	if (r == 0)
		(void)sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	else
		disk_group_drop(group, folder);
	return r;
}

/* Only verifying reads it again: its pages are worth more to what is written next. */
static int sync_file(const struct disk_file *file)
{
	if (fsync(file->fd) != 0)
		return FAIL_IO;
	(void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

/* All are synced before the first has its name: each name that changes writes the folder anew. */
int disk_group_keep(struct disk_group *group, int folder)
{
	char beside[NAME_BESIDE_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->count; i++)
		r = sync_file(&group->files[i]);
	for (size_t i = 0; r == 0 && i < group->count; i++) {
		name_beside(group->files[i].name, beside);
		if (renameat(folder, beside, folder, group->files[i].name) != 0)
			r = FAIL_IO;
	}
	if (r == 0)
		close_files(group);
	else
		disk_group_drop(group, folder);
	return r;
}

void disk_group_drop(struct disk_group *group, int folder)
{
	char beside[NAME_BESIDE_SIZE];
	int error_number = errno;

	for (size_t i = 0; i < group->count; i++) {
		name_beside(group->files[i].name, beside);
		unlinkat(folder, beside, 0);
	}
	close_files(group);
	errno = error_number;
}

/* -- folders ----------------------------------------------------------------------- */

int disk_sync_parent(int folder)
{
	int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (parent < 0)
		return FAIL_IO;
	r = fsync(parent) == 0 ? 0 : FAIL_IO;
	close(parent);
	return r;
}
