/*
 * From the socket to bytes.
 *
 * They go into the loop's one buffer and are understood there; only what is left over is copied
 * into the connection (decrypted bytes always are). Reading stops where more comes than can be
 * understood now, and at the client's end.
 */
#include "net/connection.h"

static void lend_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct connection *connection = handle->data;

	*out = uv_buf_init(connection->loop->read_buffer, LOOP_READ_BUFFER);
}

static void stop_reading(struct connection *connection)
{
	uv_read_stop((uv_stream_t *)&connection->tcp);
	connection->is_reading = false;
}

/*
 * The client says no more. It may still listen for the answer to what it has said, so a message
 * that is here whole, or may be with what waits in `in`, goes on.
 */
static void on_eof(struct connection *connection)
{
	bool may_be_whole = connection->phase == PHASE_BODY && connection->in.len;

	connection->has_eof = true;
	stop_reading(connection);
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
	if (connection->phase == PHASE_CLOSED || connection->phase == PHASE_LINGER)
		return;
	if (rest.len && buf_append_str(&connection->in, rest) != 0) {
		connection_close(connection);
		return;
	}
	if (is_ahead(connection))
		stop_reading(connection);
}

static void pump_kept(struct connection *connection)
{
	struct str input = buf_str(&connection->in);
	size_t before = input.len;

	connection_pump(connection, &input);
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
		connection_pump(connection, &input);
		keep_rest(connection, input);
	}
}

void connection_start_reading(struct connection *connection)
{
	if (connection->is_reading || connection->has_eof)
		return;
	if (uv_read_start((uv_stream_t *)&connection->tcp, lend_buffer, on_read) != 0) {
		connection_close(connection);
		return;
	}
	connection->is_reading = true;
}

void connection_pump_now(struct loop_task *task)
{
	struct connection *connection = list_entry(task, struct connection, pump);

	pump_kept(connection);
	if (connection->phase != PHASE_CLOSED && !is_ahead(connection))
		connection_start_reading(connection);
}

void connection_pump_soon(struct connection *connection)
{
	if (!connection->is_pumping)
		loop_soon(connection->loop, &connection->pump);
}
