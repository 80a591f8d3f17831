/*
 * Shows that everything wrong with a configuration is reported, each where it stands, all
 * of it at once, and within bounds.
 */
#include "config/settings.h"

#include "base/err.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct settings_override upstream_alone = {.upstream = "http://127.0.0.1:9000"};

struct expected {
	size_t line, column;
	const char *what; /* the sentence holds it */
	const char *mend; /* NULL: any */
};

/* The report of a text that is wrong. */
static void parse_wrong(struct str text, const struct settings_override *overrides,
			struct settings_report *report)
{
	struct settings *settings = NULL;

	settings_report_init(report);
	assert_int_equal(settings_parse(text, "gate.yaml", overrides, &settings, report),
			 SETTINGS_WRONG);
	assert_null(settings);
	assert_true(report->count > 0);
}

static void expect_error(const struct settings_error *error, const struct expected *expected)
{
	if (error->line != expected->line || error->column != expected->column ||
	    !strstr(error->what, expected->what) ||
	    (expected->mend && !strstr(error->mend, expected->mend)))
		fail_msg("expected %zu:%zu %s; got %zu:%zu: %s; %s", expected->line,
			 expected->column, expected->what, error->line, error->column, error->what,
			 error->mend);
	assert_true(strlen(error->mend) > 5);
	assert_string_equal(error->source, "gate.yaml");
}

