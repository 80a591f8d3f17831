/*
 * Fuzzing the canonical form of form bodies.
 *
 * Whatever is accepted has a canonical form that is accepted too and is its own, at most
 * three times as long.
 */
#include "base/err.h"
#include "core/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 16, CEILING = 1 << 26 };

/* Append the canonical form of `body`; false when it is refused. */
static bool canonical_of(struct str body, struct buf *out)
{
	struct fingerprint_error error = {""};
	struct arena mem;
	int r;

	arena_init(&mem, CEILING);
	r = form_canonical(body, &mem, out, &error);
	require(r == 0 || (r == FINGERPRINT_REFUSED && error.detail[0]));
	arena_fini(&mem);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct buf once, twice;

	if (size > INPUT_MAX)
		return 0;
	buf_init(&once, 3 * INPUT_MAX);
	buf_init(&twice, 3 * INPUT_MAX);
	if (canonical_of(str_of((const char *)bytes, size), &once)) {
		require(once.len <= 3 * size);
		require(canonical_of(buf_str(&once), &twice));
		require(str_equal(buf_str(&once), buf_str(&twice)));
	}
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}
