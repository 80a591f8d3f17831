/*
 * Fuzzing amounts: a currency of three letters, a character for the unit, the text.
 *
 * Whatever is accepted can be written again from its minor units, and is the same then; the
 * same text as a JSON number is the same amount.
 */
#include "base/err.h"
#include "core/money.h"

#include <stdio.h>

enum { INPUT_MAX = 4096, WRITTEN_SIZE = 48 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* -1234 with two digits after the point is "-12.34". */
static struct str write_amount(const struct money *money, size_t digits, char out[WRITTEN_SIZE])
{
	uint64_t magnitude = money->minor_units < 0 ? 0 - (uint64_t)money->minor_units
						    : (uint64_t)money->minor_units;
	uint64_t scale = 1;
	int len;

	for (size_t i = 0; i < digits; i++)
		scale *= 10;
	len = snprintf(out, WRITTEN_SIZE, "%s%llu", money->minor_units < 0 ? "-" : "",
		       (unsigned long long)(magnitude / scale));
	if (digits)
		len += snprintf(out + len, WRITTEN_SIZE - (size_t)len, ".%0*llu", (int)digits,
				(unsigned long long)(magnitude % scale));
	return str_of(out, (size_t)len);
}

static void check_same(const struct money *a, const struct money *b)
{
	require(a->minor_units == b->minor_units);
	require(memcmp(a->currency, b->currency, sizeof(a->currency)) == 0);
}

static void check_number(struct str text, struct str currency, bool is_major,
			 const struct money *money)
{
	struct json_number number;
	struct money same;
	struct arena mem;

	arena_init(&mem, 2 * INPUT_MAX);
	if (json_number_read(text, &json_limits_default, &mem, &number) == 0) {
		require(money_from_number(&number, currency, is_major, &same) == MONEY_FINE);
		check_same(money, &same);
	}
	arena_fini(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str currency, text;
	char written[WRITTEN_SIZE];
	struct money money, again;
	bool is_major;

	if (size < 4 || size > INPUT_MAX)
		return 0;
	currency = str_of((const char *)bytes, 3);
	is_major = bytes[3] == 'M';
	text = str_of((const char *)bytes + 4, size - 4);
	if (money_from_text(text, currency, is_major, &money) != MONEY_FINE)
		return 0;
	require(money.minor_units != INT64_MIN && money.currency[3] == '\0');
	text = write_amount(&money, is_major ? (size_t)money_exponent(currency) : 0, written);
	require(money_from_text(text, str_from(money.currency), is_major, &again) == MONEY_FINE);
	check_same(&money, &again);
	check_number(str_of((const char *)bytes + 4, size - 4), currency, is_major, &money);
	return 0;
}
