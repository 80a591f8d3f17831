/*
 * Fuzzing the token reader.
 *
 * Whatever is accepted is 1 to 255 visible characters, and the same token again when it is
 * written as a quoted string. Whatever is refused has a sentence.
 */
#include "base/err.h"
#include "core/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Write `token` as a structured-field string; the length of it. */
static size_t quote(struct str token, char out[2 * TOKEN_MAX + 2])
{
	size_t len = 0;

	out[len++] = '"';
	for (size_t i = 0; i < token.len; i++) {
		if (token.at[i] == '"' || token.at[i] == '\\')
			out[len++] = '\\';
		out[len++] = token.at[i];
	}
	out[len++] = '"';
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char quoted[2 * TOKEN_MAX + 2];
	const char *detail = NULL;
	struct str token, again;
	struct arena mem;
	int r;

	arena_init(&mem, 2 * size + 4096);
	r = token_read(str_of((const char *)bytes, size), &mem, &token, &detail);
	if (r == 0) {
		require(token.len >= 1 && token.len <= TOKEN_MAX);
		for (size_t i = 0; i < token.len; i++)
			require(token.at[i] > 0x20 && token.at[i] < 0x7f);
		require(token_read(str_of(quoted, quote(token, quoted)), &mem, &again, &detail) ==
			0);
		require(str_equal(token, again));
	} else {
		require(r == TOKEN_MALFORMED && detail && detail[0]);
	}
	arena_fini(&mem);
	return 0;
}
