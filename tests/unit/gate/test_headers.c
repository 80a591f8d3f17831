/* Shows which header fields pass the gate, which are said anew, and which nobody can put into
 * the gate's own mouth. */
#include "gate_test.h"

#include "gate/headers.h"

/* What goes to the upstream of a request with these lines. */
struct sent {
	struct exchange exchange;
	struct settings *settings;
	struct buf lines;
};

static const char no_proxies[] = "upstreams: {default: {url: 'http://127.0.0.1:1'}}\n";
static const char one_proxy[] = "upstreams: {default: {url: 'http://127.0.0.1:1'}}\n"
				"trusted_proxies: [192.0.2.0/24]\n";

static void send_on(struct sent *sent, const char *configuration, const char *lines,
		    bool asks_identity)
{
	struct settings_report report;
	char head[1024];

	snprintf(head, sizeof(head), "POST /a HTTP/1.1\r\nHost: gate.example\r\n%s", lines);
	exchange_from(&sent->exchange, head);
	settings_report_init(&report);
	assert_int_equal(
		settings_parse(str_from(configuration), "test", NULL, &sent->settings, &report), 0);
	settings_report_fini(&report);
	buf_init(&sent->lines, 64 * 1024);
	headers_to_upstream(&sent->exchange, sent->settings, &sent->settings->upstreams[0],
			    STR("the-id"), asks_identity, &sent->lines);
	assert_false(sent->lines.is_spoiled);
}

static void sent_fini(struct sent *sent)
{
	buf_fini(&sent->lines);
	settings_free(sent->settings);
	exchange_done(&sent->exchange);
}

#define FOR_ONE                                                                                    \
	"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\n"                                \
	"X-Forwarded-Host: gate.example\r\nVia: 1.1 counterfoil\r\nX-Request-Id: the-id\r\n"

static void assert_sent(const char *configuration, const char *lines, const char *expected)
{
	struct sent sent;

	send_on(&sent, configuration, lines, false);
	assert_text(buf_str(&sent.lines), str_from(expected));
	sent_fini(&sent);
}

static void the_clients_own_fields_pass_in_their_order(void **state)
{
	assert_sent(no_proxies,
		    "Accept: a/b\r\nCookie: c=d\r\naccept: e/f\r\nAuthorization: Bearer s\r\n"
		    "Idempotency-Key: \"k\"\r\nX-Empty:\r\nAccept-Encoding: gzip\r\n",
		    "Accept: a/b\r\nCookie: c=d\r\naccept: e/f\r\nAuthorization: Bearer s\r\n"
		    "Idempotency-Key: \"k\"\r\nX-Empty: \r\nAccept-Encoding: gzip\r\n" FOR_ONE);
}

static void what_belongs_to_the_clients_connection_stays_here(void **state)
{
	assert_sent(no_proxies,
		    "Connection: keep-alive, X-Hop, x-other\r\nKeep-Alive: 5\r\nX-Hop: 1\r\n"
		    "X-OTHER: 2\r\nTE: trailers\r\nTrailer: X-Late\r\nUpgrade: h2c\r\n"
		    "Proxy-Authorization: Basic x\r\nProxy-Connection: close\r\n"
		    "Expect: 100-continue\r\nContent-Length: 3\r\nX-Stays: 1\r\n",
		    "X-Stays: 1\r\n" FOR_ONE);
}

static void nobody_but_a_trusted_proxy_says_where_a_request_came_from(void **state)
{
	static const char said[] = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"
				   "X-Forwarded-Host: real.example\r\nX-Request-Id: theirs\r\n";

	assert_sent(no_proxies, said, FOR_ONE);
	assert_sent(one_proxy, said,
		    "X-Forwarded-For: 203.0.113.9, 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
		    "X-Forwarded-Host: real.example\r\nVia: 1.1 counterfoil\r\n"
		    "X-Request-Id: the-id\r\n");
	assert_sent(one_proxy, "", FOR_ONE); /* trusted, and silent */
}

