/*
 * One visit: a request to the practice API, from its head to its end.
 *
 *   begin ──► collected ──► (delay) ──► act: reset | hang | decline | work
 *                                                                     └──► answer | half | drop
 *
 * The service is the example of how to write one on net/: it keeps nothing of a visit but
 * what lies in the exchange's own memory, waits by timers, and gives the exchange back in
 * `finished`, once.
 */
#include "sandbox/sandbox.h"

#include "base/err.h"

enum { HALF_FLUSH_MS = 20 }; /* for the half of an answer to leave before the connection ends */

struct visit {
	struct list link; /* sandbox->visits */
	struct sandbox *sandbox;
	struct exchange *exchange;
	struct fault_plan plan;
	struct loop_timer timer;
	struct api_reply reply;
};

static void visit_collected(struct exchange *exchange, const struct http_refusal *refusal);
static void visit_gone(struct exchange *exchange);
static void visit_finished(struct exchange *exchange, enum delivery delivery);
static void act(struct visit *visit);

static const struct exchange_events visit_events = {
	.collected = visit_collected,
	.gone = visit_gone,
	.finished = visit_finished,
};

static void act_after_delay(struct loop_timer *timer)
{
	act(list_entry(timer, struct visit, timer));
}

static void send_error(struct visit *visit, int status, const char *code, const char *message);

static void sandbox_begin(struct service *service, struct exchange *exchange)
{
	struct sandbox *sandbox = list_entry(service, struct sandbox, service);
	struct visit *visit = arena_zalloc(&exchange->mem, sizeof(*visit));

	exchange->events = &visit_events;
	exchange->owner = visit;
	if (!visit) {
		exchange_abort(exchange);
		return;
	}
	visit->sandbox = sandbox;
	visit->exchange = exchange;
	loop_timer_init(&visit->timer, act_after_delay);
	api_reply_init(&visit->reply);
	list_append(&sandbox->visits, &visit->link);
	exchange_collect(exchange, API_BODY_MAX);
}

static void sandbox_refuse(struct service *service, const struct http_refusal *refusal,
			   struct buf *headers, struct buf *body)
{
	struct api_reply reply;

	api_reply_init(&reply);
	api_error(&reply, refusal->status, "malformed", refusal->detail);
	buf_append_str(headers, STR("Content-Type: application/json\r\n"));
	buf_append_str(body, buf_str(&reply.body));
	api_reply_fini(&reply);
}

/* -- what the request asks for ----------------------------------------------------- */

/* A write's own fault. A question about one may carry the headers of that, and so its fault, which
 * is not meant for it. */
static const struct http_field *own_fault(const struct http_request *request)
{
	if (str_equal(request->method, STR("GET")) || str_equal(request->method, STR("HEAD")))
		return NULL;
	return http_field_find(request->fields, request->field_count, STR("Sandbox-Fault"));
}

/* The plan of this request: its own, else the queue's. False: an error has been answered. */
static bool choose_plan(struct visit *visit)
{
	const struct http_request *request = &visit->exchange->request;
	const struct http_field *own = own_fault(request);
	const char *why;

	fault_plan_none(&visit->plan);
	if (!fault_may_meet(request->parts.path))
		return true;
	if (!own) {
		faults_take(&visit->sandbox->world->faults, request->method, request->parts.path,
			    &visit->plan);
		return true;
	}
	if (fault_plan_read(own->value, &visit->plan, &why) == 0)
		return true;
	send_error(visit, 400, "fault_malformed", why);
	return false;
}

static void visit_collected(struct exchange *exchange, const struct http_refusal *refusal)
{
	struct visit *visit = exchange->owner;

	if (exchange->is_ended) /* broken off meanwhile */
		return;
	if (refusal && refusal->status == 413)
		send_error(visit, 413, "too_large", "The body has more than 65536 bytes.");
	else if (refusal)
		send_error(visit, refusal->status, "malformed", refusal->detail);
	else if (!choose_plan(visit))
		return;
	else if (visit->plan.delay_ms)
		/* one more: the millisecond that has begun does not count */
		loop_timer_start(exchange->loop, &visit->timer, visit->plan.delay_ms + 1);
	else
		act(visit);
}

static struct str header_of(const struct http_request *request, struct str name)
{
	const struct http_field *field =
		http_field_find(request->fields, request->field_count, name);

	return field ? field->value : STR("");
}

/* The key is a structured-field string ("abc") or the same bare (abc). */
static struct str key_of(const struct http_request *request)
{
	struct str key = header_of(request, STR("Idempotency-Key"));

	if (key.len >= 2 && key.at[0] == '"' && key.at[key.len - 1] == '"')
		return str_of(key.at + 1, key.len - 2);
	return key;
}

