/*
 * The server under drill: started, killed, emptied, and waited for.
 */
#ifndef DRILL_SERVER_H
#define DRILL_SERVER_H

#include "drill/interrupt.h"
#include "drill/scenario.h"
#include "drill/shell.h"

enum { SERVER_FAILED = 1 };

struct server {
	const struct scenario *scenario;
	struct interrupt *interrupt; /* knows what was started; may be NULL */
	struct shell_child child;    /* that we started */
	bool is_foreign;	     /* it ran before we came: only server.kill may end it */
};

/*
 * Each: 0, or SERVER_FAILED with a sentence in `why`, or FAIL_MEMORY. They block, within
 * server.ready.within.
 */
int server_begin(struct server *server, const struct scenario *scenario,
		 struct interrupt *interrupt,
		 char why[SHELL_WHY_MAX]);			  /* runs it, if it does not run */
int server_start(struct server *server, char why[SHELL_WHY_MAX]); /* and waits until it is ready */
int server_kill(struct server *server, char why[SHELL_WHY_MAX]);  /* at once */
int server_stop(struct server *server, char why[SHELL_WHY_MAX]);  /* it may finish what it does */
int server_reset(struct server *server, char why[SHELL_WHY_MAX]); /* nothing without the command */

/* Why it cannot be killed and started again; NULL: it can. A constant text. */
const char *server_is_out_of_reach(const struct server *server);

/* End what was started. */
void server_end(struct server *server);

#endif
