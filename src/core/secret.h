/*
 * Secrets that the gate keeps for the services behind it: what may be one, and its name.
 *
 * A value goes into a line of HTTP, so it is one line of text: no control characters, which a
 * terminal or an editor leaves behind unseen and a service would refuse without saying why.
 */
#ifndef CORE_SECRET_H
#define CORE_SECRET_H

#include "base/str.h"

#include <stdbool.h>

enum {
	SECRET_NAME_MAX = 64,
	SECRET_VALUE_MAX = 16 * 1024, /* bytes */
};

/* 1 to 64 letters, digits, '.', '-' or '_', the first a letter or a digit. */
bool secret_name_is_fine(struct str name);

/* NULL: it may be kept. Else why not: a constant sentence, which shows nothing of it. */
const char *secret_value_fault(struct str value);

#endif
