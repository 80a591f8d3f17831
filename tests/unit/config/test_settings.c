/*
 * Shows what a loaded configuration holds: defaults, what the file says, what options win
 * over; the example that is always right; and which changes a running gate takes.
 */
#include "config/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct settings_override upstream_alone = {.upstream = "http://127.0.0.1:9000"};

static struct settings *parse_with(const char *text, const struct settings_override *overrides)
{
	struct settings *settings = NULL;
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = settings_parse(str_from(text), "gate.yaml", overrides, &settings, &report);
	settings_report_print(&report, stderr);
	settings_report_fini(&report);
	assert_int_equal(r, 0);
	return settings;
}

static struct settings *parse(const char *text)
{
	return parse_with(text, &upstream_alone);
}

static void expect_defaults(const struct settings *settings)
{
	assert_string_equal(settings->listen.text.at, "127.0.0.1:8080");
	assert_string_equal(settings->admin.text.at, "127.0.0.1:8081");
	assert_true(settings->admin.is_loopback);
	assert_string_equal(settings->data.at, "./counterfoil-data");
	assert_int_equal(settings->store, SETTINGS_STORE_SQLITE);
	assert_in_range(settings->threads, 1, 64);
	assert_int_equal(settings->tls.key.len + settings->tls.certificate.len, 0);
	assert_int_equal(settings->admin_tls.key.len + settings->admin_tls.certificate.len, 0);
	assert_false(settings->insecure);
	assert_int_equal(settings->accounts.from, SETTINGS_ACCOUNTS_CREDENTIAL);
	assert_true(settings->tokens.required);
	assert_string_equal(settings->tokens.header.at, "Idempotency-Key");
	assert_int_equal(settings->tokens.retention_ms, 86400000);
	assert_int_equal(settings->tokens.tombstones_ms, INT64_C(30) * 86400000);
	assert_int_equal(settings->tokens.max_wait_ms, 60000);
	assert_int_equal(settings->tokens.max_waiters, 1000);
	assert_int_equal(settings->audit.origin.len, 0);
	assert_int_equal(settings->audit.checkpoint_entries, 1000);
	assert_int_equal(settings->audit.checkpoint_interval_ms, 10000);
	assert_true(settings->audit.verify_ms == SETTINGS_FOREVER_MS);
	assert_int_equal(settings->audit.anchors.count, 0);
	assert_int_equal(settings->outbox.max_waiting, 100000);
	assert_int_equal(settings->outbox.concurrency, 16);
	assert_int_equal(settings->outbox.attempts, 20);
	assert_int_equal(settings->outbox.first_pause_ms, 1000);
	assert_int_equal(settings->outbox.max_pause_ms, 600000);
	assert_int_equal(settings->limits.max_body, 1048576);
	assert_int_equal(settings->limits.max_response, 1048576);
	assert_int_equal(settings->limits.max_head, 32768);
	assert_int_equal(settings->limits.request_memory, 32 << 20);
	assert_int_equal(settings->limits.max_connections, 16000);
	assert_int_equal(settings->limits.idle_timeout_ms, 60000);
	assert_int_equal(settings->limits.head_timeout_ms, 10000);
	assert_int_equal(settings->limits.body_timeout_ms, 30000);
	assert_int_equal(settings->limits.drain_timeout_ms, 30000);
	assert_int_equal(settings->undeclared, SETTINGS_UNDECLARED_PROTECT);
	assert_int_equal(settings->log.level, LOG_INFO);
	assert_true(settings->log.requests);
	assert_int_equal(settings->trusted_proxies.count, 0);
}

static void expect_default_lists(const struct settings *settings)
{
	struct status_classes classes = {0};

	assert_int_equal(settings->protect.count, 2);
	assert_true(settings_protects(settings, STR("POST")));
	assert_true(settings_protects(settings, STR("PATCH")));
	assert_false(settings_protects(settings, STR("PUT")));
	assert_false(settings_protects(settings, STR("post")));
	status_classes_default(&classes);
	assert_memory_equal(&classes, &settings->statuses, sizeof(classes));
}

static void expect_default_upstream(const struct settings *settings)
{
	const struct settings_upstream *upstream = settings_upstream(settings, STR("default"));

	assert_int_equal(settings->upstream_count, 1);
	assert_ptr_equal(upstream, &settings->upstreams[0]);
	assert_string_equal(upstream->url.text.at, "http://127.0.0.1:9000");
	assert_int_equal(upstream->timeout_ms, 30000);
	assert_int_equal(upstream->connect_timeout_ms, 5000);
	assert_int_equal(upstream->ca_file.len, 0);
	assert_true(upstream->verify);
	assert_int_equal(upstream->max_connections, 256);
	assert_null(settings_upstream(settings, STR("pay")));
}

