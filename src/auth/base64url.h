/*
 * Base64url in its one spelling (RFC 7515 § 2): the alphabet of RFC 4648 § 5, no padding, no spare
 * bits.
 */
#ifndef AUTH_BASE64URL_H
#define AUTH_BASE64URL_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of `text`, to at most `size` bytes. False when it is not in its spelling or too long. */
bool base64url_read(struct str text, uint8_t *out, size_t size, size_t *out_len);

/* The same to a piece of `mem`. {NULL, 0}: not in its spelling, or no memory. */
struct str base64url_bytes(struct str text, struct arena *mem);

#endif
