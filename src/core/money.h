/*
 * Money, exactly: a currency of ISO 4217 and a whole number of its minor units.
 */
#ifndef CORE_MONEY_H
#define CORE_MONEY_H

#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum money_fault {
	MONEY_FINE,
	MONEY_NO_AMOUNT, /* not a plain decimal: grouping, blanks, symbols, exponents in text */
	MONEY_UNKNOWN_CURRENCY,
	MONEY_NO_MINOR_UNIT, /* a code without one (XAU, XDR, …) */
	MONEY_TOO_FINE,	     /* more digits than the currency has */
	MONEY_TOO_LARGE,     /* over 2^63 - 1 minor units, either way */
};

struct money {
	char currency[4]; /* upper case and a NUL */
	int64_t minor_units;
};

/* The date of the table of currencies, "2024-06-25". */
extern const char *const money_table_date;

/* Digits after the point; -1: no such currency, -2: it has no minor unit. Either case. */
int money_exponent(struct str currency);

/*
 * From a JSON number or a text, in major or minor units. A number is its value (49.000 dollars are
 * 49); a text is its letter ("49.000" has a digit too many). The amount's form is judged first.
 * *out_money is set with MONEY_FINE only.
 */
enum money_fault money_from_number(const struct json_number *number, struct str currency,
				   bool is_major, struct money *out_money);
enum money_fault money_from_text(struct str text, struct str currency, bool is_major,
				 struct money *out_money);

/* For people: an amount in major units, "31.50" of EUR; in minor ones of a currency not known. */
enum { MONEY_TEXT = 32 };
void money_write(int64_t minor_units, struct str currency, char out[MONEY_TEXT]);

#endif
