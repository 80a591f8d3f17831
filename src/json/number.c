/*
 * Numbers as exact decimals.
 *
 * A number's text is a sign, a whole part, perhaps a fraction and an exponent. Zeros before
 * the first and after the last other digit say nothing and are taken off; what is left are
 * the significant digits, and the place of the point among them is counted. Two spellings
 * of one number end as the same three members, and no rounding ever happens: what goes over
 * a limit is refused.
 */
#include "base/err.h"
#include "json/internal.h"

/* Larger than any exponent that counts, small enough to add a text's length to. */
#define EXPONENT_MAX INT64_C(1000000000000000)

/* The parts of a number as they stand in its text. */
struct parts {
	bool is_negative;
	struct str whole;
	struct str fraction;
	int64_t exponent;
};

static int scan_parts(const char **at, const char *end, struct parts *parts,
		      struct json_fault *fault);
static int settle(struct parts *parts, const char *start, const struct json_limits *limits,
		  struct arena *mem, struct json_number *out_number, struct json_fault *fault);

int json_scan_number(const char **at, const char *end, const struct json_limits *limits,
		     struct arena *mem, struct json_number *out_number, struct json_fault *fault)
{
	const char *start = *at;
	struct parts parts = {0};
	int r = scan_parts(at, end, &parts, fault);

	return r ? r : settle(&parts, start, limits, mem, out_number, fault);
}

int json_number_read(struct str text, const struct json_limits *limits, struct arena *mem,
		     struct json_number *out_number)
{
	const char *at = text.len ? text.at : "";
	const char *end = at + text.len;
	struct json_number number;
	struct json_fault fault;
	int r = json_scan_number(&at, end, limits, mem, &number, &fault);

	if (r != 0)
		return r;
	if (at != end)
		return JSON_REFUSED;
	if (number.digits.len) {
		number.digits = arena_str(mem, number.digits);
		if (!number.digits.at)
			return FAIL_MEMORY;
	}
	*out_number = number;
	return 0;
}

static bool is_digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9';
}

static struct str scan_digits(const char **at, const char *end)
{
	const char *from = *at;

	while (is_digit(*at, end))
		(*at)++;
	return str_of(from, (size_t)(*at - from));
}

static int64_t exponent_of(struct str digits, bool is_negative)
{
	int64_t exponent = 0;

	for (size_t i = 0; i < digits.len && exponent < EXPONENT_MAX; i++)
		exponent = exponent * 10 + (digits.at[i] - '0');
	if (exponent > EXPONENT_MAX)
		exponent = EXPONENT_MAX;
	return is_negative ? -exponent : exponent;
}

/* The grammar of RFC 8259 § 6, and nothing else. */
static int scan_parts(const char **at, const char *end, struct parts *parts,
		      struct json_fault *fault)
{
	bool is_negative;

	if (*at < end && **at == '-') {
		parts->is_negative = true;
		(*at)++;
	}
	parts->whole = scan_digits(at, end);
	if (parts->whole.len == 0)
		return json_fault_expected(fault, *at, end, "a digit");
	if (parts->whole.len > 1 && parts->whole.at[0] == '0')
		return json_fault_says(fault, parts->whole.at, "a number with a leading zero");
	if (*at < end && **at == '.') {
		(*at)++;
		parts->fraction = scan_digits(at, end);
		if (parts->fraction.len == 0)
			return json_fault_expected(fault, *at, end, "a digit after the point");
	}
	if (*at < end && (**at == 'e' || **at == 'E')) {
		struct str digits;

		(*at)++;
		is_negative = *at < end && **at == '-';
		if (*at < end && (**at == '-' || **at == '+'))
			(*at)++;
		digits = scan_digits(at, end);
		if (digits.len == 0)
			return json_fault_expected(fault, *at, end, "a digit of the exponent");
		parts->exponent = exponent_of(digits, is_negative);
	}
	return 0;
}

