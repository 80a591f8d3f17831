/*
 * A key set in a file, and whether the file is another one by now.
 */
#ifndef AUTH_JWKS_FILE_H
#define AUTH_JWKS_FILE_H

#include "auth/jwks.h"

/* What a file looks like from outside: a change of its content changes this too. */
struct jwks_stamp {
	int64_t modified_ns; /* Unix time */
	int64_t size;
	uint64_t inode, device;
};

/*
 * Read it, and say how it looked. Blocks. As jwks_read(); a file that cannot be read is
 * JWKS_REFUSED with why. *out_stamp is set whatever comes of it (zeroed: there is no file).
 */
int jwks_read_file(const char *path, struct jwks **out_set, struct jwks_stamp *out_stamp,
		   char why[JWKS_WHY_MAX]);

/* Does it look otherwise than then? Blocks for a moment. */
bool jwks_file_has_changed(const char *path, const struct jwks_stamp *stamp);

#endif
