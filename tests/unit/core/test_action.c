/* Every type of field has a name, and the name leads back to it; pointers lead along fields. */
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

/* A pointer is followed step by step, past what is declared too; escapes are understood. */
static void test_pointers(void **state)
{
	struct action_field item = {.type = FIELD_STRING};
	struct action_field fields[] = {
		{.name = STR("a/b"), .type = FIELD_ARRAY, .fields = &item, .field_count = 1},
		{.name = STR("a"), .type = FIELD_STRING},
	};
	struct str pointer = STR("/a~1b/17/x");
	const struct action_field *list = action_field_enter(fields, 2, &pointer);

	assert_ptr_equal(list, &fields[0]);
	assert_true(str_equal(pointer, STR("/17/x")));
	assert_ptr_equal(action_field_enter(list->fields, list->field_count, &pointer), &item);
	assert_true(str_equal(pointer, STR("/x")));
	assert_null(action_field_enter(fields, 2, &pointer));
	assert_int_equal(pointer.len, 0);
	assert_ptr_equal(action_field(fields, 2, STR("a")), &fields[1]);
	assert_null(action_field(fields, 2, STR("a~1b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
