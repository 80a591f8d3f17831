/*
 * One connection: bytes in, messages out, answers back.
 *
 * Reading goes into the loop's one buffer and is understood there; only what is left over is
 * copied into the connection, so that an idle connection holds no buffer at all. Writing is
 * tried at once; what the socket does not take waits in `out`, and is handed to libuv one
 * flight at a time.
 */
#include "net/connection.h"

#include "base/err.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum { FULL_LOG_EVERY_MS = 1000 };

static void start_reading(struct connection *connection);
static void pump(struct connection *connection, struct str *input);
static void pump_task(struct loop_task *task);

static void set_deadline(struct connection *connection, int64_t ms)
{
	connection->deadline_ms = connection->loop->now_ms + ms;
}

static void enter_idle(struct connection *connection)
{
	connection->phase = PHASE_IDLE;
	connection->scanned = 0;
	set_deadline(connection, connection->server->limits.idle_timeout_ms);
	buf_release_if_empty(&connection->in);
	buf_release_if_empty(&connection->out);
}

static void free_connection(uv_handle_t *handle)
{
	struct connection *connection = handle->data;

	list_remove(&connection->link);
	tls_free(connection->tls);
	buf_fini(&connection->in);
	buf_fini(&connection->out);
	buf_fini(&connection->flying);
	free(connection);
}

/* One more than the server may serve: said in the log, but not each time. */
static void log_full(struct connection *connection)
{
	struct server *server = connection->server;
	struct log_line line;

	server->counters.refused_full++;
	if (server->loop->now_ms - server->full_logged_ms < FULL_LOG_EVERY_MS)
		return;
	server->full_logged_ms = server->loop->now_ms;
	log_begin(&line, server->loop->log, LOG_WARNING, "connections-full");
	log_text(&line, "client", connection->peer);
	log_int(&line, "limit", (int64_t)server->limits.connections);
	log_int(&line, "refused", (int64_t)server->counters.refused_full);
	log_end(&line);
}

static struct connection *connection_new(struct server *server)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->server = server;
	connection->loop = server->loop;
	list_init(&connection->link);
	loop_task_init(&connection->pump, pump_task);
	buf_init(&connection->in, server->limits.head.head_bytes + CONNECTION_IN_MAX);
	buf_init(&connection->out, SIZE_MAX / 2);
	buf_init(&connection->flying, SIZE_MAX / 2);
	require(uv_tcp_init(&server->loop->uv, &connection->tcp) == 0);
	connection->tcp.data = connection;
	list_append(&server->connections, &connection->link);
	server->counters.accepted++;
	server->counters.open++;
	return connection;
}

/* False: it cannot be served, or may not. */
static bool take_socket(struct connection *connection, bool is_full)
{
	struct server *server = connection->server;
	struct sockaddr_storage peer;
	int size = sizeof(peer);

	if (uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&connection->tcp) != 0)
		return false;
	if (uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&peer, &size) == 0)
		uv_ip_name((struct sockaddr *)&peer, connection->peer, sizeof(connection->peer));
	if (is_full) {
		log_full(connection);
		return false;
	}
	uv_tcp_nodelay(&connection->tcp, 1);
	if (server->tls)
		connection->tls = tls_new(server->tls);
	return !server->tls || connection->tls;
}

void connection_accept(struct server *server)
{
	bool is_full = server->counters.open >= server->limits.connections;
	struct connection *connection = connection_new(server);

	if (!connection) {
		fail(FAIL_MEMORY);
		return;
	}
	if (!take_socket(connection, is_full)) {
		connection_close(connection);
		return;
	}
	enter_idle(connection);
	set_deadline(connection, server->limits.head_timeout_ms);
	start_reading(connection);
}

static void end_connection(struct connection *connection, bool with_reset)
{
	struct exchange *exchange = connection->exchange;

	if (connection->phase == PHASE_CLOSED)
		return;
	connection->phase = PHASE_CLOSED;
	connection->exchange = NULL;
	connection->server->counters.open--;
	loop_task_cancel(&connection->pump);
	if (!with_reset || uv_tcp_close_reset(&connection->tcp, (uv_close_cb)free_connection) != 0)
		uv_close((uv_handle_t *)&connection->tcp, free_connection);
	if (exchange)
		exchange_on_gone(exchange);
}

void connection_close(struct connection *connection)
{
	end_connection(connection, false);
}

void connection_reset(struct connection *connection)
{
	end_connection(connection, true);
}

/* Reading. */

static void lend_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct connection *connection = handle->data;

	*out = uv_buf_init(connection->loop->read_buffer, LOOP_READ_BUFFER);
}

/*
 * The client says no more. It may still listen for the answer to what it has said, so a message
 * that is here whole, or may be with what waits in `in`, goes on.
 */
