/*
 * Base32, five bytes at a time: eight characters of five bits each.
 *
 * Always true: nothing is written but [a-z2-7] and the NUL at the end. Cannot fail.
 */
#include "base/base32.h"

#include "base/err.h"

enum { GROUP_BYTES = 5, GROUP_TEXT = 8, DIGIT_BITS = 5, DIGIT_MASK = 31 };

void base32_write(const uint8_t *bytes, size_t len, char *out)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

	require(len % GROUP_BYTES == 0);
	for (size_t at = 0; at < len; at += GROUP_BYTES) {
		uint64_t group = 0;

		for (unsigned i = 0; i < GROUP_BYTES; i++)
			group = group << 8 | bytes[at + i];
		for (unsigned i = GROUP_TEXT; i > 0; i--, group >>= DIGIT_BITS)
			out[i - 1] = digits[group & DIGIT_MASK];
		out += GROUP_TEXT;
	}
	*out = '\0';
}
