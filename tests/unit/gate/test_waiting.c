/* Shows the waiting room in every order of entering, sitting, being called and leaving: who
 * waits is woken once, nobody is woken inside a call, and nothing touches one who has left. */
#include "gate_test.h"

#include "gate/waiting.h"

enum { WAITERS = 4, ROOM_MAX = 3, PATIENCE_MS = 20000, ROUNDS = 300 };

struct world {
	int64_t now_us;
	struct env env;
	struct loop loop;
	struct waiting_room room;
	struct guest {
		struct waiter waiter;
		struct world *world;
		int woken, left;
	} guests[WAITERS];
	bool is_asking;
};

static int64_t now(const struct env *env)
{
	return ((const struct world *)env->state)->now_us;
}

static void on_woken(struct waiter *waiter)
{
	struct guest *guest = list_entry(waiter, struct guest, waiter);

	assert_false(guest->world->is_asking);
	assert_int_equal(guest->left, 0);
	guest->woken++;
}

static void on_left(struct waiter *waiter)
{
	struct guest *guest = list_entry(waiter, struct guest, waiter);

	assert_false(guest->world->is_asking);
	guest->left++;
	memset(waiter, 0xee, sizeof(*waiter)); /* its memory is free to go */
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	world->env = (struct env){.wall_ms = now, .monotonic_us = now, .state = world};
	assert_int_equal(loop_init(&world->loop, &world->env, NULL), 0);
	waiting_room_init(&world->room);
	for (int i = 0; i < WAITERS; i++) {
		world->guests[i].world = world;
		world->guests[i].waiter.woken = on_woken;
		world->guests[i].waiter.left = on_left;
	}
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	assert_int_equal(atomic_load(&world->room.count), 0); /* everybody has left */
	waiting_room_fini(&world->room);
	loop_fini(&world->loop);
	free(world);
	return 0;
}

static struct operation_id id_of(int number)
{
	struct operation_id id = {{0}};

	id.bytes[0] = (uint8_t)number;
	return id; /* all in one bucket: the last byte is the same */
}

static bool enter(struct world *world, int guest, int operation)
{
	struct operation_id id = id_of(operation);

	world->guests[guest].woken = world->guests[guest].left = 0;
	world->guests[guest].waiter.woken = on_woken;
	world->guests[guest].waiter.left = on_left;
	return waiting_enter(&world->room, &world->guests[guest].waiter, &world->loop, &id,
			     ROOM_MAX);
}

static void sit(struct world *world, int guest, int ms)
{
	world->is_asking = true;
	waiting_sit(&world->guests[guest].waiter, ms);
	world->is_asking = false;
}

static void call(struct world *world, int operation)
{
	struct operation_id id = id_of(operation);

	world->is_asking = true;
	waiting_call(&world->room, &id);
	world->is_asking = false;
}

static void leave(struct world *world, int guest)
{
	world->is_asking = true;
	waiting_leave(&world->room, &world->guests[guest].waiter);
	world->is_asking = false;
}

static void turn_times(struct world *world, int times)
{
	for (int i = 0; i < times; i++)
		uv_run(&world->loop.uv, UV_RUN_NOWAIT);
}

static void turn_until(struct world *world, const int *count)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + PATIENCE_MS;

	/* Other threads may have to get a processor first. */
	while (!*count && env_monotonic_ms(&env_machine) < until_ms)
		uv_run(&world->loop.uv, UV_RUN_NOWAIT);
	assert_int_equal(*count, 1);
}

/* Real time goes by as well: a timer that was forgotten would expire in it. */
static void time_passes(struct world *world)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + 15;

	world->now_us += 10000;
	while (env_monotonic_ms(&env_machine) < until_ms)
		turn_times(world, 1);
}

/* Leave, be told, and hear no more. */
static void leave_for_good(struct world *world, int guest, int woken)
{
	leave(world, guest);
	turn_until(world, &world->guests[guest].left);
	turn_times(world, 5);
	assert_int_equal(world->guests[guest].left, 1);
	assert_int_equal(world->guests[guest].woken, woken);
}

static void one_who_sits_is_woken_by_a_call(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	sit(world, 0, 5);
	turn_times(world, 5);
	assert_int_equal(world->guests[0].woken, 0);
	call(world, 1);
	turn_until(world, &world->guests[0].woken);
	time_passes(world); /* its own time is up as well, and that is no news */
	leave_for_good(world, 0, 1);
}

static void one_who_was_called_before_sitting_is_woken_at_once(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	call(world, 1);
	turn_times(world, 5); /* the call has arrived */
	assert_int_equal(world->guests[0].woken, 0);
	sit(world, 0, 1000);
	turn_until(world, &world->guests[0].woken);
	leave_for_good(world, 0, 1);
}

static void one_who_sits_while_a_call_is_on_its_way_is_woken_once(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	call(world, 1);
	sit(world, 0, 1000);
	turn_until(world, &world->guests[0].woken);
	leave_for_good(world, 0, 1);
}

