/*
 * The canonical form of a multipart body (RFC 2046 § 5.1, RFC 7578).
 */
#ifndef CORE_MULTIPART_H
#define CORE_MULTIPART_H

#include "base/buf.h"
#include "base/str.h"
#include "core/media_type.h"

enum {
	MULTIPART_PARTS_MAX = 1000,
	MULTIPART_HEADERS_MAX = 16, /* of one part */
	MULTIPART_BOUNDARY_MAX = 70,
};

/*
 * Append it to `out`: for each part in order "p", then Content-Disposition, Content-Type and
 * the other headers (lower-case name, value) ordered by name, each text with a 32-bit
 * big-endian length before it, an empty name, and the SHA-256 of the content; at the end "e".
 * 0; FINGERPRINT_REFUSED (malformed, or read differently by different servers); FAIL_MEMORY.
 */
int multipart_canonical(struct str body, const struct media_type *media_type, struct buf *out,
			struct fingerprint_error *out_error);

#endif
