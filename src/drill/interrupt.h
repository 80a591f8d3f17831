/*
 * Ctrl-C in the middle of a drill: what was started is ended, what was made for it is removed, then
 * the process ends.
 *
 * From interrupt_begin() to interrupt_end() SIGINT, SIGTERM and SIGHUP are waited for by a thread;
 * begin before any other thread is started, so that all of them leave the signals to it. SIGPIPE is
 * ignored from then on.
 */
#ifndef DRILL_INTERRUPT_H
#define DRILL_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct interrupt {
	pthread_t thread;
	bool is_begun;
	sigset_t before;       /* the mask that was there */
	pthread_mutex_t mutex; /* of what follows */
	pid_t group;	       /* to be ended; 0: none */
	const char *folder;    /* to be removed after that; NULL: none */
};

/* False: no thread could be had; then signals do what they did before. */
bool interrupt_begin(struct interrupt *interrupt);
void interrupt_end(struct interrupt *interrupt);

/*
 * Between hold and release nothing is interrupted: a group is started, or ended and waited for,
 * and told to release as what is to be ended from now on (0: nothing). `interrupt` may be NULL.
 */
void interrupt_hold(struct interrupt *interrupt);
void interrupt_release(struct interrupt *interrupt, pid_t group);

/* Between hold and release: the folder that goes, too; borrowed. NULL: none, from now on. */
void interrupt_folder(struct interrupt *interrupt, const char *path);

#endif
