/*
 * Taking the content coding off a body, within the body's limit.
 */
#ifndef CORE_CODING_H
#define CORE_CODING_H

#include "base/buf.h"
#include "base/str.h"
#include "core/fingerprint.h"

/*
 * Decode `body` by its Content-Encoding: none, identity, gzip (x-gzip) or deflate, which is
 * the zlib format (RFC 9110 § 8.4.1.2). What it needs is put into `room`, which the caller
 * initialises and finishes; *out_body is in it, or `body` itself. An empty body is empty
 * under every known coding.
 *   0, FINGERPRINT_REFUSED (broken, cut off, or something behind the end),
 *   FINGERPRINT_TOO_LARGE (over `max` bytes, before or after), FINGERPRINT_CODING (another
 *   coding, or several), FAIL_MEMORY.
 * Takes at most `max` bytes and a bit, whatever a body claims to be.
 */
int coding_decode(struct str coding, struct str body, size_t max, struct buf *room,
		  struct str *out_body, struct fingerprint_error *out_error);

#endif
