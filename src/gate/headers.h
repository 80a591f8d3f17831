/*
 * Header fields on their way through: to the service, and back.
 */
#ifndef GATE_HEADERS_H
#define GATE_HEADERS_H

#include "base/buf.h"
#include "config/settings.h"
#include "net/server.h"

/*
 * The lines to send on: what the client sent, without what belongs to its own connection and
 * without a key of the gate's own; with X-Forwarded-For, -Proto, -Host, Via and X-Request-Id set;
 * and without the client's own credential where the gate has one for `upstream`. `asks_identity`:
 * the answer will be
 * kept, so it must not come in a coding that a later client did not ask for.
 */
void headers_to_upstream(const struct exchange *exchange, const struct settings *settings,
			 const struct settings_upstream *upstream, struct str request_id,
			 bool asks_identity, struct buf *out);

/*
 * The service's lines, without what belongs to its connection and without names that are the
 * gate's own. Those that are never kept (cookies, challenges, rate limits, Date) go to
 * `first_only`, the others to `kept`; one buffer may serve for both.
 */
void headers_from_upstream(struct str lines, struct buf *kept, struct buf *first_only);

/* Where the service lets another origin read its answer, let it read the gate's own headers too. */
void headers_expose(struct str lines, struct buf *out);

/* The client's X-Request-Id if it is a sane one, else a fresh one; in `mem`. Empty: no memory. */
struct str headers_request_id(const struct exchange *exchange, const struct env *env,
			      struct arena *mem);

/* The value of a request header; empty when there is none. */
struct str headers_value(const struct http_request *request, struct str name);

/* Does the field ask the service to take the request for one with another method? */
bool headers_is_override(const struct http_field *field);

#endif
