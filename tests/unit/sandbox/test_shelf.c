/* A shelf keeps the newest records, in number and in bytes, and never gives a number twice. */
#include "sandbox/shelf.h"

#include "sandbox_test.h"

#include <stdlib.h>

static struct shelf shelf;

static struct record *put(struct str id, size_t bytes)
{
	char *members = calloc(1, bytes + 1);
	struct record *record = record_new(id, str_of(members, bytes), STR("r"), STR("k"));

	assert_non_null(record);
	free(members);
	shelf_put(&shelf, record);
	return record;
}

static void records_are_found_by_number_and_name(void **state)
{
	struct record *a, *b;

	shelf_init(&shelf);
	a = put(STR("a"), 3);
	b = put(STR("b"), 3);
	assert_ptr_equal(shelf_numbered(&shelf, 1), a);
	assert_ptr_equal(shelf_numbered(&shelf, 2), b);
	assert_null(shelf_numbered(&shelf, 0));
	assert_null(shelf_numbered(&shelf, 3));
	assert_ptr_equal(shelf_named(&shelf, STR("b")), b);
	assert_null(shelf_named(&shelf, STR("c")));
	assert_true(str_equal(b->reference, STR("r")) && str_equal(b->key, STR("k")));
	shelf_fini(&shelf);
}

static void the_oldest_goes_when_there_are_too_many(void **state)
{
	shelf_init(&shelf);
	for (int i = 0; i < SHELF_RECORDS_MAX + 3; i++)
		put(STR("x"), 1);
	assert_null(shelf_numbered(&shelf, 3));
	assert_non_null(shelf_numbered(&shelf, 4));
	assert_int_equal(shelf_numbered(&shelf, SHELF_RECORDS_MAX + 3)->number,
			 SHELF_RECORDS_MAX + 3);
	shelf_fini(&shelf);
}

static void the_oldest_go_when_they_are_too_large(void **state)
{
	shelf_init(&shelf);
	for (int i = 0; i < 5; i++)
		put(STR("x"), SHELF_BYTES_MAX / 4);
	assert_true(shelf.bytes <= SHELF_BYTES_MAX);
	assert_int_equal(shelf.first, 3);
	assert_int_equal(shelf.next, 6);
	shelf_fini(&shelf);
}

static void a_record_is_replaced_in_its_place(void **state)
{
	struct record *second, *other;

	shelf_init(&shelf);
	put(STR("a"), SHELF_BYTES_MAX / 2);
	second = put(STR("b"), SHELF_BYTES_MAX / 4);
	put(STR("c"), 1);
	other = record_new(STR("b"), STR("new"), STR(""), STR(""));
	shelf_replace(&shelf, second, other);
	assert_int_equal(other->number, 2);
	assert_ptr_equal(shelf_named(&shelf, STR("b")), other);
	assert_non_null(shelf_named(&shelf, STR("a")));
	assert_true(shelf.bytes < SHELF_BYTES_MAX / 2 + 32);
	shelf_fini(&shelf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_found_by_number_and_name),
		cmocka_unit_test(the_oldest_goes_when_there_are_too_many),
		cmocka_unit_test(the_oldest_go_when_they_are_too_large),
		cmocka_unit_test(a_record_is_replaced_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
