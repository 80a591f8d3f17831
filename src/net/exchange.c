/*
 * One request and its answer, as a service sees it.
 *
 * The connection feeds the body in; the service writes the answer out. Either side may be
 * the slower one: a paused exchange leaves bytes with the connection, which then stops
 * reading; a backlog of output over EXCHANGE_HIGH_WATER tells the writer to wait.
 */
#include "net/connection.h"

#include "base/err.h"

#include <stdlib.h>

static const struct http_refusal client_left = {
	.status = 400,
	.detail = "The connection ended before the body was complete.",
};

static void tell_finished(struct loop_task *task);
static void tell_body_end(struct loop_task *task);
static void tell_gone(struct loop_task *task);
static bool may_persist(const struct exchange *exchange);

struct exchange *exchange_new(struct connection *connection)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		return NULL;
	exchange->connection = connection;
	exchange->loop = connection->loop;
	exchange->is_tls = connection->tls != NULL;
	exchange->began_us = env_monotonic_us(connection->loop->env);
	memcpy(exchange->peer, connection->peer, sizeof(exchange->peer));
	arena_init(&exchange->mem, connection->server->limits.exchange_memory);
	loop_task_init(&exchange->finish, tell_finished);
	loop_task_init(&exchange->body_end, tell_body_end);
	loop_task_init(&exchange->leave, tell_gone);
	return exchange;
}

void exchange_free(struct exchange *exchange)
{
	loop_task_cancel(&exchange->finish);
	loop_task_cancel(&exchange->body_end);
	loop_task_cancel(&exchange->leave);
	buf_fini(&exchange->collecting);
	arena_fini(&exchange->mem);
	free(exchange);
}

void exchange_release(struct exchange *exchange)
{
	require(!exchange->connection);
	exchange_free(exchange);
}

/* The body. */

static void end_body(struct exchange *exchange);

static const struct http_refusal too_large = {
	.status = 413,
	.detail = "The body is larger than this gate accepts (limits.max_body).",
};

bool exchange_has_body(const struct exchange *exchange)
{
	return exchange->body.framing == HTTP_CHUNKED ||
	       (exchange->body.framing == HTTP_LENGTH && exchange->request.length > 0);
}

static void want_body(struct exchange *exchange, enum body_mode mode)
{
	require(exchange->body_mode == BODY_NOT_WANTED);
	exchange->body_mode = mode;
	if (exchange->body_refusal.status || !exchange_has_body(exchange)) {
		end_body(exchange);
		return;
	}
	if (!exchange->connection) {
		exchange_break_body(exchange, &client_left);
		return;
	}
	if (exchange->request.expects_continue &&
	    !connection_send(exchange->connection, STR("HTTP/1.1 100 Continue\r\n\r\n"), STR("")))
		return;
	connection_pump_soon(exchange->connection);
}

void exchange_collect(struct exchange *exchange, size_t max)
{
	buf_init(&exchange->collecting, max);
	exchange->is_collecting = true;
	if (exchange->request.framing == HTTP_LENGTH && exchange->request.length > max)
		exchange_break_body(exchange, &too_large);
	want_body(exchange, BODY_COLLECT);
}

void exchange_stream(struct exchange *exchange)
{
	want_body(exchange, BODY_STREAM);
}

void exchange_pause(struct exchange *exchange)
{
	exchange->is_paused = true;
}

void exchange_resume(struct exchange *exchange)
{
	if (!exchange->is_paused)
		return;
	exchange->is_paused = false;
	if (exchange->connection)
		connection_pump_soon(exchange->connection);
}

static void tell_body_end(struct loop_task *task)
{
	struct exchange *exchange = list_entry(task, struct exchange, body_end);
	const struct http_refusal *refusal =
		exchange->body_refusal.status ? &exchange->body_refusal : NULL;

	exchange->body_text = buf_str(&exchange->collecting);
	if (exchange->is_collecting)
		exchange->events->collected(exchange, refusal);
	else
		exchange->events->data_end(exchange, refusal);
}

static void end_body(struct exchange *exchange)
{
	exchange->body_mode = BODY_OVER;
	loop_soon(exchange->loop, &exchange->body_end);
}