/* One error in each text, and no other. */
static const struct {
	const char *text;
	struct expected error;
} single[] = {
	/* names */
	{"tokns: {}", {1, 1, "no setting `tokns`", "did you mean tokens?"}},
	{"a: 1", {1, 1, "no setting `a`", "config example"}},
	{"tokens:\n  reqired: true", {2, 3, "`reqired` in tokens", "did you mean required?"}},
	{"max_body: 1", {1, 1, "`max_body`", "did you mean limits.max_body?"}},
	{"tokens.header: a", {1, 1, "no setting `tokens.header`", NULL}},
	{"upstreams.*: a", {1, 1, "no setting", NULL}},
	{"\"li\\0sten\": a", {1, 1, "no setting `li?sten`", NULL}},
	{"? [a]\n: b", {1, 3, "where a key belongs", NULL}},
	{"data: a\nlog: {}\ndata: b", {3, 1, "second time; the first is in line 1", NULL}},
	{"log: {requests: true, requests: true}", {1, 23, "second time", NULL}},
	/* not in this build */
	{"mcp_servers: {}", {1, 1, "not in this build", NULL}},
	{"accounts: {from: cookie}", {1, 18, "`cookie`, which is none of its words", NULL}},
	{"store: postgresql://me:hidden@h/d", {1, 8, "`postgresql://` is not in this", NULL}},
	{"store: mysql", {1, 8, "`mysql`, which is none of its words", "write sqlite"}},
	/* types */
	{"- listen", {1, 1, "not a mapping", NULL}},
	{"listen", {1, 1, "not a mapping", NULL}},
	{"tokens: 1", {1, 9, "tokens is not a mapping", NULL}},
	{"limits: []", {1, 9, "limits is not a mapping", NULL}},
	{"upstreams: http://a", {1, 12, "upstreams is not a mapping", NULL}},
	{"listen: [a]", {1, 9, "listen is a list where host:port belongs", NULL}},
	{"data: {a: b}", {1, 7, "data is a mapping where a path belongs", NULL}},
	{"protect: POST", {1, 10, "protect is a single value where a list", "[POST, PATCH]"}},
	{"threads:", {1, 9, "threads has no value", NULL}},
	{"threads: ~", {1, 10, "threads has no value", NULL}},
	{"data: ''", {1, 7, "data is empty", NULL}},
	{"data: \"a\\0b\"", {1, 7, "control character", NULL}},
	{"insecure: yes", {1, 11, "`yes`, which is not true or false", NULL}},
	{"insecure: \"true\"", {1, 11, "not true or false", "without quotes"}},
	{"threads: 1.5", {1, 10, "`1.5`, which is not a whole number", NULL}},
	{"tokens: {max_wait: 30}", {1, 20, "`30`, which is not a duration", "like 250ms or 30s"}},
	{"limits: {max_body: 1M}", {1, 20, "`1M`, which is not a size", "MiB"}},
	{"listen: 8080", {1, 9, "listen has no port", "127.0.0.1:8080"}},
	{"listen: gate:80", {1, 9, "no numeric address", NULL}},
	{"upstreams: {b: {url: \"http://u:hidden@a\"}}", {1, 22, "a user or a password", NULL}},
	{"upstreams: {b: {url: \"http://a?b\"}}", {1, 22, "a query or a fragment", NULL}},
	{"upstreams: {b: {url: ftp://a}}", {1, 22, "neither an http://", NULL}},
	{"upstreams: {'b c': {}}", {1, 13, "`b c` cannot be the name", NULL}},
	{"upstreams: {b: http://a}", {1, 16, "b is not a mapping", "like {url: "}},
	{"upstreams: {b: {ur: a, url: http://a}}", {1, 17, "`ur`", "did you mean url?"}},
	{"tokens: {header: Host}", {1, 18, "means something else already", NULL}},
	{"tokens: {header: a b}", {1, 18, "not the name of a header", NULL}},
	{"undeclared: maybe", {1, 13, "none of its words", "protect | pass | deny"}},
	{"log: {level: loud}", {1, 14, "none of its words", "debug | info"}},
	{"protect: [POST, get]", {1, 17, "`get`, which is not a method", NULL}},
	{"protect: [GET]", {1, 11, "`GET`, which does not write", NULL}},
	{"protect:\n- POST\n- POST", {3, 3, "`POST`, which is there already", NULL}},
	{"protect: [POST, ]\nlog: {requests: 1}", {2, 17, "not true or false", NULL}},
	{"protect: [[POST]]", {1, 11, "not a single value", NULL}},
	{"statuses: {unknown: [abc]}", {1, 22, "`abc`", NULL}},
	{"statuses: {not_sent: [429, 429]}", {1, 28, "there already", NULL}},
	{"trusted_proxies: [10.0.0.1/8]", {1, 19, "bits after its prefix", NULL}},
	{"trusted_proxies: [a.test]", {1, 19, "not an address", NULL}},
	/* ranges */
	{"threads: 0", {1, 10, "is 0, out of its range", "write 1 to 64"}},
	{"threads: 65", {1, 10, "is 65, out of its range", NULL}},
	{"limits: {max_body: 0}", {1, 20, "out of its range", "1 to 1GiB"}},
	{"limits: {max_body: 1025MiB}", {1, 20, "out of its range", NULL}},
	{"tokens: {retention: 99ms}", {1, 21, "out of its range", "100ms to forever"}},
	{"tokens: {max_wait: 601s}", {1, 20, "out of its range", NULL}},
	{"tokens: {max_wait: forever}", {1, 20, "out of its range", NULL}},
	{"tokens: {tombstones: 365001d}", {1, 22, "out of its range", NULL}},
	{"statuses: {unknown: [200]}", {1, 22, "is 200, out of its range", NULL}},
	{"statuses: {unknown: [600]}", {1, 22, "is 600, out of its range", NULL}},
	/* combinations */
	{"listen: 127.0.0.1:8081", {1, 1, "collides with listen", NULL}},
	{"admin: 127.0.0.1:8080", {1, 8, "collides with listen", NULL}},
	{"listen: 0.0.0.0:8081", {1, 1, "collides with listen 0.0.0.0:8081", NULL}},
	{"listen: '[::]:5'\nadmin: 127.0.0.1:5", {2, 8, "collides with listen [::]:5", NULL}},
	{"admin: 0.0.0.0:1", {1, 8, "without TLS", "insecure: true"}},
	{"admin: '[fe80::1]:1'", {1, 8, "without TLS", NULL}},
	{"tls: {key: a}", {1, 6, "tls needs a certificate with its key", NULL}},
	{"tls:\n  certificate: a", {2, 3, "tls needs a key with its certificate", NULL}},
	{"admin_tls: {}", {1, 12, "admin_tls needs a certificate and a key", NULL}},
	{"statuses: {unknown: [503]}", {1, 21, "503 is in statuses.not_sent and", NULL}},
	{"statuses: {not_sent: [500]}", {1, 22, "500 is in statuses.not_sent and", NULL}},
	{"limits: {max_body: 1MiB, request_memory: 1MiB}", {1, 42, "too small for", NULL}},
	{"upstreams: {b: {}}", {1, 13, "the upstream b has no url", NULL}},
	{"upstreams: {b: {url: http://a, timeout: 1s, connect_timeout: 2s}}",
	 {1, 62, "longer than timeout", NULL}},
	{"upstreams: {b: {url: https://a, verify: false, ca_file: c}}",
	 {1, 57, "no use while verify is false", NULL}},
	{"upstreams: {b: {url: http://localhost:8080}}", {1, 22, "own data listener", NULL}},
	/* credentials */
	{"upstreams: {b: {url: http://a, credential: a b}}",
	 {1, 44, "not the name of a secret", "secret set NAME"}},
	{"upstreams: {b: {url: http://a, credential: [a]}}",
	 {1, 44, "is a list where the name of a secret", NULL}},
	{"upstreams: {b: {url: http://a, credential: {as: bearer}}}",
	 {1, 44, "credential has no secret", "secret set NAME"}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, as: header}}}",
	 {1, 60, "needs credential.header", "X-Api-Key"}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, header: X-K}}}",
	 {1, 64, "no use without as: header", NULL}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, as: cookie}}}",
	 {1, 60, "none of its words", "bearer | basic | header"}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, as: header, header: Host}}}",
	 {1, 76, "means something else already", NULL}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, oauth2: {client_id: c}}}}",
	 {1, 64, "has no token_url", NULL}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, oauth2: {token_url: https://t}}}}",
	 {1, 64, "has no client_id", NULL}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, oauth2: {token_url: http://t, "
	 "client_id: c}}}}",
	 {1, 76, "without TLS", "https://"}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, as: basic, oauth2: {token_url: "
	 "https://t, client_id: c}}}}",
	 {1, 60, "cannot be with oauth2", NULL}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, oauth2: b}}}",
	 {1, 64, "credential.oauth2 is not a mapping", "token_url"}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, as: header, header: x_k}, "
	 "downstream_key: X-K}}",
	 {1, 76, "same header as downstream_key", NULL}},
	{"upstreams: {b: {url: http://a, credential: {secret: a, as: header, header: "
	 "Idempotency-Key}}}",
	 {1, 76, "same header as tokens.header", NULL}},
	/* YAML itself */
	{"data: a\n---\ndata: b", {2, 1, "a second document", NULL}},
	{"data: &a b", {1, 7, "anchors", NULL}},
	{"data: *a", {1, 7, "aliases", NULL}},
	{"data: !!str b", {1, 7, "tags", NULL}},
	{"limits: !x {}", {1, 9, "tags", NULL}},
	{"protect: !x []", {1, 10, "tags", NULL}},
	{"<<: {data: a}", {1, 1, "merge keys", NULL}},
	{"data: a\n\tlisten: b", {2, 1, "not YAML", "spaces, not tabs"}},
	{"data: 'a", {1, 9, "not YAML", NULL}},
	{"data: a: b", {1, 8, "not YAML", NULL}},
	{"protect: [a", {2, 1, "not YAML", NULL}},
	{"data: a\nd\xc3\xa9: \xff", {2, 5, "not text", "UTF-8"}},
	{"# \xc3\xa9\xc3\xa9 {\n{\xc3\xa9: 1, x: 2", {3, 1, "not YAML", NULL}},
	{"{data: \"\xc3\xa9\xc3\xa9\", b: 1}", {1, 14, "no setting `b`", NULL}},
	{"log: "
	 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
	 {1, 69, "nested too deeply", NULL}},

	/* accounts */
	{"accounts: {from: jwt, jwt: {jwks: https://id.test/keys, audience: a, account_claim: b}}",
	 {1, 28, "accounts.from is jwt, and accounts.jwt.issuer is missing", "add it"}},
	{"accounts: {from: jwt, jwt: {jwks: https://id.test/keys, issuer: i, account_claim: b}}",
	 {1, 28, "accounts.jwt.audience is missing", "add it"}},
	{"accounts:\n  from: jwt\n  jwt:\n    jwks: https://id.test/k\n    issuer: i\n    "
	 "audience: "
	 "a",
	 {4, 5, "accounts.jwt.account_claim is missing", "add it"}},
	{"accounts: {from: jwt, jwt: {issuer: i, audience: a, account_claim: b}}",
	 {1, 28, "accounts.jwt.jwks is missing", "add it"}},
	{"accounts: {from: jwt, jwt: {jwks: http://id.test/k, issuer: i, audience: a, "
	 "account_claim: b}}",
	 {1, 35, "from another machine without TLS", "https://"}},
	{"accounts: {from: jwt, jwt: {jwks: \"https://id.test/a b\", issuer: i, audience: a, "
	 "account_claim: b}}",
	 {1, 35, "no URL has", "https://"}},
	{"accounts: {jwt: {issuer: i}}",
	 {1, 26, "accounts.jwt.issuer has no use while accounts.from is credential", "remove it"}},
	{"accounts: {from: header, header: {trusted: [10.0.0.0/8]}}",
	 {1, 34, "accounts.header.account is missing", "add it"}},
	{"accounts: {from: header, header: {account: X-Account}}",
	 {1, 34, "accounts.header.trusted is missing", "add it"}},
	{"accounts: {from: header, header: {account: X-Account, trusted: []}}",
	 {1, 64, "nobody is let in", "127.0.0.1"}},
	{"accounts: {from: header, header: {account: X-Who, agent: x-who, trusted: [10.0.0.1]}}",
	 {1, 58, "is the header of the account", "another header"}},
	{"accounts: {header: {account: X-Account}}",
	 {1, 30, "accounts.header.account has no use", "accounts.from"}},
	{"auth: {check: {get: v1/me}}", {1, 21, "auth.check.get is no path", "/v1/me"}},
	{"upstreams: {default: {url: http://127.0.0.1:1, auth_check: me}}",
	 {1, 60, "upstreams.default.auth_check is no path", "/v1/me"}},
	{"auth: {check: {if_unknown: ask}}", {1, 28, "none of its words", NULL}},
};