static size_t strip_leading_zeros(struct str *digits)
{
	size_t zeros = 0;

	while (zeros < digits->len && digits->at[zeros] == '0')
		zeros++;
	*digits = str_from_index(*digits, zeros);
	return zeros;
}

static void strip_trailing_zeros(struct str *digits)
{
	while (digits->len && digits->at[digits->len - 1] == '0')
		digits->len--;
}

/* Whole part and fraction as one run of digits. */
static int join(const struct parts *parts, struct arena *mem, struct str *out_digits)
{
	size_t length = parts->whole.len + parts->fraction.len;
	char *room;

	if (parts->fraction.len == 0 || parts->whole.len == 0) {
		*out_digits = parts->fraction.len ? parts->fraction : parts->whole;
		return 0;
	}
	room = arena_alloc(mem, length);
	if (!room)
		return FAIL_MEMORY;
	memcpy(room, parts->whole.at, parts->whole.len);
	memcpy(room + parts->whole.len, parts->fraction.at, parts->fraction.len);
	*out_digits = str_of(room, length);
	return 0;
}

/* From parts to the one form of the number; over a limit it is refused. */
static int settle(struct parts *parts, const char *start, const struct json_limits *limits,
		  struct arena *mem, struct json_number *out_number, struct json_fault *fault)
{
	struct json_number number = {.is_negative = parts->is_negative};
	int64_t point = parts->exponent;
	size_t length;

	strip_leading_zeros(&parts->whole);
	point += (int64_t)parts->whole.len;
	if (parts->whole.len == 0)
		point -= (int64_t)strip_leading_zeros(&parts->fraction);
	strip_trailing_zeros(&parts->fraction);
	if (parts->fraction.len == 0)
		strip_trailing_zeros(&parts->whole);

	length = parts->whole.len + parts->fraction.len;
	if (length == 0) {
		*out_number = (struct json_number){0};
		return 0;
	}
	if (length > limits->digits)
		return json_fault_says(fault, start,
				       "a number of %zu significant digits; at most %zu are kept "
				       "exactly",
				       length, limits->digits);
	if (point - 1 > limits->exponent || point - 1 < -(int64_t)limits->exponent)
		return json_fault_says(fault, start, "a number whose exponent is beyond \xc2\xb1%d",
				       (int)limits->exponent);
	number.point = (int32_t)point;
	*out_number = number;
	return join(parts, mem, &out_number->digits);
}

/* Using numbers */

static int sign(const struct json_number *number)
{
	if (number->digits.len == 0)
		return 0;
	return number->is_negative ? -1 : 1;
}

int json_number_compare(const struct json_number *a, const struct json_number *b)
{
	int sign_a = sign(a), sign_b = sign(b), order;

	if (sign_a != sign_b)
		return sign_a < sign_b ? -1 : 1;
	if (sign_a == 0)
		return 0;
	if (a->point != b->point)
		return a->point < b->point ? -sign_a : sign_a;
	order = str_compare(a->digits, b->digits);
	return order < 0 ? -sign_a : order > 0 ? sign_a : 0;
}

bool json_number_to_i64(const struct json_number *number, int64_t *out)
{
	const uint64_t max = (uint64_t)INT64_MAX + (number->is_negative ? 1 : 0);
	uint64_t magnitude = 0, digit;
	size_t length = number->digits.len;

	if (length && (number->point < (int32_t)length || number->point > 19))
		return false;
	for (int32_t i = 0; i < number->point; i++) {
		digit = (size_t)i < length ? (uint64_t)(number->digits.at[i] - '0') : 0;
		if (magnitude > (max - digit) / 10)
			return false;
		magnitude = magnitude * 10 + digit;
	}
	if (!number->is_negative)
		*out = (int64_t)magnitude;
	else
		*out = magnitude > INT64_MAX ? INT64_MIN : -(int64_t)magnitude;
	return true;
}
