/* Every type of field has a name, and the name leads back to it. */
#include "core/action.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_names(void **state)
{
	enum field_type found;

	for (size_t i = 0; i < FIELD_TYPE_COUNT; i++) {
		const char *name = field_type_name((enum field_type)i);

		assert_true(field_type_from(str_from(name), &found));
		assert_int_equal(found, i);
	}
	assert_true(field_type_from(STR("money"), &found));
	assert_int_equal(found, FIELD_MONEY);
	assert_false(field_type_from(STR("Money"), &found));
	assert_false(field_type_from(STR(""), &found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
