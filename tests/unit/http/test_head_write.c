/* Shows that what is written is exact to the byte, and that nothing can split an answer. */
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OUT_MAX = 1 << 16 };

static void assert_written(struct buf *out, struct str expected)
{
	assert_false(out->is_spoiled);
	if (!str_equal(buf_str(out), expected))
		fail_msg("wrote: %.*s", STR_ARG(buf_str(out)));
	buf_fini(out);
}

static void an_answer_is_exact(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, OUT_MAX);
	http_write_status(&out, 201);
	http_write_field(&out, STR("Content-Type"), STR("text/plain"));
	http_write_field(&out, STR("X-Empty"), STR(""));
	http_write_field_u64(&out, STR("Content-Length"), UINT64_MAX);
	http_write_head_end(&out);
	assert_written(&out, STR("HTTP/1.1 201 Created\r\n"
				 "Content-Type: text/plain\r\n"
				 "X-Empty: \r\n"
				 "Content-Length: 18446744073709551615\r\n"
				 "\r\n"));
}

static void chunks_are_exact(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, OUT_MAX);
	http_write_chunk_start(&out, 1);
	http_write_chunk_start(&out, 0x1f0);
	http_write_chunk_start(&out, SIZE_MAX);
	http_write_last_chunk(&out);
	assert_written(&out, STR("1\r\n1f0\r\nffffffffffffffff\r\n0\r\n\r\n"));
}

static void every_status_has_a_reason(void **state)
{
	(void)state;
	assert_string_equal(http_reason(200), "OK");
	assert_string_equal(http_reason(422), "Unprocessable Content");
	assert_string_equal(http_reason(505), "HTTP Version Not Supported");
	assert_string_equal(http_reason(299), "Status");
	assert_string_equal(http_reason(512), "Status");
	assert_string_equal(http_reason(999), "Status");
	assert_string_equal(http_reason(-1), "Status");
	for (int status = -2; status < 1000; status++)
		assert_true(http_is_field_value(str_from(http_reason(status))));
}

static void harmful_fields_spoil_the_buffer(void **state)
{
	static const struct http_field harmful[] = {
		{{"", 0}, {"a", 1}},	   {{"A:", 2}, {"a", 1}},	 {{"A B", 3}, {"a", 1}},
		{{"A\r\nB", 4}, {"a", 1}}, {{"A", 1}, {"a\r\nB: c", 7}}, {{"A", 1}, {"a\nb", 3}},
		{{"A", 1}, {"a\rb", 3}},   {{"A", 1}, {"\0", 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++) {
		struct buf out;

		buf_init(&out, OUT_MAX);
		http_write_status(&out, 200);
		http_write_field(&out, harmful[i].name, harmful[i].value);
		assert_true(out.is_spoiled);
		assert_true(str_equal(buf_str(&out), STR("HTTP/1.1 200 OK\r\n")));
		buf_fini(&out);
	}
}

static void a_full_buffer_shows(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, 20);
	http_write_status(&out, 200);
	assert_false(out.is_spoiled);
	http_write_field(&out, STR("A"), STR("b"));
	assert_true(out.is_spoiled);
	buf_fini(&out);
}

/* Random fields, written and read: the same names and values, in the same order. */
static void written_fields_are_read_back(void **state)
{
	static const char name_bytes[] = "abcXYZ019!#$%&'*+.^_`|~-";
	char value[64];
	char name[32];

	(void)state;
	srandom(20260102);
	for (int round = 0; round < 2000; round++) {
		size_t name_len = (size_t)random() % sizeof(name) + 1;
		size_t value_len = (size_t)random() % sizeof(value);
		struct http_refusal refusal;
		struct http_request request;
		size_t scanned = 0, len = 0;
		struct arena mem;
		struct buf out;

		name[0] = 'z'; /* no name that has a meaning */
		for (size_t i = 1; i < name_len; i++)
			name[i] = name_bytes[(size_t)random() % (sizeof(name_bytes) - 1)];
		for (size_t i = 0; i < value_len; i++) {
			value[i] = (char)(random() % 223 + 33);
			if (value[i] == 0x7f)
				value[i] = i > 0 && i + 1 < value_len ? ' ' : '-';
		}
		arena_init(&mem, OUT_MAX);
		buf_init(&out, OUT_MAX);
		buf_append_str(&out, STR("GET / HTTP/1.1\r\nHost: h\r\n"));
		http_write_field(&out, str_of(name, name_len), str_of(value, value_len));
		http_write_head_end(&out);
		assert_false(out.is_spoiled);
		assert_int_equal(http_head_end(buf_str(&out), &http_limits_default, &scanned, &len,
					       &refusal),
				 0);
		assert_int_equal(len, out.len);
		assert_int_equal(http_request_read(buf_str(&out), &http_limits_default, &mem,
						   &request, &refusal),
				 0);
		assert_int_equal(request.field_count, 2);
		assert_true(str_equal(request.fields[1].name, str_of(name, name_len)));
		assert_true(str_equal(request.fields[1].value, str_of(value, value_len)));
		buf_fini(&out);
		arena_fini(&mem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_exact),
		cmocka_unit_test(chunks_are_exact),
		cmocka_unit_test(every_status_has_a_reason),
		cmocka_unit_test(harmful_fields_spoil_the_buffer),
		cmocka_unit_test(a_full_buffer_shows),
		cmocka_unit_test(written_fields_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
