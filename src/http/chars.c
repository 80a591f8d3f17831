/*
 * The classes of bytes, in one table, so that reading a head costs one look a byte.
 *
 * The ranges are written out once each, in the order of ASCII; what is not named (controls,
 * DEL) is in no class, so that every loop over a class stops at CR and LF.
 */
#include "http/reader.h"

enum {
	T = CLASS_TOKEN,
	V = CLASS_VALUE,
	U = CLASS_TARGET,
	H = CLASS_HOST,
};

const uint8_t http_class[256] = {
	['\t'] = V,
	[' '] = V,
	['!'] = T | V | U,
	['"'] = V,
	['#'] = T | V,
	['$' ... '\''] = T | V | U, /* $ % & ' */
	['(' ... ')'] = V | U,
	['*' ... '+'] = T | V | U,
	[','] = V | U,
	['-' ... '.'] = T | V | U | H,
	['/'] = V | U,
	['0' ... '9'] = T | V | U | H,
	[':' ... ';'] = V | U,
	['<'] = V,
	['='] = V | U,
	['>'] = V,
	['?' ... '@'] = V | U,
	['A' ... 'Z'] = T | V | U | H,
	['[' ... ']'] = V | U, /* [ \ ] */
	['^'] = T | V | U,
	['_'] = T | V | U | H,
	['`'] = T | V | U,
	['a' ... 'z'] = T | V | U | H,
	['{'] = V | U,
	['|'] = T | V | U,
	['}'] = V | U,
	['~'] = T | V | U | H,
	[0x80 ... 0xff] = V,
};

bool http_all_in(struct str text, int class)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!http_is_in(text.at[i], class))
			return false;
	}
	return true;
}

bool http_is_token(struct str text)
{
	return text.len > 0 && http_all_in(text, CLASS_TOKEN);
}

bool http_is_field_value(struct str text)
{
	return http_all_in(text, CLASS_VALUE);
}

int http_refuse(struct http_refusal *out_refusal, int status, const char *detail)
{
	*out_refusal = (struct http_refusal){.status = status, .detail = detail};
	return HTTP_REFUSED;
}
