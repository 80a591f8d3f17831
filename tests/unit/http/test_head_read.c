/*
 * Shows that heads are read as RFC 9112 has them and that every known way to make two
 * readers disagree is refused, with the right status, however the bytes are cut.
 */
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CEILING = 1 << 20 };

/* A reading of one message. */
struct reading {
	int status; /* 0: accepted; 1: more bytes are wanted */
	const char *detail;
	size_t head_len;
	struct http_request request;
	struct arena mem;
	char *copy; /* its own malloc, so that sanitizers see its end */
};

/*
 * Feed `message` in pieces of `step` bytes until there is an answer. What comes after the
 * head stays in the message, as it does on a connection.
 */
static struct reading *read_in_steps(struct str message, const struct http_limits *limits,
				     size_t step)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct http_refusal refusal = {0};
	size_t scanned = 0;
	size_t fed = 0;
	int r = HTTP_MORE;

	arena_init(&reading->mem, CEILING);
	while (r == HTTP_MORE && fed < message.len) {
		fed = message.len - fed < step ? message.len : fed + step;
		free(reading->copy);
		reading->copy = malloc(fed);
		memcpy(reading->copy, message.at, fed);
		r = http_head_end(str_of(reading->copy, fed), limits, &scanned, &reading->head_len,
				  &refusal);
	}
	if (r == 0)
		r = http_request_read(str_of(reading->copy, reading->head_len), limits,
				      &reading->mem, &reading->request, &refusal);
	assert_true(r >= 0);
	reading->status = r == HTTP_REFUSED ? refusal.status : r;
	reading->detail = refusal.detail;
	return reading;
}

static void reading_free(struct reading *reading)
{
	arena_fini(&reading->mem);
	free(reading->copy);
	free(reading);
}

static struct reading *read_whole(const char *message)
{
	struct str text = str_from(message);

	return read_in_steps(text, &http_limits_default, text.len);
}

static void assert_str(struct str actual, const char *expected)
{
	if (!str_equal(actual, str_from(expected)))
		fail_msg("'%.*s' is not '%s'", STR_ARG(actual), expected);
}

#define HOST	 "Host: h\r\n"
#define POST	 "POST / HTTP/1.1\r\n" HOST
#define GET(t)	 "GET " t " HTTP/1.1\r\n" HOST "\r\n"
#define FIELD(f) "GET / HTTP/1.1\r\n" HOST f "\r\n\r\n"
#define HOSTS(h) "GET / HTTP/1.1\r\nHost: " h "\r\n\r\n"

struct verdict {
	int status; /* 0: accepted */
	struct str message;
};
#define V(status, text)                                                                            \
	{                                                                                          \
		status,                                                                            \
		{                                                                                  \
			text, sizeof(text) - 1                                                     \
		}                                                                                  \
	}

