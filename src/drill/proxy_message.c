/*
 * Reading messages until they are whole.
 *
 * The proxy reads what the drill's own client writes, and what a server answers to a request that
 * ends its connection; so a length, chunks or the end of the connection say where a body ends
 * (RFC 9112 § 6.3), and nothing more has to be understood.
 *
 * Always true: no more than PROXY_MESSAGE_MAX bytes are kept. Can fail: the other side goes, is
 * silent for too long, or writes more.
 */
#include "drill/proxy_message.h"

#include "base/str.h"

#include <string.h>

enum { PIECE = 64 * 1024, STATUS_AT = 9, STATUS_DIGITS = 3 };

static const struct str head_end = {"\r\n\r\n", 4};

/* Where `part` begins in `text`, or text.len. */
static size_t find(struct str text, struct str part)
{
	const char *at = text.len ? memmem(text.at, text.len, part.at, part.len) : NULL;

	return at ? (size_t)(at - text.at) : text.len;
}

/* One more piece. 1; 0: it has ended; -1: broken off. */
static int read_piece(struct proxy_wire *wire, struct buf *out)
{
	char *at = buf_reserve(out, PIECE);
	ssize_t n = at ? proxy_wire_read(wire, at, PIECE) : -1;

	if (n > 0)
		buf_commit(out, (size_t)n);
	return n > 0 ? 1 : (int)n;
}

/* A head from `from` on, its empty line included. False: it never came. */
static bool read_head(struct proxy_wire *wire, struct buf *out, size_t from, size_t *out_end)
{
	struct str rest = str_from_index(buf_str(out), from);
	size_t at = find(rest, head_end);

	while (at == rest.len) {
		if (read_piece(wire, out) <= 0)
			return false;
		rest = str_from_index(buf_str(out), from);
		at = find(rest, head_end);
	}
	*out_end = from + at + head_end.len;
	return true;
}

/* The value of a header in a head; empty: there is none. */
static struct str header(struct str head, struct str name)
{
	struct str line;

	while (str_split(&head, '\n', &line))
		if (line.len > name.len && line.at[name.len] == ':' &&
		    str_equal_nocase(str_of(line.at, name.len), name)) {
			line = str_from_index(line, name.len + 1);
			line.len -= line.len && line.at[line.len - 1] == '\r';
			return str_trim(line);
		}
	return STR("");
}

static bool is_chunked(struct str head)
{
	return str_equal_nocase(header(head, STR("Transfer-Encoding")), STR("chunked"));
}

/* Have all chunks come? The last one is empty; trailers may follow it. */
static bool has_last_chunk(struct str body)
{
	while (body.len) {
		size_t line = find(body, STR("\r\n")), size = 0;

		if (line == body.len)
			return false;
		if (line == 0 || hex_digit(body.at[0]) < 0)
			return false;
		for (size_t i = 0; i < line && hex_digit(body.at[i]) >= 0; i++) {
			size = size * 16 + (size_t)hex_digit(body.at[i]);
			if (size > PROXY_MESSAGE_MAX)
				return false;
		}
		if (size == 0)
			return find(str_from_index(body, line), head_end) < body.len - line;
		body = str_from_index(body, line + 2 + size + 2);
	}
	return false;
}

/* Is the body that begins at `from` whole? */
static bool is_whole(struct str message, size_t from, struct str head, bool *out_has_end)
{
	struct str body = str_from_index(message, from);
	uint64_t length;

	*out_has_end = true;
	if (is_chunked(head))
		return has_last_chunk(body);
	if (str_to_u64(header(head, STR("Content-Length")), PROXY_MESSAGE_MAX, &length))
		return body.len >= length;
	*out_has_end = false;
	return false;
}

/* "Connection: close" behind the first line, and no Connection of the client's own. */
static void close_after(struct buf *out, struct str message)
{
	size_t first = find(message, STR("\r\n")) + 2, end = find(message, head_end) + 2;
	struct str lines = str_of(message.at + first, end - first), line;

	buf_append(out, message.at, first);
	buf_append_str(out, STR("Connection: close\r\n"));
	while (lines.len && str_split(&lines, '\n', &line))
		if (!str_starts_with_nocase(line, STR("Connection:"))) {
			buf_append_str(out, line);
			buf_append_byte(out, '\n');
		}
	buf_append_str(out, str_from_index(message, end));
}

bool proxy_read_request(struct proxy_wire *client, struct buf *out)
{
	struct buf bytes;
	size_t body = 0;
	bool has_end = true, is_fine;
	struct str head;

	buf_init(&bytes, PROXY_MESSAGE_MAX);
	is_fine = read_head(client, &bytes, 0, &body);
	head = str_of(bytes.at, body);
	while (is_fine && !is_whole(buf_str(&bytes), body, head, &has_end) && has_end) {
		is_fine = read_piece(client, &bytes) > 0;
		head = str_of(bytes.at, body);
	}
	if (is_fine)
		close_after(out, buf_str(&bytes));
	buf_fini(&bytes);
	return is_fine && !out->is_spoiled;
}

/* Of a head that begins at `from`: 100–999, or 0. */
static int status_of(struct str message, size_t from)
{
	struct str digits = str_of(str_from_index(message, from + STATUS_AT).at, STATUS_DIGITS);
	uint64_t status;

	if (message.len < from + STATUS_AT + STATUS_DIGITS || !str_to_u64(digits, 999, &status))
		return 0;
	return (int)status;
}

enum proxy_answer proxy_read_answer(struct proxy_wire *server, struct buf *out, int *out_status)
{
	size_t from = 0, body = 0;
	bool has_end = true;
	int got = 1;

	*out_status = 0;
	do { /* interim answers go along with the final one */
		from = body;
		if (!read_head(server, out, from, &body))
			return out->len ? PROXY_ANSWER_HALF : PROXY_ANSWER_NONE;
		*out_status = status_of(buf_str(out), from);
	} while (*out_status >= 100 && *out_status < 200);
	if (*out_status == 204 || *out_status == 304)
		return PROXY_ANSWER_WHOLE;
	for (;;) {
		struct str head = str_of(out->at + from, body - from);

		if (is_whole(buf_str(out), body, head, &has_end))
			return PROXY_ANSWER_WHOLE;
		got = read_piece(server, out);
		if (got <= 0) /* without a length the connection's end is the answer's */
			return got == 0 && !has_end ? PROXY_ANSWER_WHOLE : PROXY_ANSWER_HALF;
	}
}