static void each_error_stands_where_it_is(void **state)
{
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		struct settings_report report;

		parse_wrong(str_from(single[i].text), &upstream_alone, &report);
		if (report.count != 1) {
			settings_report_print(&report, stderr);
			fail_msg("%zu errors in %s", report.count, single[i].text);
		}
		expect_error(&report.errors[0], &single[i].error);
		settings_report_fini(&report);
	}
}

static void an_upstream_is_needed(void **state)
{
	static const struct {
		const char *text;
		struct expected error;
	} cases[] = {
		{"data: a", {1, 1, "upstream called default is missing", "--upstream"}},
		{"", {1, 1, "upstream called default is missing", NULL}},
		{"data: a\nupstreams:\n  b: {url: http://a}", {3, 3, "default is missing", NULL}},
		{"upstreams: {default: {}}", {1, 13, "default has no url", NULL}},
		{"upstreams: {default: ~}", {1, 22, "default is not a mapping", NULL}},
	};
	struct settings *settings = NULL;
	struct settings_report report;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse_wrong(str_from(cases[i].text), NULL, &report);
		assert_int_equal(report.count, 1);
		expect_error(&report.errors[0], &cases[i].error);
		settings_report_fini(&report);
	}
	settings_report_init(&report);
	assert_int_equal(settings_load(NULL, NULL, &settings, &report), SETTINGS_WRONG);
	assert_int_equal(report.count, 1);
	assert_string_equal(report.errors[0].source, "--upstream");
	settings_report_fini(&report);
}

