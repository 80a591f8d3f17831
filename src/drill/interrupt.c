/*
 * A thread that waits for the signals that end a process.
 *
 * A server under drill is in a process group of its own, so a terminal's Ctrl-C does not reach it;
 * it would stay behind and hold its port. The thread ends the group by its id first. The mutex is
 * held while a group is started or reaped: the id that is known is never somebody else's.
 */
#include "drill/interrupt.h"

#include "base/err.h"
#include "drill/folder.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SIGNAL_STATUS = 128, /* and the signal's number, as shells have it */
	LOOK_MS = 10,
	LOOKS_MAX = 500, /* for the end of what was killed */
};

static void signals_of(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/* Until its leader has ended: it may have been about to write. Nobody else waits for it now. */
static void end_group(pid_t group)
{
	siginfo_t ended = {0};

	if (group <= 0)
		return;
	kill(-group, SIGKILL);
	for (int look = 0; look < LOOKS_MAX; look++) {
		if (waitid(P_PID, (id_t)group, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
		    ended.si_pid == group)
			return;
		poll(NULL, 0, LOOK_MS);
	}
}

static void *run(void *owner)
{
	struct interrupt *interrupt = owner;
	int number = 0;
	sigset_t set;

	signals_of(&set);
	while (sigwait(&set, &number) != 0)
		;
	pthread_mutex_lock(&interrupt->mutex);
	end_group(interrupt->group);
	if (interrupt->folder)
		folder_remove(interrupt->folder);
	_exit(SIGNAL_STATUS + number);
}

bool interrupt_begin(struct interrupt *interrupt)
{
	sigset_t set;
	int error;

	*interrupt = (struct interrupt){0};
	signals_of(&set);
	signal(SIGPIPE, SIG_IGN); /* who hangs up on us is answered for by a return value */
	pthread_sigmask(SIG_BLOCK, &set, &interrupt->before);
	pthread_mutex_init(&interrupt->mutex, NULL);
	error = pthread_create(&interrupt->thread, NULL, run, interrupt);
	interrupt->is_begun = error == 0;
	if (error != 0) {
		pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
		fail_errno(FAIL_IO, error);
	}
	return interrupt->is_begun;
}

void interrupt_end(struct interrupt *interrupt)
{
	if (interrupt->is_begun) {
		pthread_cancel(interrupt->thread); /* sigwait() is where it is */
		pthread_join(interrupt->thread, NULL);
		pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
	}
	pthread_mutex_destroy(&interrupt->mutex);
	interrupt->is_begun = false;
}

void interrupt_hold(struct interrupt *interrupt)
{
	if (interrupt)
		pthread_mutex_lock(&interrupt->mutex);
}

void interrupt_release(struct interrupt *interrupt, pid_t group)
{
	if (!interrupt)
		return;
	interrupt->group = group;
	pthread_mutex_unlock(&interrupt->mutex);
}

void interrupt_folder(struct interrupt *interrupt, const char *path)
{
	if (interrupt)
		interrupt->folder = path;
}
