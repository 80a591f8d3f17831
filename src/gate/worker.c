/*
 * A worker: one loop with its listener, its generations and its requests; and the station, a loop
 * that can ask the store. Here it is chosen which way a request goes.
 */
#include "gate/account.h"
#include "gate/caller_jwt.h"
#include "gate/credential_check.h"
#include "gate/flow.h"
#include "gate/gate.h"
#include "gate/headers.h"
#include "gate/pass.h"
#include "gate/policy.h"
#include "gate/problem.h"
#include "gate/status.h"

#include "base/err.h"

#include <stdlib.h>

enum {
	EXCHANGE_FIXED_MEMORY = 256 * 1024,
	CLOSE_AFTER_MS = 1000, /* from giving the calls up to closing their clients' connections */
};

/* Stations. */

static void answers_came(uv_async_t *async)
{
	struct station *station = async->data;

	store_deliver(&station->inbox);
}

static void wake_station(struct store_inbox *inbox)
{
	struct station *station = inbox->owner;

	uv_async_send(&station->answers);
}

int station_init(struct station *station, struct gate *gate)
{
	int r = loop_init(&station->loop, gate->env, gate->log);

	if (r != 0)
		return r;
	station->gate = gate;
	station->inbox = (struct store_inbox){.wake = wake_station, .owner = station};
	require(uv_async_init(&station->loop.uv, &station->answers, answers_came) == 0);
	station->answers.data = station;
	return 0;
}

void gate_ask(struct station *station, struct store_command *command)
{
	command->home = &station->inbox;
	store_submit(station->gate->store, command);
}

/* Serving. */

static bool has_token(const struct settings *settings, const struct http_request *request)
{
	return http_field_find(request->fields, request->field_count, settings->tokens.header) !=
	       NULL;
}

static void serve(struct worker *worker, struct exchange *exchange)
{
	const struct settings *settings = worker->generation->settings;
	const struct http_request *request = &exchange->request;
	const struct action *action;
	enum problem problem;

	if (status_is_ours(exchange)) {
		status_begin(worker, exchange);
		return;
	}
	problem = policy_find(settings, exchange, &action);
	if (problem != PROBLEM_NONE)
		status_refuse(worker, exchange, problem);
	else if (policy_protects(settings, action, request->method, has_token(settings, request)))
		flow_begin(worker, exchange, action);
	else
		pass_begin(worker, exchange, action);
}

static void begin(struct service *service, struct exchange *exchange)
{
	struct worker *worker = list_entry(service, struct worker, service);

	if (!caller_waits_for_keys(worker, exchange, serve))
		serve(worker, exchange);
}

static void refuse(struct service *service, const struct http_refusal *refusal, struct buf *headers,
		   struct buf *body)
{
	struct worker *worker = list_entry(service, struct worker, service);
	const struct problem_facts facts = problem_of_refusal(refusal);

	metrics_add(&worker->metrics.problems[facts.problem], 1);
	problem_headers(headers, &facts);
	problem_write(body, &facts);
}

static struct server_limits limits_of(const struct settings *settings, unsigned workers)
{
	/* What a check lets through is read a second time. */
	size_t readings = credential_check_is_in_force(settings) ? 2 : 1;
	struct server_limits limits = {
		.head = http_limits_default,
		.connections = gate_share(settings->limits.max_connections, workers),
		.exchange_memory = settings->limits.request_memory +
				   readings * policy_largest_response(settings) +
				   EXCHANGE_FIXED_MEMORY,
		.head_timeout_ms = settings->limits.head_timeout_ms,
		.idle_timeout_ms = settings->limits.idle_timeout_ms,
		.body_timeout_ms = settings->limits.body_timeout_ms,
	};

	limits.head.head_bytes = settings->limits.max_head;
	return limits;
}

