/* Shows that nothing a loop is asked to run is run inside the asking, that order is kept, that
 * timers follow the clock of the env table, and that other threads' posts all arrive. */
#include "net_test.h"

enum { POSTERS = 4, POSTS_EACH = 500, LONG_CHAIN = 205000 };

struct world {
	struct twin twin;
	struct loop loop;
	char told[64]; /* a letter for each thing that ran */
	size_t told_count;
	struct world_task {
		struct loop_task task;
		struct world *world;
		char letter;
		struct world_task *asks; /* its run asks for this one */
		int runs, runs_wanted;
	} tasks[3];
	struct world_timer {
		struct loop_timer timer;
		struct world *world;
		char letter;
		int again_ms; /* starts itself again; 0: no */
		struct world_timer *cancels;
	} timers[4];
};

static void tell(struct world *world, char letter)
{
	assert_true(world->told_count < sizeof(world->told) - 1);
	world->told[world->told_count++] = letter;
}

static void run_task(struct loop_task *link)
{
	struct world_task *task = list_entry(link, struct world_task, task);

	tell(task->world, task->letter);
	task->runs++;
	if (!task->asks)
		return;
	loop_soon(&task->world->loop, &task->asks->task);
	tell(task->world, '.'); /* still inside this run */
}

static void expire(struct loop_timer *link)
{
	struct world_timer *timer = list_entry(link, struct world_timer, timer);

	tell(timer->world, timer->letter);
	if (timer->again_ms)
		loop_timer_start(&timer->world->loop, link, timer->again_ms);
	if (timer->cancels)
		loop_timer_cancel(&timer->cancels->timer);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	twin_init(&world->twin);
	assert_int_equal(loop_init(&world->loop, &world->twin.env, NULL), 0);
	for (int i = 0; i < 3; i++) {
		world->tasks[i].world = world;
		world->tasks[i].letter = (char)('a' + i);
		loop_task_init(&world->tasks[i].task, run_task);
	}
	for (int i = 0; i < 4; i++) {
		world->timers[i].world = world;
		world->timers[i].letter = (char)('1' + i);
		loop_timer_init(&world->timers[i].timer, expire);
	}
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	loop_fini(&world->loop);
	free(world);
	return 0;
}

static void ask(struct world *world, int task)
{
	size_t before = world->told_count;

	loop_soon(&world->loop, &world->tasks[task].task);
	assert_int_equal(world->told_count, before);
}

static void start(struct world *world, int timer, int ms)
{
	size_t before = world->told_count;

	loop_timer_start(&world->loop, &world->timers[timer].timer, ms);
	assert_int_equal(world->told_count, before);
}

/* Real time goes by, in which the loop is turned. */
static void turn_for_ms(struct world *world, int64_t ms)
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + ms;

	while (env_monotonic_ms(&env_machine) < until_ms)
		turn(&world->loop);
}

static void tasks_run_later_and_in_order(void **state)
{
	struct world *world = *state;

	ask(world, 1);
	ask(world, 0);
	ask(world, 2);
	turn(&world->loop);
	assert_string_equal(world->told, "bac");
	turn_times(&world->loop, 3);
	assert_string_equal(world->told, "bac");
}

static void a_task_asked_for_twice_runs_once_and_last(void **state)
{
	struct world *world = *state;

	ask(world, 0);
	ask(world, 1);
	ask(world, 0);
	turn(&world->loop);
	assert_string_equal(world->told, "ba");
}

static void a_task_that_was_cancelled_does_not_run(void **state)
{
	struct world *world = *state;

	ask(world, 0);
	ask(world, 1);
	loop_task_cancel(&world->tasks[0].task);
	loop_task_cancel(&world->tasks[2].task); /* not asked for: fine */
	turn(&world->loop);
	assert_string_equal(world->told, "b");
}

static void a_task_does_not_run_inside_the_one_that_asks(void **state)
{
	struct world *world = *state;

	world->tasks[0].asks = &world->tasks[1];
	ask(world, 0);
	turn_until(&world->loop, world->told_count == 3);
	assert_string_equal(world->told, "a.b");
}

static void run_itself(struct loop_task *link)
{
	struct world_task *task = list_entry(link, struct world_task, task);

	if (++task->runs < task->runs_wanted)
		loop_soon(&task->world->loop, link);
}

