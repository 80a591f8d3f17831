/* What the tests of this folder share: a request read from its text, a JSON text read back. */
#ifndef TESTS_UNIT_GATE_GATE_TEST_H
#define TESTS_UNIT_GATE_GATE_TEST_H

#include "base/err.h"
#include "net/server.h"
#include "json/json.h"

#undef fail /* cmocka has its own */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define assert_text(text, expected)                                                                \
	do {                                                                                       \
		struct str text_got = (text), text_wanted = (expected);                            \
                                                                                                   \
		if (!str_equal(text_got, text_wanted))                                             \
			print_error("wanted %.*s, got %.*s\n", STR_ARG(text_wanted),               \
				    STR_ARG(text_got));                                            \
		assert_true(str_equal(text_got, text_wanted));                                     \
	} while (0)

/* An exchange with this head (its lines, without the last empty one), from 192.0.2.7. */
static inline void exchange_from(struct exchange *exchange, const char *head)
{
	struct http_refusal refusal = {0};
	struct str text;
	int r;

	*exchange = (struct exchange){.peer = "192.0.2.7"};
	arena_init(&exchange->mem, 1024 * 1024);
	text = arena_printf(&exchange->mem, "%s\r\n", head);
	r = http_request_read(text, &http_limits_default, &exchange->mem, &exchange->request,
			      &refusal);
	if (r != 0)
		print_error("%s: %s\n", head, refusal.detail);
	assert_int_equal(r, 0);
}

static inline void exchange_done(struct exchange *exchange)
{
	arena_fini(&exchange->mem);
}

static inline struct json_value *json_from(struct str text, struct arena *mem)
{
	struct json_value *value = NULL;
	struct json_error error = {0};
	int r = json_read(text, &json_limits_default, mem, &value, &error);

	if (r != 0)
		print_error("%s in: %.*s\n", error.detail, STR_ARG(text));
	assert_int_equal(r, 0);
	return value;
}

static inline void assert_member(struct json_value *value, const char *pointer,
				 const char *expected)
{
	const struct json_value *member = json_at(value, str_from(pointer));

	if (!member)
		print_error("nothing at %s\n", pointer);
	assert_non_null(member);
	assert_int_equal(member->type, JSON_STRING);
	assert_text(member->string, str_from(expected));
}

static inline void assert_number(struct json_value *value, const char *pointer, int64_t expected)
{
	const struct json_value *member = json_at(value, str_from(pointer));
	int64_t number;

	assert_non_null(member);
	assert_int_equal(member->type, JSON_NUMBER);
	assert_true(json_number_to_i64(&member->number, &number));
	assert_int_equal(number, expected);
}

static inline void assert_type(struct json_value *value, const char *pointer, enum json_type type)
{
	const struct json_value *member = json_at(value, str_from(pointer));

	if (!member)
		print_error("nothing at %s\n", pointer);
	assert_non_null(member);
	assert_int_equal(member->type, type);
}

#endif