/* A proxy may add a line of its own below the client's: the last one is the one to believe. */
static void all_lines_of_where_it_came_from_are_kept(void **state)
{
	assert_sent(one_proxy,
		    "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.9\r\n"
		    "Via: 1.0 one\r\nVia: 1.1 two\r\n",
		    "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 192.0.2.7\r\n"
		    "X-Forwarded-Proto: http\r\nX-Forwarded-Host: gate.example\r\n"
		    "Via: 1.0 one, 1.1 two, 1.1 counterfoil\r\nX-Request-Id: the-id\r\n");
}

static void an_answer_that_is_kept_is_asked_for_without_a_coding(void **state)
{
	struct sent sent;

	send_on(&sent, no_proxies, "Accept-Encoding: gzip\r\nX: y\r\naccept-encoding: br\r\n",
		true);
	assert_text(buf_str(&sent.lines), STR("X: y\r\nAccept-Encoding: identity\r\n" FOR_ONE));
	sent_fini(&sent);
}

static void a_request_over_tls_says_so(void **state)
{
	struct sent sent;

	send_on(&sent, no_proxies, "", false);
	buf_clear(&sent.lines);
	sent.exchange.is_tls = true;
	headers_to_upstream(&sent.exchange, sent.settings, &sent.settings->upstreams[0], STR("i"),
			    false, &sent.lines);
	assert_non_null(memmem(sent.lines.at, sent.lines.len, "X-Forwarded-Proto: https\r\n", 26));
	sent_fini(&sent);
}

static void a_request_of_1_0_needs_no_host(void **state)
{
	struct sent sent;

	send_on(&sent, no_proxies, "", false);
	exchange_done(&sent.exchange);
	exchange_from(&sent.exchange, "GET / HTTP/1.0\r\n");
	buf_clear(&sent.lines);
	headers_to_upstream(&sent.exchange, sent.settings, &sent.settings->upstreams[0], STR("i"),
			    false, &sent.lines);
	assert_text(buf_str(&sent.lines),
		    STR("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\n"
			"Via: 1.0 counterfoil\r\nX-Request-Id: i\r\n"));
	sent_fini(&sent);
}

/* Back. */

static void assert_back(struct str lines, const char *kept, const char *first_only)
{
	struct buf kept_lines, first_lines;

	buf_init(&kept_lines, 64 * 1024);
	buf_init(&first_lines, 64 * 1024);
	headers_from_upstream(lines, &kept_lines, &first_lines);
	assert_false(kept_lines.is_spoiled);
	assert_text(buf_str(&kept_lines), str_from(kept));
	assert_text(buf_str(&first_lines), str_from(first_only));
	buf_fini(&kept_lines);
	buf_fini(&first_lines);
}

static void what_describes_the_answer_is_kept(void **state)
{
	static const char lines[] = "Location: /x\r\nETag: \"1\"\r\nContent-Type: a/b\r\n"
				    "Link: <a>\r\nLink: <b>\r\nCache-Control: no-store\r\n";

	assert_back(str_from(lines), lines, "");
}

static void what_is_of_the_moment_is_for_the_first_caller(void **state)
{
	static const char lines[] =
		"Set-Cookie: a\r\nset-cookie2: b\r\nWWW-Authenticate: Basic\r\nDATE: now\r\n"
		"Age: 1\r\nRetry-After: 1\r\nRateLimit-Limit: 1\r\nRateLimit: 1\r\n"
		"X-RateLimit-Reset: 1\r\nX-Rate-Limit-Left: 1\r\nX-Request-Id: 1\r\n"
		"Authentication-Info: 1\r\n";

	assert_back(STR("X-Rate: 1\r\nDated: 1\r\n"), "X-Rate: 1\r\nDated: 1\r\n", "");
	assert_back(str_from(lines), "", lines);
}

static void a_service_cannot_speak_as_the_gate(void **state)
{
	assert_back(STR("Operation-Id: op_forged\r\noperation-state: completed\r\n"
			"OPERATION-Anything: 1\r\nIdempotent-Replayed: true\r\nOperations: 1\r\n"),
		    "Operations: 1\r\n", "");
}

