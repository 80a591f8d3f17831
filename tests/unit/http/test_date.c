/* Shows that a date is read as RFC 9110 § 5.6.7 has it (IMF-fixdate), and nothing else is. */
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void dates_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t unix_s;
	} dates[] = {
		{"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
		{"Thu, 01 Jan 1970 00:00:00 GMT", 0},
		{"Tue, 29 Feb 2028 23:59:59 GMT", 1835481599},
		{"Sat, 31 Dec 2016 23:59:60 GMT",
		 1483228799}, /* a leap second, as the one before */
		{"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
	};

	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		int64_t unix_s = -1;

		assert_true(http_date_read(str_from(dates[i].text), &unix_s));
		assert_int_equal(unix_s, dates[i].unix_s);
	}
}

static void nothing_else_is_a_date(void **state)
{
	static const char *const texts[] = {
		"",
		"Sun, 06 Nov 1994 08:49:37",
		"Sun, 06 Nov 1994 08:49:37 CET",
		"Sun, 06 Nov 1994 08:49:37 gmt",
		"Sun, 06 Nov 1994 08:49:37 GMT ",
		"Mon, 06 Nov 1994 08:49:37 GMT", /* it was a Sunday */
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"Sun, +6 Nov 1994 08:49:37 GMT",
		"Sun, 06 nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nov 1994 08:60:00 GMT",
		"Sun, 06 Nov 1994 08:49:61 GMT",
		"Fri, 31 Nov 1994 08:49:37 GMT",
		"Thu, 00 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
		"1994-11-06T08:49:37Z",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int64_t unix_s = -1;

		assert_false(http_date_read(str_from(texts[i]), &unix_s));
		assert_int_equal(unix_s, -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_read),
		cmocka_unit_test(nothing_else_is_a_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
