/*
 * One cookie of a Cookie field: auth/cookie.h.
 */
#include "auth/cookie.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Shows what is found, what is not, and that two of a name are never chosen from. */
static void cookies_are_found(void **state)
{
	static const struct {
		const char *field;
		int result;
		const char *value;
	} rows[] = {
		{"sid=abc", 0, "abc"},
		{"a=1; sid=abc; b=2", 0, "abc"},
		{"a=1;sid=abc", 0, "abc"},
		{"sid=\"abc\"", 0, "abc"},
		{"sid=", 0, ""},
		{"sid=a=b", 0, "a=b"},
		{"", COOKIE_ABSENT, NULL},
		{"sid", COOKIE_ABSENT, NULL},
		{"SID=abc", COOKIE_ABSENT, NULL},
		{"xsid=abc", COOKIE_ABSENT, NULL},
		{"sidx=abc", COOKIE_ABSENT, NULL},
		{"a=sid=abc", COOKIE_ABSENT, NULL},
		{"sid=a b", COOKIE_ABSENT, NULL},
		{"sid=a\tb", COOKIE_ABSENT, NULL},
		{"sid=\"abc", COOKIE_ABSENT, NULL},
		{"sid=1; sid=2", COOKIE_TWICE, NULL},
		{"sid=1; a=b; sid=1", COOKIE_TWICE, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str value = STR("untouched");
		int r = cookie_find(str_from(rows[i].field), STR("sid"), &value);

		assert_int_equal(r, rows[i].result);
		assert_true(str_equal(value, r ? STR("untouched") : str_from(rows[i].value)));
	}
}

/* Shows that every cookie of the name goes, in whatever form, and that the others stay as they are.
 */
static void others_stay(void **state)
{
	static const struct {
		const char *field, *rest;
	} rows[] = {
		{"sid=abc", ""},
		{" sid=abc ", ""},
		{"sid=1;sid=2; sid=\"3\"", ""},
		{"sid", ""},
		{"", ""},
		{"sid=1; a=2", "a=2"},
		{"a=1; sid=2; b=\"3\"", "a=1; b=\"3\""},
		{"a=1;  b=2", "a=1;  b=2"},
		{"SID=1; xsid=2; sidx=3; a=sid=4", "SID=1; xsid=2; sidx=3; a=sid=4"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str rest = str_from(rows[i].rest);
		struct buf out;

		buf_init(&out, 256);
		cookie_append_others(str_from(rows[i].field), STR("sid"), &out);
		assert_true(str_equal(buf_str(&out), rest));
		buf_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cookies_are_found),
		cmocka_unit_test(others_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