static void on_eof(struct connection *connection)
{
	bool may_be_whole = connection->phase == PHASE_BODY && connection->in.len;

	connection->has_eof = true;
	uv_read_stop((uv_stream_t *)&connection->tcp);
	connection->is_reading = false;
	if (connection->phase != PHASE_ANSWER && !may_be_whole)
		connection_close(connection);
}

/* More is read than can be understood now. A head is bounded by its own limit. */
static bool is_ahead(const struct connection *connection)
{
	return connection->in.len > CONNECTION_IN_HIGH && connection->phase != PHASE_HEAD;
}

/* What was not understood stays with the connection; too much of it stops the reading. */
static void keep_rest(struct connection *connection, struct str rest)
{
	if (connection->phase == PHASE_CLOSED)
		return;
	if (connection->phase == PHASE_LINGER)
		return;
	if (rest.len && buf_append_str(&connection->in, rest) != 0) {
		connection_close(connection);
		return;
	}
	if (is_ahead(connection) && connection->is_reading) {
		uv_read_stop((uv_stream_t *)&connection->tcp);
		connection->is_reading = false;
	}
}

static void pump_kept(struct connection *connection)
{
	struct str input = buf_str(&connection->in);
	size_t before = input.len;

	pump(connection, &input);
	if (connection->phase == PHASE_CLOSED)
		return;
	buf_consume(&connection->in, before - input.len);
	keep_rest(connection, STR(""));
}

/* A goodbye may come with the last request: first what was said, then the end. */
static void decrypt(struct connection *connection, struct str bytes)
{
	int r = tls_received(connection->tls, bytes, &connection->in, &connection->out);

	connection_send(connection, STR(""), STR(""));
	if (connection->phase == PHASE_CLOSED)
		return;
	if (r < 0) {
		connection_close(connection);
		return;
	}
	pump_kept(connection);
	if (r == TLS_CLOSED && connection->phase != PHASE_CLOSED)
		on_eof(connection);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;
	struct str input;

	if (n == 0)
		return;
	if (n == UV_EOF) {
		on_eof(connection);
		return;
	}
	if (n < 0) {
		connection_close(connection);
		return;
	}
	input = str_of(buffer->base, (size_t)n);
	if (connection->tls) {
		decrypt(connection, input);
	} else if (connection->in.len) {
		keep_rest(connection, input);
		if (connection->phase != PHASE_CLOSED)
			pump_kept(connection);
	} else {
		pump(connection, &input);
		keep_rest(connection, input);
	}
}

static void start_reading(struct connection *connection)
{
	if (connection->is_reading || connection->has_eof)
		return;
	if (uv_read_start((uv_stream_t *)&connection->tcp, lend_buffer, on_read) != 0) {
		connection_close(connection);
		return;
	}
	connection->is_reading = true;
}

static void pump_task(struct loop_task *task)
{
	struct connection *connection = list_entry(task, struct connection, pump);

	pump_kept(connection);
	if (connection->phase != PHASE_CLOSED && !is_ahead(connection))
		start_reading(connection);
}

void connection_pump_soon(struct connection *connection)
{
	if (!connection->is_pumping)
		loop_soon(connection->loop, &connection->pump);
}

/* Understanding. */

static void log_refusal(struct connection *connection, const struct http_refusal *refusal)
{
	struct log_line line;

	connection->server->counters.refused_messages++;
	log_begin(&line, connection->loop->log, LOG_INFO, "message-refused");
	log_text(&line, "client", connection->peer);
	log_int(&line, "status", refusal->status);
	log_text(&line, "detail", refusal->detail);
	log_end(&line);
}

/* An answer without an exchange: the message was never one. */
static void refuse(struct connection *connection, const struct http_refusal *refusal)
{
	struct buf head, headers, body;

	log_refusal(connection, refusal);
	buf_init(&head, SIZE_MAX / 2);
	buf_init(&headers, SIZE_MAX / 2);
	buf_init(&body, SIZE_MAX / 2);
	connection->server->service->refuse(connection->server->service, refusal, &headers, &body);
	http_write_status(&head, refusal->status);
	buf_append_str(&head, buf_str(&headers));
	buf_append_str(&head, str_from(connection->server->date));
	http_write_field_u64(&head, STR("Content-Length"), body.len);
	http_write_field(&head, STR("Connection"), STR("close"));
	http_write_head_end(&head);
	connection->is_last = true;
	if (connection_send(connection, buf_str(&head), buf_str(&body)))
		connection_answered(connection);
	buf_fini(&head);
	buf_fini(&headers);
	buf_fini(&body);
}

