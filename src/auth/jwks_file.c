/*
 * Reading a key set from a file. It may be a link that is turned to another file, as such sets are
 * often delivered, so what is looked at is where the path leads.
 */
#include "auth/jwks_file.h"

#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16 * 1024 };

static struct jwks_stamp stamp_of(const struct stat *status)
{
	return (struct jwks_stamp){
		.modified_ns =
			status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec,
		.size = status->st_size,
		.inode = status->st_ino,
		.device = status->st_dev,
	};
}

/* 0, JWKS_REFUSED with why, FAIL_MEMORY. */
static int read_all(int file, struct buf *text, char *why)
{
	for (;;) {
		char *room = buf_reserve(text, PIECE);
		ssize_t len;

		if (!room) {
			snprintf(why, JWKS_WHY_MAX, "it is larger than %d bytes", JWKS_BYTES_MAX);
			return JWKS_REFUSED;
		}
		len = read(file, room, PIECE);
		if (len == 0)
			return 0;
		if (len > 0) {
			buf_commit(text, (size_t)len);
		} else if (errno != EINTR) {
			snprintf(why, JWKS_WHY_MAX, "it cannot be read: %s", strerror(errno));
			return JWKS_REFUSED;
		}
	}
}

int jwks_read_file(const char *path, struct jwks **out_set, struct jwks_stamp *out_stamp,
		   char why[JWKS_WHY_MAX])
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* nor does a pipe hold us up */
	struct stat status;
	struct buf text;
	int r = JWKS_REFUSED;

	*out_stamp = (struct jwks_stamp){0};
	buf_init(&text, JWKS_BYTES_MAX + PIECE);
	if (file < 0 || fstat(file, &status) != 0) {
		snprintf(why, JWKS_WHY_MAX, "it cannot be read: %s", strerror(errno));
	} else if (!S_ISREG(status.st_mode)) {
		snprintf(why, JWKS_WHY_MAX, "it is no file");
	} else {
		*out_stamp = stamp_of(&status);
		r = read_all(file, &text, why);
	}
	if (file >= 0)
		close(file);
	if (r == 0)
		r = jwks_read(buf_str(&text), out_set, why);
	buf_fini(&text);
	return r;
}

bool jwks_file_has_changed(const char *path, const struct jwks_stamp *stamp)
{
	struct jwks_stamp now = {0};
	struct stat status;

	if (stat(path, &status) == 0)
		now = stamp_of(&status);
	return now.modified_ns != stamp->modified_ns || now.size != stamp->size ||
	       now.inode != stamp->inode || now.device != stamp->device;
}
