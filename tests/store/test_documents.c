/*
 * Shows that documents are kept, replaced, forgotten and listed by kind and name, within their
 * bounds, by both stores; and that they are there after a restart.
 */
#include "world.h"

#include "base/err.h"

#include <stdio.h>

static struct store_command *document(struct world *world, enum store_kind kind,
				      enum document_kind of, const char *name, const char *value)
{
	struct store_command *command = world_command(world, kind);

	command->document.kind = of;
	command->document.name = str_from(name);
	command->document.value = str_from(value);
	world_do(world, command);
	return command;
}

static int keep(struct world *world, enum document_kind kind, const char *name, const char *value)
{
	return document(world, STORE_KEEP, kind, name, value)->result;
}

static struct store_command *kept(struct world *world, enum document_kind kind)
{
	struct store_command *command = document(world, STORE_KEPT, kind, "", "");

	assert_int_equal(command->result, 0);
	return command;
}

static void are_listed_by_name_within_their_kind(void **state)
{
	struct world *world = world_of(state);
	struct store_command *list;

	assert_int_equal(keep(world, DOCUMENT_KEY, "b", "two"), 0);
	assert_int_equal(keep(world, DOCUMENT_KEY, "a", "one"), 0);
	assert_int_equal(keep(world, DOCUMENT_KEY, "ab", ""), 0);
	assert_int_equal(keep(world, DOCUMENT_SECRET, "a", "other"), 0);
	list = kept(world, DOCUMENT_KEY);
	assert_int_equal(list->document_count, 3);
	assert_str(list->documents[0].name, "a");
	assert_str(list->documents[0].value, "one");
	assert_int_equal(list->documents[0].kind, DOCUMENT_KEY);
	assert_int_equal(list->documents[0].updated_ms, world->now_ms);
	assert_str(list->documents[1].name, "ab");
	assert_str(list->documents[1].value, "");
	assert_str(list->documents[2].name, "b");
	assert_int_equal(kept(world, DOCUMENT_SETTING)->document_count, 0);
}

static void later_one_takes_the_place(void **state)
{
	struct world *world = world_of(state);
	struct store_command *again, *list;

	assert_int_equal(keep(world, DOCUMENT_KEY, "a", "one"), 0);
	world->now_ms += 5;
	again = document(world, STORE_KEEP, DOCUMENT_KEY, "a", "two");
	assert_int_equal(again->result, 0);
	assert_int_equal(again->document.updated_ms, world->now_ms);
	list = kept(world, DOCUMENT_KEY);
	assert_int_equal(list->document_count, 1);
	assert_str(list->documents[0].value, "two");
	assert_int_equal(list->documents[0].updated_ms, world->now_ms);
}

static void new_one_finds_its_name_taken(void **state)
{
	struct world *world = world_of(state);
	struct store_command *command = world_command(world, STORE_KEEP);

	command->document = (struct store_document){DOCUMENT_KEY, STR("a"), STR("one"), 0};
	command->must_be_new = true;
	assert_int_equal(world_do(world, command), 0);
	command->document.value = STR("two");
	assert_int_equal(world_do(world, command), STORE_EXISTS);
	assert_str(kept(world, DOCUMENT_KEY)->documents[0].value, "one");
	document(world, STORE_DROP, DOCUMENT_KEY, "a", "");
	assert_int_equal(world_do(world, command), 0);
	assert_str(kept(world, DOCUMENT_KEY)->documents[0].value, "two");
}

static void two_new_ones_in_one_batch_have_one_winner(void **state)
{
	struct world *world = world_of(state);
	struct store_command *both[2];

	world_hold(world);
	for (int i = 0; i < 2; i++) {
		both[i] = world_command(world, STORE_KEEP);
		both[i]->document = (struct store_document){DOCUMENT_KEY, STR("a"), STR("x"), 0};
		both[i]->must_be_new = true;
		world_submit(world, both[i]);
	}
	world_release(world);
	world_wait(world, 2);
	assert_int_equal(both[0]->result, 0);
	assert_int_equal(both[1]->result, STORE_EXISTS);
}

