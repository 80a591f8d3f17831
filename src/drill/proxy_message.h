/*
 * Whole HTTP/1.1 messages of the proxy's, as bytes.
 */
#ifndef DRILL_PROXY_MESSAGE_H
#define DRILL_PROXY_MESSAGE_H

#include "base/buf.h"
#include "drill/proxy_wire.h"

/*
 * Read one request into an initialised `out`, with "Connection: close" added. False: the client
 * has gone, or this is none.
 */
bool proxy_read_request(struct proxy_wire *client, struct buf *out);

enum proxy_answer {
	PROXY_ANSWER_WHOLE,
	PROXY_ANSWER_HALF, /* the server broke off */
	PROXY_ANSWER_NONE  /* not a byte came */
};

/* Read the final answer; *out_status is its status, 0 where there is none. */
enum proxy_answer proxy_read_answer(struct proxy_wire *server, struct buf *out, int *out_status);

#endif
