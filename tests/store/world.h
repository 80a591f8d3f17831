/*
 * A store with a clock that stands still, and a loop of one inbox: what the tests of this
 * folder share. world_hold() stops the store's thread, so that what is submitted until
 * world_release() becomes one batch.
 */
#ifndef TESTS_STORE_WORLD_H
#define TESTS_STORE_WORLD_H

#include "base/err.h"
#include "store/store.h"
#include "store/store_mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

enum { DAY_MS = 86400000, WORLD_WAIT_S = 20, WORLD_MEMORY = 1 << 30 };

struct world {
	struct store *store;
	struct env env;
	_Atomic int64_t now_ms;	  /* a step forward is time that has passed… */
	_Atomic int64_t wrong_ms; /* …but for so much of it: by that the wall clock is wrong */
	int64_t began_ms;
	struct store_mem_script script;
	struct vault *vault; /* on disk; NULL: world_is_in_clear */
	char directory[64];
	struct store_inbox inbox;
	pthread_mutex_t lock;
	pthread_cond_t woken;
	int wakes;
	struct store_inbox gate; /* its wake blocks while is_held */
	struct store_command gate_command;
	struct arena gate_mem;
	bool is_held, is_at_gate;
	int answered;	      /* by world_deliver() */
	struct arena mem;     /* commands */
	struct arena results; /* the store's thread fills it */
	uint64_t interrupted;
	char why[512];
};

/* How the next worlds keep their audit log; NULL: as is the default. */
extern const struct store_audit *world_audit;
/* The next ones on disk have no vault: as an earlier version's file. */
extern bool world_is_in_clear;

/* Open over `directory` (kept in world->directory), or in memory where it is NULL. 0 or < 0. */
int world_open(struct world *world, const char *directory);
void world_close(struct world *world);
/* A fresh directory, in memory where there is room for it, else under /tmp. */
void world_directory(char out[64]);
void world_remove(const char *directory);

/* A test that runs against both stores, from its row: WORLD_BOTH(test). */
struct world_bench {
	bool on_disk;
	struct world world;
};
extern struct world_bench world_on_disk, world_in_memory;
int world_set_up(void **state);
int world_tear_down(void **state);
struct world *world_of(void **state);

#define WORLD_ROW(test, bench)                                                                     \
	{                                                                                          \
#test " " #bench, test, world_set_up, world_tear_down, &bench                      \
	}
#define WORLD_BOTH(test) WORLD_ROW(test, world_on_disk), WORLD_ROW(test, world_in_memory)

void assert_str(struct str text, const char *expected);

/* A command with everything but its own fields filled in. */
struct store_command *world_command(struct world *world, enum store_kind kind);
struct store_command *world_claim(struct world *world, const char *account, const char *token,
				  char fingerprint);
struct store_command *world_settle(struct world *world, const struct store_operation *operation,
				   enum operation_event event);

void world_submit(struct world *world, struct store_command *command);
/* Wait until `count` answers have been delivered since the last call. */
void world_wait(struct world *world, int count);
/* Both; returns command->result. */
int world_do(struct world *world, struct store_command *command);

/* Find, and wait for the answer. */
struct store_command *world_find_id(struct world *world, const struct operation_id *id,
				    const char *account);
struct store_command *world_find_token(struct world *world, const char *account, const char *token);

void world_hold(struct world *world);
void world_release(struct world *world);

/* Claim and settle: a completed operation. */
struct store_operation world_completed(struct world *world, const char *account, const char *token);

#endif
