/*
 * A body, as it comes in pieces.
 *
 * With a length it is the next so many bytes. Chunked (RFC 9112 § 7.1) it is a row of
 * framed pieces, read by a small machine that keeps its place between calls:
 *
 *   SIZE ─CR→ SIZE_LF ─→ DATA ─→ DATA_CR ─→ DATA_LF ─→ SIZE …
 *    │;                   │ size 0
 *    EXTENSION…           └→ TRAILER ─CR→ END_LF ─→ DONE
 *
 * Strict where readers have disagreed: 1 to 16 hexadecimal digits and nothing else, no blanks
 * anywhere in the size line, CR and LF exactly where they belong, extensions only as
 * `;name`, `;name=token` or `;name="text"` and then ignored, trailers only as well-formed
 * fields and then dropped. Extensions and trailers are bounded: they are read at the
 * client's leisure and count against no body limit.
 *
 * Always true: a refused byte leaves the machine where it was. Data are handed out in
 * place; nothing is copied.
 */
#include "base/err.h"
#include "http/reader.h"

enum {
	CHUNK_DIGITS_MAX = 16,		  /* of 64 bits */
	CHUNK_LINE_MAX = 512,		  /* a size line with its extensions */
	CHUNK_EXTENSIONS_MAX = 64 * 1024, /* bytes of extensions in one body */
	TRAILERS_MAX = 8 * 1024,	  /* bytes of trailers */
};

enum stage {
	STAGE_SIZE, /* the size line */
	STAGE_EXTENSION_START,
	STAGE_EXTENSION_NAME,
	STAGE_EXTENSION_EQUALS,
	STAGE_EXTENSION_VALUE,
	STAGE_EXTENSION_QUOTED,
	STAGE_EXTENSION_ESCAPED,
	STAGE_EXTENSION_UNQUOTED,
	STAGE_SIZE_LF,
	STAGE_DATA,
	STAGE_DATA_CR,
	STAGE_DATA_LF,
	STAGE_TRAILER, /* at the start of a trailer line, or of the last, empty one */
	STAGE_TRAILER_NAME,
	STAGE_TRAILER_VALUE,
	STAGE_TRAILER_LF,
	STAGE_END_LF,
	STAGE_DONE,
};
/* What a step answers for a byte that has no place there. */
enum { STAGE_NONE = -1 };

static int read_length(struct http_body *body, struct str bytes, size_t *out_used,
		       struct str *out_data);
static int read_chunked(struct http_body *body, struct str bytes, size_t *out_used,
			struct str *out_data, struct http_refusal *out_refusal);
static struct str take_data(struct http_body *body, struct str bytes);
static int take_byte(struct http_body *body, char c, struct http_refusal *out_refusal);
static int take_size_byte(struct http_body *body, char c, struct http_refusal *out_refusal);
static int take_extension_byte(struct http_body *body, char c, struct http_refusal *out_refusal);
static int take_data_end(struct http_body *body, char c, struct http_refusal *out_refusal);
static int take_trailer_byte(struct http_body *body, char c, struct http_refusal *out_refusal);
static int next_extension_stage(int stage, char c);
static int next_trailer_stage(int stage, char c);

void http_body_init(struct http_body *body, enum http_framing framing, uint64_t length)
{
	*body = (struct http_body){.framing = framing, .stage = STAGE_DONE};
	if (framing == HTTP_LENGTH)
		body->left = length;
	else if (framing == HTTP_CHUNKED)
		body->stage = STAGE_SIZE;
}

int http_body_read(struct http_body *body, struct str bytes, size_t *out_used, struct str *out_data,
		   struct http_refusal *out_refusal)
{
	if (body->framing == HTTP_CHUNKED)
		return read_chunked(body, bytes, out_used, out_data, out_refusal);
	return read_length(body, bytes, out_used, out_data);
}

/* No body is one of length 0. */
static int read_length(struct http_body *body, struct str bytes, size_t *out_used,
		       struct str *out_data)
{
	*out_data = take_data(body, bytes);
	*out_used = out_data->len;
	return body->left == 0 ? HTTP_BODY_END : 0;
}

static int read_chunked(struct http_body *body, struct str bytes, size_t *out_used,
			struct str *out_data, struct http_refusal *out_refusal)
{
	struct str piece = str_of(bytes.at, 0);
	size_t used = 0;

	while (used < bytes.len && body->stage != STAGE_DONE && piece.len == 0) {
		if (body->stage == STAGE_DATA) {
			piece = take_data(body, str_from_index(bytes, used));
			used += piece.len;
			if (body->left == 0)
				body->stage = STAGE_DATA_CR;
		} else {
			if (take_byte(body, bytes.at[used], out_refusal) != 0)
				return HTTP_REFUSED;
			used++;
		}
	}
	*out_used = used;
	*out_data = piece;
	return body->stage == STAGE_DONE ? HTTP_BODY_END : 0;
}

static struct str take_data(struct http_body *body, struct str bytes)
{
	size_t len = bytes.len < body->left ? bytes.len : (size_t)body->left;

	body->left -= len;
	body->seen += len;
	return str_of(bytes.at, len);
}

static int take_byte(struct http_body *body, char c, struct http_refusal *out_refusal)
{
	switch (body->stage) {
	case STAGE_SIZE:
	case STAGE_SIZE_LF:
		return take_size_byte(body, c, out_refusal);
	case STAGE_DATA_CR:
	case STAGE_DATA_LF:
		return take_data_end(body, c, out_refusal);
	default:
		if (body->stage < STAGE_SIZE_LF)
			return take_extension_byte(body, c, out_refusal);
		return take_trailer_byte(body, c, out_refusal);
	}
}

