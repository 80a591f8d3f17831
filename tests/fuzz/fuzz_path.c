/*
 * Fuzzing the one spelling of a path.
 *
 * Whatever is accepted has a spelling that is accepted too and is its own, no longer than the
 * path it came from, without a control byte and without a segment of one or two dots.
 */
#include "base/err.h"
#include "core/fingerprint.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_normal(struct str path)
{
	struct str rest = path, segment;

	require(path.len && path.at[0] == '/');
	for (size_t i = 0; i < path.len; i++)
		require((unsigned char)path.at[i] > 0x20 && path.at[i] != 0x7f);
	while (str_split(&rest, '/', &segment))
		require(!str_equal(segment, STR(".")) && !str_equal(segment, STR("..")));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fingerprint_error error = {""};
	struct str normal, again;
	struct arena mem;
	int r;

	arena_init(&mem, 2 * size + 4096);
	r = path_normalise(str_of((const char *)bytes, size), &mem, &normal, &error);
	if (r == 0) {
		require(normal.len <= size);
		check_normal(normal);
		require(path_normalise(normal, &mem, &again, &error) == 0);
		require(str_equal(normal, again));
	} else {
		require(r == FINGERPRINT_REFUSED && error.detail[0]);
	}
	arena_fini(&mem);
	return 0;
}
