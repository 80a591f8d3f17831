/*
 * Commands of a scenario: run to their end, or started and kept.
 *
 * Each is `sh -c` in a process group of its own, with nothing on its standard input and its
 * output in memory. A group is ended by its id, which cannot have become somebody else's: its
 * leader is waited for only after that.
 */
#ifndef DRILL_SHELL_H
#define DRILL_SHELL_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SHELL_FAILED = 1 };
enum {
	SHELL_WHY_MAX = 512,	      /* bytes of a reason */
	SHELL_OUTPUT_MAX = 64 * 1024, /* bytes of output that are read */
};

/*
 * Run to its end, for `timeout_ms` at most. 0: it ended with status 0, *out_output (unless NULL)
 * is its standard output, in
 * `mem` (else unused). SHELL_FAILED: `why` says what it did instead. FAIL_MEMORY.
 */
int shell_run(struct str command, int64_t timeout_ms, struct arena *mem, struct str *out_output,
	      char why[SHELL_WHY_MAX]);

/* One that was started and goes on. */
struct shell_child {
	pid_t pid;  /* of the group and its leader; 0: none */
	int output; /* what it writes; -1: none */
};

/* 0, or SHELL_FAILED with `why`. */
int shell_start(struct str command, struct shell_child *out_child, char why[SHELL_WHY_MAX]);

/* Has its leader ended? */
bool shell_is_over(const struct shell_child *child);

/* The end of what it wrote, one line, in `out`. */
void shell_last_words(const struct shell_child *child, char out[SHELL_WHY_MAX]);

/* End the whole group: by SIGTERM if it may take `grace_ms`, then by SIGKILL. Fine without one. */
void shell_end(struct shell_child *child, int64_t grace_ms);

#endif
