/*
 * HTTP/1.1 messages, bytes to meaning and back, without sockets (RFC 9110, RFC 9112).
 *
 * The reader is strict: a message that two readers could understand differently is
 * refused, never repaired, because a service behind the gate that understood it otherwise
 * would act on a request the gate never saw. What is refused says which status to answer
 * and why; the connection is to be closed after that answer.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Outcomes of reading. */
enum {
	HTTP_MORE = 1,	  /* not complete: come back with more bytes */
	HTTP_REFUSED = 2, /* the refusal is filled */
};

struct http_limits {
	size_t head_bytes;   /* request line and fields together: over it 431 */
	size_t target_bytes; /* over it 414 */
	size_t fields;	     /* over it 431 */
};
extern const struct http_limits http_limits_default; /* 32 KiB, 8 KiB, 100 */

struct http_refusal {
	int status;	    /* 400, 414, 417, 431, 501, 505 */
	const char *detail; /* a sentence: what is wrong and what is expected */
};

struct http_field {
	struct str name;  /* as sent */
	struct str value; /* without surrounding blanks */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_target {
	struct str path;  /* as sent; starts with '/', or is "*" */
	struct str query; /* after the '?', as sent */
	bool has_query;
	struct str authority; /* of an absolute-form target, equal to Host; else empty */
};

struct http_request {
	struct str method;
	struct str target; /* origin form, as it is to be forwarded: path[?query] */
	struct http_target parts;
	int minor;		   /* HTTP/1.minor, 0 or 1 */
	struct http_field *fields; /* in the order sent */
	size_t field_count;
	struct str host; /* authority of the target, or Host; empty: none (1.0) */
	enum http_framing framing;
	uint64_t length;       /* with HTTP_LENGTH */
	bool is_persistent;    /* the client allows another request on this connection */
	bool expects_continue; /* Expect: 100-continue, HTTP/1.1, and a body to come */
};

/*
 * Look for the end of a head in `bytes`, which start at a request line (leading CRLFs are
 * counted in, at most one). `*scanned` remembers between calls how far was looked; start it at 0.
 *   0 and *out_len    the head is the first *out_len bytes, its empty line included
 *   HTTP_MORE         no end yet
 *   HTTP_REFUSED      over a limit, or it can never become a head (bare LF, NUL, …)
 */
int http_head_end(struct str bytes, const struct http_limits *limits, size_t *scanned,
		  size_t *out_len, struct http_refusal *out_refusal);

/*
 * Read a whole head (as http_head_end() found it). The request's strings point into `head`,
 * its field array lives in `mem`. 0, HTTP_REFUSED, FAIL_MEMORY. What is accepted is told at
 * the top of head_read.c (lines), target.c (targets, hosts) and head_rules.c (fields).
 */
int http_request_read(struct str head, const struct http_limits *limits, struct arena *mem,
		      struct http_request *out_request, struct http_refusal *out_refusal);

/* A body as it comes in pieces. */
struct http_body {
	enum http_framing framing;
	uint64_t left;		/* bytes of the body, or of this chunk, still to come */
	uint64_t seen;		/* data bytes given out so far */
	int stage;		/* the reader's own */
	size_t line_bytes;	/* of the chunk-size line, so far */
	size_t extension_bytes; /* of all chunk extensions so far */
	size_t trailer_bytes;	/* of all trailer lines so far */
};
void http_body_init(struct http_body *body, enum http_framing framing, uint64_t length);

/*
 * Take what `bytes` hold of the body: *out_used bytes were read; *out_data (inside them,
 * maybe empty) is the next piece. Call again with the rest until it is done.
 *   0              go on (with the rest, or with more bytes when all were used)
 *   HTTP_BODY_END  the body is complete; nothing after *out_used belongs to it. *out_data may
 *                  still hold a last piece
 *   HTTP_REFUSED   malformed chunking; trailers over their limit
 * Trailers are read and dropped. On a refusal nothing is given out.
 */
enum { HTTP_BODY_END = 3 };
int http_body_read(struct http_body *body, struct str bytes, size_t *out_used, struct str *out_data,
		   struct http_refusal *out_refusal);

/* Fields. */
const struct http_field *http_field_find(const struct http_field *fields, size_t count,
					 struct str name); /* the first; NULL */
size_t http_field_count(const struct http_field *fields, size_t count, struct str name);

/* Have the comma-separated lists in the fields called `name` a `member` (without case)? */
bool http_field_lists(const struct http_field *fields, size_t count, struct str name,
		      struct str member);

/*
 * Must `name` not be passed on? Connection, Keep-Alive, Proxy-Connection, TE, Trailer,
 * Transfer-Encoding, Upgrade, Proxy-Authenticate, Proxy-Authorization, and every field that
 * Connection names (RFC 9110 § 7.6.1); and Content-Length, which the sender writes anew.
 * The reader has refused a request whose Connection names Host, Content-Length,
 * Transfer-Encoding, Authorization, Cookie, Content-Type, Content-Encoding or
 * Idempotency-Key: whoever could have those stripped on the way could make the service see
 * another request than the gate judged. Fields of other names are read first, then removed.
 */
bool http_is_hop_by_hop(const struct http_field *fields, size_t count, struct str name);

/* Is it a field name, a field value that can be written without harm? */
bool http_is_token(struct str text);	   /* RFC 9110 § 5.6.2 */
bool http_is_field_value(struct str text); /* no CR, LF, NUL, no other control but TAB */

/* The standard reason for a status; "Status" for one that has none. */
const char *http_reason(int status);

/*
 * Writing. Each appends to `out`; a refusal of the buffer shows in out->is_spoiled. A field
 * whose name or value could not be written without harm spoils the buffer as well.
 */
void http_write_status(struct buf *out, int status); /* HTTP/1.1 200 OK\r\n; 100–999 */
void http_write_field(struct buf *out, struct str name, struct str value);
void http_write_field_u64(struct buf *out, struct str name, uint64_t value);
void http_write_head_end(struct buf *out); /* \r\n */
void http_write_chunk_start(struct buf *out,
			    size_t len);     /* size line of len > 0; data, CRLF follow */
void http_write_last_chunk(struct buf *out); /* 0\r\n\r\n */

/*
 * The response fields of `headers` ("Name: value\r\n" lines) one by one; false at the end.
 * Lines that are no field (a status line, an empty one, a malformed one) are passed over.
 */
bool http_next_line(struct str *headers, struct http_field *out_field);

/* The value of the first of them that has this name; empty when there is none. */
struct str http_line_value(struct str headers, struct str name);

/* A date (RFC 9110 § 5.6.7), as Unix time; a leap second is the one before it. False: it is none,
 * or of an obsolete form. */
bool http_date_read(struct str text, int64_t *out_unix_s);

/* Seconds wanted by the first `Prefer: wait=N` (RFC 7240), 0 when there is none or no number. */
uint32_t http_prefer_wait(const struct http_field *fields, size_t count);

#endif
