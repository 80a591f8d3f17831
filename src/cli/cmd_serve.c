/*
 * counterfoil serve: the gate.
 */
#include "admin/admin.h"
#include "base/err.h"
#include "cli/command.h"
#include "gate/gate.h"

enum {
	OPTION_CONFIG,
	OPTION_LISTEN,
	OPTION_ADMIN,
	OPTION_UPSTREAM,
	OPTION_DATA,
	OPTION_STORE,
};

static const struct command_option options[] = {
	{"--config", "FILE", "the configuration (counterfoil config example shows one)"},
	{"--listen", "ADDRESS", "the data listener (default 127.0.0.1:8080; port 0: any free one)"},
	{"--admin", "ADDRESS", "the admin listener (default 127.0.0.1:8081)"},
	{"--upstream", "URL", "the service behind the gate; with it no configuration is needed"},
	{"--data", "DIR", "where records are kept (default ./counterfoil-data)"},
	{"--store", "URL", "the engine that keeps them (default sqlite)"},
};

static int load(const struct command_call *call, const struct settings_override *overrides,
		struct settings **out_settings)
{
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = settings_load(call->options[OPTION_CONFIG], overrides, out_settings, &report);
	if (r == SETTINGS_WRONG)
		settings_report_print(&report, stderr);
	else if (r < 0)
		command_message("%s", fail_text(r));
	settings_report_fini(&report);
	return r;
}

static void announce(const struct gate *gate, struct admin *admin)
{
	const char *scheme = gate->hold->tls ? "https" : "http";
	char link[ADMIN_LINK_SIZE];

	admin_console_link(admin, link);
	printf("counterfoil: gate on %s://%s, admin on %s, console (once) %s\n", scheme,
	       gate->listen_text, admin->url, link);
	fflush(stdout);
}

static int serve(struct gate *gate, struct admin *admin, char *why, size_t why_size)
{
	int r = gate_start(gate, why, why_size);

	if (r == 0)
		r = admin_start(admin, gate, why, why_size);
	if (r != 0)
		return r;
	announce(gate, admin);
	gate_run(gate);
	return 0;
}

static int run(const struct command_call *call)
{
	const struct settings_override overrides = {
		.listen = call->options[OPTION_LISTEN],
		.admin = call->options[OPTION_ADMIN],
		.upstream = call->options[OPTION_UPSTREAM],
		.data = call->options[OPTION_DATA],
		.store = call->options[OPTION_STORE],
	};
	struct settings *settings;
	struct admin admin = {0};
	struct gate gate;
	char why[512] = "";
	int r;

	if (load(call, &overrides, &settings) != 0)
		return EXIT_USAGE;
	r = gate_open(&gate, call->options[OPTION_CONFIG], &overrides, settings, why, sizeof(why));
	if (r == 0)
		r = serve(&gate, &admin, why, sizeof(why));
	admin_stop(&admin);
	gate_close(&gate);
	if (r != 0)
		command_message("%s", why);
	return r == 0 ? EXIT_DONE : EXIT_NOT_SO;
}

const struct command command_serve = {
	.name = "serve",
	.summary = "runs the gate",
	.usage = "[--config FILE] [--upstream URL] [OPTIONS]",
	.text = "Prints one line with both addresses and a link that signs one person in at the\n"
		"console, once, within an hour; then logs JSON lines on stderr. SIGTERM: "
		"accepts\n"
		"no more, finishes what runs, exits 0. SIGHUP: reads the configuration again, and\n"
		"keeps the old one if the new one is wrong. See counterfoil.yaml(5).\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = run,
};
