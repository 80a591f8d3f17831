/*
 * Files that the admin listener serves as they are, in the program itself: the console's pages and
 * the API's description. The table is made of console/ and docs/ while building (tools/embed).
 */
#ifndef ADMIN_CONSOLE_FILES_H
#define ADMIN_CONSOLE_FILES_H

#include <stddef.h>

struct embedded_file {
	const char *name; /* "app.js" */
	const char *type; /* media type */
	const char *etag; /* quoted */
	const unsigned char *bytes;
	size_t size;
};

extern const struct embedded_file embedded_files[];
extern const size_t embedded_file_count;

#endif
