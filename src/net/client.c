/*
 * Calling upstreams: libcurl's multi interface on the loop.
 *
 * libcurl says which sockets it watches and when it wants to be woken; the loop does both
 * with uv_poll and one timer. Easy handles are kept and used again: their fixed options are
 * set once, a call sets only what is its own.
 *
 * How certainty is won. CURLOPT_PREREQFUNCTION runs each time a request is about to be
 * written to a connection. Before the first time no byte has left: connection refused, no
 * address, a failed TLS handshake are SENDING_NEVER_LEFT. A second time would be libcurl's
 * own retry after a dead connection: it is forbidden, and the call is SENDING_UNCLEAR,
 * because the first may have arrived. Only a whole answer is SENDING_ANSWERED.
 */
#include "net/client.h"

#include "base/err.h"
#include "http/http.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	CLIENT_SPARE_HANDLES = 64, /* easy handles kept for the next calls */
	CALL_RECEIVE_BUFFER = CALL_PIECE_MAX,
	WATCHES_FIRST = 64,
};

/*
 * A socket that libcurl watches, until it closes it. Between two requests on one connection
 * libcurl lets go of it; the poll stays as it is then, since the next request wants the same
 * again, and two system calls each time would be the price of tidiness.
 */
struct watch {
	uv_poll_t poll;
	struct client *client;
	curl_socket_t socket;
	int events;   /* polled for; 0: stopped */
	bool is_idle; /* libcurl has let go of it */
};

struct client {
	struct loop *loop;
	struct client_settings settings;
	char *url, *ca_file;
	CURLM *multi;
	uv_timer_t timer;
	struct watch **watches; /* by socket; NULL: not watched */
	size_t watch_room;
	struct list calls;     /* under way */
	struct loop_task reap; /* looks for ended calls */
	struct loop_task fail; /* tells of calls that never began */
	struct list failed;
	struct list waiting; /* for a connection, oldest first */
	size_t under_way;    /* calls that have a handle */
	CURL *spare[CLIENT_SPARE_HANDLES];
	size_t spare_count;
	bool has_given_up; /* no call begins any more */
	bool is_released, is_closing;
};

int client_init_process(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : fail(FAIL_MEMORY);
}

/* Sockets and time. */

static void kick(struct client *client, curl_socket_t socket, int what)
{
	int running;

	curl_multi_socket_action(client->multi, socket, what, &running);
	loop_soon(client->loop, &client->reap);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	int what = 0;

	if (watch->is_idle) { /* the service has closed it: libcurl will see when it needs it */
		uv_poll_stop(poll);
		watch->events = 0;
		return;
	}
	if (status < 0)
		what = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		what |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		what |= CURL_CSELECT_OUT;
	kick(watch->client, watch->socket, what);
}

static void free_watch(uv_handle_t *handle)
{
	free(handle->data);
}

static bool make_watch_room(struct client *client, size_t socket)
{
	size_t room = client->watch_room ? client->watch_room : WATCHES_FIRST;
	struct watch **watches;

	if (socket < client->watch_room)
		return true;
	while (room <= socket)
		room *= 2;
	watches = realloc(client->watches, room * sizeof(struct watch *));
	if (!watches)
		return false;
	memset(watches + client->watch_room, 0,
	       (room - client->watch_room) * sizeof(struct watch *));
	client->watches = watches;
	client->watch_room = room;
	return true;
}

static struct watch *watch_new(struct client *client, curl_socket_t socket)
{
	struct watch *watch;

	if (!make_watch_room(client, (size_t)socket))
		return NULL;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	watch->client = client;
	watch->socket = socket;
	if (uv_poll_init_socket(&client->loop->uv, &watch->poll, socket) != 0) {
		free(watch);
		return NULL;
	}
	watch->poll.data = watch;
	client->watches[socket] = watch;
	return watch;
}

static struct watch *watch_of(const struct client *client, curl_socket_t socket)
{
	return (size_t)socket < client->watch_room ? client->watches[socket] : NULL;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *owner, void *unused)
{
	struct client *client = owner;
	struct watch *watch = watch_of(client, socket);
	int events =
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

	if (what == CURL_POLL_REMOVE) {
		if (watch)
			watch->is_idle = true;
		return 0;
	}
	if (!watch)
		watch = watch_new(client, socket);
	if (!watch)
		return -1;
	watch->is_idle = false;
	if (events == watch->events)
		return 0;
	watch->events = events;
	return uv_poll_start(&watch->poll, events, on_poll) == 0 ? 0 : -1;
}

