/*
 * Money, exactly.
 *
 * An amount in major units is moved by the currency's exponent to the left of the point and has
 * to be whole then; nothing is rounded. What counts as more digits than the currency has depends
 * on what was sent. A text is taken by its letter: "49.000" claims a third digit that the dollar
 * does not have, "4900.0" a tenth of a cent, and both are refused. A JSON number is a value, not
 * a spelling: 49, 49.0 and 49.000 cannot be told apart once read, and all are 49 dollars.
 *
 * The amount's form is judged before its currency, so that a caller who has found the currency
 * wanting elsewhere still learns of a second mistake.
 */
#include "core/money.h"

#include "core/currencies.h"

enum { CODE_LENGTH = 3, SCALE_MAX = 4, POINT_MAX = 32 };

/* A text that is a plain decimal: what stands before and after the point. */
struct plain {
	bool is_negative;
	struct str whole;
	struct str fraction;
};

static bool read_plain(struct str text, struct plain *out_plain);
static enum money_fault find_currency(struct str currency, struct money *out_money,
				      int *out_exponent);
static bool add_digits(struct str digits, int64_t *sum);

enum money_fault money_from_text(struct str text, struct str currency, bool is_major,
				 struct money *out_money)
{
	static const char zeros[SCALE_MAX + 1] = "0000";
	struct plain plain;
	struct money money;
	enum money_fault fault;
	size_t scale;
	int exponent;

	if (!read_plain(text, &plain))
		return MONEY_NO_AMOUNT;
	fault = find_currency(currency, &money, &exponent);
	if (fault != MONEY_FINE)
		return fault;
	scale = is_major ? (size_t)exponent : 0;
	if (plain.fraction.len > scale)
		return MONEY_TOO_FINE;
	money.minor_units = 0;
	if (!add_digits(plain.whole, &money.minor_units) ||
	    !add_digits(plain.fraction, &money.minor_units) ||
	    !add_digits(str_of(zeros, scale - plain.fraction.len), &money.minor_units))
		return MONEY_TOO_LARGE;
	if (plain.is_negative)
		money.minor_units = -money.minor_units;
	*out_money = money;
	return MONEY_FINE;
}

enum money_fault money_from_number(const struct json_number *number, struct str currency,
				   bool is_major, struct money *out_money)
{
	struct json_number scaled = *number;
	struct money money;
	int exponent;
	enum money_fault fault = find_currency(currency, &money, &exponent);

	if (fault != MONEY_FINE)
		return fault;
	if (scaled.point > POINT_MAX)
		return MONEY_TOO_LARGE;
	if (is_major && scaled.digits.len)
		scaled.point += exponent;
	if (scaled.digits.len && scaled.point < (int32_t)scaled.digits.len)
		return MONEY_TOO_FINE;
	if (!json_number_to_i64(&scaled, &money.minor_units) || money.minor_units == INT64_MIN)
		return MONEY_TOO_LARGE;
	*out_money = money;
	return MONEY_FINE;
}

/* Is `code` one of those that stand in `codes`, with a blank between? */
static bool has_code(const char *codes, struct str code)
{
	struct str rest = str_from(codes), one;

	while (str_split(&rest, ' ', &one)) {
		if (str_equal(one, code))
			return true;
	}
	return false;
}

static bool to_upper(struct str currency, char out_code[CODE_LENGTH + 1])
{
	if (currency.len != CODE_LENGTH)
		return false;
	for (size_t i = 0; i < CODE_LENGTH; i++) {
		char c = ascii_lower(currency.at[i]);

		if (c < 'a' || c > 'z')
			return false;
		out_code[i] = (char)(c - 'a' + 'A');
	}
	out_code[CODE_LENGTH] = '\0';
	return true;
}

int money_exponent(struct str currency)
{
	char code[CODE_LENGTH + 1];

	if (!to_upper(currency, code))
		return -1;
	for (size_t i = 0; i < currency_group_count; i++) {
		if (has_code(currency_groups[i].codes, str_of(code, CODE_LENGTH)))
			return currency_groups[i].exponent;
	}
	return -1;
}

static enum money_fault find_currency(struct str currency, struct money *out_money,
				      int *out_exponent)
{
	*out_exponent = money_exponent(currency);
	if (*out_exponent == -2)
		return MONEY_NO_MINOR_UNIT;
	if (*out_exponent < 0 || !to_upper(currency, out_money->currency))
		return MONEY_UNKNOWN_CURRENCY;
	return MONEY_FINE;
}

static bool are_digits(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
	}
	return text.len > 0;
}

/* The grammar of JSON's numbers without an exponent: no plus, no needless zero in front. */
static bool read_plain(struct str text, struct plain *out_plain)
{
	size_t point;

	out_plain->is_negative = str_starts_with(text, STR("-"));
	text = str_from_index(text, out_plain->is_negative ? 1 : 0);
	point = str_find(text, '.');
	out_plain->whole = str_of(text.at, point);
	out_plain->fraction = str_from_index(text, point + 1);
	if (!are_digits(out_plain->whole) || (out_plain->whole.len > 1 && text.at[0] == '0'))
		return false;
	return point == text.len || are_digits(out_plain->fraction);
}

/* Write more digits behind those of *sum; false when it grows over INT64_MAX. */
static bool add_digits(struct str digits, int64_t *sum)
{
	for (size_t i = 0; i < digits.len; i++) {
		int64_t digit = digits.at[i] - '0';

		if (*sum > (INT64_MAX - digit) / 10)
			return false;
		*sum = *sum * 10 + digit;
	}
	return true;
}

/* Digit by digit, from the last one on. */
void money_write(int64_t minor_units, struct str currency, char out[MONEY_TEXT])
{
	uint64_t amount = minor_units < 0 ? 0 - (uint64_t)minor_units : (uint64_t)minor_units;
	int exponent = money_exponent(currency);
	char text[MONEY_TEXT];
	size_t at = MONEY_TEXT;

	text[--at] = '\0';
	for (int i = 0; amount > 0 || i == 0 || i <= exponent; i++) {
		if (i > 0 && i == exponent)
			text[--at] = '.';
		text[--at] = (char)('0' + amount % 10);
		amount /= 10;
	}
	if (minor_units < 0)
		text[--at] = '-';
	memcpy(out, text + at, MONEY_TEXT - at);
}