/* A chain longer than one turn runs neither for ever in it nor stops half way. */
static void a_long_chain_of_tasks_leaves_room_for_others(void **state)
{
	struct world *world = *state;
	struct world_task *chain = &world->tasks[0];
	int64_t began_ms = env_monotonic_ms(&env_machine);

	loop_task_init(&chain->task, run_itself);
	chain->runs_wanted = LONG_CHAIN;
	ask(world, 0);
	turn(&world->loop);
	assert_in_range(chain->runs, 1, LONG_CHAIN - 1);
	/* uv_run() sleeps where nothing is due: the rest of the chain must keep it awake. */
	for (int i = 0; i < 100 && chain->runs < LONG_CHAIN; i++)
		uv_run(&world->loop.uv, UV_RUN_ONCE);
	assert_true(env_monotonic_ms(&env_machine) - began_ms < PATIENCE_MS);
	assert_int_equal(chain->runs, LONG_CHAIN);
}

static void timers_follow_the_clock_of_the_table(void **state)
{
	struct world *world = *state;

	start(world, 0, 5);
	turn_for_ms(world, 20);
	assert_string_equal(world->told, ""); /* the clock has not moved */
	twin_pass(&world->twin, 4);
	turn_for_ms(world, 10);
	assert_string_equal(world->told, "");
	twin_pass(&world->twin, 1);
	turn_until(&world->loop, world->told_count == 1);
	turn_for_ms(world, 10);
	assert_string_equal(world->told, "1");
}

static void timers_expire_in_the_order_of_their_times(void **state)
{
	struct world *world = *state;

	start(world, 0, 9);
	start(world, 1, 3);
	start(world, 2, 6);
	start(world, 3, 3);
	twin_pass(&world->twin, 6);
	turn_until(&world->loop, world->told_count == 3);
	assert_string_equal(world->told, "243");
	twin_pass(&world->twin, 3);
	turn_until(&world->loop, world->told_count == 4);
	assert_string_equal(world->told, "2431");
}

static void a_timer_of_no_time_still_waits_for_the_loop(void **state)
{
	struct world *world = *state;

	start(world, 0, 0);
	turn_until(&world->loop, world->told_count == 1);
}

static void a_timer_started_again_forgets_its_first_time(void **state)
{
	struct world *world = *state;

	start(world, 0, 2);
	start(world, 0, 8);
	twin_pass(&world->twin, 7);
	turn_for_ms(world, 15);
	assert_string_equal(world->told, "");
	twin_pass(&world->twin, 1);
	turn_until(&world->loop, world->told_count == 1);
}

static void a_timer_that_starts_itself_again_waits_its_turn(void **state)
{
	struct world *world = *state;

	world->timers[0].again_ms = 5;
	start(world, 0, 1);
	start(world, 1, 2);
	twin_pass(&world->twin, 2);
	turn_until(&world->loop, world->told_count == 2);
	turn_for_ms(world, 10);
	assert_string_equal(world->told, "12");
	world->timers[0].again_ms = 0;
	twin_pass(&world->twin, 5);
	turn_until(&world->loop, world->told_count == 3);
	assert_string_equal(world->told, "121");
}

static void a_timer_may_cancel_one_that_is_due_with_it(void **state)
{
	struct world *world = *state;

	world->timers[0].cancels = &world->timers[1];
	start(world, 0, 1);
	start(world, 1, 1);
	start(world, 2, 1);
	loop_timer_cancel(&world->timers[3].timer); /* not set: fine */
	twin_pass(&world->twin, 1);
	turn_until(&world->loop, world->told_count == 2);
	turn_for_ms(world, 10);
	assert_string_equal(world->told, "13");
}

struct sweeper {
	struct loop_sweeper sweeper;
	int64_t now_ms;
	int sweeps;
};

static void look(struct loop_sweeper *link, int64_t now_ms)
{
	struct sweeper *sweeper = list_entry(link, struct sweeper, sweeper);

	sweeper->sweeps++;
	sweeper->now_ms = now_ms;
}

static void sweepers_are_told_the_time_of_the_table(void **state)
{
	struct world *world = *state;
	struct sweeper first = {.sweeper.sweep = look}, second = {.sweeper.sweep = look};

	loop_add_sweeper(&world->loop, &first.sweeper);
	loop_add_sweeper(&world->loop, &second.sweeper);
	twin_pass(&world->twin, 1234);
	turn_until(&world->loop, first.sweeps == 1);
	assert_int_equal(second.sweeps, 1);
	assert_int_equal(first.now_ms, 5000 + 1234);
	assert_int_equal(world->loop.now_ms, 5000 + 1234);
}

