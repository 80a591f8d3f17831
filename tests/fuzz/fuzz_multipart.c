/*
 * Fuzzing the canonical form of multipart bodies.
 *
 * An input is a Content-Type, a line feed and the body. Of a body that is accepted, the same
 * one with a line break more or less at its end is the same, and one that is cut before the
 * end of its closing boundary is refused.
 */
#include "base/err.h"
#include "core/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 16, OUT_MAX = 1 << 24 };

/* Append the canonical form of `body`; false when it is refused. */
static bool canonical_of(struct str body, const struct media_type *media_type, struct buf *out)
{
	struct fingerprint_error error = {""};
	int r = multipart_canonical(body, media_type, out, &error);

	require(r == 0 || (r == FINGERPRINT_REFUSED && error.detail[0]));
	if (r == 0)
		require(out->len && out->at[out->len - 1] == 'e');
	return r == 0;
}

/* `body` was accepted, as `canonical`. */
static void check_its_end(struct str body, const struct media_type *media_type,
			  struct str canonical)
{
	struct buf other, longer;

	buf_init(&other, OUT_MAX);
	buf_init(&longer, INPUT_MAX + 2);
	if (body.at[body.len - 1] == '\n')
		body.len -= 2;
	(void)buf_append_str(&longer, body);
	(void)buf_append_str(&longer, STR("\r\n"));
	require(canonical_of(buf_str(&longer), media_type, &other));
	require(str_equal(buf_str(&other), canonical));
	buf_clear(&other);
	require(canonical_of(body, media_type, &other));
	require(str_equal(buf_str(&other), canonical));
	for (size_t cut = 1; cut <= 3; cut++) {
		buf_clear(&other);
		require(!canonical_of(str_of(body.at, body.len - cut), media_type, &other));
	}
	buf_fini(&other);
	buf_fini(&longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str input = str_of((const char *)bytes, size), body;
	size_t line = str_find(input, '\n');
	struct fingerprint_error error;
	struct media_type media_type;
	struct buf out;

	if (size > INPUT_MAX ||
	    media_type_read(str_of(input.at, line), "The Content-Type", &media_type, &error) != 0)
		return 0;
	body = str_from_index(input, line + 1);
	buf_init(&out, OUT_MAX);
	if (canonical_of(body, &media_type, &out))
		check_its_end(body, &media_type, buf_str(&out));
	buf_fini(&out);
	return 0;
}