static int on_socket_closed(void *owner, curl_socket_t socket)
{
	struct client *client = owner;
	struct watch *watch = watch_of(client, socket);

	if (watch) {
		uv_poll_stop(&watch->poll);
		client->watches[socket] = NULL;
		uv_close((uv_handle_t *)&watch->poll, free_watch);
	}
	return close(socket);
}

static void on_timer(uv_timer_t *timer)
{
	kick(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout_wanted(CURLM *multi, long ms, void *owner)
{
	struct client *client = owner;

	if (ms < 0)
		uv_timer_stop(&client->timer);
	else
		uv_timer_start(&client->timer, on_timer, (uint64_t)ms, 0);
	return 0;
}

/* The answer. */

/* Refused: the transfer ends with an error, and so as one that is unclear. */
static size_t on_header(char *bytes, size_t size, size_t count, void *owner)
{
	struct call *call = owner;
	struct str line = str_of(bytes, size * count);

	switch (http_answer_line(&call->answer, line)) {
	case HTTP_REFUSED:
		return 0;
	case HTTP_ANSWER_WHOLE:
		call->events->head(call);
		return line.len;
	default:
		return line.len;
	}
}

static size_t on_data(char *bytes, size_t size, size_t count, void *owner)
{
	struct call *call = owner;

	if (!call->answer.is_whole)
		return 0; /* libcurl took something for the final head that was none */
	if (!call->events->data(call, str_of(bytes, size * count))) {
		call->is_paused_in = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	return size * count;
}

static size_t on_body_wanted(char *out, size_t size, size_t count, void *owner)
{
	struct call *call = owner;
	ssize_t n = call->events->body(call, out, size * count);

	if (n > 0)
		return (size_t)n;
	if (n == CALL_BODY_END)
		return 0;
	if (n == CALL_BODY_BROKEN)
		return CURL_READFUNC_ABORT;
	call->is_paused_out = true;
	return CURL_READFUNC_PAUSE;
}

static int before_sending(void *owner, char *peer, char *own, int peer_port, int own_port)
{
	struct call *call = owner;

	call->sends++;
	return call->sends > 1 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* Handles. */

#define SET(easy, option, value) require(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

static void set_fixed(CURL *easy, const struct client *client)
{
	SET(easy, CURLOPT_URL, client->url);
	SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(easy, CURLOPT_PROXY, "");
	SET(easy, CURLOPT_NOSIGNAL, 1L);
	SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
	SET(easy, CURLOPT_PATH_AS_IS, 1L);
	SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(easy, CURLOPT_BUFFERSIZE, (long)CALL_RECEIVE_BUFFER);
	SET(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)CALL_RECEIVE_BUFFER);
	SET(easy, CURLOPT_MAXAGE_CONN, (long)CALL_IDLE_CONNECTION_S);
	SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)client->settings.connect_timeout_ms);
	SET(easy, CURLOPT_SSL_VERIFYPEER, client->settings.verify ? 1L : 0L);
	SET(easy, CURLOPT_SSL_VERIFYHOST, client->settings.verify ? 2L : 0L);
	if (client->ca_file)
		SET(easy, CURLOPT_CAINFO, client->ca_file);
	SET(easy, CURLOPT_HEADERFUNCTION, on_header);
	SET(easy, CURLOPT_WRITEFUNCTION, on_data);
	SET(easy, CURLOPT_READFUNCTION, on_body_wanted);
	SET(easy, CURLOPT_PREREQFUNCTION, before_sending);
	SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_closed);
	SET(easy, CURLOPT_CLOSESOCKETDATA, (void *)(uintptr_t)client);
}

static CURL *take_handle(struct client *client)
{
	CURL *easy;

	if (client->spare_count)
		return client->spare[--client->spare_count];
	easy = curl_easy_init();
	if (easy)
		set_fixed(easy, client);
	return easy;
}