/* Posts. */

struct letter {
	struct loop_post post;
	struct mailbox *box;
	int poster, number;
};

struct mailbox {
	struct loop *loop;
	pthread_t home;
	int seen[POSTERS]; /* letters of each poster so far */
	int total, out_of_order, elsewhere;
	struct letter letters[POSTERS][POSTS_EACH];
};

static void take_letter(struct loop_post *post)
{
	struct letter *letter = (struct letter *)post;
	struct mailbox *box = letter->box;

	box->out_of_order += letter->number != box->seen[letter->poster]++;
	box->elsewhere += !pthread_equal(pthread_self(), box->home);
	if (++box->total == POSTERS * POSTS_EACH)
		loop_stop(box->loop);
}

static void *post_letters(void *argument)
{
	struct letter *letters = argument;

	for (int i = 0; i < POSTS_EACH; i++)
		loop_post(letters[i].box->loop, &letters[i].post);
	return NULL;
}

static void posts_of_many_threads_all_arrive_in_each_ones_order(void **state)
{
	struct world *world = *state;
	struct mailbox *box = calloc(1, sizeof(*box));
	pthread_t threads[POSTERS];

	box->loop = &world->loop;
	box->home = pthread_self();
	for (int i = 0; i < POSTERS; i++) {
		for (int k = 0; k < POSTS_EACH; k++)
			box->letters[i][k] = (struct letter){{.run = take_letter}, box, i, k};
	}
	for (int i = 0; i < POSTERS; i++)
		pthread_create(&threads[i], NULL, post_letters, box->letters[i]);
	loop_run(&world->loop); /* until the last letter */
	for (int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(box->total, POSTERS * POSTS_EACH);
	assert_int_equal(box->out_of_order, 0);
	assert_int_equal(box->elsewhere, 0);
	free(box);
}

static void a_post_to_the_own_loop_does_not_run_inside_the_call(void **state)
{
	struct world *world = *state;
	struct mailbox *box = calloc(1, sizeof(*box));

	box->loop = &world->loop;
	box->letters[0][0] = (struct letter){{.run = take_letter}, box, 0, 0};
	loop_post(&world->loop, &box->letters[0][0].post);
	assert_int_equal(box->total, 0);
	turn_until(&world->loop, box->total == 1);
	free(box);
}

static void stop_it(struct loop_post *post)
{
	struct letter *letter = (struct letter *)post;

	letter->box->home = pthread_self();
	loop_stop(letter->box->loop);
}

static void a_loop_has_a_thread_of_its_own_until_it_is_stopped(void **state)
{
	struct world *world = *state;
	struct mailbox *box = calloc(1, sizeof(*box));

	box->loop = &world->loop;
	box->home = pthread_self();
	box->letters[0][0] = (struct letter){{.run = stop_it}, box, 0, 0};
	assert_int_equal(loop_start(&world->loop), 0);
	loop_post(&world->loop, &box->letters[0][0].post);
	loop_join(&world->loop);
	assert_false(pthread_equal(box->home, pthread_self()));
	loop_join(&world->loop); /* nothing to wait for */
	free(box);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tasks_run_later_and_in_order),
		TEST(a_task_asked_for_twice_runs_once_and_last),
		TEST(a_task_that_was_cancelled_does_not_run),
		TEST(a_task_does_not_run_inside_the_one_that_asks),
		TEST(a_long_chain_of_tasks_leaves_room_for_others),
		TEST(timers_follow_the_clock_of_the_table),
		TEST(timers_expire_in_the_order_of_their_times),
		TEST(a_timer_of_no_time_still_waits_for_the_loop),
		TEST(a_timer_started_again_forgets_its_first_time),
		TEST(a_timer_that_starts_itself_again_waits_its_turn),
		TEST(a_timer_may_cancel_one_that_is_due_with_it),
		TEST(sweepers_are_told_the_time_of_the_table),
		TEST(posts_of_many_threads_all_arrive_in_each_ones_order),
		TEST(a_post_to_the_own_loop_does_not_run_inside_the_call),
		TEST(a_loop_has_a_thread_of_its_own_until_it_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