static void options_are_named_as_such(void **state)
{
	const struct settings_override wrong = {
		.listen = "8080",
		.admin = "0.0.0.0:1",
		.upstream = "http://u:hidden@a",
		.data = "",
		.store = "postgres://u:hidden@a/b",
	};
	static const char *const sources[] = {"--listen", "--upstream", "--data", "--store",
					      "--admin"};
	struct settings_report report;

	parse_wrong(STR("threads: 0\n"), &wrong, &report);
	assert_int_equal(report.count, 6);
	assert_int_equal(report.errors[0].line, 1);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(report.errors[i + 1].source, sources[i]);
		assert_int_equal(report.errors[i + 1].line, 0);
		assert_null(strstr(report.errors[i + 1].what, "hidden"));
	}
	settings_report_fini(&report);
}

static void an_option_does_not_hide_a_broken_section(void **state)
{
	struct settings_report report;
	static const struct expected error = {1, 12, "not a mapping", NULL};

	parse_wrong(STR("upstreams: []"), &upstream_alone, &report);
	assert_int_equal(report.count, 1);
	expect_error(&report.errors[0], &error);
	settings_report_fini(&report);
}

static void all_errors_come_at_once_in_the_order_of_the_file(void **state)
{
	static const struct expected expected[] = {
		{1, 7, "control character", NULL},  {2, 8, "without TLS", NULL},
		{3, 1, "no setting `tokns`", NULL}, {4, 20, "out of its range", NULL},
		{4, 33, "aliases", NULL},	    {5, 1, "merge keys", NULL},
		{6, 6, "tls needs", NULL},	    {7, 1, "second time", NULL},
	};
	struct settings_report report;

	parse_wrong(STR("data: \"\\a\"\n"
			"admin: 0.0.0.0:1\n"
			"tokns: 1\n"
			"limits: {max_body: 0, max_head: *a}\n"
			"<<: {}\n"
			"tls: {key: a}\n"
			"data: b\n"),
		    &upstream_alone, &report);
	assert_int_equal(report.count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < report.count; i++)
		expect_error(&report.errors[i], &expected[i]);
	settings_report_fini(&report);
}

