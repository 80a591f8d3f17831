/*
 * Fuzzing the reader of cookies.
 *
 * What is found lies inside the field, is made of characters that a cookie may have, and stays the
 * only one: with another of its name behind it, it is refused. Of what is left without it nothing
 * is found.
 */
#include "auth/cookie.h"
#include "base/buf.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_the_others(struct str field)
{
	struct buf others;
	struct str value;

	buf_init(&others, field.len + 1);
	cookie_append_others(field, STR("sid"), &others);
	require(!others.is_spoiled && others.len <= field.len);
	require(cookie_find(buf_str(&others), STR("sid"), &value) == COOKIE_ABSENT);
	buf_fini(&others);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str field = str_of((const char *)bytes, size), value = {0}, again;
	struct buf twice;
	int r = cookie_find(field, STR("sid"), &value);

	require(r == 0 || r == COOKIE_ABSENT || r == COOKIE_TWICE);
	check_the_others(field);
	if (r != 0)
		return 0;
	require(value.at >= field.at && value.at + value.len <= field.at + field.len);
	for (size_t i = 0; i < value.len; i++)
		require(value.at[i] > 0x20 && value.at[i] < 0x7f && value.at[i] != ';');
	buf_init(&twice, 2 * size + 64);
	buf_append_str(&twice, field);
	buf_append_str(&twice, STR("; sid=1"));
	require(!twice.is_spoiled);
	require(cookie_find(buf_str(&twice), STR("sid"), &again) == COOKIE_TWICE);
	buf_fini(&twice);
	return 0;
}
