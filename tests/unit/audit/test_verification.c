/*
 * Shows that one run goes at a time, ends when told to or when its time is over, and holds the
 * files against what its gate knows.
 */
#include "test_log.h"

#include "audit/keys.h"
#include "audit/verification.h"
#include "base/err.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOKS_MAX = 2000, LOOK_US = 5000 };

/* A log whose reading can be held up, and whose clock a test sets. */
struct world {
	struct test_log *log;
	struct log_reader reader;
	struct verification *verification;
	char data[64];
	atomic_bool is_held; /* whoever reads waits */
	atomic_uint reads, ends;
	struct env env;
	_Atomic int64_t now_us;
};

static int read_held(void *state, const char *path, struct buf *out)
{
	struct world *world = state;

	atomic_fetch_add(&world->reads, 1);
	for (int i = 0; i < LOOKS_MAX && atomic_load(&world->is_held); i++)
		usleep(LOOK_US);
	return world->log->reader.read(world->log, path, out);
}

static int list_all(void *state, int (*visit)(void *visitor, struct str name), void *visitor)
{
	struct world *world = state;

	return world->log->reader.list(world->log, visit, visitor);
}

static void count_end(void *owner, const struct verification_end *end)
{
	struct world *world = owner;

	assert_int_equal(end->begun_ms, 1000);
	atomic_fetch_add(&world->ends, 1);
}

static int64_t wall(const struct env *env)
{
	return 1000;
}

static int64_t monotonic(const struct env *env)
{
	struct world *world = env->state;

	return atomic_load(&world->now_us);
}

static struct world *world_new(size_t entries, uint32_t key_epoch)
{
	struct world *world = calloc(1, sizeof(*world));
	char why[256] = "", keys[96];

	assert_non_null(world);
	world->log = log_new();
	log_add(world->log, entries);
	if (entries)
		log_publish(world->log);
	world->reader = (struct log_reader){read_held, list_all, world};
	world->env = (struct env){.wall_ms = wall, .monotonic_us = monotonic, .state = world};
	snprintf(world->data, sizeof(world->data), "/tmp/counterfoil-verification-XXXXXX");
	assert_non_null(mkdtemp(world->data));
	snprintf(keys, sizeof(keys), "%s/keys", world->data);
	assert_int_equal(mkdir(keys, 0700), 0);
	if (key_epoch < LOG_EPOCHS_MAX)
		assert_int_equal(audit_vkey_write(keys, key_epoch,
						  &world->log->signers[key_epoch].verifier, why,
						  sizeof(why)),
				 0);
	return world;
}

static void open_it(struct world *world)
{
	const struct verification_order order = {
		.data = world->data,
		.reader = &world->reader,
		.env = &world->env,
		.ended = count_end,
		.owner = world,
	};

	assert_int_equal(verification_new(&order, &world->verification), 0);
}

static void world_free(struct world *world)
{
	char command[128];

	verification_free(world->verification);
	snprintf(command, sizeof(command), "rm -r %s", world->data);
	assert_int_equal(system(command), 0);
	log_free(world->log);
	free(world);
}

static struct verification_end wait_end(struct world *world)
{
	struct verification_look look;

	for (int i = 0; i < LOOKS_MAX; i++) {
		verification_look(world->verification, &look);
		if (!look.is_running)
			break;
		usleep(LOOK_US);
	}
	assert_false(look.is_running);
	assert_true(look.has_last);
	return look.last;
}

static struct verification_end verify(struct world *world, uint64_t published)
{
	assert_int_equal(verification_start(world->verification, published), 0);
	return wait_end(world);
}

static void test_a_good_log(void **state)
{
	struct world *world = world_new(300, 0);
	struct verification_look look;
	struct verification_end end;

	open_it(world);
	verification_look(world->verification, &look);
	assert_false(look.has_last || look.is_running);
	assert_true(look.has_key);
	end = verify(world, 300);
	assert_true(end.is_whole);
	assert_int_equal(end.report.result, VERIFY_OK);
	assert_int_equal(end.report.entries, 300);
	assert_int_equal(atomic_load(&world->ends), 1);
	world_free(world);
}