static void one_whose_time_is_up_is_woken(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	sit(world, 0, 5);
	turn_times(world, 20);
	assert_int_equal(world->guests[0].woken, 0);
	world->now_us += 5000;
	turn_until(world, &world->guests[0].woken);
	call(world, 1); /* too late: it stands */
	turn_times(world, 5);
	leave_for_good(world, 0, 1);
}

static void one_may_leave_at_any_moment(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1)); /* without sitting */
	leave_for_good(world, 0, 0);
	assert_true(enter(world, 0, 1)); /* sitting */
	sit(world, 0, 5);
	leave(world, 0);
	time_passes(world);
	assert_int_equal(world->guests[0].left, 1);
	assert_int_equal(world->guests[0].woken, 0);
	assert_true(enter(world, 0, 1)); /* called, and not sitting */
	call(world, 1);
	turn_times(world, 5);
	leave_for_good(world, 0, 0);
	assert_true(enter(world, 0, 1)); /* about to be woken */
	call(world, 1);
	turn_times(world, 5);
	sit(world, 0, 5);
	leave_for_good(world, 0, 0);
}

/* The call is inside the waiter: it cannot be gone before the call has arrived. */
static void one_who_leaves_while_a_call_is_on_its_way_goes_after_it(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	sit(world, 0, 1000);
	call(world, 1);
	leave_for_good(world, 0, 0);
}

static void one_who_has_left_is_not_called(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	assert_true(enter(world, 1, 1));
	leave(world, 0);
	call(world, 1);
	turn_until(world, &world->guests[0].left);
	assert_int_equal(world->guests[0].woken, 0);
	leave_for_good(world, 1, 0);
}

static void a_call_wakes_all_who_wait_for_its_operation_and_nobody_else(void **state)
{
	struct world *world = *state;

	assert_true(enter(world, 0, 1));
	assert_true(enter(world, 1, 2));
	assert_true(enter(world, 2, 1));
	for (int i = 0; i < 3; i++)
		sit(world, i, 1000);
	call(world, 3); /* nobody waits for it */
	call(world, 1);
	turn_until(world, &world->guests[0].woken);
	turn_until(world, &world->guests[2].woken);
	turn_times(world, 5);
	assert_int_equal(world->guests[1].woken, 0);
	leave_for_good(world, 0, 1);
	leave_for_good(world, 1, 0);
	leave_for_good(world, 2, 1);
}

static void the_room_has_a_last_seat(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < ROOM_MAX; i++)
		assert_true(enter(world, i, i));
	assert_false(enter(world, ROOM_MAX, 0));
	assert_false(enter(world, ROOM_MAX, 0)); /* being refused takes no seat */
	leave_for_good(world, 1, 0);
	assert_true(enter(world, ROOM_MAX, 0));
	assert_false(enter(world, 1, 0));
	leave_for_good(world, 0, 0);
	leave_for_good(world, 2, 0);
	leave_for_good(world, ROOM_MAX, 0);
}

/* Other threads call while this one enters, sits and leaves. */
struct caller {
	struct world *world;
	atomic_bool is_over;
	atomic_int calls;
};

static void *keep_calling(void *argument)
{
	struct caller *caller = argument;
	struct operation_id id = id_of(1);

	while (!atomic_load(&caller->is_over)) {
		waiting_call(&caller->world->room, &id);
		atomic_fetch_add(&caller->calls, 1);
	}
	return NULL;
}

static void calls_from_other_threads_arrive_on_the_waiters_loop(void **state)
{
	struct world *world = *state;
	struct caller caller = {.world = world};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, keep_calling, &caller);
	for (int round = 0; round < ROUNDS; round++) {
		assert_true(enter(world, 0, 1));
		if (round % 3 == 0)
			turn_times(world, 1);
		sit(world, 0, 1000000);
		if (round % 2 == 0)
			turn_until(world, &world->guests[0].woken);
		leave(world, 0);
		turn_until(world, &world->guests[0].left);
		assert_in_range(world->guests[0].woken, 0, 1);
	}
	atomic_store(&caller.is_over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_true(atomic_load(&caller.calls) > 0);
	turn_times(world, 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_who_sits_is_woken_by_a_call),
		TEST(one_who_was_called_before_sitting_is_woken_at_once),
		TEST(one_who_sits_while_a_call_is_on_its_way_is_woken_once),
		TEST(one_whose_time_is_up_is_woken),
		TEST(one_may_leave_at_any_moment),
		TEST(one_who_leaves_while_a_call_is_on_its_way_goes_after_it),
		TEST(one_who_has_left_is_not_called),
		TEST(a_call_wakes_all_who_wait_for_its_operation_and_nobody_else),
		TEST(the_room_has_a_last_seat),
		TEST(calls_from_other_threads_arrive_on_the_waiters_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