static int take_size_byte(struct http_body *body, char c, struct http_refusal *out_refusal)
{
	int digit = hex_digit(c);

	if (body->stage == STAGE_SIZE_LF) {
		if (c != '\n')
			return http_refuse(out_refusal, 400, "A chunk size must end with CRLF.");
		body->stage = body->left > 0 ? STAGE_DATA : STAGE_TRAILER;
		body->line_bytes = 0;
	} else if (digit >= 0) {
		if (body->line_bytes == CHUNK_DIGITS_MAX)
			return http_refuse(out_refusal, 400, "A chunk size is too large.");
		body->left = body->left << 4 | (uint64_t)digit;
		body->line_bytes++;
	} else {
		if (body->line_bytes == 0 || (c != '\r' && c != ';'))
			return http_refuse(out_refusal, 400,
					   "A chunk size must be hexadecimal digits alone.");
		body->stage = c == '\r' ? STAGE_SIZE_LF : STAGE_EXTENSION_START;
		body->line_bytes++;
	}
	return 0;
}

static int take_extension_byte(struct http_body *body, char c, struct http_refusal *out_refusal)
{
	int next = next_extension_stage(body->stage, c);

	if (next == STAGE_NONE)
		return http_refuse(out_refusal, 400,
				   "A chunk extension must be: ;name or ;name=value.");
	if (body->line_bytes == CHUNK_LINE_MAX || body->extension_bytes == CHUNK_EXTENSIONS_MAX)
		return http_refuse(out_refusal, 400, "The chunk extensions are too long.");
	body->line_bytes++;
	body->extension_bytes++;
	body->stage = next;
	return 0;
}

/* What may follow a complete extension. */
static int after_extension(char c)
{
	if (c == ';')
		return STAGE_EXTENSION_START;
	return c == '\r' ? STAGE_SIZE_LF : STAGE_NONE;
}

static int next_extension_stage(int stage, char c)
{
	bool is_token = http_is_in(c, CLASS_TOKEN);
	bool is_text = http_is_in(c, CLASS_VALUE);

	switch (stage) {
	case STAGE_EXTENSION_START:
		return is_token ? STAGE_EXTENSION_NAME : STAGE_NONE;
	case STAGE_EXTENSION_NAME:
		if (c == '=')
			return STAGE_EXTENSION_EQUALS;
		return is_token ? STAGE_EXTENSION_NAME : after_extension(c);
	case STAGE_EXTENSION_EQUALS:
		if (c == '"')
			return STAGE_EXTENSION_QUOTED;
		return is_token ? STAGE_EXTENSION_VALUE : STAGE_NONE;
	case STAGE_EXTENSION_VALUE:
		return is_token ? STAGE_EXTENSION_VALUE : after_extension(c);
	case STAGE_EXTENSION_QUOTED:
		if (c == '"')
			return STAGE_EXTENSION_UNQUOTED;
		if (c == '\\')
			return STAGE_EXTENSION_ESCAPED;
		return is_text ? STAGE_EXTENSION_QUOTED : STAGE_NONE;
	case STAGE_EXTENSION_ESCAPED:
		return is_text ? STAGE_EXTENSION_QUOTED : STAGE_NONE;
	case STAGE_EXTENSION_UNQUOTED:
		return after_extension(c);
	default:
		unreachable("not inside an extension");
	}
}

static int take_data_end(struct http_body *body, char c, struct http_refusal *out_refusal)
{
	if (c != (body->stage == STAGE_DATA_CR ? '\r' : '\n'))
		return http_refuse(out_refusal, 400,
				   "A chunk is longer than its size says; CRLF must follow.");
	body->stage = body->stage == STAGE_DATA_CR ? STAGE_DATA_LF : STAGE_SIZE;
	return 0;
}

static int take_trailer_byte(struct http_body *body, char c, struct http_refusal *out_refusal)
{
	int next = next_trailer_stage(body->stage, c);

	if (next == STAGE_NONE)
		return http_refuse(out_refusal, 400, "A trailer line is no field.");
	if (next < STAGE_END_LF) {
		if (body->trailer_bytes == TRAILERS_MAX)
			return http_refuse(out_refusal, 431, "The trailers are too large.");
		body->trailer_bytes++;
	}
	body->stage = next;
	return 0;
}

static int next_trailer_stage(int stage, char c)
{
	switch (stage) {
	case STAGE_TRAILER:
		if (c == '\r')
			return STAGE_END_LF;
		return http_is_in(c, CLASS_TOKEN) ? STAGE_TRAILER_NAME : STAGE_NONE;
	case STAGE_TRAILER_NAME:
		if (c == ':')
			return STAGE_TRAILER_VALUE;
		return http_is_in(c, CLASS_TOKEN) ? STAGE_TRAILER_NAME : STAGE_NONE;
	case STAGE_TRAILER_VALUE:
		if (c == '\r')
			return STAGE_TRAILER_LF;
		return http_is_in(c, CLASS_VALUE) ? STAGE_TRAILER_VALUE : STAGE_NONE;
	case STAGE_TRAILER_LF:
		return c == '\n' ? STAGE_TRAILER : STAGE_NONE;
	case STAGE_END_LF:
		return c == '\n' ? STAGE_DONE : STAGE_NONE;
	default:
		unreachable("not inside the trailers");
	}
}
