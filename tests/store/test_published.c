/* Shows that what a store says it has published of its audit log is in the log's files. */
#include "world.h"

#include <stdio.h>
#include <unistd.h>

enum { LOOKS_MAX = 1000, LOOK_US = 10000 };

static bool is_there(const struct world *world, unsigned size)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/audit/checkpoints/%u", world->directory, size);
	return access(path, F_OK) == 0;
}

static uint64_t published(const struct world *world)
{
	struct store_stats stats;

	store_stats_read(world->store, &stats);
	return stats.log_published;
}

static void published_is_in_the_files(void **state)
{
	static const struct store_audit often = {.checkpoint_entries = 4,
						 .checkpoint_interval_ms = 3600000};
	static struct world world;
	char directory[64];

	world_audit = &often;
	world_directory(directory);
	assert_int_equal(world_open(&world, directory), 0);
	world_completed(&world, "acme", "t1");
	assert_int_equal(published(&world), 0);
	world_completed(&world, "acme", "t2");
	for (int i = 0; i < LOOKS_MAX && published(&world) == 0; i++)
		usleep(LOOK_US);
	assert_int_equal(published(&world), 4);
	assert_true(is_there(&world, 4));
	world_close(&world);
	assert_int_equal(world_open(&world, directory), 0);
	assert_int_equal(published(&world), 4);
	world_close(&world);
	world_remove(directory);
	world_audit = NULL;
}

static void a_store_without_a_log_has_published_nothing(void **state)
{
	static struct world world;

	assert_int_equal(world_open(&world, NULL), 0);
	world_completed(&world, "acme", "t1");
	assert_int_equal(published(&world), 0);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_is_in_the_files),
		cmocka_unit_test(a_store_without_a_log_has_published_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
