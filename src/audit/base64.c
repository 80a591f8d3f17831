/* Reading base64 strictly. */
#include "audit/base64.h"

#include <sodium.h>

bool base64_read(struct str text, uint8_t *out, size_t size, size_t *out_len)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.at[i] > 127)
			return false;
	}
	if (text.len == 0) {
		*out_len = 0;
		return true;
	}
	return sodium_base642bin(out, size, text.at, text.len, NULL, out_len, NULL,
				 sodium_base64_VARIANT_ORIGINAL) == 0;
}