static void the_number_of_errors_is_bounded(void **state)
{
	struct settings_report report;
	struct buf text;
	char *shown = NULL;
	size_t shown_len;
	FILE *out;

	buf_init(&text, 1 << 20);
	for (int i = 0; i < 150; i++)
		buf_printf(&text, "unknown-setting-%d: 1\n", i);
	parse_wrong(buf_str(&text), &upstream_alone, &report);
	assert_int_equal(report.count, SETTINGS_ERRORS_MAX);
	assert_int_equal(report.left_out, 50);
	out = open_memstream(&shown, &shown_len);
	settings_report_print(&report, out);
	fclose(out);
	assert_non_null(strstr(shown, "gate.yaml:100:1: there is no setting `unknown-setting-99`"));
	assert_non_null(strstr(shown, "and 50 more errors"));
	free(shown);
	buf_fini(&text);
	settings_report_fini(&report);
}

static void a_file_is_bounded(void **state)
{
	struct settings_report report;
	struct buf text;

	buf_init(&text, 2 << 20);
	buf_append_str(&text, STR("protect: ["));
	for (int i = 0; i < 10000; i++)
		buf_append_str(&text, STR("A,"));
	buf_append_str(&text, STR("]"));
	parse_wrong(buf_str(&text), &upstream_alone, &report);
	assert_non_null(strstr(report.errors[0].what, "too many items"));
	settings_report_fini(&report);

	buf_clear(&text);
	buf_append_str(&text, STR("protect: ["));
	for (int i = 0; i < 70000; i++)
		buf_append_str(&text, STR("A,"));
	buf_append_str(&text, STR("]"));
	parse_wrong(buf_str(&text), &upstream_alone, &report);
	assert_int_equal(report.count, 1);
	assert_non_null(strstr(report.errors[0].what, "too many keys and values"));
	settings_report_fini(&report);

	while (text.len <= SETTINGS_FILE_MAX)
		buf_append_str(&text, STR("# a comment that makes it longer and longer\n"));
	parse_wrong(buf_str(&text), &upstream_alone, &report);
	assert_non_null(strstr(report.errors[0].what, "too large"));
	settings_report_fini(&report);
	buf_fini(&text);
}

