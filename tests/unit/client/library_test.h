/*
 * A program of others beside a service: what the tests of the library share.
 */
#ifndef LIBRARY_TEST_H
#define LIBRARY_TEST_H

#include "counterfoil.h"

#include <pthread.h>
#include <stdbool.h>

enum { TEXT_MAX = 512, MESSAGE_MAX = 8192, WAIT_MS = 30000 };

/* A plain service on loopback: each write is an effect, whatever its key. */
struct service {
	int listener;
	char url[TEXT_MAX];
	pthread_t thread;
	pthread_mutex_t lock;	   /* of what follows */
	char message[MESSAGE_MAX]; /* the last write, as it came */
	int writes;
	bool fills_disk; /* while it has the next write */
};

/* A folder with a service and an open journal. */
struct scene {
	char folder[32], journal_path[TEXT_MAX], output[TEXT_MAX];
	struct service service;
	counterfoil_journal *journal;
};

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

int scene_setup(void **state);
int scene_teardown(void **state);

/* The writes that the service has had. */
int effects(struct scene *scene);

/* Did the last write have this in it? */
bool was_sent(struct scene *scene, const char *text);

/* No file of this process may grow, as on a full disk; or again as before. */
void fill_disk(bool is_full);

/* A write of this step, with a body. */
counterfoil_request *request_of(struct scene *scene, const char *step);

/* Its result, which is to be freed; the test fails where there is none. */
counterfoil_result *send_now(struct scene *scene, const counterfoil_request *request);

/* `code` is a refusal, with a sentence that has `word` in it. */
void assert_refused(int code, const char *word);

#endif
