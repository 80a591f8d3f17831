/*
 * One event loop, one thread: posts from elsewhere, deadlines, timers.
 *
 * Deadlines are swept, not set: ten thousand connections with a timer each would pay for it
 * at every request; a walk over them four times a second costs next to nothing.
 */
#include "net/loop.h"

#include "base/err.h"

#include <stdlib.h>

enum { TASKS_A_TURN = 10000 };

static void take_time(uv_check_t *check)
{
	struct loop *loop = check->data;

	loop->now_ms = env_monotonic_ms(loop->env);
}

/* Tasks may add tasks; the rest of a long chain waits for the next turn, which comes at once. */
static void run_tasks(struct loop *loop)
{
	for (int i = 0; i < TASKS_A_TURN && !list_is_empty(&loop->tasks); i++) {
		struct loop_task *task = list_entry(loop->tasks.next, struct loop_task, link);

		list_remove(&task->link);
		task->run(task);
	}
	if (!list_is_empty(&loop->tasks))
		uv_async_send(&loop->wake);
}

static void before_sleep(uv_prepare_t *prepare)
{
	struct loop *loop = prepare->data;

	run_tasks(loop);
	log_flush(loop->log);
}

void loop_task_init(struct loop_task *task, void (*run)(struct loop_task *task))
{
	list_init(&task->link);
	task->run = run;
}

void loop_soon(struct loop *loop, struct loop_task *task)
{
	list_remove(&task->link);
	list_append(&loop->tasks, &task->link);
}

void loop_task_cancel(struct loop_task *task)
{
	list_remove(&task->link);
}

/* Newest first becomes oldest first: posts run in the order in which they were made. */
static struct loop_post *reverse(struct loop_post *post)
{
	struct loop_post *reversed = NULL;

	while (post) {
		struct loop_post *next = post->next;

		post->next = reversed;
		reversed = post;
		post = next;
	}
	return reversed;
}

static void run_posts(uv_async_t *wake)
{
	struct loop *loop = wake->data;
	struct loop_post *post =
		reverse(__atomic_exchange_n(&loop->posted, NULL, __ATOMIC_ACQUIRE));

	while (post) {
		struct loop_post *next = post->next;

		post->run(post);
		post = next;
	}
}

static void sweep(uv_timer_t *timer)
{
	struct loop *loop = timer->data;
	struct list *link, *after;

	loop->now_ms = env_monotonic_ms(loop->env);
	list_for_each (link, after, &loop->sweepers) {
		struct loop_sweeper *sweeper = list_entry(link, struct loop_sweeper, link);

		sweeper->sweep(sweeper, loop->now_ms);
	}
}

static void set_timer(struct loop *loop);

int loop_init(struct loop *loop, const struct env *env, struct log *log)
{
	*loop = (struct loop){.env = env, .log = log};
	list_init(&loop->sweepers);
	list_init(&loop->timers);
	list_init(&loop->tasks);
	loop->read_buffer = malloc(LOOP_READ_BUFFER);
	if (!loop->read_buffer)
		return fail(FAIL_MEMORY);
	if (uv_loop_init(&loop->uv) != 0) {
		free(loop->read_buffer);
		return fail(FAIL_IO);
	}
	loop->uv.data = loop->wake.data = loop->sweep.data = loop->due.data = loop->awake.data =
		loop->asleep.data = loop;
	require(uv_async_init(&loop->uv, &loop->wake, run_posts) == 0);
	require(uv_timer_init(&loop->uv, &loop->sweep) == 0);
	require(uv_timer_init(&loop->uv, &loop->due) == 0);
	require(uv_check_init(&loop->uv, &loop->awake) == 0);
	require(uv_prepare_init(&loop->uv, &loop->asleep) == 0);
	uv_timer_start(&loop->sweep, sweep, LOOP_SWEEP_MS, LOOP_SWEEP_MS);
	uv_check_start(&loop->awake, take_time);
	uv_prepare_start(&loop->asleep, before_sleep);
	loop->now_ms = env_monotonic_ms(env);
	return 0;
}

void loop_run(struct loop *loop)
{
	uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void *loop_thread(void *argument)
{
	loop_run(argument);
	return NULL;
}

int loop_start(struct loop *loop)
{
	int error = pthread_create(&loop->thread, NULL, loop_thread, loop);

	if (error != 0)
		return fail_errno(FAIL_IO, error);
	loop->has_thread = true;
	return 0;
}

void loop_join(struct loop *loop)
{
	if (loop->has_thread)
		pthread_join(loop->thread, NULL);
	loop->has_thread = false;
}

void loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void loop_fini(struct loop *loop)
{
	if (!loop->read_buffer)
		return;
	uv_walk(&loop->uv, close_handle, NULL);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	require(uv_loop_close(&loop->uv) == 0);
	free(loop->read_buffer);
	loop->read_buffer = NULL;
}

void loop_post(struct loop *loop, struct loop_post *post)
{
	struct loop_post *head = __atomic_load_n(&loop->posted, __ATOMIC_RELAXED);

	do {
		post->next = head;
	} while (!__atomic_compare_exchange_n(&loop->posted, &head, post, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	uv_async_send(&loop->wake);
}

void loop_add_sweeper(struct loop *loop, struct loop_sweeper *sweeper)
{
	list_append(&loop->sweepers, &sweeper->link);
}

/* Due timers leave the list before they run: one that starts itself again waits its turn. */
static void run_due_timers(uv_timer_t *handle)
{
	struct loop *loop = handle->data;
	struct list due;

	loop->now_ms = env_monotonic_ms(loop->env);
	list_init(&due);
	while (!list_is_empty(&loop->timers)) {
		struct loop_timer *timer = list_entry(loop->timers.next, struct loop_timer, link);

		if (timer->due_ms > loop->now_ms)
			break;
		list_remove(&timer->link);
		list_append(&due, &timer->link);
	}
	while (!list_is_empty(&due)) {
		struct loop_timer *timer = list_entry(due.next, struct loop_timer, link);

		list_remove(&timer->link);
		timer->expired(timer);
	}
	set_timer(loop);
}

static void set_timer(struct loop *loop)
{
	int64_t wait_ms;

	if (list_is_empty(&loop->timers)) {
		uv_timer_stop(&loop->due);
		return;
	}
	wait_ms = list_entry(loop->timers.next, struct loop_timer, link)->due_ms -
		  env_monotonic_ms(loop->env);
	uv_timer_start(&loop->due, run_due_timers, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
}

void loop_timer_init(struct loop_timer *timer, void (*expired)(struct loop_timer *timer))
{
	list_init(&timer->link);
	timer->expired = expired;
}

/* Most timers are the latest so far, so the place is looked for from the end. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t ms)
{
	struct list *place;

	list_remove(&timer->link);
	timer->due_ms = env_monotonic_ms(loop->env) + ms;
	place = loop->timers.previous;
	while (place != &loop->timers &&
	       list_entry(place, struct loop_timer, link)->due_ms > timer->due_ms)
		place = place->previous;
	list_append(place->next, &timer->link);
	if (loop->timers.next == &timer->link)
		set_timer(loop);
}

void loop_timer_cancel(struct loop_timer *timer)
{
	list_remove(&timer->link);
}
