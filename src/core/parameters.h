/*
 * `; name=value` lists, as Content-Type and Content-Disposition have them (RFC 9110 § 5.6.6).
 *
 * A quoted value keeps its backslashes: servers do not agree on what "a\b" is, and two file
 * names that any of them tells apart must not become one here.
 */
#ifndef CORE_PARAMETERS_H
#define CORE_PARAMETERS_H

#include "base/buf.h"
#include "base/str.h"
#include "core/fingerprint.h"

enum { PARAMETERS_MAX = 16 };

struct parameter {
	struct str name;  /* as it came; compared without case */
	struct str value; /* between its quotes, if it had any */
};

struct parameters {
	struct parameter items[PARAMETERS_MAX]; /* ordered by name */
	size_t count;
};

/*
 * Read all of `text`: empty, or from a semicolon on. `header` names it in the error. 0 with
 * everything pointing into `text`; FINGERPRINT_REFUSED (malformed, a name twice, too many).
 */
int parameters_read(struct str text, const char *header, struct parameters *out_parameters,
		    struct fingerprint_error *out_error);

/* The value of `name`; {NULL, 0} when there is none. */
struct str parameters_value(const struct parameters *parameters, struct str name);

/*
 * Append `;name="value"` for each in order, the names in lower case, leaving out the two
 * named ones (either may be empty). Failures show in out->is_spoiled.
 */
void parameters_write(const struct parameters *parameters, struct str without, struct str nor,
		      struct buf *out);

#endif