static void work(struct visit *visit)
{
	struct exchange *exchange = visit->exchange;
	const struct http_request *request = &exchange->request;
	const struct api_request asked = {
		.method = request->method,
		.path = request->parts.path,
		.query = request->parts.query,
		.key = key_of(request),
		.event = header_of(request, STR("webhook-id")),
		.fence = header_of(request, STR("X-Fence")),
		.body = exchange->body_text,
		.wall_ms = env_wall_ms(exchange->loop->env),
		.hide_ms = visit->plan.hide_ms,
		.is_twice = visit->plan.is_twice,
		.mem = &exchange->mem,
	};

	api_answer(visit->sandbox->world, &asked, &visit->reply);
}

/* -- what it gets ------------------------------------------------------------------ */

static void send_reply(struct visit *visit)
{
	exchange_answer(visit->exchange, visit->reply.status, buf_str(&visit->reply.headers),
			buf_str(&visit->reply.body));
}

static void send_error(struct visit *visit, int status, const char *code, const char *message)
{
	api_error(&visit->reply, status, code, message);
	buf_append_str(&visit->reply.headers, STR("Content-Type: application/json\r\n"));
	send_reply(visit);
}

/* The status asked for. One that promises a result keeps the work's own body. */
static void send_status(struct visit *visit)
{
	int status = visit->plan.status;

	if (status < 400 && visit->plan.does_work) {
		visit->reply.status = status;
		send_reply(visit);
		return;
	}
	api_error(&visit->reply, status, "fault", "This answer was asked for as a fault.");
	buf_append_str(&visit->reply.headers, STR("Content-Type: application/json\r\n"));
	if (status == 429 || status == 503)
		buf_append_str(&visit->reply.headers, STR("Retry-After: 1\r\n"));
	send_reply(visit);
}

/* As services do that say "no" in the body of a 200. */
static void send_decline(struct visit *visit)
{
	visit->reply.status = 200;
	buf_append_str(&visit->reply.headers, STR("Content-Type: application/json\r\n"));
	buf_append_str(&visit->reply.body, STR("{\"status\":\"failed\",\"code\":\"declined\"}\n"));
	send_reply(visit);
}

static void end_half(struct loop_timer *timer)
{
	exchange_abort(list_entry(timer, struct visit, timer)->exchange);
}

static void send_half(struct visit *visit)
{
	struct exchange *exchange = visit->exchange;
	struct str body = buf_str(&visit->reply.body);

	exchange_start(exchange, visit->reply.status, buf_str(&visit->reply.headers),
		       (int64_t)body.len);
	exchange_write(exchange, str_of(body.at, body.len / 2));
	loop_timer_init(&visit->timer, end_half);
	loop_timer_start(exchange->loop, &visit->timer, HALF_FLUSH_MS);
}

static void act(struct visit *visit)
{
	if (visit->plan.does_work)
		work(visit);
	switch (visit->plan.ending) {
	case ENDING_ANSWER:
		send_reply(visit);
		return;
	case ENDING_STATUS:
		send_status(visit);
		return;
	case ENDING_DROP:
		exchange_abort(visit->exchange);
		return;
	case ENDING_HALF:
		send_half(visit);
		return;
	case ENDING_RESET:
		exchange_reset(visit->exchange);
		return;
	case ENDING_HANG:
		if (visit->exchange->is_gone) /* else visit_gone() ends it */
			exchange_abort(visit->exchange);
		return;
	case ENDING_DECLINE:
		send_decline(visit);
		return;
	}
	unreachable("an ending without a case");
}

/* -- the end ----------------------------------------------------------------------- */

/* A delay goes on without its client, as a slow service's work would. */
static void visit_gone(struct exchange *exchange)
{
	struct visit *visit = exchange->owner;

	if (visit->plan.ending == ENDING_HANG && list_is_empty(&visit->timer.link) &&
	    exchange->body_mode == BODY_OVER)
		exchange_abort(exchange);
}

static void visit_finished(struct exchange *exchange, enum delivery delivery)
{
	struct visit *visit = exchange->owner;

	if (visit) {
		loop_timer_cancel(&visit->timer);
		list_remove(&visit->link);
		api_reply_fini(&visit->reply);
	}
	exchange_release(exchange);
}

int sandbox_init(struct sandbox *sandbox)
{
	*sandbox = (struct sandbox){
		.service = {.begin = sandbox_begin, .refuse = sandbox_refuse},
		.world = world_new(),
	};
	list_init(&sandbox->visits);
	return sandbox->world ? 0 : fail(FAIL_MEMORY);
}

void sandbox_break_off(struct sandbox *sandbox)
{
	struct list *link, *after;

	list_for_each (link, after, &sandbox->visits) {
		struct visit *visit = list_entry(link, struct visit, link);

		loop_timer_cancel(&visit->timer);
		if (!visit->exchange->is_ended)
			exchange_abort(visit->exchange);
	}
}

void sandbox_fini(struct sandbox *sandbox)
{
	require(list_is_empty(&sandbox->visits));
	world_free(sandbox->world);
}
