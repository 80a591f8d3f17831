/*
 * Shows what a loaded configuration holds of who is told of approvals, and that it is not told
 * without a secret that is the gate's alone.
 */
#include "config/settings.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct settings_override upstream = {.upstream = "http://127.0.0.1:9000"};

struct folder {
	char path[64], secret[96], config[96];
	struct settings *settings;
	struct settings_report report;
};

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* A file of a secret with that mode, and a configuration that names it. */
static int load(struct folder *folder, const char *secret, mode_t mode)
{
	char text[512];

	*folder = (struct folder){.path = "/tmp/counterfoil-notify-XXXXXX"};
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->secret, sizeof(folder->secret), "%s/secret", folder->path);
	snprintf(folder->config, sizeof(folder->config), "%s/gate.yaml", folder->path);
	settings_report_init(&folder->report);
	write_file(folder->secret, secret, mode);
	snprintf(text, sizeof(text),
		 "notify: {url: \"https://chat.test/hooks/a\", secret_file: %s, timeout: 2s}\n"
		 "console: {url: \"https://gate.test:8081\"}\n",
		 folder->secret);
	write_file(folder->config, text, 0600);
	return settings_load(folder->config, &upstream, &folder->settings, &folder->report);
}

static void drop(struct folder *folder)
{
	settings_report_fini(&folder->report);
	settings_free(folder->settings);
	unlink(folder->secret);
	unlink(folder->config);
	assert_int_equal(rmdir(folder->path), 0);
}

static void the_secret_is_read_with_the_rest(void **state)
{
	const struct settings *settings;
	struct folder folder;

	assert_int_equal(
		load(&folder, "whsec_MDEyMzQ1Njc4OWFiY2RlZg==\nsixteen or more bytes\n", 0600), 0);
	settings = folder.settings;
	assert_string_equal(settings->notify.url.text.at, "https://chat.test/hooks/a");
	assert_int_equal(settings->notify.timeout_ms, 2000);
	assert_int_equal(settings->notify.secret_count, 2);
	assert_true(str_equal(settings->notify.secrets[0], STR("0123456789abcdef")));
	assert_string_equal(settings->console.url.text.at, "https://gate.test:8081");
	drop(&folder);
}

static void nobody_is_told_unless_it_is_said(void **state)
{
	struct settings *settings = NULL;
	struct settings_report report;

	settings_report_init(&report);
	assert_int_equal(settings_parse(STR("notify: {timeout: 3s}"), "gate.yaml", &upstream,
					&settings, &report),
			 0);
	assert_int_equal(settings->notify.url.text.len, 0);
	assert_int_equal(settings->notify.timeout_ms, 3000);
	settings_free(settings);
	settings_report_fini(&report);
}

static void a_secret_that_others_may_read_is_refused(void **state)
{
	struct folder folder;

	assert_int_equal(load(&folder, "geheim and long enough\n", 0644), SETTINGS_WRONG);
	assert_int_equal(folder.report.count, 1);
	assert_int_equal(folder.report.errors[0].line, 1);
	assert_non_null(strstr(folder.report.errors[0].mend, "chmod 600"));
	assert_null(strstr(folder.report.errors[0].what, "geheim"));
	drop(&folder);
}

static void a_secret_that_is_none_is_refused(void **state)
{
	struct folder folder;

	assert_int_equal(load(&folder, "geheim\n", 0600), SETTINGS_WRONG);
	assert_non_null(strstr(folder.report.errors[0].what, "has no secret in line 1"));
	drop(&folder);
}

static void one_needs_the_other(void **state)
{
	static const char *const texts[] = {
		"notify: {url: \"https://a.test\"}",
		"notify: {secret_file: /a}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct settings *settings = NULL;
		struct settings_report report;

		settings_report_init(&report);
		assert_int_equal(settings_parse(str_from(texts[i]), "gate.yaml", &upstream,
						&settings, &report),
				 SETTINGS_WRONG);
		assert_int_equal(report.count, 1);
		assert_non_null(
			strstr(report.errors[0].mend, i ? "notify.url" : "notify.secret_file"));
		settings_report_fini(&report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_secret_is_read_with_the_rest),
		cmocka_unit_test(nobody_is_told_unless_it_is_said),
		cmocka_unit_test(a_secret_that_others_may_read_is_refused),
		cmocka_unit_test(a_secret_that_is_none_is_refused),
		cmocka_unit_test(one_needs_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
