/*
 * base/err.h inside a library: failures are returned and told by counterfoil_error(), and nothing
 * is written for them. What must be true and is not still ends the process, with its line.
 *
 * Linked in the place of base/err.c, never beside it.
 */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

int fail_at(int code, int error_number, const char *file, int line, const char *function)
{
	return code;
}

_Noreturn void broken(const char *what, const char *file, int line, const char *function)
{
	fprintf(stderr, "libcounterfoil: %s:%d: %s: this must be true and was not: %s\n", file,
		line, function, what);
	abort();
}
