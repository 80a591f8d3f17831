/*
 * The members that every line of a request has. The caller puts its own between and behind, and
 * ends the line; that nothing secret gets in is its task too (the path is without the query).
 */
#include "gate/request_line.h"

void request_line_begin(struct log_line *line, const struct gate *gate,
			const struct exchange *exchange)
{
	log_begin(line, gate->log, LOG_INFO, "request");
	log_str(line, "method", exchange->request.method);
	log_str(line, "path", exchange->request.parts.path);
	log_int(line, "status", exchange->status);
}

void request_line_traffic(struct log_line *line, const struct gate *gate,
			  const struct exchange *exchange, struct str request_id)
{
	log_str(line, "request_id", request_id);
	log_text(line, "client", exchange->peer);
	log_int(line, "bytes_in", (int64_t)exchange->body.seen);
	log_int(line, "bytes_out", (int64_t)exchange->answer_bytes);
	log_int(line, "duration_us", env_monotonic_us(gate->env) - exchange->began_us);
}
