/*
 * The line of the log that ends each request: what the lines of protected and of passed requests
 * have in common, so that one search finds both. No token, credential or body is in it.
 */
#ifndef GATE_REQUEST_LINE_H
#define GATE_REQUEST_LINE_H

#include "gate/gate.h"

/* Begin the line: what was asked, and the status of the answer. */
void request_line_begin(struct log_line *line, const struct gate *gate,
			const struct exchange *exchange);

/* Who asked under which id, how many bytes went either way, how long it took. */
void request_line_traffic(struct log_line *line, const struct gate *gate,
			  const struct exchange *exchange, struct str request_id);

#endif