static void put_handle(struct client *client, CURL *easy)
{
	if (client->spare_count == CLIENT_SPARE_HANDLES) {
		curl_easy_cleanup(easy);
		return;
	}
	client->spare[client->spare_count++] = easy;
}

/*
 * The caller's fields as libcurl's list, and with them the fields that libcurl would otherwise
 * add by itself, without a value, which keeps them out. One piece of memory holds nodes and
 * text; libcurl only reads them.
 */
enum { ADDED_BY_LIBCURL = 4 };

static size_t count_lines(struct str text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] == '\n';
	return count;
}

/* Ends the field's line in `copy` where its value ends; an empty one is written "Name;". */
static char *cut_line(char *copy, struct str text, const struct http_field *field)
{
	char *name = copy + (field->name.at - text.at);

	if (field->value.len)
		copy[field->value.at + field->value.len - text.at] = '\0';
	else
		memcpy(name + field->name.len, ";", 2);
	return name;
}

static struct curl_slist *add_node(struct curl_slist *node, const char *text)
{
	node->data = (char *)(uintptr_t)text;
	node->next = node + 1;
	return node + 1;
}

static bool build_lines(struct call *call)
{
	static const struct str added[ADDED_BY_LIBCURL] = {
		{"Accept:", 6}, {"Content-Type:", 12}, {"User-Agent:", 10}, {"Expect:", 6}};
	bool is_given[ADDED_BY_LIBCURL] = {false};
	size_t room = count_lines(call->headers) + ADDED_BY_LIBCURL;
	struct curl_slist *nodes = malloc(room * sizeof(*nodes) + call->headers.len + 2);
	struct curl_slist *next = nodes;
	struct str rest = call->headers;
	struct http_field field;
	char *copy;

	if (!nodes)
		return false;
	copy = (char *)(nodes + room);
	memcpy(copy, call->headers.at, call->headers.len);
	while (http_next_line(&rest, &field)) {
		for (size_t i = 0; i < ADDED_BY_LIBCURL; i++)
			is_given[i] |= str_equal_nocase(field.name, added[i]);
		next = add_node(next, cut_line(copy, call->headers, &field));
	}
	for (size_t i = 0; i < ADDED_BY_LIBCURL; i++) {
		if (!is_given[i])
			next = add_node(next, added[i].at);
	}
	if (next == nodes) {
		free(nodes);
		return true;
	}
	next[-1].next = NULL;
	call->lines = nodes;
	return true;
}

static void set_body(CURL *easy, const struct call *call)
{
	SET(easy, CURLOPT_POSTFIELDS, NULL);
	SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
	SET(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)-1);
	SET(easy, CURLOPT_HTTPGET, 1L);
	if (call->is_streamed) {
		SET(easy, CURLOPT_UPLOAD, 1L);
		SET(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->body_length);
		SET(easy, CURLOPT_READDATA, call);
	} else if (call->has_body) {
		SET(easy, CURLOPT_POST, 1L);
		SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
		SET(easy, CURLOPT_POSTFIELDS, call->body.len ? call->body.at : "");
	}
	if (str_equal(call->method, STR("HEAD")))
		SET(easy, CURLOPT_NOBODY, 1L);
}

static void set_times(CURL *easy, const struct call *call, bool as_a_whole)
{
	int64_t waited_ms = (env_monotonic_us(call->client->loop->env) - call->began_us) / 1000;
	int64_t ms = call->client->settings.timeout_ms - waited_ms;

	if (ms < 1)
		ms = 1;
	SET(easy, CURLOPT_TIMEOUT_MS, as_a_whole ? (long)ms : 0L);
	SET(easy, CURLOPT_LOW_SPEED_LIMIT, as_a_whole ? 0L : 1L);
	SET(easy, CURLOPT_LOW_SPEED_TIME, as_a_whole ? 0L : (long)((ms + 999) / 1000));
}

/* Both, and a NUL. False: no room. */
static bool join(char *out, size_t size, struct str first, struct str second)
{
	if (first.len + second.len >= size)
		return false;
	memcpy(out, first.at, first.len);
	memcpy(out + first.len, second.at, second.len);
	out[first.len + second.len] = '\0';
	return true;
}

