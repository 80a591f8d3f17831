/*
 * Fuzzing references.
 *
 * Whatever is accepted has a spelling that is its own, without capital digits, of a length that
 * only whole digests and whole commit ids have; nothing short of one is taken.
 */
#include "base/err.h"
#include "core/reference.h"

enum { MEMORY_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The digits behind the last colon, or all of it. */
static struct str digits_of(struct str reference)
{
	size_t at = reference.len;

	while (at > 0 && reference.at[at - 1] != ':')
		at--;
	return str_from_index(reference, at);
}

static void check_digits(struct str digits)
{
	require(digits.len == 40 || digits.len == 64 || digits.len == 128);
	for (size_t i = 0; i < digits.len; i++)
		require((digits.at[i] >= '0' && digits.at[i] <= '9') ||
			(digits.at[i] >= 'a' && digits.at[i] <= 'f'));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str reference, again;
	struct arena mem;
	int r;

	arena_init(&mem, MEMORY_MAX);
	r = reference_read(str_of((const char *)bytes, size), &mem, &reference);
	if (r == 0) {
		check_digits(digits_of(reference));
		require(reference_read(reference, &mem, &again) == 0);
		require(str_equal(reference, again));
	} else {
		require(r == REFERENCE_MUTABLE || r == REFERENCE_MALFORMED || r == FAIL_MEMORY);
	}
	arena_fini(&mem);
	return 0;
}
