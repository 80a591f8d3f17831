/*
 * Base64 in its one spelling (RFC 4648 § 4): the standard alphabet, all padding, no spare bits.
 *
 * libsodium 1.0.18 takes bytes over 127 for a slash, so its answer alone is not enough.
 */
#ifndef AUDIT_BASE64_H
#define AUDIT_BASE64_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of `text`, to at most `size` bytes. False when it is not in its spelling or too long. */
bool base64_read(struct str text, uint8_t *out, size_t size, size_t *out_len);

#endif
