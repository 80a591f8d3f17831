/*
 * Fuzzing what a token endpoint answers.
 *
 * Whatever is taken can stand in a header and lives for a bounded time; what is not has a reason.
 * An error code that is shown is one word.
 */
#include "core/access_token.h"

#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { CEILING = 33 * ACCESS_TOKEN_ANSWER_MAX };

static void require_word(struct str text, size_t max)
{
	require(text.len <= max);
	for (size_t i = 0; i < text.len; i++)
		require(text.at[i] > 0x20 && text.at[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size);
	struct access_token token = {0};
	const char *why = NULL;
	struct arena mem;
	int r;

	if (size > ACCESS_TOKEN_ANSWER_MAX)
		return 0;
	arena_init(&mem, CEILING);
	r = access_token_read(text, &mem, &token, &why);
	if (r == 0) {
		require(token.text.len > 0);
		require_word(token.text, ACCESS_TOKEN_MAX);
		require(token.life_s >= 0 && token.life_s <= ACCESS_TOKEN_LIFE_MAX_S);
	} else {
		require(r == ACCESS_TOKEN_MALFORMED && why && *why);
	}
	require_word(access_token_error(text, &mem), 64);
	arena_fini(&mem);
	return 0;
}
