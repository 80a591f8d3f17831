/*
 * The waiting room: requests that wait for the end of an operation another one runs.
 *
 * A waiter names the operation and its own loop. Whoever moves that operation wakes all of
 * its waiters, each on its own loop; they then look at the store again, so that nobody acts
 * on hearsay. To miss no wake, a waiter enters first and looks once more before it sits down.
 *
 * The room is bounded (tokens.max_waiters): one more is told so and gets the answer it would
 * have got without waiting.
 */
#ifndef GATE_WAITING_H
#define GATE_WAITING_H

#include "base/list.h"
#include "base/str.h"
#include "core/operation.h"
#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WAITING_BUCKETS = 256 };

struct waiting_room {
	pthread_mutex_t lock;
	struct list buckets[WAITING_BUCKETS];
	bool is_closed; /* under the lock */
	atomic_uint count;
};

struct waiter {
	struct operation_id id;
	struct str credential; /* by which its caller was let in; set before it enters */
	void (*woken)(struct waiter *waiter); /* moved, or the time is up; on its own loop */
	void (*left)(struct waiter *waiter);  /* after waiting_leave(): its memory is free to go */

	/* the room's */
	struct list link;
	struct loop *loop;
	struct loop_post post;
	struct loop_timer timer;
	struct loop_task soon;
	bool is_inside;	 /* in the room; under its lock */
	bool is_posted;	 /* a call is on its way to its loop */
	bool is_sitting; /* its owner waits for `woken` */
	bool was_called; /* the operation has moved since it entered */
	bool is_leaving; /* its owner waits for `left` */
};

void waiting_room_init(struct waiting_room *room);
void waiting_room_fini(struct waiting_room *room);

/* Enter, before looking again. False: the room is full, or closed. */
bool waiting_enter(struct waiting_room *room, struct waiter *waiter, struct loop *loop,
		   const struct operation_id *id, unsigned max);

/* Sit down for up to `ms`; `woken` comes once, never inside this call. */
void waiting_sit(struct waiter *waiter, int64_t ms);

/* Leave; `left` comes once, never inside this call. */
void waiting_leave(struct waiting_room *room, struct waiter *waiter);

/* The operation has moved. Any thread. */
void waiting_call(struct waiting_room *room, const struct operation_id *id);

/* The credential is no longer in force: call those who wait by it. Any thread. */
void waiting_call_credential(struct waiting_room *room, struct str credential);

/* Call everybody, and let nobody in any more: the gate is about to end. Any thread. */
void waiting_close(struct waiting_room *room);

#endif
