/*
 * `counterfoil sandbox`: one loop, one listener, until a signal.
 */
#include "sandbox/sandbox.h"

#include "base/err.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 1024,
	EXCHANGE_MEMORY_MAX = 8 * 1024 * 1024,
	HEAD_TIMEOUT_MS = 10000,
	IDLE_TIMEOUT_MS = 60000,
	BODY_TIMEOUT_MS = 30000,
};

struct program {
	struct loop loop;
	struct log *log;
	struct sandbox sandbox;
	struct server server;
	uv_signal_t interrupt, terminate;
	struct loop_sweeper sweeper; /* ends the loop once the last visit has ended */
	bool is_ending;
};

static void on_signal(uv_signal_t *signal, int number)
{
	struct program *program = signal->data;

	program->is_ending = true;
	sandbox_break_off(&program->sandbox);
	server_drain(&program->server);
	server_close(&program->server);
}

static void sweep(struct loop_sweeper *sweeper, int64_t now_ms)
{
	struct program *program = list_entry(sweeper, struct program, sweeper);

	if (program->is_ending && server_is_idle(&program->server) &&
	    list_is_empty(&program->sandbox.visits))
		loop_stop(&program->loop);
}

static void watch(struct program *program, uv_signal_t *signal, int number)
{
	require(uv_signal_init(&program->loop.uv, signal) == 0);
	signal->data = program;
	uv_signal_start(signal, on_signal, number);
}

static int serve(struct program *program, struct sockaddr_storage *address, const char **why)
{
	const struct server_limits limits = {
		.head = http_limits_default,
		.connections = CONNECTIONS_MAX,
		.exchange_memory = EXCHANGE_MEMORY_MAX,
		.head_timeout_ms = HEAD_TIMEOUT_MS,
		.idle_timeout_ms = IDLE_TIMEOUT_MS,
		.body_timeout_ms = BODY_TIMEOUT_MS,
	};
	char text[64];
	int r = server_listen(&program->server, &program->loop, &program->sandbox.service, &limits,
			      NULL, address, false, why);

	if (r != 0)
		return r;
	watch(program, &program->interrupt, SIGINT);
	watch(program, &program->terminate, SIGTERM);
	program->sweeper.sweep = sweep;
	loop_add_sweeper(&program->loop, &program->sweeper);
	address_format((const struct sockaddr *)address, text);
	printf("counterfoil sandbox listens on http://%s\n", text);
	fflush(stdout);
	loop_run(&program->loop);
	return 0;
}

int sandbox_main(struct sockaddr_storage *address, const char **why)
{
	static struct program program; /* large, and there is one */
	int r;

	*why = "there is no memory for it";
	signal(SIGPIPE, SIG_IGN);
	program.log = log_new(&env_machine, STDERR_FILENO, LOG_WARNING);
	if (!program.log)
		return FAIL_MEMORY;
	r = loop_init(&program.loop, &env_machine, program.log);
	if (r == 0)
		r = sandbox_init(&program.sandbox);
	if (r == 0)
		r = serve(&program, address, why);
	loop_fini(&program.loop);
	if (program.sandbox.world)
		sandbox_fini(&program.sandbox);
	log_free(program.log);
	return r;
}
