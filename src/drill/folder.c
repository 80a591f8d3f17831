/*
 * Removing a folder that a drill has made (see folder.h).
 *
 * Can fail: somebody still writes into it, or it is not ours. What is gone by then stays gone.
 */
#include "drill/folder.h"

#include <ftw.h>
#include <stdio.h>

enum { FILES_MAX = 16 }; /* descriptors that are open at once */

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
	(void)stat;
	(void)kind;
	(void)walk;
	return remove(path);
}

int folder_remove(const char *path)
{
	return nftw(path, remove_one, FILES_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