void exchange_break_body(struct exchange *exchange, const struct http_refusal *refusal)
{
	if (exchange->body_mode == BODY_OVER)
		return;
	exchange->body_refusal = *refusal;
	if (exchange->body_mode != BODY_NOT_WANTED)
		end_body(exchange);
}

bool exchange_wants_more(const struct exchange *exchange)
{
	return exchange->body_mode != BODY_NOT_WANTED && !exchange->is_paused;
}

static bool take_piece(struct exchange *exchange, struct str piece)
{
	if (!piece.len)
		return true;
	if (exchange->body_mode == BODY_STREAM) {
		exchange->events->data(exchange, piece);
		return true;
	}
	if (buf_append_str(&exchange->collecting, piece) == 0)
		return true;
	exchange_break_body(exchange, &too_large);
	return false;
}

size_t exchange_feed(struct exchange *exchange, struct str bytes)
{
	size_t total = 0;

	for (;;) {
		struct http_refusal refusal = {0};
		struct str piece;
		size_t used;
		int r;

		if (exchange->is_paused || exchange->body_mode == BODY_OVER)
			return total;
		r = http_body_read(&exchange->body, str_from_index(bytes, total), &used, &piece,
				   &refusal);
		total += used;
		if (r == HTTP_REFUSED) {
			exchange_break_body(exchange, &refusal);
			return total;
		}
		if (!take_piece(exchange, piece))
			return total;
		if (r == HTTP_BODY_END) {
			end_body(exchange);
			return total;
		}
		if (total == bytes.len)
			return total;
	}
}

/* The answer. */

static void tell_finished(struct loop_task *task)
{
	struct exchange *exchange = list_entry(task, struct exchange, finish);
	struct connection *connection = exchange->connection;

	if (connection) {
		/* The body may have turned bad, or not have ended, since the head was written. */
		connection->is_last |= !may_persist(exchange);
		exchange->connection = NULL;
		connection_answered(connection);
	}
	loop_task_cancel(&exchange->body_end);
	loop_task_cancel(&exchange->leave);
	if (exchange->events)
		exchange->events->finished(exchange, exchange->delivery);
	else
		exchange_free(exchange); /* nobody took it */
}

static void finish(struct exchange *exchange, enum delivery delivery)
{
	exchange->delivery = delivery;
	loop_soon(exchange->loop, &exchange->finish);
}

void exchange_on_drained(struct exchange *exchange)
{
	if (exchange->is_ended)
		finish(exchange,
		       exchange->connection->has_eof ? DELIVERY_NOT_KNOWN : DELIVERY_DONE);
	else if (exchange->is_started && exchange->events->drained)
		exchange->events->drained(exchange);
}

static void tell_gone(struct loop_task *task)
{
	struct exchange *exchange = list_entry(task, struct exchange, leave);

	if (!exchange->is_ended && exchange->events->gone)
		exchange->events->gone(exchange);
}

void exchange_on_gone(struct exchange *exchange)
{
	exchange->connection = NULL;
	exchange->is_gone = true;
	if (exchange->body_mode == BODY_COLLECT || exchange->body_mode == BODY_STREAM)
		exchange_break_body(exchange, &client_left);
	if (!exchange->is_ended)
		loop_soon(exchange->loop, &exchange->leave);
	else if (list_is_empty(&exchange->finish.link))
		finish(exchange, DELIVERY_FAILED);
}

static bool has_date(struct str headers)
{
	struct http_field field;

	while (http_next_line(&headers, &field)) {
		if (str_equal_nocase(field.name, STR("Date")))
			return true;
	}
	return false;
}

/* May this connection carry another message after the answer? */
static bool may_persist(const struct exchange *exchange)
{
	const struct connection *connection = exchange->connection;
	bool is_read = exchange->body_mode == BODY_OVER || !exchange_has_body(exchange);

	return exchange->request.is_persistent && is_read && !exchange->body_refusal.status &&
	       !connection->has_eof && !connection->server->is_draining;
}

