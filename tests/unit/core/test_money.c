/* Amounts become exact minor units by the currency's exponent, or are refused by name. */
#include "core/money.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum unit { MINOR, MAJOR };

struct row {
	const char *amount;
	const char *currency;
	enum unit unit;
	enum money_fault fault;
	int64_t minor_units;
};

static void check(const struct row *row, enum money_fault fault, const struct money *money)
{
	if (fault != row->fault)
		fail_msg("%s %s: fault %d", row->amount, row->currency, (int)fault);
	if (fault != MONEY_FINE)
		return;
	if (money->minor_units != row->minor_units)
		fail_msg("%s %s: %lld", row->amount, row->currency, (long long)money->minor_units);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(money->currency[i],
				 row->currency[i] & (row->currency[i] ? 0xdf : 0xff));
}

static void test_texts(void **state)
{
	static const struct row rows[] = {
		{"49", "USD", MAJOR, MONEY_FINE, 4900},
		{"49.0", "USD", MAJOR, MONEY_FINE, 4900},
		{"49.00", "usd", MAJOR, MONEY_FINE, 4900},
		{"-0.01", "EUR", MAJOR, MONEY_FINE, -1},
		{"-0.00", "EUR", MAJOR, MONEY_FINE, 0},
		{"5", "JPY", MAJOR, MONEY_FINE, 5},
		{"1.234", "KWD", MAJOR, MONEY_FINE, 1234},
		{"0.0001", "CLF", MAJOR, MONEY_FINE, 1},
		{"4900", "USD", MINOR, MONEY_FINE, 4900},
		{"9223372036854775807", "USD", MINOR, MONEY_FINE, INT64_MAX},
		{"-9223372036854775807", "USD", MINOR, MONEY_FINE, -INT64_MAX},
		{"92233720368547758.07", "USD", MAJOR, MONEY_FINE, INT64_MAX},
		{"92233720368547758.08", "USD", MAJOR, MONEY_TOO_LARGE, 0},
		{"-9223372036854775808", "USD", MINOR, MONEY_TOO_LARGE, 0},
		{"99999999999999999999999999", "USD", MINOR, MONEY_TOO_LARGE, 0},
		{"92233720368547759", "USD", MAJOR, MONEY_TOO_LARGE, 0},
		{"49.001", "USD", MAJOR, MONEY_TOO_FINE, 0},
		{"49.000", "USD", MAJOR, MONEY_TOO_FINE, 0},
		{"5.0", "JPY", MAJOR, MONEY_TOO_FINE, 0},
		{"4900.0", "USD", MINOR, MONEY_TOO_FINE, 0},
		{"1,000.00", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"-", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"+1", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"--1", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{" 1", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"1 ", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{".5", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"5.", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"1.2.3", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"007", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"1e2", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"$5", "USD", MAJOR, MONEY_NO_AMOUNT, 0},
		{"0x10", "USD", MINOR, MONEY_NO_AMOUNT, 0},
		{"1", "ZZZ", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "US", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "USDX", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "U$D", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "EDA", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "XAU", MINOR, MONEY_NO_MINOR_UNIT, 0},
		{"1", "xxx", MINOR, MONEY_NO_MINOR_UNIT, 0},
		{"x", "ZZZ", MINOR, MONEY_NO_AMOUNT, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct money money;

		check(row,
		      money_from_text(str_from(row->amount), str_from(row->currency),
				      row->unit == MAJOR, &money),
		      &money);
	}
}

static void test_numbers(void **state)
{
	static const struct row rows[] = {
		{"49", "USD", MAJOR, MONEY_FINE, 4900},
		{"49.000", "USD", MAJOR, MONEY_FINE, 4900},
		{"4.9e1", "USD", MAJOR, MONEY_FINE, 4900},
		{"4900.0", "USD", MINOR, MONEY_FINE, 4900},
		{"0", "USD", MAJOR, MONEY_FINE, 0},
		{"-0.0", "JPY", MAJOR, MONEY_FINE, 0},
		{"-0.30", "USD", MAJOR, MONEY_FINE, -30},
		{"0.30000000000000004", "USD", MAJOR, MONEY_TOO_FINE, 0},
		{"5.5", "JPY", MAJOR, MONEY_TOO_FINE, 0},
		{"0.001", "USD", MAJOR, MONEY_TOO_FINE, 0},
		{"1e-300", "USD", MAJOR, MONEY_TOO_FINE, 0},
		{"0.5", "USD", MINOR, MONEY_TOO_FINE, 0},
		{"1e300", "USD", MAJOR, MONEY_TOO_LARGE, 0},
		{"92233720368547758.07", "USD", MAJOR, MONEY_FINE, INT64_MAX},
		{"92233720368547758.08", "USD", MAJOR, MONEY_TOO_LARGE, 0},
		{"-9223372036854775808", "USD", MINOR, MONEY_TOO_LARGE, 0},
		{"922337203685477.5807", "UYW", MAJOR, MONEY_FINE, INT64_MAX},
		{"1", "EUx", MINOR, MONEY_UNKNOWN_CURRENCY, 0},
		{"1", "XTS", MINOR, MONEY_NO_MINOR_UNIT, 0},
	};
	struct arena mem;

	arena_init(&mem, 1 << 16);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct json_number number;
		struct money money;

		assert_int_equal(json_number_read(str_from(row->amount), &json_limits_default, &mem,
						  &number),
				 0);
		check(row,
		      money_from_number(&number, str_from(row->currency), row->unit == MAJOR,
					&money),
		      &money);
	}
	arena_fini(&mem);
}

static void test_exponents(void **state)
{
	static const struct {
		const char *codes;
		int exponent;
	} groups[] = {
		{"BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF", 0},
		{"USD EUR GBP CHF MGA MRU SLE ZWG XCG XAD HRK eur Usd", 2},
		{"BHD IQD JOD KWD LYD OMR TND", 3},
		{"CLF UYW", 4},
		{"XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA xxx", -2},
		{"ZZZ DEM FRF US USDD 840 EU\xc3 ", -1},
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		struct str rest = str_from(groups[i].codes), code;

		while (str_split(&rest, ' ', &code)) {
			if (money_exponent(code) != groups[i].exponent)
				fail_msg("%.*s: %d", STR_ARG(code), money_exponent(code));
		}
	}
	assert_int_equal(strlen(money_table_date), strlen("2026-01-01"));
}

/* For people: the currency's point, whatever the sign and the size; an unknown one has none. */
static void test_written_in_major_units(void **state)
{
	static const struct {
		int64_t minor_units;
		const char *currency, *text;
	} rows[] = {
		{3150, "EUR", "31.50"},	 {5, "EUR", "0.05"},
		{-5, "EUR", "-0.05"},	 {0, "JPY", "0"},
		{4900, "JPY", "4900"},	 {1234, "KWD", "1.234"},
		{-4900, "???", "-4900"}, {INT64_MIN, "EUR", "-92233720368547758.08"},
	};
	char text[MONEY_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		money_write(rows[i].minor_units, str_from(rows[i].currency), text);
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_written_in_major_units),
		cmocka_unit_test(test_exponents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
