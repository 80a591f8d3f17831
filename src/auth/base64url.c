/*
 * Reading base64url strictly: two texts of one token's bytes would be two tokens to whoever
 * compares texts. libsodium 1.0.18 takes some bytes over 127 for letters of its alphabet, so they
 * are looked for before it is asked.
 */
#include "auth/base64url.h"

#include <sodium.h>

bool base64url_read(struct str text, uint8_t *out, size_t size, size_t *out_len)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.at[i] > 127)
			return false;
	}
	*out_len = 0;
	if (text.len == 0)
		return true;
	return sodium_base642bin(out, size, text.at, text.len, NULL, out_len, NULL,
				 sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
}

struct str base64url_bytes(struct str text, struct arena *mem)
{
	size_t size = text.len / 4 * 3 + 3;
	char *bytes = arena_alloc(mem, size);
	size_t len;

	if (!bytes || !base64url_read(text, (uint8_t *)bytes, size, &len))
		return str_of(NULL, 0);
	return str_of(bytes, len);
}
