/*
 * A log's files in a folder.
 *
 * What is no regular file is not there: a pipe under the name of a tile would hold verification
 * up for ever.
 */
#include "audit/log_reader.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

static int read_all(int fd, size_t size, struct buf *out)
{
	size_t done = 0;

	if (size > out->max - out->len)
		return LOG_TOO_LARGE;
	while (done < size) {
		size_t want = size - done < PIECE ? size - done : PIECE;
		char *at = buf_reserve(out, want);
		ssize_t got;

		if (!at)
			return fail(FAIL_MEMORY);
		got = read(fd, at, want);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(FAIL_IO, errno);
		if (got == 0)
			break; /* it has become shorter */
		buf_commit(out, (size_t)got);
		done += (size_t)got;
	}
	return 0;
}

static int folder_read(void *state, const char *path, struct buf *out)
{
	struct log_folder *folder = state;
	int fd = openat(folder->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return LOG_ABSENT;
	if (fd < 0)
		return fail_errno(FAIL_IO, errno);
	if (fstat(fd, &stat) != 0)
		r = fail_errno(FAIL_IO, errno);
	else if (!S_ISREG(stat.st_mode))
		r = LOG_ABSENT;
	else
		r = read_all(fd, (size_t)stat.st_size, out);
	close(fd);
	return r;
}

static int folder_list(void *state, int (*visit)(void *visitor, struct str name), void *visitor)
{
	struct log_folder *folder = state;
	int fd = openat(folder->fd, "checkpoints", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *item;
	DIR *names;
	int r = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : fail_errno(FAIL_IO, errno);
	names = fdopendir(fd);
	if (!names) {
		r = fail_errno(FAIL_IO, errno);
		close(fd);
		return r;
	}
	while (r == 0) {
		errno = 0;
		item = readdir(names);
		if (!item) {
			r = errno ? fail_errno(FAIL_IO, errno) : 0;
			break;
		}
		r = visit(visitor, str_from(item->d_name));
	}
	closedir(names);
	return r;
}

int log_folder_open(struct log_folder *folder, const char *path)
{
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return LOG_ABSENT;
	if (folder->fd < 0)
		return fail_errno(FAIL_IO, errno);
	folder->reader = (struct log_reader){folder_read, folder_list, folder};
	return 0;
}

void log_folder_close(struct log_folder *folder)
{
	if (folder && folder->fd >= 0)
		close(folder->fd);
	if (folder)
		folder->fd = -1;
}
