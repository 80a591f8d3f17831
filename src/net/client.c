/*
 * Calling upstreams: libcurl's multi interface on the loop. This file has the life of clients
 * and of calls; client_internal.h says where the rest is.
 *
 * How certainty is won. CURLOPT_PREREQFUNCTION runs each time a request is about to be
 * written to a connection. Before the first time no byte has left: connection refused, no
 * address, a failed TLS handshake are SENDING_NEVER_LEFT. A second time would be libcurl's
 * own retry after a dead connection: it is forbidden, and the call is SENDING_UNCLEAR,
 * because the first may have arrived. Only a whole answer is SENDING_ANSWERED.
 */
#include "net/client_internal.h"

#include "base/err.h"

#include <stdlib.h>

int client_init_process(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : fail(FAIL_MEMORY);
}

/* Starting and ending. */

static void launch_waiting(struct client *client);

static void end_call(struct call *call, enum sending sending, const char *reason)
{
	struct client *client = call->client;

	list_remove(&call->link);
	call->reason = reason;
	call->duration_us = env_monotonic_us(client->loop->env) - call->began_us;
	if (call->easy) {
		client_put_handle(client, call->easy);
		call->easy = NULL;
	}
	client->under_way -= call->is_under_way;
	call->is_under_way = false;
	call->events->done(call, sending);
	launch_waiting(client);
	if (client->is_released)
		client_release(client);
}

static const char why_silent[] = "the service closed the connection without an answer";

static const char *why_failed(const struct call *call)
{
	if (call->is_ending)
		return "cancelled";
	if (call->why_not && (call->is_spoiled || call->is_held))
		return call->why_not;
	if (call->is_timed_out)
		return "no connection to the service became free in time";
	return "the call could not be started";
}

/* Where the connection broke tells what may have become of the request. */
static const char *why_broken(const struct call *call)
{
	if (call->answer.is_whole)
		return "the connection broke in the middle of the answer";
	return call->sends ? "the connection broke while waiting for the answer"
			   : "the connection broke before anything was sent";
}

static const char *why_too_late(const struct call *call)
{
	if (call->answer.is_whole)
		return "the service did not finish its answer in time";
	return call->sends ? "the service did not answer in time"
			   : "there was no connection to the service in time";
}

/*
 * One text for one kind of fault, whichever version of libcurl says it and however: people and
 * programs compare them. NULL: it ended as it should.
 */
static const char *why_ended(const struct call *call, CURLcode code)
{
	if (call->sends > 1)
		return why_silent;
	switch (code) {
	case CURLE_OK:
		return NULL;
	case CURLE_COULDNT_RESOLVE_HOST:
		return "the service's name has no address";
	case CURLE_COULDNT_CONNECT:
		return "the service took no connection";
	case CURLE_OPERATION_TIMEDOUT:
		return why_too_late(call);
	case CURLE_GOT_NOTHING:
		return why_silent;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_UNRECOVERABLE_POLL:
		return why_broken(call);
	case CURLE_SSL_CONNECT_ERROR:
		return "TLS was not agreed upon with the service";
	case CURLE_PEER_FAILED_VERIFICATION:
		return "the service's certificate was not accepted";
	case CURLE_WRITE_ERROR:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return "the service's answer is no valid HTTP";
	case CURLE_ABORTED_BY_CALLBACK:
		return "the request broke off before its end";
	case CURLE_OUT_OF_MEMORY:
		return "there was no memory for the call";
	default:
		return "the call to the service failed";
	}
}

static enum sending sending_of(const struct call *call, CURLcode code)
{
	if (code == CURLE_OK && call->answer.is_whole)
		return SENDING_ANSWERED;
	return call->sends == 0 ? SENDING_NEVER_LEFT : SENDING_UNCLEAR;
}

static void reap_calls(struct loop_task *task)
{
	struct client *client = list_entry(task, struct client, reap);
	CURLMsg *message;
	int left;

	while (client->multi && (message = curl_multi_info_read(client->multi, &left))) {
		CURLcode code = message->data.result;
		CURL *easy = message->easy_handle;
		struct call *call;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
		curl_multi_remove_handle(client->multi, easy);
		call->is_timed_out = code == CURLE_OPERATION_TIMEDOUT;
		end_call(call, sending_of(call, code), why_ended(call, code));
	}
}

/* Cancelled, or never begun. */
static void tell_failed(struct loop_task *task)
{
	struct client *client = list_entry(task, struct client, fail);

	while (!list_is_empty(&client->failed)) {
		struct call *call = list_entry(client->failed.next, struct call, link);

		end_call(call, call->sends ? SENDING_UNCLEAR : SENDING_NEVER_LEFT,
			 why_failed(call));
	}
}

static void run_resume(struct loop_task *task)
{
	struct call *call = list_entry(task, struct call, resume);

	if (!call->easy)
		return;
	curl_easy_pause(call->easy, CURLPAUSE_CONT);
	loop_soon(call->client->loop, &call->client->reap);
}

/*
 * No more calls are under way than connections are allowed: libcurl would let the rest wait
 * too, but each with its buffers.
 */
static void launch(struct call *call)
{
	struct client *client = call->client;

	call->is_under_way = true;
	client->under_way++;
	call->easy = client_take_handle(client);
	if (!call->is_spoiled && call->easy && call_set_request(call) &&
	    curl_multi_add_handle(client->multi, call->easy) == CURLM_OK) {
		list_append(&client->calls, &call->link);
		return;
	}
	list_append(&client->failed, &call->link);
	loop_soon(client->loop, &client->fail);
}

