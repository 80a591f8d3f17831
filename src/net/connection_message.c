/*
 * From bytes to messages: heads are found and read, bodies handed to their exchange.
 *
 * A message is refused where it could be read in two ways, is over a limit, or is too slow. Such
 * a one never becomes an exchange: its answer is put together here, with what the service has to
 * say of it, and the connection ends after it.
 */
#include "net/connection.h"

#include "base/err.h"

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

void connection_refuse(struct connection *connection, const struct http_refusal *refusal)
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

/* NULL: refused. The head is copied, since what was read goes with the read. */
static struct exchange *read_head(struct connection *connection, struct str head)
{
	struct server *server = connection->server;
	struct exchange *exchange = exchange_new(connection);
	struct http_refusal refusal = {.status = 500, .detail = "Out of memory."};
	struct str copy = {0};
	int r = FAIL_MEMORY;

	if (exchange)
		copy = arena_str(&exchange->mem, head);
	if (copy.at)
		r = http_request_read(copy, &server->limits.head, &exchange->mem,
				      &exchange->request, &refusal);
	if (r == 0)
		return exchange;
	if (exchange)
		exchange_free(exchange);
	connection_refuse(connection, &refusal);
	return NULL;
}

static bool begin_exchange(struct connection *connection, struct str head)
{
	struct service *service = connection->server->service;
	struct exchange *exchange = read_head(connection, head);

	if (!exchange)
		return false;
	http_body_init(&exchange->body, exchange->request.framing, exchange->request.length);
	connection->exchange = exchange;
	connection->phase = exchange_has_body(exchange) ? PHASE_BODY : PHASE_ANSWER;
	connection->deadline_ms = 0;
	service->begin(service, exchange);
	return true;
}

static void pump_head(struct connection *connection, struct str *input)
{
	struct http_refusal refusal = {0};
	size_t len;
	int r;

	if (!input->len)
		return;
	if (connection->phase == PHASE_IDLE) {
		connection->phase = PHASE_HEAD;
		connection_set_deadline(connection, connection->server->limits.head_timeout_ms);
	}
	r = http_head_end(*input, &connection->server->limits.head, &connection->scanned, &len,
			  &refusal);
	if (r == HTTP_MORE)
		return;
	if (r != 0) {
		connection_refuse(connection, &refusal);
		return;
	}
	connection->scanned = 0;
	if (begin_exchange(connection, str_of(input->at, len)))
		*input = str_from_index(*input, len);
}

static void pump_body(struct connection *connection, struct str *input)
{
	struct exchange *exchange = connection->exchange;
	size_t used;

	if (!exchange_wants_more(exchange)) {
		connection->deadline_ms = 0;
		return;
	}
	if (input->len || !connection->deadline_ms)
		connection_set_deadline(connection, connection->server->limits.body_timeout_ms);
	used = exchange_feed(exchange, *input);
	*input = str_from_index(*input, used);
	if (connection->phase == PHASE_CLOSED)
		return;
	if (exchange->body_mode == BODY_OVER) {
		connection->phase = PHASE_ANSWER;
		connection->deadline_ms = 0;
	} else if (connection->has_eof && !exchange->is_paused) {
		connection_close(connection); /* all that came is used, and it was not enough */
	}
}

/* One message at most: the next one is looked at when this one's answer is over. */
void connection_pump(struct connection *connection, struct str *input)
{
	connection->is_pumping = true;
	if (connection->phase == PHASE_IDLE || connection->phase == PHASE_HEAD)
		pump_head(connection, input);
	if (connection->phase == PHASE_BODY)
		pump_body(connection, input);
	if (connection->phase == PHASE_LINGER)
		*input = str_from_index(*input, input->len);
	connection->is_pumping = false;
}
