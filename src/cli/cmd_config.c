/*
 * counterfoil config: looks at configurations without starting anything.
 */
#include "cli/command.h"
#include "config/import.h"
#include "config/report.h"
#include "config/settings.h"
#include "net/server.h"

enum { CHECK_JSON };
enum { REPORT_JSON_MAX = 4 * 1024 * 1024 };

static const struct command_option check_options[] = {
	{"--json", NULL, "print {\"ok\", \"errors\", \"left_out\"}"},
};

static void print_report_json(const struct settings_report *report)
{
	struct buf out;

	buf_init(&out, REPORT_JSON_MAX);
	settings_report_json(report, &out);
	fwrite(out.at, 1, out.len, stdout);
	if (!out.len || out.at[out.len - 1] != '\n')
		fputc('\n', stdout);
	buf_fini(&out);
}

/* Files of certificates can be read and yet be of no use: load them as the gate would. */
static int check_tls(const struct settings_tls *tls, const char *file,
		     struct settings_report *report)
{
	struct tls_context *context;
	char why[256];

	if (!tls->certificate.len)
		return 0;
	if (tls_context_new(tls->certificate.at, tls->key.at, &context, why, sizeof(why)) == 0) {
		tls_context_free(context);
		return 0;
	}
	report_add(report, (struct place){.source = file},
		   "put a certificate chain and the key of its first one there, both PEM", "%s",
		   why);
	return SETTINGS_WRONG;
}

static int load(const char *file, struct settings_report *report)
{
	struct settings *settings = NULL;
	int r = settings_load(file, NULL, &settings, report);
	int s;

	if (r == 0) {
		r = check_tls(&settings->tls, file, report);
		s = check_tls(&settings->admin_tls, file, report);
		r = r != 0 ? r : s;
	}
	settings_free(settings);
	return r;
}

static int run_check(const struct command_call *call)
{
	const char *file = call->operands[0];
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = load(file, &report);
	if (r == 0 || r == SETTINGS_WRONG) {
		if (call->options[CHECK_JSON])
			print_report_json(&report);
		else if (r == 0)
			printf("%s is a good configuration\n", file);
		else
			settings_report_print(&report, stderr);
	}
	settings_report_fini(&report);
	return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

static const struct command command_check = {
	.name = "config check",
	.summary = "checks a configuration file",
	.usage = "FILE [--json]",
	.text = "Says all that is wrong with FILE at once, a line each: file, line, column, what\n"
		"it is and how to mend it. Exit status 2 when there is anything.\n",
	.options = check_options,
	.option_count = sizeof(check_options) / sizeof(check_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_check,
};

static int run_example(const struct command_call *call)
{
	settings_write_example(stdout);
	return EXIT_DONE;
}

static const struct command command_example = {
	.name = "config example",
	.summary = "prints a commented configuration with every setting",
	.usage = "",
	.run = run_example,
};

static int run_schema(const struct command_call *call)
{
	return settings_write_schema(stdout) == 0 ? EXIT_DONE : EXIT_NOT_SO;
}

static const struct command command_schema_of_config = {
	.name = "config schema",
	.summary = "prints the JSON Schema of a configuration, for editors",
	.usage = "",
	.text = "Save it beside the configuration, and begin the configuration with the line\n"
		"  # yaml-language-server: $schema=counterfoil.schema.json\n"
		"for an editor to complete and explain settings. `config check` sees more: it\n"
		"also compares settings with each other.\n",
	.run = run_schema,
};

static int run_import(const struct command_call *call)
{
	struct settings_report report;
	struct buf out;
	int r;

	buf_init(&out, SETTINGS_FILE_MAX);
	settings_report_init(&report);
	r = import_openapi(call->operands[0], &out, &report);
	if (r == 0)
		fwrite(out.at, 1, out.len, stdout);
	else if (r == SETTINGS_WRONG)
		settings_report_print(&report, stderr);
	settings_report_fini(&report);
	buf_fini(&out);
	return r == 0 ? EXIT_DONE : EXIT_USAGE;
}

static const struct command command_import = {
	.name = "config import-openapi",
	.summary = "prints a configuration with an action for each write of an API",
	.usage = "FILE",
	.text = "FILE is an OpenAPI 3.0 or 3.1 document, YAML or JSON, of 8 MiB at most. Each "
		"POST,\n"
		"PUT, PATCH and DELETE becomes an action with its route and the fields of its\n"
		"JSON body. Comments say where a person must decide: business keys, money,\n"
		"approval. What is printed passes `config check`.\n",
	.operands_min = 1,
	.operands_max = 1,
	.run = run_import,
};

static const struct command *const config_commands[] = {
	&command_check, &command_example, &command_schema_of_config, &command_import, NULL};

const struct command command_config = {
	.name = "config",
	.summary = "checks a configuration, or prints one to start from",
	.usage = "check FILE [--json] | example | schema | import-openapi FILE",
	.commands = config_commands,
};