static void dropped_one_is_gone(void **state)
{
	struct world *world = world_of(state);

	assert_int_equal(keep(world, DOCUMENT_KEY, "a", "one"), 0);
	assert_int_equal(document(world, STORE_DROP, DOCUMENT_SECRET, "a", "")->result,
			 STORE_ABSENT);
	assert_int_equal(document(world, STORE_DROP, DOCUMENT_KEY, "a", "")->result, 0);
	assert_int_equal(kept(world, DOCUMENT_KEY)->document_count, 0);
	assert_int_equal(document(world, STORE_DROP, DOCUMENT_KEY, "a", "")->result, STORE_ABSENT);
}

static void sizes_have_bounds(void **state)
{
	static char name[STORE_DOCUMENT_NAME_MAX + 2], value[STORE_DOCUMENT_VALUE_MAX + 2];
	struct world *world = world_of(state);

	memset(name, 'n', sizeof(name) - 1);
	memset(value, 'v', sizeof(value) - 1);
	assert_int_equal(keep(world, DOCUMENT_KEY, "", "x"), FAIL_LIMIT);
	assert_int_equal(keep(world, DOCUMENT_KEY, name, "x"), FAIL_LIMIT);
	assert_int_equal(keep(world, DOCUMENT_KEY, "a", value), FAIL_LIMIT);
	name[STORE_DOCUMENT_NAME_MAX] = '\0';
	value[STORE_DOCUMENT_VALUE_MAX] = '\0';
	assert_int_equal(keep(world, DOCUMENT_KEY, name, value), 0);
	assert_int_equal(kept(world, DOCUMENT_KEY)->documents[0].value.len,
			 STORE_DOCUMENT_VALUE_MAX);
}

static void kind_has_room_for_so_many(void **state)
{
	static char names[STORE_DOCUMENTS_MAX][8];
	struct world *world = world_of(state);

	for (int i = 0; i < STORE_DOCUMENTS_MAX; i++) {
		struct store_command *command = world_command(world, STORE_KEEP);

		snprintf(names[i], sizeof(names[i]), "n%05d", i);
		command->document.kind = DOCUMENT_SECRET;
		command->document.name = str_from(names[i]);
		world_submit(world, command);
	}
	world_wait(world, STORE_DOCUMENTS_MAX);
	assert_int_equal(kept(world, DOCUMENT_SECRET)->document_count, STORE_DOCUMENTS_MAX);
	assert_int_equal(keep(world, DOCUMENT_SECRET, "one more", "x"), STORE_FULL);
	assert_int_equal(keep(world, DOCUMENT_SECRET, names[7], "x"), 0);
	assert_int_equal(keep(world, DOCUMENT_KEY, "one more", "x"), 0);
	assert_int_equal(document(world, STORE_DROP, DOCUMENT_SECRET, names[7], "")->result, 0);
	assert_int_equal(keep(world, DOCUMENT_SECRET, "one more", "x"), 0);
}

static void one_that_fails_leaves_what_was(void **state)
{
	struct world *world = world_of(state);
	struct store_command *command = world_command(world, STORE_KEPT);
	struct arena small;

	assert_int_equal(keep(world, DOCUMENT_KEY, "a", "a value that is longer than the room"), 0);
	arena_init(&small, 128);
	command->document.kind = DOCUMENT_KEY;
	command->mem = &small;
	assert_int_equal(world_do(world, command), FAIL_MEMORY);
	arena_fini(&small);
	assert_int_equal(kept(world, DOCUMENT_KEY)->document_count, 1);
}

static void are_there_after_a_restart(void **state)
{
	struct world world = {0};
	char directory[64];

	world_directory(directory);
	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(keep(&world, DOCUMENT_SETTING, "name", "value \1\377"), 0);
	world_close(&world);
	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(kept(&world, DOCUMENT_SETTING)->document_count, 1);
	assert_str(kept(&world, DOCUMENT_SETTING)->documents[0].value, "value \1\377");
	world_close(&world);
	world_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(are_listed_by_name_within_their_kind),
		WORLD_BOTH(later_one_takes_the_place),
		WORLD_BOTH(new_one_finds_its_name_taken),
		WORLD_BOTH(two_new_ones_in_one_batch_have_one_winner),
		WORLD_BOTH(dropped_one_is_gone),
		WORLD_BOTH(sizes_have_bounds),
		WORLD_BOTH(kind_has_room_for_so_many),
		WORLD_BOTH(one_that_fails_leaves_what_was),
		cmocka_unit_test(are_there_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
