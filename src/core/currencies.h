/*
 * The table of currencies, for money.c alone.
 */
#ifndef CORE_CURRENCIES_H
#define CORE_CURRENCIES_H

#include <stddef.h>

/* Currencies of as many digits after the point; the codes stand with a blank between. */
struct currency_group {
	int exponent; /* digits; -2: no minor unit */
	const char *codes;
};

extern const struct currency_group currency_groups[];
extern const size_t currency_group_count;

#endif
