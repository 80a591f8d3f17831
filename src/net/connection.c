/*
 * One connection: its life, from accept to the end, and its deadlines.
 *
 * What comes in is read in connection_read.c and understood in connection_message.c; what goes
 * out is written in connection_write.c. The connection's memory goes in the last callback of its
 * socket, never before.
 */
#include "net/connection.h"

#include "base/err.h"

#include <stdlib.h>

enum { FULL_LOG_EVERY_MS = 1000 };

static void enter_idle(struct connection *connection)
{
	connection->phase = PHASE_IDLE;
	connection->scanned = 0;
	connection_set_deadline(connection, connection->server->limits.idle_timeout_ms);
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
	loop_task_init(&connection->pump, connection_pump_now);
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

	server->owes_accept = !connection;
	if (!connection) {
		fail(FAIL_MEMORY);
		return;
	}
	if (!take_socket(connection, is_full)) {
		connection_close(connection);
		return;
	}
	enter_idle(connection);
	connection_set_deadline(connection, server->limits.head_timeout_ms);
	connection_start_reading(connection);
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
	connection_set_deadline(connection, CONNECTION_LINGER_MS);
	request = malloc(sizeof(*request));
	if (!request || uv_shutdown(request, (uv_stream_t *)&connection->tcp, on_shutdown) != 0) {
		free(request);
		connection_close(connection);
		return;
	}
	connection_start_reading(connection);
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
		connection_set_deadline(connection, connection->server->limits.body_timeout_ms);
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
		connection_refuse(connection, &too_slow);
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
	left = connection_left_to_take(connection);
	if (is_taken && connection->is_writing && left != connection->queue_seen) {
		connection->queue_seen = left;
		connection_set_deadline(connection, connection->server->limits.body_timeout_ms);
		return;
	}
	time_out(connection);
}
