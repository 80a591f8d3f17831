/*
 * Content codings, by zlib.
 *
 * A compressed body can be a thousand times larger than it looks, so the output grows in
 * pieces and stops one byte over the limit. What comes behind the end of the compressed data
 * is refused, a second gzip member too: some readers go on with it, others stop.
 */
#include "core/coding.h"

#include "base/err.h"

#include <limits.h>
#include <stdio.h>
#include <zlib.h>

enum {
	PIECE = 16 * 1024,
	WINDOW_ZLIB = 15,
	WINDOW_GZIP = 15 + 16, /* zlib's way to ask for the gzip format alone */
};

static int window_of(struct str coding);
static int inflate_body(z_stream *stream, struct str body, size_t max, struct buf *room,
			struct fingerprint_error *out_error);
static int refuse_size(size_t max, struct fingerprint_error *out_error);

int coding_decode(struct str coding, struct str body, size_t max, struct buf *room,
		  struct str *out_body, struct fingerprint_error *out_error)
{
	z_stream stream = {0};
	int window = window_of(str_trim(coding));
	int r;

	if (window < 0) {
		snprintf(out_error->detail, sizeof(out_error->detail),
			 "The Content-Encoding is not known here; send the body as it is, or in "
			 "one coding, gzip or deflate.");
		return FINGERPRINT_CODING;
	}
	if (body.len > max)
		return refuse_size(max, out_error);
	if (window == 0 || body.len == 0) {
		*out_body = body;
		return 0;
	}
	if (inflateInit2(&stream, window) != Z_OK)
		return fail(FAIL_MEMORY);
	r = inflate_body(&stream, body, max, room, out_error);
	inflateEnd(&stream);
	if (r == 0)
		*out_body = buf_str(room);
	return r;
}

/* What zlib is told; 0: nothing to decode; -1: not known. */
static int window_of(struct str coding)
{
	if (coding.len == 0 || str_equal_nocase(coding, STR("identity")))
		return 0;
	if (str_equal_nocase(coding, STR("gzip")) || str_equal_nocase(coding, STR("x-gzip")))
		return WINDOW_GZIP;
	return str_equal_nocase(coding, STR("deflate")) ? WINDOW_ZLIB : -1;
}

static int refuse_size(size_t max, struct fingerprint_error *out_error)
{
	snprintf(out_error->detail, sizeof(out_error->detail),
		 "The body is larger than %zu bytes, the limit here.", max);
	return FINGERPRINT_TOO_LARGE;
}

static int refuse_end(int result, const z_stream *stream, struct fingerprint_error *out_error)
{
	if (result == Z_STREAM_END)
		return fingerprint_refuse(out_error,
					  "The compressed body goes on behind its end (%u bytes); "
					  "send one compressed piece.",
					  stream->avail_in);
	if (result == Z_OK || result == Z_BUF_ERROR)
		return fingerprint_refuse(out_error, "The compressed body is cut off.");
	return fingerprint_refuse(out_error,
				  "The compressed body is broken, or not in the coding that "
				  "Content-Encoding names.");
}

/* Each turn takes input or gives output, so the loop ends with the smaller of both bounds. */
static int inflate_body(z_stream *stream, struct str body, size_t max, struct buf *room,
			struct fingerprint_error *out_error)
{
	int result = Z_OK;

	if (body.len > UINT_MAX || max > SIZE_MAX - 1)
		return refuse_size(max, out_error);
	buf_init(room, max + 1);
	stream->next_in = (z_const Bytef *)body.at;
	stream->avail_in = (uInt)body.len;
	while (result == Z_OK) {
		size_t piece = max + 1 - room->len < PIECE ? max + 1 - room->len : PIECE;
		char *at = buf_reserve(room, piece);

		if (!at)
			return fail(FAIL_MEMORY);
		stream->next_out = (Bytef *)at;
		stream->avail_out = (uInt)piece;
		result = inflate(stream, Z_NO_FLUSH);
		buf_commit(room, piece - stream->avail_out);
		if (room->len > max)
			return refuse_size(max, out_error);
		if (result == Z_MEM_ERROR)
			return fail(FAIL_MEMORY);
	}
	if (result != Z_STREAM_END || stream->avail_in > 0)
		return refuse_end(result, stream, out_error);
	return 0;
}
