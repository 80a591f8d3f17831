/*
 * Telling pages that something has changed, so that they need not ask all the time.
 *
 * Picture a bell. It says that it is worth looking, never what there is to see: what a page then
 * fetches is judged by who asks. The store's counters are looked at with each sweep of the loop,
 * and the bell rings for all at once; so a gate under load rings as often as one with a few
 * changes.
 *
 * Always true: an open stream is somebody's who would be let in now; it ends with its session, with
 * its key, and when the gate stops. Listeners are bounded; one more is refused.
 */
#include "admin/api.h"

#include "admin/api_session.h"
#include "audit/verification.h"
#include "base/err.h"
#include "gate/caller.h"

#include <stdlib.h>

enum { LISTENERS_MAX = 64 };
#define HEARTBEAT_MS (INT64_C(15) * 1000)

struct listener {
	struct list link;
	struct exchange *exchange;
	struct admin *admin;
	struct caller caller; /* its texts live in exchange->mem */
	uint64_t session;     /* its number; 0: it brought a bearer token */
};

struct listeners {
	struct admin *admin;
	struct loop_sweeper sweeper;
	struct list open;
	unsigned count;
	int64_t beat_ms;	/* monotonic: of the last line that was written */
	struct store_stats was; /* at the last look */
	uint64_t verifications; /* beginnings and ends, at the last look */
};

/* -- one listener ------------------------------------------------------------------ */

static void finished(struct exchange *exchange, enum delivery delivery)
{
	struct listener *listener = exchange->owner;

	list_remove(&listener->link);
	if (listener->admin->listeners)
		listener->admin->listeners->count--;
	exchange_release(exchange);
}

static void gone(struct exchange *exchange)
{
	if (!exchange->is_ended)
		exchange_end(exchange);
}

static const struct exchange_events events = {.finished = finished, .gone = gone};

/* A key that has been revoked, a session that is over: heard no more. */
static bool may_listen(const struct listener *listener)
{
	if (listener->session && !session_is_open(listener->admin->sessions, listener->session))
		return false;
	return caller_holds(listener->admin->gate, &listener->caller);
}

/* Who does not read what was written is broken off: the page comes back by itself. */
static void tell(struct listener *listener, struct str text)
{
	if (listener->exchange->is_ended)
		return;
	if (!exchange_write(listener->exchange, text))
		exchange_abort(listener->exchange);
}

/* -- all of them ------------------------------------------------------------------- */

static void tell_all(struct listeners *listeners, struct str text)
{
	struct list *link, *after;

	list_for_each (link, after, &listeners->open)
		tell(list_entry(link, struct listener, link), text);
	listeners->beat_ms = listeners->admin->gate->control.loop.now_ms;
}

static void end_those_who_must(struct listeners *listeners)
{
	bool is_stopping = atomic_load(&listeners->admin->gate->is_draining);
	struct list *link, *after;

	list_for_each (link, after, &listeners->open) {
		struct listener *listener = list_entry(link, struct listener, link);

		if (!listener->exchange->is_ended && (is_stopping || !may_listen(listener)))
			exchange_end(listener->exchange);
	}
}

static bool has_asked(const struct store_stats *was, const struct store_stats *is)
{
	return was->open[STATE_AWAITING_APPROVAL] != is->open[STATE_AWAITING_APPROVAL];
}

/* The log's verification has begun, or ended. */
static bool has_verified(struct listeners *listeners)
{
	struct verification_look look;
	bool has;

	verification_look(listeners->admin->verification, &look);
	has = look.changes != listeners->verifications;
	listeners->verifications = look.changes;
	return has;
}

static void ring(struct listeners *listeners)
{
	struct store_stats is;

	if (has_verified(listeners))
		tell_all(listeners, STR("data: {\"kind\":\"audit\",\"id\":null}\n\n"));
	store_stats_read(listeners->admin->gate->store, &is);
	if (has_asked(&listeners->was, &is))
		tell_all(listeners, STR("data: {\"kind\":\"approval\",\"id\":null}\n\n"));
	if (listeners->was.changes != is.changes)
		tell_all(listeners, STR("data: {\"kind\":\"operation\",\"id\":null}\n\n"));
	listeners->was = is;
}

static void sweep(struct loop_sweeper *sweeper, int64_t now_ms)
{
	struct listeners *listeners = list_entry(sweeper, struct listeners, sweeper);

	if (!listeners->count)
		return;
	end_those_who_must(listeners);
	ring(listeners);
	if (now_ms - listeners->beat_ms >= HEARTBEAT_MS)
		tell_all(listeners, STR(": \n\n"));
}

struct listeners *listeners_new(struct admin *admin)
{
	struct listeners *listeners = calloc(1, sizeof(*listeners));

	if (!listeners)
		return NULL;
	listeners->admin = admin;
	list_init(&listeners->open);
	listeners->sweeper.sweep = sweep;
	loop_add_sweeper(&admin->gate->control.loop, &listeners->sweeper);
	return listeners;
}

void listeners_free(struct listeners *listeners)
{
	struct list *link, *after;

	if (!listeners)
		return;
	list_for_each (link, after, &listeners->open) /* they end later, by themselves */
		list_remove(link);
	list_remove(&listeners->sweeper.link);
	free(listeners);
}

static void begin(struct api_call *call, struct listener *listener)
{
	struct listeners *listeners = call->admin->listeners;
	struct session *session = api_shows_credential(call->exchange)
					  ? NULL
					  : api_session_of(call->admin, call->exchange);

	*listener = (struct listener){
		.exchange = call->exchange,
		.admin = call->admin,
		.caller = call->caller,
		.session = session ? session->number : 0,
	};
	if (!listeners->count)
		store_stats_read(call->admin->gate->store, &listeners->was);
	list_append(&listeners->open, &listener->link);
	listeners->count++;
	call->exchange->owner = listener;
	call->exchange->events = &events;
	exchange_start(call->exchange, 200,
		       STR("Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
			   "X-Accel-Buffering: no\r\n" ADMIN_GUARDS),
		       EXCHANGE_UNKNOWN_LENGTH);
	tell(listener, STR("retry: 2000\n\n"));
}

void api_events(struct api_call *call)
{
	struct listener *listener = arena_alloc(&call->exchange->mem, sizeof(*listener));

	if (!listener || call->admin->listeners->count >= LISTENERS_MAX)
		api_problem(call, PROBLEM_OVERLOADED, "Too many pages listen already.");
	else
		begin(call, listener);
}
