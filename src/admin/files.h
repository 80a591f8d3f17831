/*
 * The two files of the data directory by which the command line finds a running gate and is
 * let in. Both have mode 0600: whoever can read them may act as operator.
 */
#ifndef ADMIN_FILES_H
#define ADMIN_FILES_H

#include "base/env.h"

#include <stddef.h>

/*
 * Read `admin-token` into `out_token` (64 hexadecimal digits and a NUL), or make it. A file that
 * others can read is refused. 0, FAIL_IO or FAIL_CONFIG with `why`.
 */
int admin_token_file(const char *directory, const struct env *env, char out_token[65], char *why,
		     size_t why_size);

/* Write `gate.json` (pid, both addresses) whole or not at all. 0, FAIL_IO with `why`. */
int admin_write_gate_file(const char *directory, const char *listen, const char *admin_url,
			  char *why, size_t why_size);
void admin_remove_gate_file(const char *directory);

#endif
