/*
 * The waiting room.
 *
 * The lock guards the buckets and each waiter's is_inside and is_posted; everything else of a
 * waiter belongs to its own loop. A call takes waiters out of the room and posts to their
 * loops; the post is part of the waiter, so a waiter with a post on its way cannot go yet.
 */
#include "gate/waiting.h"

#include "base/err.h"

#include <string.h>

void waiting_room_init(struct waiting_room *room)
{
	pthread_mutex_init(&room->lock, NULL);
	for (int i = 0; i < WAITING_BUCKETS; i++)
		list_init(&room->buckets[i]);
	room->is_closed = false;
	atomic_init(&room->count, 0);
}

void waiting_room_fini(struct waiting_room *room)
{
	pthread_mutex_destroy(&room->lock);
}

static struct list *bucket_of(struct waiting_room *room, const struct operation_id *id)
{
	return &room->buckets[id->bytes[OPERATION_ID_SIZE - 1] % WAITING_BUCKETS];
}

static void tell_left(struct loop_task *task)
{
	struct waiter *waiter = list_entry(task, struct waiter, soon);

	waiter->left(waiter);
}

static void tell_woken(struct loop_task *task)
{
	struct waiter *waiter = list_entry(task, struct waiter, soon);

	waiter->is_sitting = false;
	waiter->woken(waiter);
}

static void time_is_up(struct loop_timer *timer)
{
	struct waiter *waiter = list_entry(timer, struct waiter, timer);

	waiter->is_sitting = false;
	waiter->woken(waiter);
}

static void run_call(struct loop_post *post)
{
	struct waiter *waiter = list_entry(post, struct waiter, post);

	waiter->is_posted = false;
	if (waiter->is_leaving) {
		waiter->left(waiter);
		return;
	}
	waiter->was_called = true;
	if (!waiter->is_sitting)
		return;
	loop_timer_cancel(&waiter->timer);
	waiter->is_sitting = false;
	waiter->woken(waiter);
}

bool waiting_enter(struct waiting_room *room, struct waiter *waiter, struct loop *loop,
		   const struct operation_id *id, unsigned max)
{
	bool is_let_in;

	if (atomic_fetch_add(&room->count, 1) >= max) {
		atomic_fetch_sub(&room->count, 1);
		return false;
	}
	waiter->id = *id;
	waiter->loop = loop;
	waiter->post.run = run_call;
	waiter->is_inside = false;
	waiter->is_sitting = waiter->was_called = waiter->is_posted = waiter->is_leaving = false;
	loop_timer_init(&waiter->timer, time_is_up);
	loop_task_init(&waiter->soon, tell_woken);
	list_init(&waiter->link);
	pthread_mutex_lock(&room->lock);
	is_let_in = !room->is_closed;
	if (is_let_in)
		list_append(bucket_of(room, id), &waiter->link);
	waiter->is_inside = is_let_in;
	pthread_mutex_unlock(&room->lock); /* from here on it may have been called out again */
	if (!is_let_in)
		atomic_fetch_sub(&room->count, 1);
	return is_let_in;
}

void waiting_sit(struct waiter *waiter, int64_t ms)
{
	require(!waiter->is_sitting && !waiter->is_leaving);
	waiter->is_sitting = true;
	if (waiter->was_called)
		loop_soon(waiter->loop, &waiter->soon);
	else
		loop_timer_start(waiter->loop, &waiter->timer, ms);
}

void waiting_leave(struct waiting_room *room, struct waiter *waiter)
{
	bool is_posted;

	waiter->is_leaving = true;
	loop_timer_cancel(&waiter->timer);
	loop_task_cancel(&waiter->soon);
	pthread_mutex_lock(&room->lock);
	if (waiter->is_inside)
		list_remove(&waiter->link);
	waiter->is_inside = false;
	is_posted = waiter->is_posted;
	pthread_mutex_unlock(&room->lock);
	atomic_fetch_sub(&room->count, 1);
	if (is_posted)
		return; /* the call that is on its way tells it */
	loop_task_init(&waiter->soon, tell_left);
	loop_soon(waiter->loop, &waiter->soon);
}

/* Under the lock. */
static void call_out(struct waiter *waiter)
{
	list_remove(&waiter->link);
	waiter->is_inside = false;
	waiter->is_posted = true;
	loop_post(waiter->loop, &waiter->post);
}

void waiting_call(struct waiting_room *room, const struct operation_id *id)
{
	struct list *link, *after, *bucket = bucket_of(room, id);

	if (atomic_load(&room->count) == 0)
		return;
	pthread_mutex_lock(&room->lock);
	list_for_each (link, after, bucket) {
		struct waiter *waiter = list_entry(link, struct waiter, link);

		if (memcmp(&waiter->id, id, sizeof(*id)) == 0)
			call_out(waiter);
	}
	pthread_mutex_unlock(&room->lock);
}

void waiting_call_credential(struct waiting_room *room, struct str credential)
{
	pthread_mutex_lock(&room->lock);
	for (int i = 0; i < WAITING_BUCKETS; i++) {
		struct list *link, *after;

		list_for_each (link, after, &room->buckets[i]) {
			struct waiter *waiter = list_entry(link, struct waiter, link);

			if (str_equal(waiter->credential, credential))
				call_out(waiter);
		}
	}
	pthread_mutex_unlock(&room->lock);
}

void waiting_close(struct waiting_room *room)
{
	pthread_mutex_lock(&room->lock);
	room->is_closed = true;
	for (int i = 0; i < WAITING_BUCKETS; i++) {
		struct list *bucket = &room->buckets[i];

		while (!list_is_empty(bucket))
			call_out(list_entry(bucket->next, struct waiter, link));
	}
	pthread_mutex_unlock(&room->lock);
}
