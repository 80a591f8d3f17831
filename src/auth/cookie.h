/*
 * One cookie out of a request's Cookie field (RFC 6265 § 4.2.1), or all but that one. Pure; nothing
 * is decoded.
 */
#ifndef AUTH_COOKIE_H
#define AUTH_COOKIE_H

#include "base/buf.h"

enum {
	COOKIE_ABSENT = 1,
	COOKIE_TWICE = 2, /* two of that name: somebody else's may be among them */
};

/*
 * The value of the cookie called `name` (compared with its case) in the value of a Cookie field.
 * 0 and *out_value, which points into `field`; COOKIE_ABSENT; COOKIE_TWICE. A pair without a name
 * or with a value that no server may have set (RFC 6265's cookie-octets) is passed over.
 */
int cookie_find(struct str field, struct str name, struct str *out_value);

/* What the field says besides cookies of that name; nothing where nothing else is there. */
void cookie_append_others(struct str field, struct str name, struct buf *out);

#endif
