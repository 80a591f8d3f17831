/* What the tests of this folder share: a text in, a tree or its canonical text out. */
#ifndef TESTS_UNIT_JSON_JSON_TEST_H
#define TESTS_UNIT_JSON_JSON_TEST_H

#include "base/err.h"
#include "json/json.h"

#undef fail /* cmocka has its own */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* One text, read: what came of it, until given back by parsed_fini(). */
struct parsed {
	int result;
	struct json_value *value; /* NULL unless result is 0 */
	struct json_error error;
	struct arena mem;
};

static inline void parsed_init(struct parsed *parsed, struct str text)
{
	*parsed = (struct parsed){0};
	arena_init(&parsed->mem, 256 * 1024 * 1024);
	parsed->result =
		json_read(text, &json_limits_default, &parsed->mem, &parsed->value, &parsed->error);
}

static inline void parsed_fini(struct parsed *parsed)
{
	arena_fini(&parsed->mem);
}

static inline int result_of(struct str text)
{
	struct parsed parsed;

	parsed_init(&parsed, text);
	parsed_fini(&parsed);
	return parsed.result;
}

/* Assert that `text` is read and its canonical text is `wanted`. */
static inline void assert_canonical(struct str text, struct str wanted)
{
	struct parsed parsed;
	struct buf out;

	buf_init(&out, 16 * 1024 * 1024);
	parsed_init(&parsed, text);
	if (parsed.result != 0)
		print_error("%.*s: %s\n", STR_ARG(text), parsed.error.detail);
	assert_int_equal(parsed.result, 0);
	assert_int_equal(json_canonical(parsed.value, &parsed.mem, &out), 0);
	if (!str_equal(buf_str(&out), wanted))
		print_error("wanted %.*s, got %.*s\n", STR_ARG(wanted), STR_ARG(buf_str(&out)));
	assert_true(str_equal(buf_str(&out), wanted));
	parsed_fini(&parsed);
	buf_fini(&out);
}

#endif
