/* Shows what may be the name of a secret, and what may be kept under it. */
#include "core/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_names(void **state)
{
	char longest[SECRET_NAME_MAX + 1];

	memset(longest, 'a', sizeof(longest));
	assert_true(secret_name_is_fine(STR("pay_key")));
	assert_true(secret_name_is_fine(STR("0.Pay-key_2")));
	assert_true(secret_name_is_fine(str_of(longest, SECRET_NAME_MAX)));
	assert_false(secret_name_is_fine(str_of(longest, SECRET_NAME_MAX + 1)));
	assert_false(secret_name_is_fine(STR("")));
	assert_false(secret_name_is_fine(STR(".pay")));
	assert_false(secret_name_is_fine(STR("-pay")));
	assert_false(secret_name_is_fine(STR("a b")));
	assert_false(secret_name_is_fine(STR("a/b")));
	assert_false(secret_name_is_fine(STR("a\0")));
	assert_false(secret_name_is_fine(STR("\xc3\xa9")));
}

static void test_values(void **state)
{
	char *longest = calloc(1, SECRET_VALUE_MAX + 1);

	assert_non_null(longest);
	memset(longest, 'a', SECRET_VALUE_MAX + 1);
	assert_null(secret_value_fault(STR("a")));
	assert_null(secret_value_fault(STR("user:pass word \xc3\xa9")));
	assert_null(secret_value_fault(str_of(longest, SECRET_VALUE_MAX)));
	assert_non_null(secret_value_fault(str_of(longest, SECRET_VALUE_MAX + 1)));
	assert_non_null(secret_value_fault(STR("")));
	assert_non_null(secret_value_fault(STR("a\nb")));
	assert_non_null(secret_value_fault(STR("a\r")));
	assert_non_null(secret_value_fault(STR("a\0b")));
	assert_non_null(secret_value_fault(STR("a\tb")));
	assert_non_null(secret_value_fault(STR("\x7f")));
	assert_non_null(secret_value_fault(STR(" a")));
	assert_non_null(secret_value_fault(STR("a ")));
	free(longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
