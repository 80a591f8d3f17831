/* What tests of the journal share: a folder of their own, a clock that is set, steps. */
#ifndef TESTS_CLIENT_TEST_H
#define TESTS_CLIENT_TEST_H

#include "client/journal.h"

enum { PLACE_FOLDER = 32, PLACE_PATH = 256, PLACE_MEMORY = 32 << 20 };

/* A folder with a journal in it, open; forgotten together. */
struct place {
	char folder[PLACE_FOLDER], path[PLACE_PATH];
	int64_t now_ms; /* the clock */
	struct env env;
	struct journal *journal; /* NULL: none is open */
	struct journal_error err;
	struct arena mem;
};

/* A new folder, 0700, without a journal: for groups of tests and for tests. */
int place_setup(void **state);
int place_teardown(void **state);

/* Open the journal in it; the test fails where that does. */
struct journal *place_open(struct place *place);
void place_close(struct place *place);

/* POST to a URL, by task "t" and this step. */
struct step place_step(const char *step);

/* Its current entry; or one that is made anew. */
struct journal_entry place_entry(struct place *place, const char *step);
struct journal_entry place_entry_anew(struct place *place, const char *step);

/* Claim it with a body {"n": n}; what journal_claim() says. */
int place_claim(struct place *place, int64_t id, int n, struct journal_entry *out_entry);

/* Settle it to a state, as ours no longer; what journal_settle() says. */
int place_settle(struct place *place, int64_t id, enum entry_state state);

/* Run SQL on the file from outside, as another program would. */
void place_sql(struct place *place, const char *sql);

/* From now on its file cannot grow, as on a full disk; or cannot be written at all. */
void place_fill(struct place *place);
void place_make_readonly(struct place *place);

/* A child process that runs `act` and exits with what it returns. */
int child_start(int (*act)(void *given), void *given);

/* Its exit status; 128 and the signal where one ended it. */
int child_end(int pid);

#endif
