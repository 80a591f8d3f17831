/*
 * Shows what a loaded configuration holds of an inbox, and which files of secrets it takes.
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

#define SECRET	     "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3" /* 0123456789abcdef01234567 */
#define PLAIN_SECRET "another secret, without a mark"

struct folder {
	char path[64];
	char secrets[96]; /* the file */
	char config[96];
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

static void make_folder(struct folder *folder)
{
	*folder = (struct folder){.path = "/tmp/counterfoil-inbox-XXXXXX"};
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->secrets, sizeof(folder->secrets), "%s/secrets", folder->path);
	snprintf(folder->config, sizeof(folder->config), "%s/gate.yaml", folder->path);
	settings_report_init(&folder->report);
}

static void drop_folder(struct folder *folder)
{
	settings_report_fini(&folder->report);
	settings_free(folder->settings);
	unlink(folder->secrets);
	unlink(folder->config);
	assert_int_equal(rmdir(folder->path), 0);
}

/* Load one inbox; `more` stands behind its secrets. */
static int load(struct folder *folder, const char *more)
{
	static const struct settings_override upstream = {.upstream = "http://127.0.0.1:9000"};
	char text[512];

	snprintf(text, sizeof(text),
		 "actions:\n  a:\n    route: POST /a\n    inbox: {secrets: [%s]%s}\n",
		 folder->secrets, more);
	write_file(folder->config, text, 0644);
	return settings_load(folder->config, &upstream, &folder->settings, &folder->report);
}

static void secrets_are_read_one_a_line(void **state)
{
	const struct rule_inbox *inbox;
	struct folder folder;

	make_folder(&folder);
	write_file(folder.secrets, SECRET "\r\n\n  " PLAIN_SECRET " \n", 0600);
	assert_int_equal(load(&folder, ", id: /event/id, tolerance: 1m"), 0);
	inbox = &folder.settings->actions[0].inbox;
	assert_true(inbox->is_declared);
	assert_string_equal(inbox->id_pointer.at, "/event/id");
	assert_int_equal(inbox->tolerance_ms, 60000);
	assert_int_equal(inbox->secret_count, 2);
	assert_true(str_equal(inbox->secrets[0], STR("0123456789abcdef01234567")));
	assert_true(str_equal(inbox->secrets[1], STR(PLAIN_SECRET)));
	drop_folder(&folder);
}

static void one_line_without_an_end_is_a_secret(void **state)
{
	struct folder folder;

	make_folder(&folder);
	write_file(folder.secrets, SECRET, 0400);
	assert_int_equal(load(&folder, ""), 0);
	assert_int_equal(folder.settings->actions[0].inbox.secret_count, 1);
	assert_int_equal(folder.settings->actions[0].inbox.tolerance_ms, 300000);
	assert_int_equal(folder.settings->actions[0].inbox.id_pointer.len, 0);
	drop_folder(&folder);
}

static void events_are_kept_for_a_week_at_least(void **state)
{
	struct folder folder;

	make_folder(&folder);
	write_file(folder.secrets, SECRET, 0600);
	assert_int_equal(load(&folder, "}\n    retention: 1h\n    response: {reference: /id"), 0);
	assert_int_equal(folder.settings->actions[0].retention_ms, 604800000);
	settings_free(folder.settings);
	assert_int_equal(load(&folder, "}\n    retention: 8d\n    response: {reference: /id"), 0);
	assert_int_equal(folder.settings->actions[0].retention_ms, 8 * 86400000);
	settings_free(folder.settings);
	assert_int_equal(load(&folder, "}\ntokens: {retention: 9d"), 0);
	assert_int_equal(folder.settings->actions[0].retention_ms, 0);
	drop_folder(&folder);
}

/* The one error of a file with that text and mode; it stands at the file's name. */
static void expect_refused(const char *text, mode_t mode, const char *what, const char *mend)
{
	const struct settings_error *error;
	struct folder folder;

	make_folder(&folder);
	if (text)
		write_file(folder.secrets, text, mode);
	assert_int_equal(load(&folder, ""), SETTINGS_WRONG);
	error = &folder.report.errors[0];
	assert_int_equal(folder.report.count, 1);
	assert_int_equal(error->line, 4);
	assert_int_equal(error->column, 23);
	assert_non_null(strstr(error->what, folder.secrets));
	assert_non_null(strstr(error->what, what));
	assert_non_null(strstr(error->mend, mend));
	assert_null(strstr(error->what, "geheim"));
	drop_folder(&folder);
}

static void files_that_others_may_use_are_refused(void **state)
{
	static const mode_t modes[] = {0644, 0640, 0604, 0620, 0602};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		expect_refused(SECRET, modes[i], "by others than its owner", "chmod 600");
}