static void test_one_at_a_time(void **state)
{
	struct world *world = world_new(10, 0);
	struct verification_look look;

	open_it(world);
	atomic_store(&world->is_held, true);
	assert_int_equal(verification_start(world->verification, 10), 0);
	assert_int_equal(verification_start(world->verification, 10), VERIFICATION_RUNS);
	verification_look(world->verification, &look);
	assert_true(look.is_running);
	assert_int_equal(look.changes, 1);
	atomic_store(&world->is_held, false);
	assert_int_equal(wait_end(world).report.result, VERIFY_OK);
	assert_int_equal(atomic_load(&world->ends), 1);
	assert_int_equal(verify(world, 10).report.result, VERIFY_OK);
	assert_int_equal(atomic_load(&world->ends), 2);
	world_free(world);
}

static void test_ended_from_outside(void **state)
{
	struct world *world = world_new(600, 0);
	unsigned reads;

	open_it(world);
	atomic_store(&world->is_held, true);
	reads = atomic_load(&world->reads);
	assert_int_equal(verification_start(world->verification, 600), 0);
	for (int i = 0; i < LOOKS_MAX && atomic_load(&world->reads) == reads; i++)
		usleep(LOOK_US);
	atomic_store(&world->is_held, false);
	verification_free(world->verification);
	world->verification = NULL;
	assert_in_range(atomic_load(&world->ends), 0, 1);
	world_free(world);
}

static void test_its_time_is_over(void **state)
{
	struct world *world = world_new(600, 0);
	struct verification_end end;

	open_it(world);
	atomic_store(&world->is_held, true);
	assert_int_equal(verification_start(world->verification, 600), 0);
	atomic_store(&world->now_us, VERIFICATION_MAX_MS * 1000);
	atomic_store(&world->is_held, false);
	end = wait_end(world);
	assert_false(end.is_whole);
	assert_string_not_equal(end.report.why, "");
	assert_int_equal(verify(world, 600).report.result, VERIFY_OK);
	world_free(world);
}

static void test_less_than_was_published(void **state)
{
	struct world *world = world_new(20, 0);
	struct verification_end end;

	open_it(world);
	end = verify(world, 25);
	assert_int_equal(end.report.result, VERIFY_ROLLED_BACK);
	assert_non_null(strstr(end.report.why, "of 20 entries"));
	log_add(world->log, 5);
	log_publish(world->log);
	assert_int_equal(verify(world, 25).report.result, VERIFY_OK);
	world_free(world);
}

/* What a run has found good is what the next one may not find gone. */
static void test_less_than_was_good(void **state)
{
	struct world *world = world_new(20, 0);
	struct test_log *older = world->log;

	open_it(world);
	world->log = log_new();
	log_add(world->log, 20);
	log_publish(world->log);
	log_add(world->log, 10);
	log_publish(world->log);
	assert_int_equal(verify(world, 0).report.result, VERIFY_OK);
	log_free(world->log);
	world->log = older;
	assert_int_equal(verify(world, 0).report.result, VERIFY_ROLLED_BACK);
	world_free(world);
}

static void test_nothing_is_there(void **state)
{
	struct world *world = world_new(0, 0);

	open_it(world);
	assert_int_equal(verify(world, 0).report.result, VERIFY_MISSING_ANCHOR);
	assert_int_equal(verify(world, 7).report.result, VERIFY_TRUNCATED);
	world_free(world);
}

static void test_without_a_key(void **state)
{
	struct world *world = world_new(20, LOG_EPOCHS_MAX);
	struct verification_look look;
	struct verification_end end;

	open_it(world);
	verification_look(world->verification, &look);
	assert_false(look.has_key);
	end = verify(world, 20);
	assert_false(end.is_whole);
	assert_non_null(strstr(end.report.why, "verifier key"));
	world_free(world);
}

/* The first epoch's key is gone: that of the next one tells of what came after. */
static void test_a_later_key(void **state)
{
	struct world *world = world_new(20, 1);

	log_rotate(world->log);
	log_add(world->log, 5);
	log_publish(world->log);
	open_it(world);
	assert_int_equal(verify(world, 27).report.result, VERIFY_OK);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_log),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_ended_from_outside),
		cmocka_unit_test(test_its_time_is_over),
		cmocka_unit_test(test_less_than_was_published),
		cmocka_unit_test(test_less_than_was_good),
		cmocka_unit_test(test_nothing_is_there),
		cmocka_unit_test(test_without_a_key),
		cmocka_unit_test(test_a_later_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
