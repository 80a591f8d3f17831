/* Whole files, or none (see disk.h). */
#include "audit/disk.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_MAX_SIZE = 256 };

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

int disk_replace(int folder, const char *name, struct str bytes, mode_t mode)
{
	char other[NAME_MAX_SIZE];
	int fd, r, error_number;

	require(snprintf(other, sizeof(other), "%s.new", name) < (int)sizeof(other));
	fd = openat(folder, other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return FAIL_IO;
	r = write_all(fd, bytes);
	if (r == 0 && fsync(fd) != 0)
		r = FAIL_IO;
	error_number = errno;
	close(fd);
	errno = error_number;
	if (r == 0 && renameat(folder, other, folder, name) != 0)
		r = FAIL_IO;
	if (r != 0) {
		error_number = errno;
		unlinkat(folder, other, 0);
		errno = error_number;
	}
	return r;
}

int disk_sync_parent(int folder)
{
	int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (parent < 0)
		return FAIL_IO;
	r = fsync(parent) == 0 ? 0 : FAIL_IO;
	close(parent);
	return r;
}
