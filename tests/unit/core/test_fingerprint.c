/*
 * A fingerprint changes with every part of a request and with nothing else, and is the hash
 * that its description says: three values were computed by another program from that text.
 */
#include "base/err.h"
#undef fail /* cmocka has one too */
#include "core/fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct str two_headers[] = {
	{"X-B", 3},
	{"1", 1},
	{"Accept", 6},
	{" a ", 3},
};

static struct fingerprint_request example(void)
{
	return (struct fingerprint_request){
		.account = STR("acme"),
		.method = STR("POST"),
		.path = STR("/v1/%7Eu"),
		.query = STR("x=1"),
		.has_query = true,
		.content_type = STR("application/json; charset=utf-8"),
		.body = STR("{\"b\": [true], \"a\": 1.0}"),
		.headers = two_headers,
		.header_count = 2,
		.max_body = 1 << 20,
	};
}

static int result_of(const struct fingerprint_request *request, struct hash *out_hash,
		     struct fingerprint_error *out_error)
{
	struct arena mem;
	int r;

	arena_init(&mem, 1 << 20);
	out_error->detail[0] = '\0';
	r = fingerprint_of(request, &mem, out_hash, NULL, out_error);
	arena_fini(&mem);
	return r;
}

static struct hash hash_of(const struct fingerprint_request *request)
{
	struct fingerprint_error error;
	struct hash hash;

	if (result_of(request, &hash, &error) != 0)
		fail_msg("refused: %s", error.detail);
	return hash;
}

static void check_hash(const struct fingerprint_request *request, const char *expected)
{
	struct hash hash = hash_of(request);
	char text[2 * HASH_SIZE + 1] = "";

	hex_write(hash.bytes, HASH_SIZE, text);
	assert_string_equal(text, expected);
}

static void check_equal(const struct fingerprint_request *a, const struct fingerprint_request *b,
			bool is_same)
{
	struct hash left = hash_of(a), right = hash_of(b);

	assert_int_equal(hash_equal(&left, &right), is_same);
}

static void check_result(const struct fingerprint_request *request, int expected, const char *word)
{
	struct fingerprint_error error;
	struct hash hash;

	assert_int_equal(result_of(request, &hash, &error), expected);
	if (!strstr(error.detail, word))
		fail_msg("no \"%s\" in: %s", word, error.detail);
}

static void test_known_values(void **state)
{
	struct fingerprint_request request = example();

	check_hash(&request, "9de426ea9e5110b4e03181431edb5c9d97258efa7081fb690f5cb7e3f6a6d116");
	request = (struct fingerprint_request){.method = STR("DELETE"), .path = STR("/")};
	check_hash(&request, "0a68182bf65931d980ce1a3d089825cdcfc46947ff80d6645d082eca75ab48ef");
	request = (struct fingerprint_request){
		.account = STR("acme"),
		.method = STR("POST"),
		.path = STR("/v1/f"),
		.has_query = true,
		.content_type = STR("Text/Plain"),
		.body = STR("abc"),
		.max_body = 3,
	};
	check_hash(&request, "8d7554e7e2367f42fd3b748d78762f80a6315dbb8c3dda1939dab4385eab7dbd");
}

static void test_every_part_counts(void **state)
{
	static const struct str other_value[] = {{"X-B", 3}, {"2", 1}, {"Accept", 6}, {"a", 1}};
	static const struct str other_name[] = {{"X-C", 3}, {"1", 1}, {"Accept", 6}, {"a", 1}};
	struct fingerprint_request requests[12];
	size_t count = sizeof(requests) / sizeof(requests[0]);

	for (size_t i = 0; i < count; i++)
		requests[i] = example();
	requests[1].account = STR("acm");
	requests[2].method = STR("PUT");
	requests[3].path = STR("/v1/u");
	requests[4].query = STR("x=2");
	requests[5].query = STR("");
	requests[6].has_query = false;
	requests[7].content_type = STR("application/x+json");
	requests[8].header_count = 1;
	requests[9].headers = other_value;
	requests[10].headers = other_name;
	requests[11].body = STR("");
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++)
			check_equal(&requests[i], &requests[j], false);
	}
}

static void test_parts_do_not_run_together(void **state)
{
	static const struct str one[] = {{"a", 1}, {"bc", 2}}, two[] = {{"ab", 2}, {"c", 1}};
	struct fingerprint_request a = example(), b = example();

	a.account = STR("ab");
	a.method = STR("c");
	b.account = STR("a");
	b.method = STR("bc");
	check_equal(&a, &b, false);
	a = b = example();
	a.headers = one;
	b.headers = two;
	a.header_count = b.header_count = 1;
	check_equal(&a, &b, false);
	a = b = example();
	a.path = STR("/a");
	a.query = STR("?");
	b.path = STR("/a");
	b.query = STR("");
	check_equal(&a, &b, false);
}

static void test_order_of_headers(void **state)
{
	static const struct str swapped[] = {{"ACCEPT", 6}, {"a", 1}, {"x-b", 3}, {"\t1", 2}};
	static const struct str twice[] = {{"A", 1}, {"1", 1}, {"a", 1}, {"2", 1}};
	static const struct str turned[] = {{"A", 1}, {"2", 1}, {"a", 1}, {"1", 1}};
	struct fingerprint_request a = example(), b = example();

	b.headers = swapped;
	check_equal(&a, &b, true);
	a.headers = twice;
	b.headers = turned; /* lines of one name: their order is their value */
	check_equal(&a, &b, false);
}

