/*
 * One event loop, one thread.
 *
 * A request lives and dies on one loop, so nothing on its path needs a lock. Other threads
 * reach a loop in one way only: loop_post(), which runs a function there, later.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include "base/env.h"
#include "base/list.h"
#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
	LOOP_READ_BUFFER = 64 * 1024, /* one for all connections of a loop */
	LOOP_SWEEP_MS = 250,	      /* how often deadlines are looked at */
};

/* Something to run on another loop. Its memory is the poster's until `run` is called. */
struct loop_post {
	void (*run)(struct loop_post *post);
	struct loop_post *next;
};

/*
 * Something to run soon on this loop: after the callback at hand, before the loop sleeps.
 * This is how a callback is kept from running inside the call that asked for it. The link
 * must be initialised with loop_task_init(), once.
 */
struct loop_task {
	struct list link;
	void (*run)(struct loop_task *task);
};

/* Someone whose deadlines are looked at every LOOP_SWEEP_MS. */
struct loop_sweeper {
	struct list link;
	void (*sweep)(struct loop_sweeper *sweeper, int64_t now_ms);
};

struct loop {
	uv_loop_t uv;
	const struct env *env;
	struct log *log;
	int64_t now_ms;	   /* monotonic, fresh at each turn of the loop */
	char *read_buffer; /* LOOP_READ_BUFFER bytes, valid inside one read callback */

	/* the loop's own */
	struct loop_post *posted; /* newest first; atomic, any thread */
	uv_async_t wake;	  /* something was posted, or tasks are left over */
	struct list tasks;
	uv_prepare_t asleep; /* runs tasks and flushes the log before the loop blocks */
	uv_check_t awake;    /* takes the time */
	struct list sweepers;
	uv_timer_t sweep;   /* every LOOP_SWEEP_MS */
	struct list timers; /* the next one first */
	uv_timer_t due;	    /* for the next of them */
	pthread_t thread;
	bool has_thread;
};

/* 0, FAIL_MEMORY, FAIL_IO. */
int loop_init(struct loop *loop, const struct env *env, struct log *log);

/* Run on this thread until loop_stop(). */
void loop_run(struct loop *loop);

/* Run on a thread of its own; loop_join() waits for it. */
int loop_start(struct loop *loop);
void loop_join(struct loop *loop);

/* From the loop's own thread: loop_run() returns once this turn is over. */
void loop_stop(struct loop *loop);

/* Close what is left and free. Only after loop_run() has returned. */
void loop_fini(struct loop *loop);

/* Any thread: run `post` on `loop`, never inside this call. */
void loop_post(struct loop *loop, struct loop_post *post);

void loop_task_init(struct loop_task *task, void (*run)(struct loop_task *task));
void loop_soon(struct loop *loop, struct loop_task *task); /* own loop; twice is once */
void loop_task_cancel(struct loop_task *task);

void loop_add_sweeper(struct loop *loop, struct loop_sweeper *sweeper);

/*
 * A timer that runs once: a request's pause, the practice API's delay. On its own loop only;
 * it must be cancelled before its memory goes.
 */
struct loop_timer {
	struct list link;
	int64_t due_ms; /* monotonic */
	void (*expired)(struct loop_timer *timer);
};
void loop_timer_init(struct loop_timer *timer, void (*expired)(struct loop_timer *timer));
/* Start it, or start it again; it never expires inside this call. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t ms);
/* Fine for one that is not set. */
void loop_timer_cancel(struct loop_timer *timer);

#endif