static void launch_waiting(struct client *client)
{
	while (client->under_way < client->settings.max_connections &&
	       !list_is_empty(&client->waiting)) {
		struct call *call = list_entry(client->waiting.next, struct call, link);

		loop_timer_cancel(&call->patience);
		list_remove(&call->link);
		launch(call);
	}
}

static void fail_soon(struct call *call)
{
	list_remove(&call->link);
	list_append(&call->client->failed, &call->link);
	loop_soon(call->client->loop, &call->client->fail);
}

static void waited_too_long(struct loop_timer *timer)
{
	struct call *call = list_entry(timer, struct call, patience);

	call->is_timed_out = true;
	call->had_no_turn = !call->is_held;
	fail_soon(call);
}

static void launch_in_turn(struct call *call)
{
	struct client *client = call->client;

	if (client->under_way < client->settings.max_connections) {
		launch(call);
		return;
	}
	list_append(&client->waiting, &call->link);
	loop_timer_start(client->loop, &call->patience, call_timeout_ms(call));
}

void call_start(struct client *client, struct call *call)
{
	call->client = client;
	call->began_us = env_monotonic_us(client->loop->env);
	http_answer_init(&call->answer);
	loop_task_init(&call->resume, run_resume);
	loop_timer_init(&call->patience, waited_too_long);
	list_init(&call->link);
	if (client->has_given_up) {
		call->is_ending = true;
		fail_soon(call);
		return;
	}
	if (call->is_held) {
		list_append(&client->held, &call->link);
		loop_timer_start(client->loop, &call->patience, call_timeout_ms(call));
		return;
	}
	launch_in_turn(call);
}

void call_release(struct call *call)
{
	if (!call->is_held || call->is_ending || call->is_timed_out)
		return;
	call->is_held = false;
	loop_timer_cancel(&call->patience);
	list_remove(&call->link);
	launch_in_turn(call);
}

void call_refuse(struct call *call, const char *why_not)
{
	if (!call->is_held || call->is_ending || call->is_timed_out)
		return;
	call->is_spoiled = true;
	call->why_not = why_not;
	loop_timer_cancel(&call->patience);
	fail_soon(call);
}

/* Pausing is undone for both directions: the one that still has nothing pauses again. */
void call_resume(struct call *call)
{
	if (!call->is_paused_in && !call->is_paused_out)
		return;
	call->is_paused_in = call->is_paused_out = false;
	loop_soon(call->client->loop, &call->resume);
}

void call_be_patient(struct call *call)
{
	if (call->easy)
		call_set_times(call, false);
}

void call_cancel(struct call *call)
{
	if (call->is_ending || list_is_empty(&call->link))
		return;
	call->is_ending = true;
	loop_timer_cancel(&call->patience);
	if (call->easy)
		curl_multi_remove_handle(call->client->multi, call->easy);
	fail_soon(call);
}

const char *call_error(const struct call *call)
{
	return call->reason && call->error[0] ? call->error : NULL;
}

void call_fini(struct call *call)
{
	if (call->client)
		loop_task_cancel(&call->resume);
	free(call->lines);
	call->lines = NULL;
	http_answer_fini(&call->answer);
}

/* Life of a client. */

static void free_client(struct client *client)
{
	if (client->multi)
		curl_multi_cleanup(client->multi);
	free(client->url);
	free(client->ca_file);
	free(client->watches);
	free(client);
}

/* One more connection than calls may be under way is never wanted. */
static void set_limits(struct client *client)
{
	long max = (long)client->settings.max_connections;

	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	curl_multi_setopt(client->multi, CURLMOPT_MAX_HOST_CONNECTIONS, max);
	curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, max);
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, max);
}

int client_new(struct loop *loop, const struct client_settings *settings, struct client **out)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return fail(FAIL_MEMORY);
	client->loop = loop;
	client->settings = *settings;
	client->url = strdup(settings->url);
	client->ca_file = settings->ca_file ? strdup(settings->ca_file) : NULL;
	client->multi = curl_multi_init();
	if (!client->url || !client->multi || (settings->ca_file && !client->ca_file)) {
		free_client(client);
		return fail(FAIL_MEMORY);
	}
	list_init(&client->calls);
	list_init(&client->failed);
	list_init(&client->waiting);
	list_init(&client->held);
	loop_task_init(&client->reap, reap_calls);
	loop_task_init(&client->fail, tell_failed);
	client_watch_init(client);
	set_limits(client);
	*out = client;
	return 0;
}

void client_give_up(struct client *client)
{
	client->has_given_up = true;
	while (!list_is_empty(&client->held))
		call_cancel(list_entry(client->held.next, struct call, link));
	while (!list_is_empty(&client->waiting)) /* first: an end makes room for them */
		call_cancel(list_entry(client->waiting.next, struct call, link));
	while (!list_is_empty(&client->calls))
		call_cancel(list_entry(client->calls.next, struct call, link));
}

static void timer_closed(uv_handle_t *timer)
{
	free_client(timer->data);
}

static bool has_calls(const struct client *client)
{
	return !list_is_empty(&client->calls) || !list_is_empty(&client->failed) ||
	       !list_is_empty(&client->waiting) || !list_is_empty(&client->held);
}

void client_release(struct client *client)
{
	if (!client || client->is_closing)
		return;
	client->is_released = true;
	if (has_calls(client))
		return;
	client->is_closing = true;
	loop_task_cancel(&client->reap);
	loop_task_cancel(&client->fail);
	client_drop_handles(client);
	curl_multi_cleanup(client->multi);
	client->multi = NULL;
	uv_close((uv_handle_t *)&client->timer, timer_closed);
}
