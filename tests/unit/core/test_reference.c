/* Only what can never name something else is taken as a reference, in one spelling. */
#include "core/reference.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEX8   "4dd86A84"
#define HEX40  HEX8 HEX8 HEX8 HEX8 HEX8
#define HEX64  HEX40 HEX8 HEX8 HEX8
#define HEX128 HEX64 HEX64
#define LOW8   "4dd86a84"
#define LOW40  LOW8 LOW8 LOW8 LOW8 LOW8
#define LOW64  LOW40 LOW8 LOW8 LOW8
#define LOW128 LOW64 LOW64

static void test_immutable(void **state)
{
	static const char *const rows[][2] = {
		{"sha256:" HEX64, "sha256:" LOW64},
		{"sha512:" HEX128, "sha512:" LOW128},
		{"app@sha256:" HEX64, "app@sha256:" LOW64},
		{"Reg.example:5000/Team/app:1.2@sha256:" HEX64,
		 "Reg.example:5000/Team/app:1.2@sha256:" LOW64},
		{"app@sha512:" HEX128, "app@sha512:" LOW128},
		{HEX40, LOW40},
		{HEX64, LOW64},
	};
	struct arena mem;
	struct str reference;

	arena_init(&mem, 1 << 16);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(reference_read(str_from(rows[i][0]), &mem, &reference), 0);
		if (!str_equal(reference, str_from(rows[i][1])))
			fail_msg("%s: %.*s", rows[i][0], STR_ARG(reference));
	}
	arena_fini(&mem);
}

static void check_all(const char *const *rows, size_t count, int want)
{
	struct arena mem;
	struct str reference;

	arena_init(&mem, 1 << 16);
	for (size_t i = 0; i < count; i++) {
		int got = reference_read(str_from(rows[i]), &mem, &reference);

		if (got != want)
			fail_msg("%s: %d", rows[i], got);
	}
	arena_fini(&mem);
}

static void test_mutable(void **state)
{
	static const char *const rows[] = {
		"main",		"feature/x", "latest",	"app:latest",	     "v1.2.3", "1.2.3",
		"refs/heads/m", "HEAD~1",    HEX8,	HEX40 "0",	     "@",      "app@main",
		"app@" HEX40,	"4dd86a8g",  "app:1.2", "\xc3\xa9t\xc3\xa9",
	};

	check_all(rows, sizeof(rows) / sizeof(rows[0]), REFERENCE_MUTABLE);
}

static void test_malformed(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"ma in",
		"main\n",
		"sha256:",
		"sha256:" HEX40,
		"sha256:" HEX64 "0",
		"sha256:g" HEX64,
		"SHA256:" HEX64,
		"sha512:" HEX64,
		"@sha256:" HEX64,
		"app@sha256:latest",
		"a@b@sha256:" HEX64,
		"app@sha256:" HEX64 "@sha256:" HEX64,
		"b\xc3\xa9@sha256:" HEX64,
	};

	check_all(rows, sizeof(rows) / sizeof(rows[0]), REFERENCE_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_immutable),
		cmocka_unit_test(test_mutable),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