static void without_a_file_all_is_default(void **state)
{
	struct settings *settings = NULL;
	struct settings_report report;

	settings_report_init(&report);
	assert_int_equal(settings_load(NULL, &upstream_alone, &settings, &report), 0);
	assert_int_equal(report.count, 0);
	expect_defaults(settings);
	expect_default_lists(settings);
	expect_default_upstream(settings);
	settings_free(settings);
	settings_report_fini(&report);
}

static void files_without_settings_are_default(void **state)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n", "{}", "tokens: {}\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct settings *settings = parse(texts[i]);

		expect_defaults(settings);
		expect_default_upstream(settings);
		settings_free(settings);
	}
}

/* Shows that what is said of the audit log is read. */
static void the_audit_log_is_read(void **state)
{
	struct settings *settings = parse("audit: {origin: gate.test/log, checkpoint_entries: 5,\n"
					  "  checkpoint_interval: 1s, anchors: [/mnt/a, b]}\n");

	assert_string_equal(settings->audit.origin.at, "gate.test/log");
	assert_int_equal(settings->audit.checkpoint_entries, 5);
	assert_int_equal(settings->audit.checkpoint_interval_ms, 1000);
	assert_int_equal(settings->audit.anchors.count, 2);
	assert_string_equal(settings->audit.anchors.texts[1].at, "b");
	settings_free(settings);
}

static void the_file_is_read(void **state)
{
	struct settings *settings = parse_with(
		"listen: '[::]:0'\n"
		"admin: 0.0.0.0:9\n"
		"insecure: true\n"
		"data: \"/var/lib/a b\"\n"
		"threads: 7\n"
		"tls: {certificate: a.crt, key: a.key}\n"
		"upstreams:\n"
		"  pay: {url: https://pay.test/v1/, timeout: 2s, max_connections: 3}\n"
		"  default:\n"
		"    url: http://b\n"
		"    connect_timeout: 10ms\n"
		"    ca_file: roots.pem\n"
		"  slack: {url: http://c, verify: false, downstream_key: X-Once,\n"
		"    downstream_key_for: 7d}\n"
		"outbox: {max_waiting: 5, concurrency: 2, attempts: 3, first_pause: 10ms,\n"
		"  max_pause: 1s}\n"
		"tokens: {required: false, header: X-Key, retention: forever,\n"
		"  tombstones: 0s, max_wait: 0s, max_waiters: 0}\n"
		"limits: {max_body: 100MB, max_response: 0, max_head: 1KiB}\n"
		"protect: [PUT]\n"
		"undeclared: deny\n"
		"statuses:\n  not_sent: []\n  unknown: [503, 599, 300]\n"
		"log: {level: error, requests: false}\n"
		"trusted_proxies: [10.0.0.0/8, \"::1\"]\n",
		NULL);
	const struct settings_upstream *pay = settings_upstream(settings, STR("pay"));

	assert_string_equal(settings->listen.host.at, "::");
	assert_int_equal(settings->listen.port, 0);
	assert_string_equal(settings->data.at, "/var/lib/a b");
	assert_int_equal(settings->threads, 7);
	assert_string_equal(settings->tls.certificate.at, "a.crt");
	assert_int_equal(settings->upstream_count, 3);
	assert_string_equal(settings->upstreams[0].name.at, "default");
	assert_string_equal(settings->upstreams[0].ca_file.at, "roots.pem");
	assert_int_equal(settings->upstreams[0].connect_timeout_ms, 10);
	assert_string_equal(pay->url.base_path.at, "/v1");
	assert_int_equal(pay->max_connections, 3);
	assert_false(settings_upstream(settings, STR("slack"))->verify);
	assert_string_equal(settings_upstream(settings, STR("slack"))->downstream_key.at, "X-Once");
	assert_int_equal(settings_upstream(settings, STR("slack"))->downstream_key_ms, 604800000);
	assert_int_equal(pay->downstream_key.len, 0);
	assert_int_equal(settings->outbox.max_waiting, 5);
	assert_int_equal(settings->outbox.concurrency, 2);
	assert_int_equal(settings->outbox.attempts, 3);
	assert_int_equal(settings->outbox.first_pause_ms, 10);
	assert_int_equal(settings->outbox.max_pause_ms, 1000);
	assert_int_equal(settings->tokens.retention_ms, SETTINGS_FOREVER_MS);
	assert_int_equal(settings->tokens.tombstones_ms, 0);
	assert_string_equal(settings->tokens.header.at, "X-Key");
	assert_int_equal(settings->limits.max_response, 0);
	assert_true(settings_protects(settings, STR("PUT")));
	assert_false(settings_protects(settings, STR("POST")));
	assert_int_equal(settings->undeclared, SETTINGS_UNDECLARED_DENY);
	assert_false(status_class_has(settings->statuses.not_sent, 503));
	assert_true(status_class_has(settings->statuses.unknown, 503));
	assert_true(status_class_has(settings->statuses.unknown, 599));
	assert_false(status_class_has(settings->statuses.unknown, 500));
	assert_int_equal(settings->log.level, LOG_ERROR);
	assert_true(settings_trusts_proxy(settings, "10.9.9.9"));
	assert_true(settings_trusts_proxy(settings, "::ffff:10.9.9.9"));
	assert_true(settings_trusts_proxy(settings, "::1"));
	assert_false(settings_trusts_proxy(settings, "11.9.9.9"));
	assert_false(settings_trusts_proxy(settings, "10.9.9.9:80"));
	settings_free(settings);
}