/* Answers that have no body by their status have no length either (RFC 9110 § 8.6). */
static bool may_have_length(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

/* How the client will know where the body ends. */
static void choose_framing(struct exchange *exchange, int64_t length)
{
	bool is_bodiless = !may_have_length(exchange->status) ||
			   str_equal(exchange->request.method, STR("HEAD"));
	bool is_open = length < 0 && !is_bodiless;

	exchange->is_bodiless = is_bodiless;
	exchange->is_chunked = is_open && exchange->request.minor >= 1;
	exchange->is_until_close = is_open && !exchange->is_chunked;
	exchange->connection->is_last = !may_persist(exchange) || exchange->is_until_close;
}

static void write_head(struct exchange *exchange, struct buf *head, struct str headers,
		       int64_t length)
{
	http_write_status(head, exchange->status);
	buf_append_str(head, headers);
	if (!has_date(headers))
		buf_append_str(head, str_from(exchange->connection->server->date));
	if (length >= 0 && may_have_length(exchange->status))
		http_write_field_u64(head, STR("Content-Length"), (uint64_t)length);
	if (exchange->is_chunked)
		http_write_field(head, STR("Transfer-Encoding"), STR("chunked"));
	if (exchange->connection->is_last)
		http_write_field(head, STR("Connection"), STR("close"));
	else if (exchange->request.minor == 0)
		http_write_field(head, STR("Connection"), STR("keep-alive"));
	http_write_head_end(head);
}

/* The head, and with it as much of the body as there is (a whole one, or nothing yet). */
static void start_answer(struct exchange *exchange, int status, struct str headers, int64_t length,
			 struct str body)
{
	struct buf head;

	require(!exchange->is_started && !exchange->is_ended);
	exchange->is_started = true;
	exchange->status = status;
	if (!exchange->connection)
		return;
	choose_framing(exchange, length);
	buf_init(&head, SIZE_MAX / 2);
	write_head(exchange, &head, headers, length);
	if (head.is_spoiled)
		connection_close(exchange->connection);
	else
		connection_send(exchange->connection, buf_str(&head),
				exchange->is_bodiless ? STR("") : body);
	buf_fini(&head);
}

/* All has been written: its end is told when the socket has taken it. */
static void end_answer(struct exchange *exchange)
{
	exchange->is_ended = true;
	if (!exchange->connection)
		finish(exchange, DELIVERY_FAILED);
	else if (connection_backlog(exchange->connection) == 0)
		exchange_on_drained(exchange);
}

void exchange_answer(struct exchange *exchange, int status, struct str headers, struct str body)
{
	start_answer(exchange, status, headers, (int64_t)body.len, body);
	exchange->answer_bytes = body.len;
	end_answer(exchange);
}

void exchange_start(struct exchange *exchange, int status, struct str headers, int64_t length)
{
	start_answer(exchange, status, headers, length, STR(""));
}

static bool send_chunk(struct exchange *exchange, struct str piece)
{
	struct buf line;
	bool is_sent;

	buf_init(&line, 64);
	http_write_chunk_start(&line, piece.len);
	is_sent = !line.is_spoiled &&
		  connection_send(exchange->connection, buf_str(&line), piece) &&
		  connection_send(exchange->connection, STR("\r\n"), STR(""));
	buf_fini(&line);
	return is_sent;
}

bool exchange_write(struct exchange *exchange, struct str piece)
{
	require(exchange->is_started && !exchange->is_ended);
	exchange->answer_bytes += piece.len;
	if (!exchange->connection || exchange->is_bodiless || !piece.len)
		return true;
	if (exchange->is_chunked ? !send_chunk(exchange, piece)
				 : !connection_send(exchange->connection, piece, STR("")))
		return true;
	return connection_backlog(exchange->connection) < EXCHANGE_HIGH_WATER;
}

void exchange_end(struct exchange *exchange)
{
	require(exchange->is_started && !exchange->is_ended);
	if (exchange->connection && exchange->is_chunked)
		connection_send(exchange->connection, STR("0\r\n\r\n"), STR(""));
	end_answer(exchange);
}

static void break_off(struct exchange *exchange, void (*close_it)(struct connection *))
{
	exchange->is_started = exchange->is_ended = true;
	if (exchange->connection)
		close_it(exchange->connection);
	else
		finish(exchange, DELIVERY_FAILED);
}

/* Where the end of the connection says that the answer is over, only a reset says otherwise. */
void exchange_abort(struct exchange *exchange)
{
	break_off(exchange, exchange->is_until_close ? connection_reset : connection_close);
}

void exchange_reset(struct exchange *exchange)
{
	break_off(exchange, connection_reset);
}
