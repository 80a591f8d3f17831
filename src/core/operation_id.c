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

static uint64_t half(const uint8_t bytes[8])
{
	uint64_t number = 0;

	for (size_t i = 0; i < 8; i++)
		number = number << 8 | bytes[i];
	return number;
}

void operation_id_write(const struct operation_id *id, char out[OPERATION_ID_TEXT + 1])
{
	uint64_t high = half(id->bytes), low = half(id->bytes + 8);

	memcpy(out, prefix, PREFIX_LENGTH);
	for (size_t i = OPERATION_ID_TEXT; i-- > PREFIX_LENGTH;) {
		out[i] = alphabet[low & 31];
		low = low >> 5 | high << 59;
		high >>= 5;
	}
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
