/* Shows which lines make the head of an answer, and that one which could be misread makes none. */
#include "http/answer.h"
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Gives the lines of `text` one after the other; the last outcome that was not 0, or 0. */
static int read_lines(struct http_answer *answer, const char *text)
{
	struct str rest = str_from(text), line;
	int last = 0;

	http_answer_init(answer);
	while (rest.len && str_split(&rest, '\n', &line)) {
		int r = http_answer_line(answer, line);

		last = r ? r : last;
	}
	return last;
}

static void assert_refused(const char *text)
{
	struct http_answer answer;

	if (read_lines(&answer, text) != HTTP_REFUSED)
		print_error("not refused: %s\n", text);
	assert_false(answer.is_whole);
	assert_int_equal(http_answer_line(&answer, STR("HTTP/1.1 200 OK")), HTTP_REFUSED);
	http_answer_fini(&answer);
}

static void a_head_is_read(void **state)
{
	struct http_answer answer;

	(void)state;
	assert_int_equal(
		read_lines(&answer, "HTTP/1.1 201 Made\r\nContent-Length:  5 \r\nX:\r\n\r\n"),
		HTTP_ANSWER_WHOLE);
	assert_true(answer.is_whole);
	assert_int_equal(answer.status, 201);
	assert_int_equal(answer.length, 5);
	assert_true(str_equal(buf_str(&answer.fields), STR("Content-Length: 5\r\nX: \r\n")));
	http_answer_fini(&answer);
}

static void an_interim_head_is_forgotten(void **state)
{
	struct http_answer answer;

	(void)state;
	assert_int_equal(read_lines(&answer, "HTTP/1.1 103 Hints\nContent-Length: 9\nLink: x\n\n"),
			 0);
	assert_false(answer.is_whole);
	http_answer_fini(&answer);
	assert_int_equal(read_lines(&answer, "HTTP/1.1 103 Hints\nContent-Length: 9\nLink: x\n\n"
					     "HTTP/1.0 200\nX-Own: 1\n\n"),
			 HTTP_ANSWER_WHOLE);
	assert_int_equal(answer.length, -1);
	assert_true(str_equal(buf_str(&answer.fields), STR("X-Own: 1\r\n")));
	http_answer_fini(&answer);
}

static void trailers_are_dropped(void **state)
{
	struct http_answer answer;

	(void)state;
	read_lines(&answer,
		   "HTTP/1.1 200 OK\n\nX-Late: 1\nContent-Length: 2, 3\n\nHTTP/1.1 500 x\n");
	assert_true(answer.is_whole);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.fields.len, 0);
	http_answer_fini(&answer);
}

static void a_status_line_is_one_or_there_is_no_answer(void **state)
{
	static const char *const lines[] = {
		"\r\n",
		"HTTP/1.1",
		"HTTP/1.1 ",
		"HTTP/1.1 20",
		"HTTP/1.1  200 OK",
		"HTTP/1.1\t200 OK",
		"HTTP/1.1 2000 OK",
		"HTTP/1.1 200OK",
		"HTTP/1.1 099 Low",
		"HTTP/1.1 +20 OK",
		"HTTP/1.1 2x0 OK",
		"HTTP/1.1 101 Switching Protocols",
		"HTTP/1.2 200 OK",
		"HTTP/2 200 OK",
		"http/1.1 200 OK",
		" HTTP/1.1 200 OK",
		"RTSP/1.0 200 OK",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_refused(lines[i]);
}

static void what_could_be_misread_is_no_answer(void **state)
{
	(void)state;
	assert_refused("HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\n");
	assert_refused("HTTP/1.1 200 OK\nContent-Length: 2, 2\n\n");
	assert_refused("HTTP/1.1 200 OK\nContent-Length: +2\n\n");
	assert_refused("HTTP/1.1 200 OK\nContent-Length:\n\n");
	assert_refused("HTTP/1.1 200 OK\nContent-Length: 99999999999999999999\n\n");
	assert_refused("HTTP/1.1 200 OK\nContent-Length: 2\nTransfer-Encoding: chunked\n\n");
	assert_refused("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\ncontent-length: 2\n\n");
	assert_refused("HTTP/1.1 103 Hints\nContent-Length: x\n\n");
}

static void another_coding_than_chunks_is_no_answer(void **state)
{
	struct http_answer answer;

	(void)state;
	assert_refused("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\n");
	assert_refused("HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n");
	assert_refused("HTTP/1.1 200 OK\nTransfer-Encoding: chunked, chunked\n\n");
	assert_refused(
		"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n");
	assert_int_equal(read_lines(&answer, "HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n"),
			 HTTP_ANSWER_WHOLE);
	http_answer_fini(&answer);
	assert_int_equal(read_lines(&answer, "HTTP/1.1 200 OK\nTransfer-Encoding: identity\n\n"),
			 HTTP_ANSWER_WHOLE);
	http_answer_fini(&answer);
}

static void lines_that_are_no_fields_are_passed_over(void **state)
{
	struct http_answer answer;

	(void)state;
	assert_int_equal(read_lines(&answer,
				    "HTTP/1.1 200 OK\nHTTP/1.1 500 No: x\nContent-Length : 4\n"
				    " folded: 1\nno colon\nX: a\x01z\n: y\nX-Own: 1\n\n"),
			 HTTP_ANSWER_WHOLE);
	assert_int_equal(answer.length, -1);
	assert_true(str_equal(buf_str(&answer.fields), STR("X-Own: 1\r\n")));
	http_answer_fini(&answer);
}

static void fields_and_bytes_have_a_maximum(void **state)
{
	static char long_line[HTTP_ANSWER_HEAD_MAX];
	struct http_answer answer;

	(void)state;
	http_answer_init(&answer);
	assert_int_equal(http_answer_line(&answer, STR("HTTP/1.1 200 OK")), 0);
	for (int i = 0; i < HTTP_ANSWER_FIELDS_MAX; i++)
		assert_int_equal(http_answer_line(&answer, STR("A: b")), 0);
	assert_int_equal(http_answer_line(&answer, STR("A: b")), HTTP_REFUSED);
	http_answer_fini(&answer);

	memset(long_line, 'v', sizeof(long_line));
	long_line[1] = ':';
	http_answer_init(&answer);
	assert_int_equal(http_answer_line(&answer, STR("HTTP/1.1 200 OK")), 0);
	http_answer_line(&answer, str_of(long_line, sizeof(long_line)));
	assert_int_equal(http_answer_line(&answer, STR("")), HTTP_REFUSED);
	http_answer_fini(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_read),
		cmocka_unit_test(an_interim_head_is_forgotten),
		cmocka_unit_test(trailers_are_dropped),
		cmocka_unit_test(a_status_line_is_one_or_there_is_no_answer),
		cmocka_unit_test(what_could_be_misread_is_no_answer),
		cmocka_unit_test(another_coding_than_chunks_is_no_answer),
		cmocka_unit_test(lines_that_are_no_fields_are_passed_over),
		cmocka_unit_test(fields_and_bytes_have_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