static void some_defaults_follow_other_settings(void **state)
{
	struct settings *settings = parse_with("limits: {max_body: 100MiB}\n"
					       "upstreams: {default: {url: http://b, timeout: 2s}}",
					       NULL);

	assert_int_equal(settings->limits.request_memory, 800 << 20);
	assert_int_equal(settings->upstreams[0].connect_timeout_ms, 2000);
	settings_free(settings);
}

static void options_win_over_the_file(void **state)
{
	const struct settings_override all = {
		.listen = "[::1]:1",
		.admin = "127.0.0.1:2",
		.upstream = "http://won",
		.data = "won",
		.store = "sqlite",
	};
	struct settings *settings = parse_with("listen: 127.0.0.1:3\n"
					       "admin: 127.0.0.1:4\n"
					       "data: lost\n"
					       "upstreams:\n"
					       "  default: {url: http://lost, timeout: 3s}\n"
					       "  pay: {url: http://pay}\n",
					       &all);

	assert_string_equal(settings->listen.text.at, "[::1]:1");
	assert_string_equal(settings->admin.text.at, "127.0.0.1:2");
	assert_string_equal(settings->data.at, "won");
	assert_string_equal(settings->upstreams[0].url.host.at, "won");
	assert_int_equal(settings->upstreams[0].timeout_ms, 3000);
	assert_int_equal(settings->upstream_count, 2);
	settings_free(settings);
}

static size_t reload_errors(const char *old_text, const char *new_text)
{
	struct settings *old = parse(old_text), *new = parse(new_text);
	struct settings_report report;
	size_t count;
	int r;

	settings_report_init(&report);
	r = settings_reloadable(old, new, "gate.yaml", &report);
	count = report.count;
	assert_int_equal(r, count ? SETTINGS_WRONG : 0);
	settings_report_fini(&report);
	settings_free(old);
	settings_free(new);
	return count;
}

static void a_reload_keeps_what_only_a_restart_changes(void **state)
{
	assert_int_equal(reload_errors("", ""), 0);
	assert_int_equal(reload_errors("listen: localhost:8080", ""), 0);
	assert_int_equal(reload_errors("", "listen: 127.0.0.1:7"), 1);
	assert_int_equal(reload_errors("admin: 127.0.0.1:7", ""), 1);
	assert_int_equal(reload_errors("data: a", "data: b"), 1);
	assert_int_equal(reload_errors("threads: 1", "threads: 2"), 1);
	assert_int_equal(reload_errors("", "tls: {certificate: a, key: b}"), 1);
	assert_int_equal(reload_errors("admin_tls: {certificate: a, key: b}", ""), 1);
	assert_int_equal(
		reload_errors("tls: {certificate: a, key: b}", "tls: {certificate: c, key: d}"), 0);
	assert_int_equal(reload_errors("{listen: '127.0.0.1:1', data: a, threads: 1}",
				       "{listen: '127.0.0.1:2', data: b, threads: 2}"),
			 3);
	assert_int_equal(reload_errors("", "tokens: {retention: 1s}\n"
					   "limits: {max_body: 1KiB, max_connections: 5}\n"
					   "log: {level: debug}\n"
					   "upstreams: {pay: {url: http://b}}\n"
					   "protect: []\n"),
			 0);
}

