/* Shows that a list keeps its order and survives removals, also while it is walked. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct bead {
	int number;
	struct list link;
};

static void thread_beads(struct list *head, struct bead *beads, int count)
{
	list_init(head);
	for (int i = 0; i < count; i++) {
		beads[i].number = i;
		list_append(head, &beads[i].link);
	}
}

/* The numbers on the list, as decimal digits of one number with a leading 1. */
static int numbers(struct list *head)
{
	struct list *link, *after;
	int seen = 1;

	list_for_each (link, after, head) {
		seen = seen * 10 + list_entry(link, struct bead, link)->number;
	}
	return seen;
}

static void a_new_head_is_empty(void **state)
{
	struct list head;

	list_init(&head);
	assert_true(list_is_empty(&head));
	assert_int_equal(numbers(&head), 1);
}

static void links_keep_the_order_they_came_in(void **state)
{
	struct bead beads[4];
	struct list head;

	thread_beads(&head, beads, 4);
	assert_false(list_is_empty(&head));
	assert_int_equal(numbers(&head), 10123);
}

static void removing_is_possible_anywhere_and_twice(void **state)
{
	struct bead beads[4];
	struct list head;

	thread_beads(&head, beads, 4);
	list_remove(&beads[1].link);
	list_remove(&beads[1].link);
	assert_int_equal(numbers(&head), 1023);
	list_remove(&beads[0].link);
	list_remove(&beads[3].link);
	assert_int_equal(numbers(&head), 12);
	list_append(&head, &beads[1].link);
	assert_int_equal(numbers(&head), 121);
	list_remove(&beads[1].link);
	list_remove(&beads[2].link);
	assert_true(list_is_empty(&head));
}

static void the_walk_survives_removal_of_where_it_stands(void **state)
{
	struct bead beads[6];
	struct list head, *link, *after;
	int visited = 0;

	thread_beads(&head, beads, 6);
	list_for_each (link, after, &head) {
		visited++;
		if (list_entry(link, struct bead, link)->number % 2)
			list_remove(link);
	}
	assert_int_equal(visited, 6);
	assert_int_equal(numbers(&head), 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_head_is_empty),
		cmocka_unit_test(links_keep_the_order_they_came_in),
		cmocka_unit_test(removing_is_possible_anywhere_and_twice),
		cmocka_unit_test(the_walk_survives_removal_of_where_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
