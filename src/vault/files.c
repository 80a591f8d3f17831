/*
 * Reading and writing the files of a vault (see files.h).
 *
 * A file is written under a name of its own, synced, and then linked (a new one) or renamed (in
 * place of one): half a file is never found under its name, and of two that make the same one the
 * first wins.
 */
#include "vault/files.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 300 };

int reason_put(const struct reason *why, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why->text, why->size, format, arguments);
	va_end(arguments);
	return FAIL_CONFIG;
}

static int refuse_errno(const struct reason *why, const char *shown, int error_number)
{
	const char *mend = "let the user that runs counterfoil read and write there";

	if (error_number == ENOENT)
		mend = "make the directory it is to be in";
	if (error_number == EROFS)
		mend = "make its file system writable";
	if (error_number == ENOSPC || error_number == EDQUOT)
		mend = "make room there";
	return reason_put(why, "%s cannot be used: %s; %s, or name another directory", shown,
			  strerror(error_number), mend);
}

int files_open_folder(const char *folder, bool may_make, const struct reason *why)
{
	struct stat facts;
	int fd;

	if (may_make && mkdir(folder, 0700) != 0 && errno != EEXIST)
		return refuse_errno(why, folder, errno);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse_errno(why, folder, errno);
	if (fstat(fd, &facts) == 0 && !(facts.st_mode & (S_IRWXG | S_IRWXO)))
		return fd;
	close(fd);
	return reason_put(why, "others can look into %s; make it yours alone: chmod 700 %s", folder,
			  folder);
}

static int judge(const struct stat *facts, const char *shown, const struct reason *why)
{
	if (!S_ISREG(facts->st_mode))
		return reason_put(why, "%s is no plain file: put the right one there", shown);
	if (facts->st_mode & (S_IRWXG | S_IRWXO))
		return reason_put(why,
				  "%s can be read by others: make it yours alone (chmod 600), and "
				  "think about who has read it",
				  shown);
	return 0;
}

static int read_all(int fd, const char *shown, struct buf *out, const struct reason *why)
{
	char piece[1024];
	ssize_t len;

	while ((len = read(fd, piece, sizeof(piece))) > 0)
		if (buf_append(out, piece, (size_t)len) != 0)
			break;
	explicit_bzero(piece, sizeof(piece));
	if (len < 0)
		return refuse_errno(why, shown, errno);
	return len ? reason_put(why, "%s is too long: put the right file there", shown) : 0;
}

int files_read(int folder, const char *name, const char *shown, struct buf *out,
	       const struct reason *why)
{
	int links = folder == AT_FDCWD ? 0 : O_NOFOLLOW;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | links);
	struct stat facts;
	int r;

	if (fd < 0 && errno == ENOENT) {
		reason_put(why, "%s is missing", shown);
		return FILES_ABSENT;
	}
	if (fd < 0)
		return refuse_errno(why, shown, errno);
	r = fstat(fd, &facts) == 0 ? judge(&facts, shown, why) : refuse_errno(why, shown, errno);
	if (r == 0)
		r = read_all(fd, shown, out, why);
	close(fd);
	return r;
}

static int write_all(int fd, struct str bytes)
{
	size_t done = 0;

	while (done < bytes.len) {
		ssize_t wrote = write(fd, bytes.at + done, bytes.len - done);

		if (wrote < 0 && errno != EINTR)
			return FAIL_IO;
		if (wrote > 0)
			done += (size_t)wrote;
	}
	return fsync(fd) == 0 ? 0 : FAIL_IO;
}

/* Under a name that is this process's own: 0 and the file is whole and durable; else errno. */
static int write_beside(int folder, const char *name, struct str bytes, char other[NAME_SIZE])
{
	int fd, error_number = 0;

	require(snprintf(other, NAME_SIZE, "%s.%ld.new", name, (long)getpid()) < NAME_SIZE);
	unlinkat(folder, other, 0);
	fd = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno;
	if (write_all(fd, bytes) != 0)
		error_number = errno;
	close(fd);
	if (error_number)
		unlinkat(folder, other, 0);
	return error_number;
}

int files_make(int folder, const char *name, const char *shown, struct str bytes,
	       const struct reason *why)
{
	char other[NAME_SIZE];
	int error_number = write_beside(folder, name, bytes, other);

	if (error_number)
		return refuse_errno(why, shown, error_number);
	if (linkat(folder, other, folder, name, 0) != 0)
		error_number = errno;
	unlinkat(folder, other, 0);
	if (error_number == EEXIST)
		return FILES_TAKEN;
	if (error_number || fsync(folder) != 0)
		return refuse_errno(why, shown, error_number ? error_number : errno);
	return 0;
}

int files_replace(int folder, const char *name, const char *shown, struct str bytes,
		  const struct reason *why)
{
	char other[NAME_SIZE];
	int error_number = write_beside(folder, name, bytes, other);

	int r;

	if (error_number)
		return refuse_errno(why, shown, error_number);
	r = files_rename(folder, other, name, why);
	if (r != 0)
		unlinkat(folder, other, 0);
	return r;
}

int files_rename(int folder, const char *from, const char *to, const struct reason *why)
{
	if (renameat(folder, from, folder, to) != 0)
		return refuse_errno(why, to, errno);
	return fsync(folder) == 0 ? 0 : refuse_errno(why, to, errno);
}