static bool set_own(struct call *call)
{
	CURL *easy = call->easy;
	struct str base = call->client->settings.base_path;
	char method[64], target[16 * 1024];

	if (!str_starts_with(call->target, STR("/")))
		base = STR(""); /* "*" has no path before it */
	if (!join(method, sizeof(method), STR(""), call->method) ||
	    !join(target, sizeof(target), base, call->target))
		return false;
	set_body(easy, call);
	set_times(easy, call, call->is_once);
	SET(easy, CURLOPT_CUSTOMREQUEST, method);
	SET(easy, CURLOPT_REQUEST_TARGET, target);
	SET(easy, CURLOPT_HTTPHEADER, call->lines);
	SET(easy, CURLOPT_HEADERDATA, call);
	SET(easy, CURLOPT_WRITEDATA, call);
	SET(easy, CURLOPT_PREREQDATA, call);
	SET(easy, CURLOPT_PRIVATE, call);
	SET(easy, CURLOPT_ERRORBUFFER, call->error);
	return true;
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
		put_handle(client, call->easy);
		call->easy = NULL;
	}
	client->under_way -= call->is_under_way;
	call->is_under_way = false;
	call->events->done(call, sending);
	launch_waiting(client);
	if (client->is_released)
		client_release(client);
}

static const char *why_failed(const struct call *call)
{
	if (call->is_ending)
		return "cancelled";
	if (call->is_timed_out)
		return "no connection to the service became free in time";
	return "the call could not be started";
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
		end_call(call, sending_of(call, code),
			 call->sends > 1 ? "the connection was lost after the request had been sent"
			 : call->error[0]   ? call->error
			 : code == CURLE_OK ? NULL
					    : curl_easy_strerror(code));
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
	call->easy = take_handle(client);
	if (!call->is_spoiled && call->easy && build_lines(call) && set_own(call) &&
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
	fail_soon(call);
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
	if (client->under_way < client->settings.max_connections) {
		launch(call);
		return;
	}
	list_append(&client->waiting, &call->link);
	loop_timer_start(client->loop, &call->patience, client->settings.timeout_ms);
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
		set_times(call->easy, call, false);
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

void call_fini(struct call *call)
{
	if (call->client)
		loop_task_cancel(&call->resume);
	free(call->lines);
	call->lines = NULL;
	http_answer_fini(&call->answer);
}

/* Life of a client. */

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
		free(client->url);
		free(client->ca_file);
		if (client->multi)
			curl_multi_cleanup(client->multi);
		free(client);
		return fail(FAIL_MEMORY);
	}
	list_init(&client->calls);
	list_init(&client->failed);
	list_init(&client->waiting);
	loop_task_init(&client->reap, reap_calls);
	loop_task_init(&client->fail, tell_failed);
	require(uv_timer_init(&loop->uv, &client->timer) == 0);
	client->timer.data = client;
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	curl_multi_setopt(client->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
			  (long)settings->max_connections);
	curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
			  (long)settings->max_connections);
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)settings->max_connections);
	*out = client;
	return 0;
}

void client_give_up(struct client *client)
{
	client->has_given_up = true;
	while (!list_is_empty(&client->waiting)) /* first: an end makes room for them */
		call_cancel(list_entry(client->waiting.next, struct call, link));
	while (!list_is_empty(&client->calls))
		call_cancel(list_entry(client->calls.next, struct call, link));
}

static void free_client(uv_handle_t *timer)
{
	struct client *client = timer->data;

	free(client->url);
	free(client->ca_file);
	free(client->watches);
	free(client);
}

void client_release(struct client *client)
{
	if (!client || client->is_closing)
		return;
	client->is_released = true;
	if (!list_is_empty(&client->calls) || !list_is_empty(&client->failed) ||
	    !list_is_empty(&client->waiting))
		return;
	client->is_closing = true;
	loop_task_cancel(&client->reap);
	loop_task_cancel(&client->fail);
	while (client->spare_count)
		curl_easy_cleanup(client->spare[--client->spare_count]);
	curl_multi_cleanup(client->multi);
	client->multi = NULL;
	uv_close((uv_handle_t *)&client->timer, free_client);
}
