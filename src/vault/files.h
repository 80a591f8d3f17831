/*
 * The files of a vault: read only where nobody else can, made whole or not at all.
 */
#ifndef VAULT_FILES_H
#define VAULT_FILES_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

/* Where a reason is written to. */
struct reason {
	char *text;
	size_t size;
};

enum {
	FILES_ABSENT = 1,
	FILES_TAKEN = 2, /* make: one of that name is there */
};

/* Write the reason; FAIL_CONFIG. */
int reason_put(const struct reason *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The folder, made (0700) if it is not there and may be, and refused where others can look into it.
 * A file descriptor, or FAIL_CONFIG. */
int files_open_folder(const char *folder, bool may_make, const struct reason *why);

/*
 * The bytes of file `name` in `folder` (AT_FDCWD: `name` is a path, and may be a link), appended.
 * `shown` is how it is called in a reason. 0; FILES_ABSENT, with a reason too; FAIL_CONFIG: it is
 * no plain file, or others can read it, or it is longer than `out` has room for.
 */
int files_read(int folder, const char *name, const char *shown, struct buf *out,
	       const struct reason *why);

/* Make a file, durably, 0600. 0, FILES_TAKEN, FAIL_CONFIG. */
int files_make(int folder, const char *name, const char *shown, struct str bytes,
	       const struct reason *why);

/* Put `bytes` in its place, durably: all or nothing. 0, FAIL_CONFIG. */
int files_replace(int folder, const char *name, const char *shown, struct str bytes,
		  const struct reason *why);

/* Give the file another name, in place of what had that. 0, FAIL_CONFIG. */
int files_rename(int folder, const char *from, const char *to, const struct reason *why);

#endif
