/* Instants of RFC 3339 come to one spelling in UTC; what is none is refused. */
#include "core/timestamp.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_accepted(void **state)
{
	static const char *const rows[][2] = {
		{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"2026-01-01t00:00:00z", "2026-01-01T00:00:00Z"},
		{"2026-01-01T01:00:00.50+01:00", "2026-01-01T00:00:00.5Z"},
		{"2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00Z"},
		{"2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123456789Z"},
		{"2026-01-01T00:00:00.010Z", "2026-01-01T00:00:00.01Z"},
		{"2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00Z"},
		{"2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"},
		{"2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00Z"},
		{"2024-03-01T00:00:00+00:01", "2024-02-29T23:59:00Z"},
		{"2023-03-01T00:00:00+00:01", "2023-02-28T23:59:00Z"},
		{"2000-02-29T23:59:59-23:59", "2000-03-01T23:58:59Z"},
		{"2016-12-31T23:59:60Z", "2016-12-31T23:59:60Z"},
		{"2017-01-01T08:59:60+09:00", "2016-12-31T23:59:60Z"},
		{"2012-06-30T18:59:60.25-05:00", "2012-06-30T23:59:60.25Z"},
		{"0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
		{"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
	};
	struct arena mem;
	struct str instant;

	arena_init(&mem, 1 << 16);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(timestamp_read(str_from(rows[i][0]), &mem, &instant), 0);
		assert_string_equal(instant.at, rows[i][1]);
	}
	arena_fini(&mem);
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"2026",
		"2026-01-01",
		"2026-01-01T00:00:00",
		"2026-01-01 00:00:00Z",
		"2026-01-01T00:00Z",
		"2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z",
		"2026-01-01T00:00:61Z",
		"2026-00-01T00:00:00Z",
		"2026-13-01T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-04-31T00:00:00Z",
		"2026-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"2026-01-01T00:00:00.Z",
		"2026-01-01T00:00:00,5Z",
		"2026-01-01T00:00:00.1234567890Z",
		"2026-01-01T00:00:00+0100",
		"2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00+01:60",
		"2026-01-01T00:00:00+01:00Z",
		"2026-01-01T00:00:00ZZ",
		" 2026-01-01T00:00:00Z",
		"+2026-01-01T00:00:00Z",
		"26-01-01T00:00:00Z",
		"2026-1-01T00:00:00Z",
		"2026-01-01T12:00:60Z",
		"2026-01-31T23:59:60Z",
		"2016-12-31T23:59:60+01:00",
		"0000-01-01T00:00:00+00:01",
		"9999-12-31T23:59:59-00:01",
		"now",
	};
	struct arena mem;
	struct str instant;

	arena_init(&mem, 1 << 16);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (timestamp_read(str_from(rows[i]), &mem, &instant) != TIMESTAMP_MALFORMED)
			fail_msg("%s is taken", rows[i]);
	}
	arena_fini(&mem);
}

static void test_no_memory(void **state)
{
	struct arena mem;
	struct str instant;

	arena_init(&mem, 0);
	assert_int_equal(timestamp_read(STR("2026-01-01T00:00:00Z"), &mem, &instant), FAIL_MEMORY);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
