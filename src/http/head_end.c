/*
 * Where a head ends.
 *
 * Bytes come as the network cuts them. This looks at each byte once, by memchr, and says
 * where the empty line is, without reading what the lines say: that is head_read.c, on a
 * whole head. Only what can never become a head is refused here, so that a peer that speaks
 * something else (TLS, binary, endless lines) is told at once and not after a time-out.
 *
 * Always true: the same bytes get the same verdict however they were cut. Each limit is
 * therefore a position in the bytes, never a matter of how many have come.
 */
#include "base/err.h"
#include "http/reader.h"

const struct http_limits http_limits_default = {
	.head_bytes = (size_t)32 * 1024,
	.target_bytes = (size_t)8 * 1024,
	.fields = 100,
};

static int check_start(struct str bytes, struct http_refusal *out_refusal);
static bool is_request_line_over(struct str bytes, size_t end, size_t limit);
static size_t request_line_limit(struct str bytes, const struct http_limits *limits);
static bool is_line_end(struct str bytes, size_t feed);
static bool is_empty_line(struct str bytes, size_t feed);

int http_head_end(struct str bytes, const struct http_limits *limits, size_t *scanned,
		  size_t *out_len, struct http_refusal *out_refusal)
{
	size_t end = bytes.len < limits->head_bytes ? bytes.len : limits->head_bytes;
	size_t limit = request_line_limit(bytes, limits);
	bool is_over = is_request_line_over(bytes, end, limit);

	require(*scanned <= bytes.len);
	if (check_start(bytes, out_refusal) != 0)
		return HTTP_REFUSED;
	if (is_over)
		end = limit;
	while (*scanned < end) {
		const char *from = bytes.at + *scanned;
		const char *feed = memchr(from, '\n', end - *scanned);
		size_t len = feed ? (size_t)(feed - from) + 1 : end - *scanned;

		if (memchr(from, '\0', len))
			return http_refuse(out_refusal, 400, "The head has a NUL byte.");
		*scanned += len;
		if (!feed)
			break;
		if (!is_line_end(bytes, *scanned - 1))
			return http_refuse(out_refusal, 400,
					   "A line ends with LF alone; it must end with CRLF.");
		if (is_empty_line(bytes, *scanned - 1)) {
			*out_len = *scanned;
			return 0;
		}
	}
	if (is_over)
		return http_refuse(out_refusal, 414, "The request target is too long.");
	if (bytes.len >= limits->head_bytes)
		return http_refuse(out_refusal, 431, "The request head is too large.");
	return HTTP_MORE;
}

/* A head starts with a method; one CRLF before it is forgiven (RFC 9112 § 2.2). */
static int check_start(struct str bytes, struct http_refusal *out_refusal)
{
	size_t start = 0;

	if (bytes.len > 0 && bytes.at[0] == '\r') {
		if (bytes.len > 1 && bytes.at[1] != '\n')
			return http_refuse(out_refusal, 400, "The head starts with a bare CR.");
		start = 2;
	}
	if (start < bytes.len && !http_is_in(bytes.at[start], CLASS_TOKEN))
		return http_refuse(out_refusal, 400,
				   "This is no HTTP/1.1 request; it must start with a method.");
	return 0;
}

/*
 * No request line whose target and method keep their limits goes on after this position.
 * A head limit that is smaller takes its place.
 */
static size_t request_line_limit(struct str bytes, const struct http_limits *limits)
{
	size_t start = bytes.len > 0 && bytes.at[0] == '\r' ? 2 : 0;
	size_t around = start + HTTP_METHOD_MAX + sizeof("  HTTP/1.1\r\n") - 1;

	if (limits->target_bytes > limits->head_bytes ||
	    around + limits->target_bytes > limits->head_bytes)
		return limits->head_bytes;
	return around + limits->target_bytes;
}

static bool is_request_line_over(struct str bytes, size_t end, size_t limit)
{
	size_t start = bytes.len > 0 && bytes.at[0] == '\r' ? 2 : 0;

	return end >= limit && start < limit && !memchr(bytes.at + start, '\n', limit - start);
}

static bool is_line_end(struct str bytes, size_t feed)
{
	return feed > 0 && bytes.at[feed - 1] == '\r';
}

/* The one leading CRLF (feed == 1) is not the empty line that ends a head. */
static bool is_empty_line(struct str bytes, size_t feed)
{
	return feed > 2 && bytes.at[feed - 2] == '\n';
}
