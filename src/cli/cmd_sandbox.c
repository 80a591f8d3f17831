/*
 * counterfoil sandbox: the practice API.
 */
#include "cli/command.h"
#include "sandbox/sandbox.h"

enum { OPTION_LISTEN };

static const struct command_option options[] = {
	{"--listen", "ADDRESS", "where to listen (default 127.0.0.1:9000; port 0: any free one)"},
};

static int run(const struct command_call *call)
{
	struct str listen = STR("127.0.0.1:9000");
	struct sockaddr_storage address;
	const char *why;

	if (call->options[OPTION_LISTEN])
		listen = str_from(call->options[OPTION_LISTEN]);
	if (!address_parse(listen, &address))
		return command_misused(call->command,
				       "\"%.*s\" is no address: 127.0.0.1:9000 and [::1]:9000 are",
				       STR_ARG(listen));
	if (sandbox_main(&address, &why) == 0)
		return EXIT_DONE;
	command_message("the sandbox cannot serve on %.*s: %s", STR_ARG(listen), why);
	return EXIT_NOT_SO;
}

const struct command command_sandbox = {
	.name = "sandbox",
	.summary = "runs a practice API to try the gate on",
	.usage = "[--listen ADDRESS]",
	.text = "Tickets, payments, refunds, deployments and orders under /v1, where every POST\n"
		"makes a new effect, and events at /hooks/NAME. GET /effects counts them,\n"
		"DELETE /effects starts anew. Faults are asked for by PUT /faults or by a\n"
		"write's own Sandbox-Fault header: drop, reset, half, hang, hang;work, decline,\n"
		"delay=MS, hide=MS, twice, status=N, status=N;work. See counterfoil(1).\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = run,
};