/* All of a stream that `write` fills; the caller frees it. */
static char *written_by(void (*write)(FILE *out), size_t *out_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, out_len);

	assert_non_null(out);
	write(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void the_example_changes_nothing(void **state)
{
	size_t len;
	char *text = written_by(settings_write_example, &len);
	struct settings *settings = parse_with(text, NULL);

	expect_defaults(settings);
	expect_default_lists(settings);
	expect_default_upstream(settings);
	settings_free(settings);
	free(text);
}

/* Comments that are settings, uncommented, are right as well. */
static void the_examples_comments_are_settings(void **state)
{
	static const char *const commented[] = {"# tls:\n", "# admin_tls:\n",	  "# certificate: ",
						"# key: ",  "# trusted_proxies:", "# ca_file: "};
	size_t len;
	char *text = written_by(settings_write_example, &len);
	char *empty_list = strstr(text, "trusted_proxies: []");
	struct settings *settings;

	assert_non_null(empty_list);
	empty_list[0] = '#';
	for (size_t i = 0; i < sizeof(commented) / sizeof(commented[0]); i++) {
		char *at = strstr(text, commented[i]);

		assert_non_null(at);
		for (; at; at = strstr(at + 1, commented[i]))
			memmove(at, at + 2, strlen(at + 2) + 1);
	}
	settings = parse_with(text, NULL);
	assert_true(settings->tls.key.len > 0);
	assert_true(settings->admin_tls.certificate.len > 0);
	assert_int_equal(settings->trusted_proxies.count, 3);
	assert_true(settings->upstreams[0].ca_file.len > 0);
	settings_free(settings);
	free(text);
}

/* "    # key: value", "    # key:" or "    # - key: value" with a word for a key. */
static bool is_commented_setting(const char *line)
{
	const char *at = strchr(line, '#');

	if (!at || at[1] != ' ' || strspn(line, " ") != (size_t)(at - line))
		return false;
	at += at[2] == '-' && at[3] == ' ' ? 4 : 2;
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz_.");
	return at[0] == ':' && (at[1] == ' ' || at[1] == '\n');
}

/* The example's actions, uncommented: a complete one, which is right. */
static void the_examples_actions_are_right(void **state)
{
	size_t len;
	char *text = written_by(settings_write_example, &len);
	const char *line = strstr(text, "\n# actions:\n");
	struct settings *settings;
	struct buf actions;

	assert_non_null(line);
	buf_init(&actions, 65536);
	for (line++; *line; line = strchr(line, '\n') + 1) {
		size_t indent = strspn(line, " ");

		if (!is_commented_setting(line))
			continue;
		buf_append(&actions, line, indent);
		buf_append(&actions, line + indent + 2, strcspn(line, "\n") - indent - 1);
	}
	buf_append_byte(&actions, '\0');
	settings = parse(actions.at);
	assert_int_equal(settings->action_count, 5);
	assert_int_equal(settings->actions[0].field_count, 8);
	assert_int_equal(settings->actions[1].response.failed_when_count, 2);
	assert_true(settings->actions[4].is_natural);
	settings_free(settings);
	buf_fini(&actions);
	free(text);
}

static void the_example_in_the_repository_is_the_written_one(void **state)
{
	const char *folder = getenv("EXAMPLES");
	struct settings *settings = NULL;
	struct settings_report report;
	char file[512], kept[65536];
	size_t len, kept_len;
	char *text;
	FILE *in;

	if (!folder)
		skip();
	snprintf(file, sizeof(file), "%s/gate.yaml", folder);
	in = fopen(file, "r");
	assert_non_null(in);
	kept_len = fread(kept, 1, sizeof(kept), in);
	fclose(in);
	text = written_by(settings_write_example, &len);
	assert_int_equal(len, kept_len);
	assert_memory_equal(text, kept, len);
	free(text);

	settings_report_init(&report);
	assert_int_equal(settings_load(file, NULL, &settings, &report), 0);
	settings_free(settings);
	settings_report_fini(&report);
}

static void every_row_is_written_about(void **state)
{
	size_t example_len, manual_len, count = 0;
	char *example = written_by(settings_write_example, &example_len);
	char *manual = written_by(settings_write_manual, &manual_len);
	struct settings_row row;

	for (; settings_row_at(count, &row); count++) {
		const char *dot = strrchr(row.name, '.');

		assert_true(strlen(row.help) > 20);
		assert_int_equal(row.help[strlen(row.help) - 1], '.');
		assert_non_null(strstr(example, dot ? dot + 1 : row.name));
		assert_non_null(strstr(manual, row.name));
	}
	assert_in_range(count, 100, 250);
	free(example);
	free(manual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_file_all_is_default),
		cmocka_unit_test(files_without_settings_are_default),
		cmocka_unit_test(the_file_is_read),
		cmocka_unit_test(the_audit_log_is_read),
		cmocka_unit_test(some_defaults_follow_other_settings),
		cmocka_unit_test(options_win_over_the_file),
		cmocka_unit_test(a_reload_keeps_what_only_a_restart_changes),
		cmocka_unit_test(the_example_changes_nothing),
		cmocka_unit_test(the_examples_comments_are_settings),
		cmocka_unit_test(the_examples_actions_are_right),
		cmocka_unit_test(the_example_in_the_repository_is_the_written_one),
		cmocka_unit_test(every_row_is_written_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