static void copy_counters(struct loop_sweeper *sweeper, int64_t now_ms)
{
	struct worker *worker = list_entry(sweeper, struct worker, sweeper);
	const struct server_counters *counters = &worker->server.counters;
	struct metrics *metrics = &worker->metrics;

	metrics_set(&metrics->connections_open, counters->open);
	metrics_set(&metrics->connections_accepted, counters->accepted);
	metrics_set(&metrics->connections_refused, counters->refused_full);
	metrics_set(&metrics->messages_refused, counters->refused_messages);
	metrics_set(&metrics->timeouts, counters->timed_out);
	metrics_set(&metrics->requests_open, worker->generations.requests);
	if (worker->is_draining && !worker->is_drained && worker->generations.requests == 0 &&
	    server_is_idle(&worker->server)) {
		worker->is_drained = true;
		atomic_fetch_add(&worker->gate->drained_workers, 1);
	}
}

static void close_connections(struct loop_timer *timer)
{
	server_close(&list_entry(timer, struct worker, close)->server);
}

int worker_start(struct worker *worker, struct gate *gate, unsigned index,
		 struct sockaddr_storage *address, const char **why)
{
	struct settings_hold *hold = gate->hold;
	struct server_limits limits = limits_of(hold->settings, gate->worker_count);
	int r;

	worker->gate = gate;
	worker->checks = calloc(1, sizeof(*worker->checks)); /* without, each is asked about */
	worker->service = (struct service){.begin = begin, .refuse = refuse};
	*why = "out of memory";
	r = station_init(&worker->station, gate);
	if (r != 0)
		return r;
	generations_init(&worker->generations, &worker->station.loop, gate->worker_count);
	loop_timer_init(&worker->close, close_connections);
	atomic_fetch_add(&hold->holders, 1);
	worker->generation = generation_new(&worker->generations, hold);
	if (!worker->generation)
		return fail(FAIL_MEMORY);
	r = server_listen(&worker->server, &worker->station.loop, &worker->service, &limits,
			  hold->tls, address, index > 0, why);
	if (r != 0)
		return r;
	worker->sweeper.sweep = copy_counters;
	loop_add_sweeper(&worker->station.loop, &worker->sweeper);
	return loop_start(&worker->station.loop);
}

static void run_reload(struct loop_post *post)
{
	struct worker *worker = list_entry(post, struct worker, reload);
	struct generation *old = worker->generation;
	struct generation *next = generation_new(&worker->generations, worker->next_hold);
	atomic_bool *is_reloading = &worker->is_reloading;

	if (next) {
		worker->generation = next;
		worker->server.tls = next->hold->tls;
		worker->server.limits = limits_of(next->settings, worker->gate->worker_count);
		generation_retire(old);
	}
	atomic_store(is_reloading, false);
}

bool worker_reload(struct worker *worker, struct settings_hold *hold)
{
	if (atomic_exchange(&worker->is_reloading, true))
		return false;
	atomic_fetch_add(&hold->holders, 1);
	worker->next_hold = hold;
	worker->reload.run = run_reload;
	loop_post(&worker->station.loop, &worker->reload);
	return true;
}

static void run_drain(struct loop_post *post)
{
	struct worker *worker = list_entry(post, struct worker, drain);

	worker->is_draining = true;
	server_drain(&worker->server);
}

void worker_drain(struct worker *worker)
{
	worker->drain.run = run_drain;
	loop_post(&worker->station.loop, &worker->drain);
}

static void run_give_up(struct loop_post *post)
{
	struct worker *worker = list_entry(post, struct worker, give_up);

	generations_give_up(&worker->generations);
	loop_timer_start(&worker->station.loop, &worker->close, CLOSE_AFTER_MS);
}

void worker_give_up(struct worker *worker)
{
	worker->give_up.run = run_give_up;
	loop_post(&worker->station.loop, &worker->give_up);
}

static void run_stop(struct loop_post *post)
{
	loop_stop(&list_entry(post, struct worker, stop)->station.loop);
}

/*
 * What still runs is left behind: its operations are `running` in the store, and the next
 * gate will call them unknown.
 */
void worker_stop(struct worker *worker)
{
	worker->stop.run = run_stop;
	loop_post(&worker->station.loop, &worker->stop);
	loop_join(&worker->station.loop);
}

void worker_free(struct worker *worker)
{
	free(worker->checks);
	if (worker->server.loop)
		server_close(&worker->server);
	if (worker->generation && worker->generations.requests == 0)
		generation_free(worker->generation);
	if (worker->generations.requests == 0)
		loop_fini(&worker->station.loop);
}