static void test_number_of_headers_is_bounded(void **state)
{
	struct str headers[2 * (FINGERPRINT_HEADERS_MAX + 1)];
	struct fingerprint_request request = example();

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		headers[i] = STR("a");
	request.headers = headers;
	request.header_count = FINGERPRINT_HEADERS_MAX;
	check_result(&request, 0, "");
	request.header_count++;
	check_result(&request, FINGERPRINT_REFUSED, "more than 64");
}

static void test_empty_bodies(void **state)
{
	static const char *const types[] = {
		"", "application/json", "application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x", "application/octet-stream"};
	struct fingerprint_request a = example(), b = example();

	a.body = b.body = str_of(NULL, 0);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		a.content_type = str_from(types[i]);
		for (size_t j = 0; j < i; j++) {
			b.content_type = str_from(types[j]);
			check_equal(&a, &b, false);
		}
	}
	a.content_type = STR("application/json");
	a.body = STR(" ");
	check_result(&a, FINGERPRINT_REFUSED, "JSON body");
}

static void test_a_body_is_of_its_type(void **state)
{
	static const char *const types[] = {"", "application/json", "application/x+json",
					    "application/x-www-form-urlencoded", "text/plain"};
	struct fingerprint_request a = example(), b = example();

	a.body = b.body = STR("1");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		a.content_type = str_from(types[i]);
		for (size_t j = 0; j < i; j++) {
			b.content_type = str_from(types[j]);
			check_equal(&a, &b, false);
		}
	}
}

static void test_refusals(void **state)
{
	struct fingerprint_request request = example();

	request.path = STR("/a/../b");
	check_result(&request, FINGERPRINT_REFUSED, "path");
	request = example();
	request.content_type = STR("json");
	check_result(&request, FINGERPRINT_REFUSED, "Content-Type");
	request = example();
	request.body = STR("{\"a\":1,\n\"a\":2}");
	check_result(&request, FINGERPRINT_REFUSED, "line 2");
	request = example();
	request.content_type = STR("application/x-www-form-urlencoded");
	request.body = STR("a=1&a=2");
	check_result(&request, FINGERPRINT_REFUSED, "\"a\" twice");
	request = example();
	request.content_encoding = STR("gzip");
	check_result(&request, FINGERPRINT_REFUSED, "compressed");
	request.content_encoding = STR("br");
	check_result(&request, FINGERPRINT_CODING, "Content-Encoding");
	request = example();
	request.max_body = request.body.len;
	check_result(&request, 0, "");
	request.max_body = request.body.len - 1;
	check_result(&request, FINGERPRINT_TOO_LARGE, "larger than");
}

/* Every ceiling that is too low is a failure, never a crash and never another hash. */
/* The tree handed out for a compressed body is whole after everything else has gone. */
static void test_a_decoded_body_is_kept(void **state)
{
	static const char packed[] = "\x78\x01\x01\x09\x00\xf6\xff"
				     "{\"k\":\"v\"}"
				     "\x0c\xf2\x02\x9c";
	struct fingerprint_request request = example();
	struct fingerprint_command command = {0};
	const struct json_value *member;
	struct fingerprint_error error;
	struct arena mem;
	struct hash hash;

	arena_init(&mem, 1 << 20);
	request.content_type = STR("application/json");
	request.content_encoding = STR("deflate");
	request.body = str_of(packed, sizeof(packed) - 1);
	assert_int_equal(fingerprint_of(&request, &mem, &hash, &command, &error), 0);
	assert_non_null(command.body);
	member = json_member(command.body, STR("k"));
	assert_non_null(member);
	assert_true(str_equal(member->string, STR("v")));
	assert_null(command.command); /* no fields are declared */
	arena_fini(&mem);
}

static void test_command_and_path_are_told(void **state)
{
	struct action_field field = {.name = STR("b"), .type = FIELD_ANY};
	struct action action = {
		.name = STR("things.create"),
		.fields = &field,
		.field_count = 1,
		.has_fields = true,
		.keeps_unknown = true,
		.token_pointer = STR("/a"),
	};
	struct fingerprint_request request = example();
	struct fingerprint_command command = {0};
	struct fingerprint_error error;
	struct arena mem;
	struct hash hash;

	arena_init(&mem, 1 << 20);
	request.action = &action;
	request.body = STR("{\"b\": [true], \"a\": \"token\"}");
	assert_int_equal(fingerprint_of(&request, &mem, &hash, &command, &error), 0);
	assert_true(str_equal(command.path, STR("/v1/~u")));
	assert_non_null(command.command);
	assert_non_null(json_member(command.command, STR("b")));
	assert_null(json_member(command.command, STR("a")));
	arena_fini(&mem);
}

static void test_memory_runs_out(void **state)
{
	struct fingerprint_request request = example();
	struct hash expected = hash_of(&request);
	int failures = 0, r = FAIL_MEMORY;

	for (size_t ceiling = 0; r != 0; ceiling += 16) {
		struct fingerprint_error error;
		struct arena mem;
		struct hash hash;

		assert_true(ceiling < 65536);
		arena_init(&mem, ceiling);
		r = fingerprint_of(&request, &mem, &hash, NULL, &error);
		if (r == 0)
			assert_true(hash_equal(&hash, &expected));
		else
			assert_int_equal(r, FAIL_MEMORY);
		failures += r != 0;
		arena_fini(&mem);
	}
	assert_true(failures > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_every_part_counts),
		cmocka_unit_test(test_parts_do_not_run_together),
		cmocka_unit_test(test_order_of_headers),
		cmocka_unit_test(test_number_of_headers_is_bounded),
		cmocka_unit_test(test_empty_bodies),
		cmocka_unit_test(test_a_body_is_of_its_type),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_a_decoded_body_is_kept),
		cmocka_unit_test(test_command_and_path_are_told),
		cmocka_unit_test(test_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
