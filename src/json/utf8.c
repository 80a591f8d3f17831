/*
 * Bytes of text: which stand for themselves inside a JSON string, and where a UTF-8
 * character ends (RFC 3629 § 4).
 */
#include "json/internal.h"

static const uint64_t each = 0x0101010101010101;

/* Some of the eight bytes is zero. */
static uint64_t has_zero(uint64_t word)
{
	return (word - each) & ~word & (each * 0x80);
}

static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* Eight at a time while all eight are plain, then one by one. */
const char *json_skip_plain(const char *at, const char *end)
{
	uint64_t word, special;

	while (end - at >= 8) {
		memcpy(&word, at, 8);
		special = (word & (each * 0x80)) | ((word - each * 0x20) & ~word & (each * 0x80)) |
			  has_zero(word ^ (each * '"')) | has_zero(word ^ (each * '\\'));
		if (special)
			break;
		at += 8;
	}
	while (at < end && is_plain((unsigned char)*at))
		at++;
	return at;
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t json_utf8_length(const char *at, const char *end)
{
	size_t have = (size_t)(end - at);
	unsigned char lead, second;

	if (have == 0)
		return 0;
	lead = (unsigned char)at[0];
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4 || have < 2 || !is_continuation(at[1]))
		return 0;
	if (lead < 0xe0)
		return 2;
	second = (unsigned char)at[1];
	if (have < 3 || !is_continuation(at[2]))
		return 0;
	if (lead < 0xf0) {
		if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f))
			return 0; /* overlong; a surrogate */
		return 3;
	}
	if (have < 4 || !is_continuation(at[3]))
		return 0;
	if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
		return 0; /* overlong; over U+10FFFF */
	return 4;
}

bool json_is_utf8(struct str text)
{
	const char *at = text.at, *end = at + text.len;
	size_t length = 1;

	for (; at < end && length; at += length)
		length = json_utf8_length(at, end);
	return length != 0;
}