static void what_belongs_to_the_services_connection_stays_here(void **state)
{
	assert_back(STR("X-Hop: 1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"
			"Keep-Alive: 1\r\nTrailer: X\r\nUpgrade: h2\r\nProxy-Authenticate: x\r\n"
			"Stays: 1\r\nConnection: close, x-hop\r\n"),
		    "Stays: 1\r\n", "");
}

static void malformed_lines_do_not_come_back(void **state)
{
	assert_back(STR("HTTP/1.1 200 OK\r\nno colon\r\nBad Name: 1\r\nGood: 1\r\n: 2\r\n"),
		    "Good: 1\r\n", "");
}

static void other_origins_may_read_the_gates_fields_where_they_may_read_the_answer(void **state)
{
	struct buf out;

	buf_init(&out, 1024);
	headers_expose(STR("Access-Control-Allow-Headers: *\r\nX: y\r\n"), &out);
	assert_int_equal(out.len, 0);
	headers_expose(STR("X: y\r\naccess-control-allow-origin: *\r\n"), &out);
	assert_true(str_starts_with(buf_str(&out),
				    STR("Access-Control-Expose-Headers: Operation-Id, ")));
	assert_true(str_starts_with(str_from_index(buf_str(&out), out.len - 2), STR("\r\n")));
	buf_fini(&out);
}

/* Ids. */

static void fill(const struct env *env, void *out, size_t len)
{
	memset(out, 0x5a, len);
}

static void assert_id(const char *line, const char *expected)
{
	const struct env env = {.random = fill};
	struct exchange exchange;
	char head[512];

	snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: x\r\n%s", line);
	exchange_from(&exchange, head);
	assert_text(headers_request_id(&exchange, &env, &exchange.mem), str_from(expected));
	exchange_done(&exchange);
}

static void a_sane_request_id_is_kept_and_others_are_made(void **state)
{
	static const char made[] = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
	char line[256], longest[129];

	memset(longest, 'i', 128);
	longest[128] = '\0';
	assert_id("X-Request-Id: abc-1\r\n", "abc-1");
	snprintf(line, sizeof(line), "X-Request-Id: %s\r\n", longest);
	assert_id(line, longest);
	snprintf(line, sizeof(line), "X-Request-Id: %si\r\n", longest);
	assert_id(line, made);
	assert_id("", made);
	assert_id("X-Request-Id:\r\n", made);
	assert_id("X-Request-Id: a b\r\n", made);
	assert_id("X-Request-Id: caf\xc3\xa9\r\n", made);
}

static void a_value_is_that_of_the_first_field_of_its_name(void **state)
{
	struct exchange exchange;

	exchange_from(&exchange, "GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\na: 2\r\n");
	assert_text(headers_value(&exchange.request, STR("a")), STR("1"));
	assert_int_equal(headers_value(&exchange.request, STR("b")).len, 0);
	exchange_done(&exchange);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clients_own_fields_pass_in_their_order),
		cmocka_unit_test(what_belongs_to_the_clients_connection_stays_here),
		cmocka_unit_test(nobody_but_a_trusted_proxy_says_where_a_request_came_from),
		cmocka_unit_test(all_lines_of_where_it_came_from_are_kept),
		cmocka_unit_test(an_answer_that_is_kept_is_asked_for_without_a_coding),
		cmocka_unit_test(a_request_over_tls_says_so),
		cmocka_unit_test(a_request_of_1_0_needs_no_host),
		cmocka_unit_test(what_describes_the_answer_is_kept),
		cmocka_unit_test(what_is_of_the_moment_is_for_the_first_caller),
		cmocka_unit_test(a_service_cannot_speak_as_the_gate),
		cmocka_unit_test(what_belongs_to_the_services_connection_stays_here),
		cmocka_unit_test(malformed_lines_do_not_come_back),
		cmocka_unit_test(
			other_origins_may_read_the_gates_fields_where_they_may_read_the_answer),
		cmocka_unit_test(a_sane_request_id_is_kept_and_others_are_made),
		cmocka_unit_test(a_value_is_that_of_the_first_field_of_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
