/*
 * The id of an operation as text.
 *
 * 128 bits in 26 characters of five bits: the first character carries only the top three
 * bits, so it is 0–7, and ids sort as text the way they sort as bytes. The alphabet has no
 * I, L, O and U; reading does not forgive them, because one operation has one id.
 */
#include "core/operation.h"

static const char prefix[] = "op_";
static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

enum { PREFIX_LENGTH = 3, DIGITS = OPERATION_ID_TEXT - PREFIX_LENGTH };

/* The value of a digit: five of 130 bits, counted from the top, the first two of them zero. */
static unsigned five_bits(const uint8_t *bytes, size_t digit)
{
	unsigned value = 0;

	for (size_t i = 0; i < 5; i++) {
		size_t bit = digit * 5 + i;
		unsigned byte = bit < 2 ? 0 : bytes[(bit - 2) / 8];
		unsigned one = bit < 2 ? 0 : byte >> (7 - (bit - 2) % 8) & 1U;

		value = value << 1 | one;
	}
	return value;
}

void operation_id_write(const struct operation_id *id, char out[OPERATION_ID_TEXT + 1])
{
	memcpy(out, prefix, PREFIX_LENGTH);
	for (size_t i = 0; i < DIGITS; i++)
		out[PREFIX_LENGTH + i] = alphabet[five_bits(id->bytes, i)];
	out[OPERATION_ID_TEXT] = '\0';
}

static int digit_of(char c)
{
	const char *found;

	if (c >= 'a' && c <= 'z')
		c = (char)(c - ('a' - 'A'));
	found = memchr(alphabet, c, sizeof(alphabet) - 1);
	return found ? (int)(found - alphabet) : -1;
}

bool operation_id_read(struct str text, struct operation_id *out_id)
{
	struct operation_id id = {{0}};
	unsigned held = 0, bits = 0;
	size_t filled = 0;

	if (text.len != OPERATION_ID_TEXT || !str_starts_with_nocase(text, STR("op_")))
		return false;
	for (size_t i = 0; i < DIGITS; i++) {
		int digit = digit_of(text.at[PREFIX_LENGTH + i]);

		if (digit < 0 || (i == 0 && digit > 7))
			return false;
		held = (held << 5 | (unsigned)digit) & 0xfff;
		bits += i == 0 ? 3 : 5;
		if (bits >= 8) {
			bits -= 8;
			id.bytes[filled++] = (uint8_t)(held >> bits);
		}
	}
	*out_id = id;
	return true;
}