static void files_without_secrets_are_refused(void **state)
{
	char many[16 * 64] = "";

	for (int i = 0; i <= RULE_SECRETS_MAX; i++)
		memcpy(many + strlen(many), PLAIN_SECRET "\n", sizeof(PLAIN_SECRET "\n"));
	expect_refused(NULL, 0, "No such file", "put it there");
	expect_refused("", 0600, "is empty", "write a secret into it");
	expect_refused(" \n\n", 0600, "is empty", "write a secret into it");
	expect_refused(SECRET "\ngeheim\n", 0600, "has no secret in line 2", "whsec_");
	expect_refused("whsec_geheim!\n", 0600, "has no secret in line 1", "base64");
	expect_refused(many, 0600, "one too many", "keep 8");
}

static void a_folder_is_no_secret(void **state)
{
	struct folder folder;

	make_folder(&folder);
	snprintf(folder.secrets, sizeof(folder.secrets), "%s", folder.path);
	assert_int_equal(load(&folder, ""), SETTINGS_WRONG);
	assert_non_null(strstr(folder.report.errors[0].what, "is no file"));
	drop_folder(&folder);
}

/* Each is an action of an inbox: what is wrong, and where. */
static const struct {
	const char *text;
	size_t column;
	const char *what, *mend;
} wrong[] = {
	{"{route: POST /a, inbox: {}}", 30, "inbox has no secrets", "add secrets: ["},
	{"{route: POST /a, inbox: {secrets: []}}", 40, "secrets is empty", "list 1 to 8"},
	{"{route: POST /a, inbox: {secrets: a}}", 40, "is a single value where a list of paths",
	 NULL},
	{"{route: POST /a, inbox: {secrets: [a, a]}}", 44, "there already", NULL},
	{"{route: POST /a, inbox: {secrets: [\"a\\0b\"]}}", 41, "is not a path", NULL},
	{"{route: POST /a, inbox: {secrets: [a], id: b}}", 49, "not a JSON pointer", NULL},
	{"{route: POST /a, inbox: {secrets: [a], tolerance: 0s}}", 56, "out of its range", NULL},
	{"{route: POST /a, token: {from: header}, inbox: {secrets: [a]}}", 30,
	 "the id of the event", "inbox.id says where"},
	{"{route: POST /a, fields: {}, inbox: {secrets: [a], id: /b}}", 61,
	 "id leads to a field that is not declared", "lead it to a string"},
	{"{route: POST /a, fields: {b: {type: integer}}, inbox: {secrets: [a], id: /b}}", 79,
	 "is no string", NULL},
	{"{route: POST /a, fields: {b/c: {type: integer}}, inbox: {secrets: [a], id: /b~1c}}", 81,
	 "is no string", NULL},
	{"{route: POST /a, fields: {b: {type: string, secret: true}}, inbox: {secrets: [a], id: "
	 "/b}}",
	 92, "a secret field", NULL},
	{"{route: POST /a, fields: {b: {type: object, fields: {}}}, inbox: {secrets: [a], id: "
	 "/b/c}}",
	 90, "not declared", NULL},
};

static void each_error_of_an_inbox_stands_where_it_is(void **state)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		static const struct settings_override upstream = {.upstream = "http://b"};
		struct settings *settings = NULL;
		struct settings_report report;
		char text[512];

		settings_report_init(&report);
		snprintf(text, sizeof(text), "actions:\n  a: %s\n", wrong[i].text);
		assert_int_equal(
			settings_parse(str_from(text), "gate.yaml", &upstream, &settings, &report),
			SETTINGS_WRONG);
		if (report.count != 1 || report.errors[0].line != 2 ||
		    report.errors[0].column != wrong[i].column ||
		    !strstr(report.errors[0].what, wrong[i].what))
			fail_msg("%zu errors; expected column %zu %s; got %zu: %s", report.count,
				 wrong[i].column, wrong[i].what, report.errors[0].column,
				 report.errors[0].what);
		if (wrong[i].mend)
			assert_non_null(strstr(report.errors[0].mend, wrong[i].mend));
		settings_report_fini(&report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_read_one_a_line),
		cmocka_unit_test(one_line_without_an_end_is_a_secret),
		cmocka_unit_test(events_are_kept_for_a_week_at_least),
		cmocka_unit_test(files_that_others_may_use_are_refused),
		cmocka_unit_test(files_without_secrets_are_refused),
		cmocka_unit_test(a_folder_is_no_secret),
		cmocka_unit_test(each_error_of_an_inbox_stands_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