static bool begin_exchange(struct connection *connection, struct str head)
{
	struct server *server = connection->server;
	struct exchange *exchange = exchange_new(connection);
	struct http_refusal refusal = {.status = 500, .detail = "Out of memory."};
	struct str copy;
	int r = FAIL_MEMORY;

	if (exchange) {
		copy = arena_str(&exchange->mem, head);
		if (copy.at)
			r = http_request_read(copy, &server->limits.head, &exchange->mem,
					      &exchange->request, &refusal);
	}
	if (r != 0) {
		if (exchange)
			exchange_free(exchange);
		refuse(connection, &refusal);
		return false;
	}
	http_body_init(&exchange->body, exchange->request.framing, exchange->request.length);
	connection->exchange = exchange;
	connection->phase = exchange_has_body(exchange) ? PHASE_BODY : PHASE_ANSWER;
	connection->deadline_ms = 0;
	server->service->begin(server->service, exchange);
	return true;
}

/* True: a message has begun, there may be more to understand. */
static bool pump_head(struct connection *connection, struct str *input)
{
	struct http_refusal refusal = {0};
	size_t len;
	int r;

	if (!input->len)
		return false;
	if (connection->phase == PHASE_IDLE) {
		connection->phase = PHASE_HEAD;
		set_deadline(connection, connection->server->limits.head_timeout_ms);
	}
	r = http_head_end(*input, &connection->server->limits.head, &connection->scanned, &len,
			  &refusal);
	if (r == HTTP_MORE)
		return false;
	if (r != 0) {
		refuse(connection, &refusal);
		return false;
	}
	connection->scanned = 0;
	if (!begin_exchange(connection, str_of(input->at, len)))
		return false;
	*input = str_from_index(*input, len);
	return true;
}

static bool pump_body(struct connection *connection, struct str *input)
{
	struct exchange *exchange = connection->exchange;
	size_t used;

	if (!exchange_wants_more(exchange)) {
		connection->deadline_ms = 0;
		return false;
	}
	if (input->len || !connection->deadline_ms)
		set_deadline(connection, connection->server->limits.body_timeout_ms);
	used = exchange_feed(exchange, *input);
	*input = str_from_index(*input, used);
	if (connection->phase == PHASE_CLOSED)
		return false;
	if (exchange->body_mode == BODY_OVER) {
		connection->phase = PHASE_ANSWER;
		connection->deadline_ms = 0;
	} else if (connection->has_eof && !exchange->is_paused) {
		connection_close(connection); /* all that came is used, and it was not enough */
	}
	return false;
}

/* *input is what has been read; what is left in it afterwards was not understood yet. */
static void pump(struct connection *connection, struct str *input)
{
	bool goes_on = true;

	connection->is_pumping = true;
	while (goes_on) {
		switch (connection->phase) {
		case PHASE_IDLE:
		case PHASE_HEAD:
			goes_on = pump_head(connection, input);
			break;
		case PHASE_BODY:
			goes_on = pump_body(connection, input);
			break;
		case PHASE_ANSWER:
			goes_on = false;
			break;
		case PHASE_LINGER:
		case PHASE_CLOSED:
			goes_on = false;
			break;
		}
	}
	if (connection->phase == PHASE_LINGER)
		*input = str_from_index(*input, input->len);
	connection->is_pumping = false;
}

/* Writing. */

size_t connection_backlog(const struct connection *connection)
{
	return connection->out.len + connection->flying.len;
}

static void on_written(uv_write_t *write, int status);

/*
 * Bytes that the client's system has not acknowledged. The socket's own buffer counts too: it
 * may hold megabytes, and room in it is announced only when a third of it is free, so that a
 * slow client would long look like one that takes nothing.
 */
static size_t left_to_take(const struct connection *connection)
{
	size_t left = uv_stream_get_write_queue_size((const uv_stream_t *)&connection->tcp);
	int in_socket = 0;
	uv_os_fd_t fd;

	if (uv_fileno((const uv_handle_t *)&connection->tcp, &fd) == 0 &&
	    ioctl(fd, SIOCOUTQ, &in_socket) == 0)
		left += (size_t)in_socket;
	return left;
}

static void launch(struct connection *connection)
{
	struct buf swap = connection->flying;
	uv_buf_t piece;

	connection->flying = connection->out;
	connection->out = swap;
	buf_clear(&connection->out);
	piece = uv_buf_init(connection->flying.at, (unsigned)connection->flying.len);
	connection->write.data = connection;
	if (uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &piece, 1, on_written) !=
	    0) {
		connection_close(connection);
		return;
	}
	connection->is_writing = true;
	connection->queue_seen = left_to_take(connection);
	/* TLS writes at any time, also when it is asked to: that buys no time for a head. */
	if (connection->phase == PHASE_ANSWER ||
	    (connection->phase == PHASE_BODY && !connection->deadline_ms))
		set_deadline(connection, connection->server->limits.body_timeout_ms);
}