static void what_is_long_is_cut(void **state)
{
	struct settings_report report;
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_append_str(&text, STR("undeclared: x"));
	for (int i = 0; i < 1000; i++)
		buf_append_str(&text, STR("\xc3\xa9"));
	parse_wrong(buf_str(&text), &upstream_alone, &report);
	assert_in_range(strlen(report.errors[0].what), 60, 140);
	assert_non_null(strstr(report.errors[0].what, "\xc3\xa9...`"));
	settings_report_fini(&report);

	buf_clear(&text);
	buf_append_str(&text, STR("data: "));
	for (int i = 0; i < SETTINGS_TEXT_MAX + 1; i++)
		buf_append_byte(&text, 'x');
	parse_wrong(buf_str(&text), &upstream_alone, &report);
	assert_string_equal(report.errors[0].what, "data is too long");
	buf_fini(&text);
	settings_report_fini(&report);
}

static void a_file_that_cannot_be_read_is_said(void **state)
{
	static const char *const files[] = {"/nowhere/gate.yaml", "/"};
	struct settings *settings = NULL;
	struct settings_report report;

	for (size_t i = 0; i < 2; i++) {
		settings_report_init(&report);
		assert_int_equal(settings_load(files[i], &upstream_alone, &settings, &report),
				 SETTINGS_WRONG);
		assert_int_equal(report.count, 1);
		assert_string_equal(report.errors[0].source, files[i]);
		assert_non_null(strstr(report.errors[0].what, "cannot be read"));
		settings_report_fini(&report);
	}
}

static void files_it_names_are_looked_at(void **state)
{
	static const char text[] = "tls: {certificate: /nowhere/a.crt, key: /}\n"
				   "upstreams: {default: {url: https://a, ca_file: /nowhere/b}}\n";
	char file[] = "/tmp/counterfoil-test-XXXXXX";
	struct settings *settings = NULL;
	struct settings_report report;
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	settings_report_init(&report);
	assert_int_equal(settings_load(file, NULL, &settings, &report), SETTINGS_WRONG);
	unlink(file);
	assert_int_equal(report.count, 3);
	assert_int_equal(report.errors[0].column, 20);
	assert_int_equal(report.errors[1].column, 41);
	assert_int_equal(report.errors[2].line, 2);
	assert_int_equal(report.errors[2].column, 48);
	settings_report_fini(&report);

	settings_report_init(&report);
	assert_int_equal(settings_parse(str_from(text), "memory", NULL, &settings, &report), 0);
	settings_free(settings);
	settings_report_fini(&report);
}

static void a_report_is_json_too(void **state)
{
	struct json_value *value = NULL;
	struct settings_report report;
	struct json_error error;
	struct arena mem;
	struct buf out;

	buf_init(&out, 65536);
	arena_init(&mem, 1 << 20);
	parse_wrong(STR("data: ''\n"), &(struct settings_override){.upstream = "x"}, &report);
	settings_report_json(&report, &out);
	assert_int_equal(json_read(buf_str(&out), &json_limits_default, &mem, &value, &error), 0);
	assert_int_equal(json_at(value, STR("/ok"))->type, JSON_FALSE);
	assert_true(str_equal(json_at(value, STR("/errors/0/file"))->string, STR("gate.yaml")));
	assert_true(str_equal(json_at(value, STR("/errors/0/column"))->number.digits, STR("7")));
	assert_int_equal(json_at(value, STR("/errors/0/mend"))->type, JSON_STRING);
	assert_true(str_equal(json_at(value, STR("/errors/1/file"))->string, STR("--upstream")));
	assert_int_equal(json_at(value, STR("/errors/1/line"))->type, JSON_NULL);
	assert_null(json_at(value, STR("/errors/2")));
	arena_fini(&mem);
	buf_fini(&out);
	settings_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_error_stands_where_it_is),
		cmocka_unit_test(an_upstream_is_needed),
		cmocka_unit_test(options_are_named_as_such),
		cmocka_unit_test(an_option_does_not_hide_a_broken_section),
		cmocka_unit_test(all_errors_come_at_once_in_the_order_of_the_file),
		cmocka_unit_test(the_number_of_errors_is_bounded),
		cmocka_unit_test(a_file_is_bounded),
		cmocka_unit_test(what_is_long_is_cut),
		cmocka_unit_test(a_file_that_cannot_be_read_is_said),
		cmocka_unit_test(files_it_names_are_looked_at),
		cmocka_unit_test(a_report_is_json_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
