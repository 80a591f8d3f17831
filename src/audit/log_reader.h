/*
 * Reading a log's files, through a table: a folder on this machine, or a test's memory.
 *
 * A log's folder holds `checkpoint`, `checkpoints/<size>` and `tile/…` (tiles.h). Paths are
 * relative to it and made by us, never by what is read.
 */
#ifndef AUDIT_LOG_READER_H
#define AUDIT_LOG_READER_H

#include "base/buf.h"
#include "base/str.h"

/* What reading may say instead of 0. */
enum {
	LOG_ABSENT = 1,	   /* there is no such file */
	LOG_TOO_LARGE = 2, /* it does not fit into `out` */
};

struct log_reader {
	/* Fill `out` (empty) with a whole file. 0, LOG_ABSENT, LOG_TOO_LARGE, FAIL_IO, FAIL_MEMORY.
	 */
	int (*read)(void *state, const char *path, struct buf *out);
	/*
	 * Tell `visit` the names in checkpoints/, in any order; visit returns 0 to go on.
	 * 0 (also where there is no such folder), FAIL_IO, or what visit returned.
	 */
	int (*list)(void *state, int (*visit)(void *visitor, struct str name), void *visitor);
	void *state;
};

/* A folder; reads what it is asked for and keeps nothing. */
struct log_folder {
	int fd;
	struct log_reader reader;
};

/* Open it. 0; LOG_ABSENT where there is none; FAIL_IO. The struct must stay where it is. */
int log_folder_open(struct log_folder *folder, const char *path);
void log_folder_close(struct log_folder *folder);

#endif
