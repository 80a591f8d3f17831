/*
 * For tests of require(): does a call stop the process?
 *
 * The call runs in a child with its stderr closed, so a passing test says nothing.
 */
#ifndef UNIT_BASE_DEATH_H
#define UNIT_BASE_DEATH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* True when `call(given)` ends in abort(); false when it returns or ends otherwise. */
static inline bool dies(void (*call)(void *given), void *given)
{
	const struct rlimit no_core = {0, 0};
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		call(given);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT;
}

#endif
