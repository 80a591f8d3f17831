/*
 * The request pairs of tests/vectors/fingerprint.json (its path is the argument) are the
 * same, differ or are refused as each of them says.
 */
#include "core/fingerprint.h"
#include "json/json.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FILE_MAX = 4 << 20, MEMORY_MAX = 64 << 20 };

struct vectors {
	const char *file_name;
	struct arena mem;
	struct json_value *requests;
};

static struct str text_at(const struct json_value *value, struct str pointer)
{
	const struct json_value *found = json_at(value, pointer);

	return found && found->type == JSON_STRING ? found->string : str_of(NULL, 0);
}

static struct str body_of(const struct json_value *side, struct arena *mem)
{
	struct str body = text_at(side, STR("/body")), coded = text_at(side, STR("/body_base64"));
	unsigned char *decoded;
	size_t len;

	if (!coded.at)
		return body;
	decoded = arena_alloc(mem, coded.len + 1);
	assert_non_null(decoded);
	assert_int_equal(sodium_base642bin(decoded, coded.len + 1, coded.at, coded.len, NULL, &len,
					   NULL, sodium_base64_VARIANT_ORIGINAL),
			 0);
	return str_of((const char *)decoded, len);
}

static int fingerprint_side(const struct json_value *side, struct arena *mem, struct hash *out_hash)
{
	struct str target = text_at(side, STR("/path"));
	size_t mark = str_find(target, '?');
	struct fingerprint_request request = {
		.account = STR("acme"),
		.method = text_at(side, STR("/method")),
		.path = {target.at, mark},
		.query = str_from_index(target, mark + 1),
		.has_query = mark < target.len,
		.content_type = text_at(side, STR("/headers/Content-Type")),
		.content_encoding = text_at(side, STR("/headers/Content-Encoding")),
		.body = body_of(side, mem),
		.max_body = 1 << 20,
	};
	struct fingerprint_error error = {""};
	int r = fingerprint_of(&request, mem, out_hash, NULL, &error);

	assert_in_range(r, 0, FINGERPRINT_CODING);
	if (r != 0)
		assert_true(error.detail[0] != '\0');
	return r;
}

static const char *verdict_of(struct json_value *pair, struct arena *mem)
{
	struct hash a, b;
	int ra = fingerprint_side(json_at(pair, STR("/a")), mem, &a);
	int rb = fingerprint_side(json_at(pair, STR("/b")), mem, &b);

	if (ra != 0 || rb != 0)
		return ra == 0 ? "refuse_b" : rb == 0 ? "refuse_a" : "refuse_both";
	return hash_equal(&a, &b) ? "same" : "differ";
}

static void test_every_pair(void **state)
{
	struct vectors *vectors = *state;

	assert_true(vectors->requests->array.count >= 40);
	for (size_t i = 0; i < vectors->requests->array.count; i++) {
		struct json_value *pair = vectors->requests->array.items[i];
		struct str want = text_at(pair, STR("/want"));
		const char *got = verdict_of(pair, &vectors->mem);

		if (!str_equal(want, str_from(got)))
			fail_msg("%.*s: want %.*s, got %s", STR_ARG(text_at(pair, STR("/name"))),
				 STR_ARG(want), got);
	}
}

static int read_vectors(void **state)
{
	struct vectors *vectors = *state;
	struct json_error error;
	struct json_value *whole;
	char *text;
	FILE *file;
	size_t len;

	arena_init(&vectors->mem, MEMORY_MAX);
	text = arena_alloc(&vectors->mem, FILE_MAX);
	file = fopen(vectors->file_name, "rb");
	assert_non_null(file);
	assert_non_null(text);
	len = fread(text, 1, FILE_MAX, file);
	fclose(file);
	if (json_read(str_of(text, len), &json_limits_default, &vectors->mem, &whole, &error) != 0)
		fail_msg("%s:%zu:%zu: %s", vectors->file_name, error.line, error.column,
			 error.detail);
	vectors->requests = json_member(whole, STR("requests"));
	assert_non_null(vectors->requests);
	assert_int_equal(vectors->requests->type, JSON_ARRAY);
	return 0;
}

static int forget_vectors(void **state)
{
	struct vectors *vectors = *state;

	arena_fini(&vectors->mem);
	return 0;
}

int main(int argc, char **argv)
{
	struct vectors vectors = {.file_name = argc == 2 ? argv[1] : "fingerprint.json"};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate_setup_teardown(test_every_pair, read_vectors,
							 forget_vectors, &vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
