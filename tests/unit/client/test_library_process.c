/*
 * Shows how the library lives in its process: threads with journals of their own share steps, with
 * one effect; a disk that fills up keeps nobody out afterwards; signals do what they did.
 */
#include "library_test.h"

#include <curl/curl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 6 };

/* -- a full disk ---------------------------------------------------------------------- */

/* Send with the disk full from the moment the service has it: the end cannot be kept. */
static void send_onto_full_disk(struct scene *scene, const counterfoil_request *request)
{
	counterfoil_result *result = NULL;

	pthread_mutex_lock(&scene->service.lock);
	scene->service.fills_disk = true;
	pthread_mutex_unlock(&scene->service.lock);
	assert_int_equal(counterfoil_send(scene->journal, request, &result),
			 COUNTERFOIL_UNRECORDED);
	fill_disk(false);
	assert_non_null(strstr(counterfoil_error(), "created, status 201"));
	assert_null(result);
}

/* The process that could not settle is alive; its own next try is not kept out by that. */
static void a_claim_that_could_not_be_settled_is_not_busy(void **state)
{
	struct scene *scene = *state;
	static const char *const steps[] = {"pay", "book", "tell"};
	counterfoil_request *requests[3];

	for (size_t i = 0; i < 3; i++) {
		requests[i] = request_of(scene, steps[i]);
		assert_int_equal(counterfoil_request_set_times(requests[i], 0, WAIT_MS), 0);
		send_onto_full_disk(scene, requests[i]);
	}
	counterfoil_journal_close(scene->journal);
	assert_int_equal(counterfoil_journal_open(scene->journal_path, &scene->journal), 0);
	for (size_t i = 0; i < 3; i++) {
		counterfoil_result *result = send_now(scene, requests[i]);

		assert_string_equal(counterfoil_result_outcome(result), "unknown");
		counterfoil_result_free(result);
		counterfoil_request_free(requests[i]);
	}
	assert_int_equal(effects(scene), 3);
}

/* -- threads and signals ------------------------------------------------------------- */

/* One thread's sending; the assertions are for the one that started it. */
struct sender {
	struct scene *scene;
	const char *step;
	int code, wrong_code;
	char outcome[32], token[COUNTERFOIL_TOKEN_SIZE], error[TEXT_MAX];
};

static void *send_in_thread(void *owner)
{
	struct sender *sender = owner;
	counterfoil_request *request = counterfoil_request_new("POST", sender->scene->service.url);
	counterfoil_journal *journal = NULL;
	counterfoil_result *result = NULL;

	sender->code = counterfoil_request_set_step(request, "invoice 1873", sender->step);
	if (sender->code == 0)
		sender->code = counterfoil_request_set_times(request, WAIT_MS, WAIT_MS);
	if (sender->code == 0)
		sender->code = counterfoil_journal_open(sender->scene->journal_path, &journal);
	if (sender->code == 0)
		sender->code = counterfoil_send(journal, request, &result);
	if (result) {
		snprintf(sender->outcome, sizeof(sender->outcome), "%s",
			 counterfoil_result_outcome(result));
		snprintf(sender->token, sizeof(sender->token), "%s",
			 counterfoil_result_token(result));
	}
	sender->wrong_code = counterfoil_request_set_flags(request, ~0u);
	snprintf(sender->error, sizeof(sender->error), "%s", counterfoil_error());
	counterfoil_result_free(result);
	counterfoil_journal_close(journal);
	counterfoil_request_free(request);
	return NULL;
}

/* All at once; each came to an end. */
static void send_all(struct scene *scene, const char *const steps[THREADS],
		     struct sender senders[THREADS])
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		senders[i] = (struct sender){.scene = scene, .step = steps[i]};
		assert_int_equal(pthread_create(&threads[i], NULL, send_in_thread, &senders[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(senders[i].code, 0);
}

static void threads_at_one_step_have_one_effect(void **state)
{
	static const char *const steps[THREADS] = {"s", "s", "s", "s", "s", "s"};
	struct scene *scene = *state;
	struct sender senders[THREADS];
	int created = 0, replayed = 0;

	send_all(scene, steps, senders);
	for (int i = 0; i < THREADS; i++) {
		created += strcmp(senders[i].outcome, "created") == 0;
		replayed += strcmp(senders[i].outcome, "replayed") == 0;
		assert_string_equal(senders[i].token, senders[0].token);
	}
	assert_int_equal(created, 1);
	assert_int_equal(replayed, THREADS - 1);
	assert_int_equal(effects(scene), 1);
}

static void threads_at_their_own_steps_have_one_each(void **state)
{
	static const char *const steps[THREADS] = {"a", "b", "c", "d", "e", "f"};
	struct scene *scene = *state;
	struct sender senders[THREADS];

	send_all(scene, steps, senders);
	for (int i = 0; i < THREADS; i++) {
		assert_string_equal(senders[i].outcome, "created");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(senders[i].token, senders[j].token);
	}
	assert_int_equal(effects(scene), THREADS);
}

static void a_thread_has_its_own_error(void **state)
{
	static const char *const steps[THREADS] = {"a", "b", "c", "d", "e", "f"};
	struct scene *scene = *state;
	struct sender senders[THREADS];
	counterfoil_request *request = request_of(scene, "pay");

	assert_refused(counterfoil_request_set_times(request, -1, 1), "wait");
	send_all(scene, steps, senders);
	assert_non_null(strstr(counterfoil_error(), "wait"));
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(senders[i].wrong_code, COUNTERFOIL_REFUSED);
		assert_non_null(strstr(senders[i].error, "flag"));
	}
	counterfoil_request_free(request);
}

static void signals_do_what_they_did(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	struct sigaction before[NSIG] = {0}, after[NSIG] = {0};
	sigset_t mask_before, mask_after;

	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &before[i]);
	counterfoil_result_free(send_now(scene, request));
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	for (int i = 1; i < NSIG; i++) {
		sigaction(i, NULL, &after[i]);
		assert_ptr_equal(before[i].sa_handler, after[i].sa_handler);
		assert_int_equal(sigismember(&mask_before, i), sigismember(&mask_after, i));
	}
	counterfoil_request_free(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_claim_that_could_not_be_settled_is_not_busy),
		SCENE_TEST(threads_at_one_step_have_one_effect),
		SCENE_TEST(threads_at_their_own_steps_have_one_each),
		SCENE_TEST(a_thread_has_its_own_error),
		SCENE_TEST(signals_do_what_they_did),
	};

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
