/*
 * Children of the drill.
 *
 * Output goes into memory files, not pipes: a command that leaves something running in the
 * background would otherwise keep the drill waiting for the end of its pipe.
 *
 * Always true: a child leads a group of its own; it stays a zombie until its group has been
 * ended, so that no signal reaches a stranger who got its number.
 */
#include "drill/shell.h"

#include "base/env.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(struct str command, struct shell_child *out_child, char why[SHELL_WHY_MAX]);
static bool wait_over(const struct shell_child *child, int64_t timeout_ms);
static int reap(struct shell_child *child);

static int judge_status(int status, const struct shell_child *child, char why[SHELL_WHY_MAX])
{
	char words[SHELL_WHY_MAX];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	shell_last_words(child, words);
	if (WIFEXITED(status))
		snprintf(why, SHELL_WHY_MAX, "it ended with status %d%s%.300s", WEXITSTATUS(status),
			 words[0] ? ": " : "", words);
	else
		snprintf(why, SHELL_WHY_MAX, "signal %d ended it", WTERMSIG(status));
	return SHELL_FAILED;
}

static int read_output(const struct shell_child *child, struct arena *mem, struct str *out_output)
{
	char *text = arena_alloc(mem, SHELL_OUTPUT_MAX);
	ssize_t n = text ? pread(child->output, text, SHELL_OUTPUT_MAX, 0) : -1;

	if (n < 0)
		return text ? fail_errno(FAIL_IO, errno) : fail(FAIL_MEMORY);
	*out_output = str_of(text, (size_t)n);
	return 0;
}

int shell_run(struct str command, int64_t timeout_ms, struct arena *mem, struct str *out_output,
	      char why[SHELL_WHY_MAX])
{
	struct shell_child child;
	int r = spawn(command, &child, why);

	if (r != 0)
		return r;
	if (wait_over(&child, timeout_ms)) {
		siginfo_t seen = {0};

		waitid(P_PID, (id_t)child.pid, &seen, WEXITED | WNOWAIT);
		r = judge_status(seen.si_code == CLD_EXITED ? seen.si_status << 8 : seen.si_status,
				 &child, why);
		if (r == 0 && out_output)
			r = read_output(&child, mem, out_output);
		reap(&child); /* what it left in the background is its own */
		close(child.output);
		return r;
	}
	shell_end(&child, 0);
	snprintf(why, SHELL_WHY_MAX, "it was still running after %lld ms", (long long)timeout_ms);
	return SHELL_FAILED;
}

int shell_start(struct str command, struct shell_child *out_child, char why[SHELL_WHY_MAX])
{
	return spawn(command, out_child, why);
}

bool shell_is_over(const struct shell_child *child)
{
	return child->pid == 0 || wait_over(child, 0);
}

void shell_last_words(const struct shell_child *child, char out[SHELL_WHY_MAX])
{
	off_t size = child->output >= 0 ? lseek(child->output, 0, SEEK_END) : 0;
	off_t from = size > 256 ? size - 256 : 0;
	ssize_t n = child->output >= 0 ? pread(child->output, out, 256, from) : 0;

	while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == ' '))
		n--;
	out[n > 0 ? n : 0] = '\0';
	for (char *at = out; *at; at++) {
		if (*at == '\n' || *at == '\r' || *at == '\t')
			*at = ' ';
	}
}

void shell_end(struct shell_child *child, int64_t grace_ms)
{
	if (child->pid == 0)
		return;
	if (grace_ms > 0) {
		kill(-child->pid, SIGTERM);
		wait_over(child, grace_ms);
	}
	kill(-child->pid, SIGKILL);
	reap(child);
	if (child->output >= 0)
		close(child->output);
	*child = (struct shell_child){.output = -1};
}

/* -- below --------------------------------------------------------------------------- */

static int give_files(posix_spawn_file_actions_t *files, int output)
{
	int error = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	if (error == 0)
		error = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(files, output, STDERR_FILENO);
	return error;
}

static int spawn_into(const char *command, int output, pid_t *out_pid)
{
	char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int error;

	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	error = give_files(&files, output);
	if (error == 0)
		error = posix_spawn(out_pid, "/bin/sh", &files, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

static int spawn(struct str command, struct shell_child *out_child, char why[SHELL_WHY_MAX])
{
	struct shell_child child = {.output = memfd_create("drill-output", MFD_CLOEXEC)};
	char *text = strndup(command.at, command.len);
	int error = child.output < 0 ? errno : text ? 0 : ENOMEM;

	if (error == 0)
		error = spawn_into(text, child.output, &child.pid);
	free(text);
	if (error == 0) {
		*out_child = child;
		return 0;
	}
	if (child.output >= 0)
		close(child.output);
	snprintf(why, SHELL_WHY_MAX, "it could not be started: %s", strerror(error));
	return SHELL_FAILED;
}

/* Its leader has ended, and is not reaped yet. */
static bool wait_over(const struct shell_child *child, int64_t timeout_ms)
{
	struct pollfd end = {.fd = pidfd_open(child->pid, 0), .events = POLLIN};
	int64_t until_ms = env_monotonic_ms(&env_machine) + timeout_ms;
	int64_t left_ms = timeout_ms;
	int n;

	if (end.fd < 0)
		return true;
	do {
		n = poll(&end, 1, (int)left_ms);
		left_ms = until_ms - env_monotonic_ms(&env_machine);
	} while (n < 0 && errno == EINTR && left_ms > 0);
	close(end.fd);
	return n > 0;
}

static int reap(struct shell_child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
