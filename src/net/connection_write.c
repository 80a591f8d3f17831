/*
 * From answers to the socket.
 *
 * Writing is tried at once; what the socket does not take waits in `out`, and is handed to libuv
 * one flight at a time. Under TLS all goes through `out`. While a flight is under way its client
 * has the body's time limit to take something of it.
 */
#include "net/connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

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
size_t connection_left_to_take(const struct connection *connection)
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
	connection->queue_seen = connection_left_to_take(connection);
	/* TLS writes at any time, also when it is asked to: that buys no time for a head. */
	if (connection->phase == PHASE_ANSWER ||
	    (connection->phase == PHASE_BODY && !connection->deadline_ms))
		connection_set_deadline(connection, connection->server->limits.body_timeout_ms);
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