static const struct verdict verdicts[] = {
	/* request lines */
	V(0, GET("/")),
	V(0, "\r\n" GET("/")),
	V(400, "\r\n\r\n" GET("/")),
	V(400, "\n" GET("/")),
	V(400, "\r" GET("/")),
	V(400, " " GET("/")),
	V(400, "\t" GET("/")),
	V(400, "\x16\x03\x01\x02\x00\x01"),
	V(400, "\0" GET("/")),
	V(400, "GET  / HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "GET /  HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "GET /\tHTTP/1.1\r\n" HOST "\r\n"),
	V(400, "GET / HTTP/1.1 \r\n" HOST "\r\n"),
	V(400, "GET / HTTP/1.1\n" HOST "\r\n"),
	V(400, "GET / HTTP/1.1\r" HOST "\r\n\r\n"),
	V(400, "GET / http/1.1\r\n" HOST "\r\n"),
	V(400, "GET / HTTP/1.\r\n" HOST "\r\n"),
	V(400, "GET / HTTP/11\r\n" HOST "\r\n"),
	V(400, "GET / HTTP/1.10\r\n" HOST "\r\n"),
	V(400, "GET / HTTP/01.1\r\n" HOST "\r\n"),
	V(400, "GET / HTTP\r\n" HOST "\r\n"),
	V(400, "GET / H\r\n\r\n"),
	V(400, "GET / \r\n\r\n"),
	V(400, "GET /\r\n\r\n"),
	V(400, "GET \r\n\r\n"),
	V(400, "GET\r\n\r\n"),
	V(400, "GET  HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "G@T / HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "G\xc3\x89T / HTTP/1.1\r\n" HOST "\r\n"),
	V(0, "M-SEARCH / HTTP/1.1\r\n" HOST "\r\n"),
	V(0, "MK_COL / HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "GET2 / HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "2GET / HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "GET! / HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "G.ET / HTTP/1.1\r\n" HOST "\r\n"),
	V(0, "ABCDEFGHIJABCDEFGHIJABCDEFGHIJAB / HTTP/1.1\r\n" HOST "\r\n"),
	V(501, "ABCDEFGHIJABCDEFGHIJABCDEFGHIJABC / HTTP/1.1\r\n" HOST "\r\n"),
	V(501, "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n"),
	V(0, "GET / HTTP/1.0\r\n\r\n"),
	V(505, "GET / HTTP/1.2\r\n" HOST "\r\n"),
	V(505, "GET / HTTP/0.9\r\n\r\n"),
	V(505, "GET / HTTP/3.1\r\n" HOST "\r\n"),
	V(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),

	/* targets */
	V(0, GET("/a/b;c=1/%7Ed?x=1&y[]=2&z={a|b}^`\\")),
	V(0, GET("//a//")),
	V(0, GET("/a?b=%zz%")),
	V(400, GET("/%zz")),
	V(400, GET("/%")),
	V(400, GET("/%4")),
	V(400, GET("/%4?1")),
	V(400, GET("/%4g")),
	V(400, GET("/%g4")),
	V(400, GET("/%%41")),
	V(400, GET("/%00")),
	V(0, GET("/%41%2f%ff%0A")),
	V(400, GET("http://h/%zz")),
	V(400, GET("/..")),
	V(400, GET("/../a")),
	V(400, GET("/a/../../b")),
	V(400, GET("/a/./..//../b")),
	V(400, GET("/%2e%2E/a")),
	V(400, GET("/a/..%2f../b")),
	V(400, GET("/.%2e?x")),
	V(0, GET("/a/../b")),
	V(0, GET("/a/b/../..")),
	V(0, GET("/.../a")),
	V(0, GET("/..a/a../.")),
	V(0, GET("/?/../..")),
	V(0, GET("/?")),
	V(0, GET("/a?b?c")),
	V(400, GET("/a#b")),
	V(400, GET("/a\"b")),
	V(400, GET("/a<b")),
	V(400, GET("/a>b")),
	V(400, GET("/a\\b")),
	V(400, GET("/a\x7f")),
	V(400, GET("/a\x01")),
	V(400, GET("/a\0b")),
	V(400, GET("/\xc3\xa9")),
	V(400, GET("a")),
	V(400, GET("?a")),
	V(400, GET("*")),
	V(400, GET("h:80")),
	V(400, GET("ftp://h/")),
	V(400, GET("http:/h/")),
	V(400, GET("http:///")),
	V(400, GET("http://u@h/")),
	V(400, GET("http://h\\/")),
	V(400, GET("http://h/a\\b")),
	V(400, GET("http://h:/")),
	V(400, GET("http://other/")),
	V(400, GET("http://h:80/")),
	V(0, GET("http://h/")),
	V(0, GET("HTTPS://H/")),
	V(0, GET("http://h")),
	V(0, GET("http://h?a=b")),
	V(0, "GET http://h/ HTTP/1.0\r\n\r\n"),
	V(400, "GET http://h/ HTTP/1.1\r\n\r\n"),
	V(0, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "OPTIONS *? HTTP/1.1\r\n" HOST "\r\n"),
	V(400, "options * HTTP/1.1\r\n" HOST "\r\n"),

	/* Host */
	V(400, "GET / HTTP/1.1\r\n\r\n"),
	V(400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"),
	V(400, "GET / HTTP/1.1\r\n" HOST "host: h\r\n\r\n"),
	V(400, "GET / HTTP/1.0\r\n" HOST HOST "\r\n"),
	V(400, HOSTS("")),
	V(400, HOSTS("a b")),
	V(400, HOSTS("a,b")),
	V(400, HOSTS("u@h")),
	V(400, HOSTS("http://h")),
	V(400, HOSTS("h/")),
	V(400, HOSTS("h?")),
	V(400, HOSTS("%68")),
	V(400, HOSTS("h:")),
	V(400, HOSTS(":80")),
	V(400, HOSTS("h:65536")),
	V(400, HOSTS("h:000080")),
	V(400, HOSTS("h:8o")),
	V(400, HOSTS("h:80:80")),
	V(400, HOSTS(".")),
	V(400, HOSTS("a..b")),
	V(400, HOSTS("[::1")),
	V(400, HOSTS("[]")),
	V(400, HOSTS("[::1]8")),
	V(400, HOSTS("[fe80::1%25lo]")),
	V(400, HOSTS("[1.2.3.4]")),
	V(400, HOSTS("[v1.a]")),
	V(400, HOSTS("::1")),
	V(400, HOSTS("\xc3\xa9")),
	V(0, HOSTS("h:65535")),
	V(0, HOSTS("h:0")),
	V(0, HOSTS("sub_domain.Example.com.:8080")),
	V(0, HOSTS("127.0.0.1:1")),
	V(0, HOSTS("[::1]")),
	V(0, HOSTS("[::ffff:1.2.3.4]:80")),

	/* field lines */
	V(0, FIELD("A:")),
	V(0, FIELD("A:b")),
	V(0, FIELD("A: \t b c\t")),
	V(0, FIELD("!#$%&'*+-.^_`|~09azAZ: x")),
	V(0, FIELD("A: \xff\x80")),
	V(400, FIELD("A : b")),
	V(400, FIELD("A\t: b")),
	V(400, FIELD(": b")),
	V(400, FIELD("A")),
	V(400, FIELD("A b")),
	V(400, FIELD("(A): b")),
	V(400, FIELD("A\xc3\xa9: b")),
	V(400, FIELD("A: b\r\n c")),
	V(400, FIELD("A: b\r\n\tc")),
	V(400, FIELD("A: b\r\n ")),
	V(400, "GET / HTTP/1.1\r\n " HOST "\r\n"),
	V(400, FIELD("A: b\rC: d")),
	V(400, FIELD("A: b\nC: d")),
	V(400, FIELD("A: b\r\r\nC: d")),
	V(400, FIELD("A: b\n\nGET / HTTP/1.1")),
	V(400, FIELD("A: b\0c")),
	V(400, FIELD("A\0: b")),
	V(400, FIELD("A: b\x01")),
	V(400, FIELD("A: b\x0b")),
	V(400, FIELD("A: b\x7f")),

	/* framing */
	V(0, POST "Content-Length: 0\r\n\r\n"),
	V(0, POST "Content-Length:5\r\n\r\n"),
	V(0, POST "Content-Length: 9223372036854775807\r\n\r\n"),
	V(0, "GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"),
	V(0, "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n"),
	V(400, POST "Content-Length: 9223372036854775808\r\n\r\n"),
	V(400, POST "Content-Length: 99999999999999999999999\r\n\r\n"),
	V(400, POST "Content-Length:\r\n\r\n"),
	V(400, POST "Content-Length: +5\r\n\r\n"),
	V(400, POST "Content-Length: -5\r\n\r\n"),
	V(400, POST "Content-Length: 5 5\r\n\r\n"),
	V(400, POST "Content-Length:\t5\r\n\r\n"),
	V(400, POST "Content-Length: 5 \t\r\n\r\n"),
	V(400, POST "Transfer-Encoding: \tchunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked\t\r\n\r\n"),
	V(400, "GET / HTTP/1.1\r\nHost:\tgate.test\r\n\r\n"),
	V(400, "GET / HTTP/1.1\r\nHost: gate.test\t\r\n\r\n"),
	V(400, POST "Content-Length: 5, 5\r\n\r\n"),
	V(400, POST "Content-Length: 5,\r\n\r\n"),
	V(400, POST "Content-Length: 0x5\r\n\r\n"),
	V(400, POST "Content-Length: 5a\r\n\r\n"),
	V(400, POST "Content-Length: 5.0\r\n\r\n"),
	V(400, POST "Content-Length: \"5\"\r\n\r\n"),
	V(400, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
	V(400, POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n"),
	V(400, POST "Content-Length : 5\r\n\r\n"),
	V(400, POST "Content_Length: 5\r\n\r\n"),
	V(400, POST "Transfer_Encoding: chunked\r\n\r\n"),
	V(400, POST "IDEMPOTENCY_KEY: a\r\n\r\n"),
	V(0, POST "api_key: a\r\n\r\n"),
	V(0, POST "Transfer-Encoding: chunked\r\n\r\n"),
	V(0, POST "transfer-encoding:Chunked\r\n\r\n"),
	V(400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
	V(400, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked, chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked, gzip\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked,\r\n\r\n"),
	V(400, POST "Transfer-Encoding: ,chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding:\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked;q=1\r\n\r\n"),
	V(400, POST "Transfer-Encoding: \"chunked\"\r\n\r\n"),
	V(400, POST "Transfer-Encoding: chunked chunked\r\n\r\n"),
	V(400, POST "Transfer-Encoding: \x0b"
		    "chunked\r\n\r\n"),
	V(501, POST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	V(501, POST "Transfer-Encoding: gzip\r\n\r\n"),
	V(501, POST "Transfer-Encoding: identity\r\n\r\n"),
	V(501, POST "Transfer-Encoding: xchunked\r\n\r\n"),

	/* fields that may stand once */
	V(400, FIELD("Authorization: a\r\nAuthorization: b")),
	V(400, FIELD("Content-Type: a/b\r\nContent-Type: a/b")),
	V(0, FIELD("Cookie: a\r\nCookie: b")),
	V(0, FIELD("Idempotency-Key: a\r\nIdempotency-Key: b")), /* the token's rule: the gate's */

	/* Connection */
	V(0, FIELD("Connection: close")),
	V(0, FIELD("Connection: keep-alive, , TE, X-Own")),
	V(0, FIELD("Connection:")),
	V(400, FIELD("Connection: host")),
	V(400, FIELD("Connection: close, Content-Length")),
	V(400, FIELD("Connection: transfer-encoding")),
	V(400, FIELD("Connection: AUTHORIZATION")),
	V(400, FIELD("Connection: content-type")),
	V(400, FIELD("Connection: content-encoding")),
	V(400, FIELD("Connection: cookie")),
	V(400, FIELD("Connection: close\r\nConnection: idempotency-key")),
	V(400, FIELD("Connection: close; x")),
	V(400, FIELD("Connection: \"close\"")),

	/* Expect */
	V(0, POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n"),
	V(417, POST "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n"),
	V(417, POST "Expect: 100-continue\r\nExpect: more\r\n\r\n"),
	V(417, POST "Expect:\r\n\r\n"),
};

static void verdicts_hold_however_the_bytes_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		struct str message = verdicts[i].message;

		for (size_t step = 1; step <= message.len; step++) {
			struct reading *reading =
				read_in_steps(message, &http_limits_default, step);

			if (reading->status != verdicts[i].status)
				fail_msg("%d instead of %d (%s) in steps of %zu for:\n%.*s",
					 reading->status, verdicts[i].status,
					 reading->detail ? reading->detail : "", step,
					 STR_ARG(message));
			if (reading->status != 0)
				assert_true(strlen(reading->detail) > 10);
			reading_free(reading);
		}
	}
}

static const char good[] = "\r\n"
			   "POST /v1/pay?x=1&y HTTP/1.1\r\n"
			   "Host: api.example.com:8080\r\n"
			   "Content-Type: \t application/json \t \r\n"
			   "content-length: 17\r\n"
			   "X-Empty:\r\n"
			   "Expect: 100-continue\r\n"
			   "X-Twice: a\r\n"
			   "x-twice: b, c\r\n"
			   "\r\n";

static void assert_good(const struct reading *reading)
{
	const struct http_request *request = &reading->request;
	static const char *const fields[][2] = {
		{"Host", "api.example.com:8080"},
		{"Content-Type", "application/json"},
		{"content-length", "17"},
		{"X-Empty", ""},
		{"Expect", "100-continue"},
		{"X-Twice", "a"},
		{"x-twice", "b, c"},
	};

	assert_int_equal(reading->status, 0);
	assert_int_equal(reading->head_len, sizeof(good) - 1);
	assert_str(request->method, "POST");
	assert_str(request->target, "/v1/pay?x=1&y");
	assert_str(request->parts.path, "/v1/pay");
	assert_str(request->parts.query, "x=1&y");
	assert_true(request->parts.has_query);
	assert_str(request->parts.authority, "");
	assert_str(request->host, "api.example.com:8080");
	assert_int_equal(request->minor, 1);
	assert_int_equal(request->framing, HTTP_LENGTH);
	assert_int_equal(request->length, 17);
	assert_true(request->is_persistent);
	assert_true(request->expects_continue);
	assert_int_equal(request->field_count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_str(request->fields[i].name, fields[i][0]);
		assert_str(request->fields[i].value, fields[i][1]);
	}
}

static void every_part_is_found_at_every_cut(void **state)
{
	char message[sizeof(good) + 32];

	(void)state;
	snprintf(message, sizeof(message), "%sGET /next HTTP/1.1\r\n\r\n", good);
	for (size_t step = 1; step <= strlen(message); step++) {
		struct reading *reading =
			read_in_steps(str_from(message), &http_limits_default, step);

		assert_good(reading);
		reading_free(reading);
	}
}

static void no_prefix_of_a_good_head_is_more_than_unfinished(void **state)
{
	(void)state;
	for (size_t len = 1; len < sizeof(good) - 1; len++) {
		struct reading *reading =
			read_in_steps(str_of(good, len), &http_limits_default, len);

		assert_int_equal(reading->status, HTTP_MORE);
		reading_free(reading);
	}
}

struct target_case {
	const char *message;
	const char *target, *path, *query, *host;
	bool has_query;
};

static void targets_are_told_in_origin_form(void **state)
{
	static const struct target_case cases[] = {
		{GET("/a?"), "/a?", "/a", "", "h", true},
		{GET("/a?b?c"), "/a?b?c", "/a", "b?c", "h", true},
		{GET("/a"), "/a", "/a", "", "h", false},
		{GET("http://H/a?b"), "/a?b", "/a", "b", "H", true},
		{GET("http://h"), "/", "/", "", "h", false},
		{GET("http://h?a=b/c"), "/?a=b/c", "/", "a=b/c", "h", true},
		{"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "*", "*", "", "h", false},
		{"OPTIONS http://h HTTP/1.1\r\n" HOST "\r\n", "*", "*", "", "h", false},
		{"OPTIONS http://h/ HTTP/1.1\r\n" HOST "\r\n", "/", "/", "", "h", false},
		{"GET http://g:1/ HTTP/1.0\r\n\r\n", "/", "/", "", "g:1", false},
		{"GET / HTTP/1.0\r\n\r\n", "/", "/", "", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct reading *reading = read_whole(cases[i].message);

		assert_int_equal(reading->status, 0);
		assert_str(reading->request.target, cases[i].target);
		assert_str(reading->request.parts.path, cases[i].path);
		assert_str(reading->request.parts.query, cases[i].query);
		assert_int_equal(reading->request.parts.has_query, cases[i].has_query);
		assert_str(reading->request.host, cases[i].host);
		reading_free(reading);
	}
}

struct meaning_case {
	const char *message;
	enum http_framing framing;
	uint64_t length;
	bool is_persistent, expects_continue;
};

static void fields_get_their_meaning(void **state)
{
	static const struct meaning_case cases[] = {
		{FIELD("A: b"), HTTP_NO_BODY, 0, true, false},
		{POST "Content-Length: 0\r\n\r\n", HTTP_LENGTH, 0, true, false},
		{POST "Content-Length: 007\r\n\r\n", HTTP_LENGTH, 7, true, false},
		{POST "Transfer-Encoding: CHUNKED\r\n\r\n", HTTP_CHUNKED, 0, true, false},
		{POST "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n", HTTP_CHUNKED, 0,
		 true, true},
		{POST "Content-Length: 0\r\nExpect: 100-continue\r\n\r\n", HTTP_LENGTH, 0, true,
		 false},
		{POST "Expect: 100-continue\r\n\r\n", HTTP_NO_BODY, 0, true, false},
		{"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		 HTTP_LENGTH, 1, false, false},
		{FIELD("Connection: Close"), HTTP_NO_BODY, 0, false, false},
		{FIELD("Connection: keep-alive\r\nConnection: x, close"), HTTP_NO_BODY, 0, false,
		 false},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", HTTP_NO_BODY, 0, true, false},
		{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", HTTP_NO_BODY, 0, false,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct reading *reading = read_whole(cases[i].message);

		assert_int_equal(reading->status, 0);
		assert_int_equal(reading->request.framing, cases[i].framing);
		assert_int_equal(reading->request.length, cases[i].length);
		assert_int_equal(reading->request.is_persistent, cases[i].is_persistent);
		assert_int_equal(reading->request.expects_continue, cases[i].expects_continue);
		reading_free(reading);
	}
}

/* The status for `message` under `limits`; it must be the same in whole and byte by byte. */
static int status_within(struct str message, struct http_limits limits)
{
	struct reading *whole = read_in_steps(message, &limits, message.len);
	struct reading *slow = read_in_steps(message, &limits, 1);
	int status = whole->status;

	assert_int_equal(slow->status, status);
	reading_free(whole);
	reading_free(slow);
	return status;
}

static void limits_are_exact(void **state)
{
	struct str message = STR("GET /2345678 HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n");

	(void)state;
	assert_int_equal(status_within(message, (struct http_limits){message.len, 8, 2}), 0);
	assert_int_equal(status_within(message, (struct http_limits){message.len - 1, 8, 2}), 431);
	assert_int_equal(status_within(message, (struct http_limits){message.len, 7, 2}), 414);
	assert_int_equal(status_within(message, (struct http_limits){message.len, 8, 1}), 431);
	assert_int_equal(status_within(message, (struct http_limits){10, 8, 2}), 414);
	assert_int_equal(status_within(message, (struct http_limits){0, 8, 2}), 431);
}

/* An endless line is refused at its limit, not when it ends. */
static void endless_lines_are_refused_before_they_end(void **state)
{
	size_t len = http_limits_default.head_bytes;
	char *message = malloc(len + 1);
	struct str line;

	(void)state;
	memset(message, 'a', len);
	assert_int_equal(status_within(str_of(message, 32 + 12 + 8192 - 1), http_limits_default),
			 HTTP_MORE);
	assert_int_equal(status_within(str_of(message, 32 + 12 + 8192), http_limits_default), 414);
	line = STR("GET / HTTP/1.1\r\nA: ");
	memcpy(message, line.at, line.len);
	assert_int_equal(status_within(str_of(message, len - 1), http_limits_default), HTTP_MORE);
	assert_int_equal(status_within(str_of(message, len), http_limits_default), 431);
	free(message);
}

static void a_full_arena_is_a_failure_and_no_refusal(void **state)
{
	struct str head = STR("GET http://h?a HTTP/1.1\r\nHost: h\r\n\r\n");
	struct http_refusal refusal = {0};
	struct http_request request = {.minor = 7};
	struct arena mem;

	(void)state;
	for (size_t ceiling = 0; ceiling < 32; ceiling += 16) {
		arena_init(&mem, ceiling);
		assert_int_equal(
			http_request_read(head, &http_limits_default, &mem, &request, &refusal),
			-1 /* FAIL_MEMORY */);
		assert_int_equal(request.minor, 7);
		arena_fini(&mem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_hold_however_the_bytes_are_cut),
		cmocka_unit_test(every_part_is_found_at_every_cut),
		cmocka_unit_test(no_prefix_of_a_good_head_is_more_than_unfinished),
		cmocka_unit_test(targets_are_told_in_origin_form),
		cmocka_unit_test(fields_get_their_meaning),
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(endless_lines_are_refused_before_they_end),
		cmocka_unit_test(a_full_arena_is_a_failure_and_no_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
