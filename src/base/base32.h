/*
 * Base32 in lower case and without padding (RFC 4648 § 6): names that are typed, said and put
 * into headers.
 */
#ifndef BASE_BASE32_H
#define BASE_BASE32_H

#include <stddef.h>
#include <stdint.h>

/* Characters of `len` bytes; without a rest where len is a multiple of 5. */
#define BASE32_TEXT(len) ((len) / 5 * 8)

/* Write BASE32_TEXT(len) characters [a-z2-7] and a NUL. `len` is a multiple of 5. */
void base32_write(const uint8_t *bytes, size_t len, char *out);

#endif
