/*
 * Fuzzing instants.
 *
 * Whatever is accepted comes to a spelling that is its own: 20 characters, or 22 to 30 with a
 * fraction that ends in no zero.
 */
#include "base/err.h"
#include "core/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str instant, again;
	struct arena mem;
	int r;

	arena_init(&mem, 4096);
	r = timestamp_read(str_of((const char *)bytes, size), &mem, &instant);
	if (r == 0) {
		require(instant.len == 20 || (instant.len >= 22 && instant.len <= 30));
		require(instant.at[instant.len - 1] == 'Z');
		require(instant.len == 20 || instant.at[instant.len - 2] != '0');
		require(timestamp_read(instant, &mem, &again) == 0);
		require(str_equal(instant, again));
	} else {
		require(r == TIMESTAMP_MALFORMED);
	}
	arena_fini(&mem);
	return 0;
}
