/*
 * Killing a server and having it back.
 *
 * What the drill started is a process group it can end by itself; what ran before the drill came
 * is ended by server.kill alone. A kill is over when nothing answers any more, a start when
 * server.ready.get does with a 2xx (without it: when anything is answered at all).
 *
 * Can fail: the commands, in ways of their own; a server that does not come up, or does not go
 * away, in time. All of it is told as a sentence and makes the case one that cannot be judged.
 */
#include "drill/server.h"

#include "base/env.h"
#include "drill/place.h"
#include "drill/target.h"

#include <stdio.h>
#include <unistd.h>

enum {
	LOOK_EVERY_MS = 20,
	LOOK_TIMEOUT_MS = 2000, /* of one question whether it is ready */
	GONE_WITHIN_MS = 10000,
	STOP_GRACE_MS = 10000,
	END_GRACE_MS = 3000,
};

static bool is_ready(struct server *server);
static int wait_ready(struct server *server, char why[SHELL_WHY_MAX]);
static int wait_gone(struct server *server, char why[SHELL_WHY_MAX]);

int server_begin(struct server *server, const struct scenario *scenario,
		 struct interrupt *interrupt, char why[SHELL_WHY_MAX])
{
	*server = (struct server){
		.scenario = scenario, .interrupt = interrupt, .child = {.output = -1}};
	if (is_ready(server)) {
		server->is_foreign = true;
		return 0;
	}
	if (scenario->server.start.len)
		return server_start(server, why);
	return wait_ready(server, why);
}

int server_start(struct server *server, char why[SHELL_WHY_MAX])
{
	char reason[SHELL_WHY_MAX];
	int r;

	interrupt_hold(server->interrupt);
	shell_end(&server->child, 0); /* of an earlier start, if its leader went away by itself */
	r = shell_start(server->scenario->server.start, &server->child, reason);
	interrupt_release(server->interrupt, server->child.pid);
	if (r != 0) {
		snprintf(why, SHELL_WHY_MAX, "server.start: %.400s", reason);
		return SERVER_FAILED;
	}
	server->is_foreign = false;
	return wait_ready(server, why);
}

static int run_kill(struct server *server, char why[SHELL_WHY_MAX])
{
	const struct scenario *scenario = server->scenario;
	char reason[SHELL_WHY_MAX];
	int r = shell_run(scenario->server.kill, scenario->server.ready_within_ms, NULL, NULL,
			  reason);

	if (r == SHELL_FAILED)
		snprintf(why, SHELL_WHY_MAX, "server.kill: %.400s", reason);
	return r;
}

static void end_child(struct server *server, int64_t grace_ms)
{
	interrupt_hold(server->interrupt);
	shell_end(&server->child, grace_ms);
	interrupt_release(server->interrupt, 0);
}

static int end_by(struct server *server, int64_t grace_ms, char why[SHELL_WHY_MAX])
{
	int r = server->scenario->server.kill.len ? run_kill(server, why) : 0;

	end_child(server, grace_ms);
	return r == 0 ? wait_gone(server, why) : r;
}

int server_kill(struct server *server, char why[SHELL_WHY_MAX])
{
	return end_by(server, 0, why);
}

int server_stop(struct server *server, char why[SHELL_WHY_MAX])
{
	return end_by(server, STOP_GRACE_MS, why);
}

int server_reset(struct server *server, char why[SHELL_WHY_MAX])
{
	const struct scenario *scenario = server->scenario;
	char reason[SHELL_WHY_MAX];
	int r;

	if (!scenario->server.reset.len)
		return 0;
	r = shell_run(scenario->server.reset, scenario->server.ready_within_ms, NULL, NULL, reason);
	if (r == SHELL_FAILED)
		snprintf(why, SHELL_WHY_MAX, "server.reset: %.400s", reason);
	return r == 0 ? wait_ready(server, why) : r;
}

const char *server_is_out_of_reach(const struct server *server)
{
	if (!server->scenario->server.start.len)
		return "the scenario says no server.start";
	if (server->is_foreign && !server->scenario->server.kill.len)
		return "the server ran before the drill came, and the scenario says no server.kill";
	return NULL;
}

void server_end(struct server *server)
{
	end_child(server, END_GRACE_MS);
}

/* -- ready or gone ------------------------------------------------------------------- */

/* A question of its own memory: it is asked again and again. False: no memory either. */
static bool ask(struct server *server, struct target_answer *out_answer, struct arena *mem)
{
	const struct scenario *scenario = server->scenario;
	struct str place = scenario->server.ready_get;
	struct target_request request = {.method = STR("GET"), .timeout_ms = LOOK_TIMEOUT_MS};

	request.ca_file = scenario->tls.ca_file;
	request.verify = scenario->tls.verify;
	request.url = place_url(scenario, place.len ? place : STR("/"), mem);
	return request.url.at && target_ask(&request, mem, out_answer) == 0;
}

static bool is_ready(struct server *server)
{
	struct target_answer answer;
	struct arena mem;
	bool is_ready;

	arena_init(&mem, TARGET_REQUEST_MAX + TARGET_BODY_MAX + TARGET_HEAD_MAX);
	is_ready = ask(server, &answer, &mem) && answer.end == TARGET_ANSWERED;
	if (is_ready && server->scenario->server.ready_get.len)
		is_ready = answer.status >= 200 && answer.status < 300;
	arena_fini(&mem);
	return is_ready;
}

static int wait_ready(struct server *server, char why[SHELL_WHY_MAX])
{
	int64_t within_ms = server->scenario->server.ready_within_ms;
	int64_t until_ms = env_monotonic_ms(&env_machine) + within_ms;
	char words[SHELL_WHY_MAX] = "";

	while (!is_ready(server)) {
		if (env_monotonic_ms(&env_machine) >= until_ms) {
			shell_last_words(&server->child, words);
			snprintf(why, SHELL_WHY_MAX,
				 "the server was not ready within %lld ms%s%.300s",
				 (long long)within_ms, words[0] ? ": " : "", words);
			return SERVER_FAILED;
		}
		usleep(LOOK_EVERY_MS * 1000);
	}
	return 0;
}

static int wait_gone(struct server *server, char why[SHELL_WHY_MAX])
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + GONE_WITHIN_MS;
	struct target_answer answer;
	struct arena mem;
	bool is_gone;

	do {
		arena_init(&mem, TARGET_REQUEST_MAX + TARGET_BODY_MAX + TARGET_HEAD_MAX);
		is_gone = ask(server, &answer, &mem) && answer.end == TARGET_NOT_SENT;
		arena_fini(&mem);
		if (!is_gone)
			usleep(LOOK_EVERY_MS * 1000);
	} while (!is_gone && env_monotonic_ms(&env_machine) < until_ms);
	if (is_gone)
		return 0;
	snprintf(why, SHELL_WHY_MAX, "something still answers at the target after the kill");
	return SERVER_FAILED;
}