static void on_written(uv_write_t *write, int status)
{
	struct connection *connection = write->data;

	connection->is_writing = false;
	buf_clear(&connection->flying);
	buf_release_if_empty(&connection->flying);
	if (connection->phase == PHASE_CLOSED)
		return;
	if (status != 0) {
		connection_close(connection);
		return;
	}
	if (connection->out.len) {
		launch(connection);
		return;
	}
	if (connection->phase == PHASE_ANSWER ||
	    (connection->phase == PHASE_BODY && !exchange_wants_more(connection->exchange)))
		connection->deadline_ms = 0;
	if (connection->exchange)
		exchange_on_drained(connection->exchange);
	else if (connection->is_last && connection->phase == PHASE_ANSWER)
		connection_answered(connection);
}

/* What the socket takes at once; the rest is kept in `out`. False: broken. */
static bool try_now(struct connection *connection, struct str first, struct str second)
{
	uv_buf_t pieces[2] = {
		uv_buf_init((char *)(uintptr_t)first.at, (unsigned)first.len),
		uv_buf_init((char *)(uintptr_t)second.at, (unsigned)second.len),
	};
	unsigned skip = first.len == 0, count = 2 - skip - (second.len == 0);
	size_t sent = 0;
	int n;

	if (count == 0)
		return true;
	n = uv_try_write((uv_stream_t *)&connection->tcp, pieces + skip, count);
	if (n >= 0)
		sent = (size_t)n;
	else if (n != UV_EAGAIN)
		return false;
	if (sent < first.len) {
		buf_append_str(&connection->out, str_from_index(first, sent));
		sent = first.len;
	}
	buf_append_str(&connection->out, str_from_index(second, sent - first.len));
	return !connection->out.is_spoiled;
}

static bool queue_or_send(struct connection *connection, struct str first, struct str second)
{
	if (connection->tls) {
		if ((first.len && tls_send(connection->tls, first, &connection->out) != 0) ||
		    (second.len && tls_send(connection->tls, second, &connection->out) != 0))
			return false;
	} else if (!connection->is_writing && !connection->out.len) {
		if (!try_now(connection, first, second))
			return false;
	} else {
		buf_append_str(&connection->out, first);
		buf_append_str(&connection->out, second);
	}
	return !connection->out.is_spoiled;
}

bool connection_send(struct connection *connection, struct str first, struct str second)
{
	if (!queue_or_send(connection, first, second)) {
		connection_close(connection);
		return false;
	}
	if (connection->out.len && !connection->is_writing)
		launch(connection);
	return connection->phase != PHASE_CLOSED;
}

/* Ending. */

static void on_shutdown(uv_shutdown_t *request, int status)
{
	free(request);
}

static void linger(struct connection *connection)
{
	uv_shutdown_t *request;

	if (connection->tls) {
		tls_close(connection->tls, &connection->out);
		if (!connection_send(connection, STR(""), STR("")))
			return;
	}
	connection->phase = PHASE_LINGER;
	connection->deadline_ms = connection->loop->now_ms + CONNECTION_LINGER_MS;
	request = malloc(sizeof(*request));
	if (!request || uv_shutdown(request, (uv_stream_t *)&connection->tcp, on_shutdown) != 0) {
		free(request);
		connection_close(connection);
		return;
	}
	start_reading(connection);
}

void connection_answered(struct connection *connection)
{
	connection->exchange = NULL;
	if (connection->has_eof) {
		connection_close(connection);
		return;
	}
	if (connection->is_last || connection->server->is_draining) {
		if (connection_backlog(connection) == 0) {
			linger(connection);
			return;
		}
		connection->phase = PHASE_ANSWER;
		set_deadline(connection, connection->server->limits.body_timeout_ms);
		return;
	}
	enter_idle(connection);
	if (connection->in.len || !connection->is_reading)
		connection_pump_soon(connection);
}

/* Deadlines. */

static const struct http_refusal too_slow = {
	.status = 408,
	.detail = "The request did not arrive in time.",
};

static void time_out(struct connection *connection)
{
	connection->deadline_ms = 0;
	connection->server->counters.timed_out++;
	switch (connection->phase) {
	case PHASE_HEAD:
		refuse(connection, &too_slow);
		break;
	case PHASE_BODY:
		if (connection->is_writing)
			connection_close(connection);
		else
			exchange_break_body(connection->exchange, &too_slow);
		break;
	default:
		connection_close(connection);
		break;
	}
}

void connection_sweep(struct connection *connection, int64_t now_ms)
{
	bool is_taken = connection->phase == PHASE_ANSWER || connection->phase == PHASE_BODY;
	size_t left;

	if (!connection->deadline_ms || now_ms < connection->deadline_ms ||
	    connection->phase == PHASE_CLOSED)
		return;
	left = left_to_take(connection);
	if (is_taken && connection->is_writing && left != connection->queue_seen) {
		connection->queue_seen = left;
		set_deadline(connection, connection->server->limits.body_timeout_ms);
		return;
	}
	time_out(connection);
}
