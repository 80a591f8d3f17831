/*
 * Fuzzing the JSON reader and its canonical form.
 *
 * Whatever is accepted has a canonical text; that text is accepted too, and is its own
 * canonical text. Whatever is refused says where, inside the text, and why.
 */
#include "base/err.h"
#include "json/json.h"

/*
 * A canonical text is at most 5.5 times its text (1e20 has 21 digits), and a tree at most 32
 * times: under these ceilings every input is read to its end.
 */
enum { INPUT_MAX = 1 << 20, OUT_MAX = 6 * INPUT_MAX, CEILING = 33 * OUT_MAX };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Read `text` and append its canonical form; false when it is refused. */
static bool canonical_of(struct str text, struct buf *out)
{
	struct json_error error = {0};
	struct json_value *value = NULL;
	struct arena mem;
	int r;

	arena_init(&mem, CEILING);
	r = json_read(text, &json_limits_default, &mem, &value, &error);
	if (r == 0) {
		r = json_canonical(value, &mem, out);
		require(r == 0);
	} else {
		require(r == JSON_REFUSED);
		require(error.line >= 1 && error.column >= 1);
		require(error.line <= text.len + 1 && error.column <= text.len + 1);
		require(memchr(error.detail, '\0', sizeof(error.detail)) != NULL);
		require(error.detail[0] != '\0');
	}
	arena_fini(&mem);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct buf once, twice;

	if (size > INPUT_MAX)
		return 0;
	buf_init(&once, OUT_MAX);
	buf_init(&twice, OUT_MAX);
	if (canonical_of(str_of((const char *)bytes, size), &once)) {
		require(canonical_of(buf_str(&once), &twice));
		require(str_equal(buf_str(&once), buf_str(&twice)));
	}
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}
