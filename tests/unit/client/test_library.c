/*
 * Shows that the library refuses what it says it refuses and is as it was then, that it keeps
 * copies, and where bodies go.
 *
 * It is linked as a program of others would be: to the shared library alone.
 */
#include "library_test.h"

#include <curl/curl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BODY_MAX = 64 * 1024 * 1024, TIME_MAX = 86400000 };

/* It is refused when it is used, each way; nothing is told. */
static void assert_unusable(struct scene *scene, const counterfoil_request *request,
			    const char *word)
{
	char token[COUNTERFOIL_TOKEN_SIZE];
	counterfoil_result *result;

	result = (counterfoil_result *)token;
	assert_refused(counterfoil_send(scene->journal, request, &result), word);
	assert_null(result);
	result = (counterfoil_result *)token;
	assert_refused(counterfoil_resolve(scene->journal, request, &result), word);
	assert_null(result);
}

/* -- setters ------------------------------------------------------------------------- */

static void headers_that_are_none_are_refused(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	char *long_value = calloc(1, BODY_MAX / 512);

	assert_non_null(long_value);
	memset(long_value, 'x', BODY_MAX / 512 - 1);
	assert_refused(counterfoil_request_add_header(request, "", "a"), "name");
	assert_refused(counterfoil_request_add_header(request, "A B", "a"), "name");
	assert_refused(counterfoil_request_add_header(request, "A:", "a"), "name");
	assert_refused(counterfoil_request_add_header(request, "X-Bad", "a\r\nX-Smuggled: b"),
		       "line breaks");
	assert_refused(counterfoil_request_add_header(request, "X-Bad", "a\n"), "line breaks");
	assert_refused(counterfoil_request_add_header(request, "content-type", "text/plain"),
		       "set_body");
	assert_refused(counterfoil_request_add_header(request, "X-Bad", long_value), "too long");
	assert_int_equal(counterfoil_request_add_header(request, "X-Good", "one"), 0);
	assert_int_equal(counterfoil_request_add_header(request, "X-Good", "two"), 0);
	counterfoil_result_free(send_now(scene, request));
	assert_true(was_sent(scene, "X-Good: one\r\n") && was_sent(scene, "X-Good: two\r\n"));
	assert_true(was_sent(scene, "Content-Type: application/json\r\n"));
	assert_false(was_sent(scene, "X-Bad") || was_sent(scene, "text/plain"));
	assert_false(was_sent(scene, "X-Smuggled"));
	free(long_value);
	counterfoil_request_free(request);
}

static void headers_of_ours_are_refused_when_it_is_sent(void **state)
{
	static const char *const ours[] = {"idempotency-key",	  "Host",
					   "Content-Length",	  "Transfer-Encoding",
					   "Counterfoil-Task",	  "Counterfoil-Step",
					   "Counterfoil-Retry-Of"};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		counterfoil_request *request = request_of(scene, "pay");

		assert_int_equal(counterfoil_request_add_header(request, ours[i], "1"), 0);
		assert_unusable(scene, request, "not yours");
		counterfoil_request_free(request);
	}
	assert_int_equal(effects(scene), 0);
}

static void a_body_that_is_refused_leaves_the_one_before(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");

	assert_refused(
		counterfoil_request_set_body(request, "text/plain", "x", (size_t)BODY_MAX + 1),
		"64 MiB");
	assert_refused(counterfoil_request_set_body(request, "a/b\r\nX-Smuggled: c", "x", 1),
		       "media type");
	counterfoil_result_free(send_now(scene, request));
	assert_true(was_sent(scene, "Content-Type: application/json\r\n"));
	assert_true(was_sent(scene, "\r\n\r\n{\"n\": 1}"));
	assert_false(was_sent(scene, "X-Smuggled"));
	counterfoil_request_free(request);
}

static void times_and_flags_have_bounds(void **state)
{
	static const long bad[][2] = {
		{-1, 1}, {TIME_MAX + 1L, 1}, {0, 0}, {0, -1}, {0, TIME_MAX + 1L}};
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(counterfoil_request_set_times(request, bad[i][0], bad[i][1]),
			       "86400000");
	assert_refused(counterfoil_request_set_connect_timeout(request, 0), "timeout");
	assert_refused(counterfoil_request_set_connect_timeout(request, TIME_MAX + 1L), "timeout");
	assert_int_equal(counterfoil_request_set_connect_timeout(request, TIME_MAX), 0);
	assert_int_equal(counterfoil_request_set_times(request, 0, 1), 0);
	assert_int_equal(counterfoil_request_set_times(request, TIME_MAX, TIME_MAX), 0);
	assert_refused(counterfoil_request_set_flags(request, COUNTERFOIL_NEW | 16u), "flag");
	assert_refused(counterfoil_request_set_flags(request, 1u << 31), "flag");
	counterfoil_request_free(request);
}

static void flags_that_are_refused_leave_those_before(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	char tokens[3][COUNTERFOIL_TOKEN_SIZE];

	assert_int_equal(counterfoil_request_set_flags(request, COUNTERFOIL_NEW), 0);
	assert_refused(counterfoil_request_set_flags(request, 16u), "flag");
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			assert_int_equal(counterfoil_request_set_flags(request, 0), 0);
		assert_int_equal(counterfoil_token(scene->journal, request, tokens[i],
						   COUNTERFOIL_TOKEN_SIZE),
				 0);
	}
	assert_string_not_equal(tokens[0], tokens[1]);
	assert_string_equal(tokens[1], tokens[2]);
	counterfoil_request_free(request);
}

static void what_is_no_step_or_url_is_refused_when_it_is_used(void **state)
{
	static const struct {
		const char *url, *task, *step, *token;
	} bad[] = {
		{"http://h.test/", NULL, NULL, NULL},  {"http://h.test/", "t", NULL, NULL},
		{"http://h.test/", NULL, "s", NULL},   {"http://h.test/", "", "s", NULL},
		{"http://h.test/", "t", "a\nb", NULL}, {"http://h.test/", "t", "\xff", NULL},
		{"http://h.test/", "t", "s", "token"}, {"ftp://h.test/", "t", "s", NULL},
		{"http://u@h.test/", "t", "s", NULL},  {NULL, "t", "s", NULL},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		counterfoil_request *request = counterfoil_request_new("POST", bad[i].url);

		assert_non_null(request);
		assert_int_equal(counterfoil_request_set_step(request, bad[i].task, bad[i].step),
				 0);
		assert_int_equal(counterfoil_request_set_token(request, bad[i].token), 0);
		assert_unusable(scene, request, "");
		assert_true(strlen(counterfoil_error()) > 0);
		counterfoil_request_free(request);
	}
}

static void a_token_has_room_or_is_not_told(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	char token[COUNTERFOIL_TOKEN_SIZE] = "untouched";

	assert_refused(counterfoil_token(scene->journal, request, token, sizeof(token) - 1),
		       "room");
	assert_string_equal(token, "untouched");
	counterfoil_request_free(request);
}

static void what_is_set_again_takes_the_place_of_the_first(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result;

	assert_int_equal(counterfoil_request_set_step(request, NULL, NULL), 0);
	assert_int_equal(counterfoil_request_set_token(request, "first"), 0);
	assert_int_equal(counterfoil_request_set_token(request, "second"), 0);
	assert_int_equal(counterfoil_request_set_body(request, NULL, "later", 5), 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_token(result), "second");
	assert_true(was_sent(scene, "Idempotency-Key: second\r\n"));
	assert_true(was_sent(scene, "\r\n\r\nlater"));
	assert_false(was_sent(scene, "Content-Type") || was_sent(scene, "{\"n\": 1}"));
	counterfoil_result_free(result);
	counterfoil_request_free(request);
}

/* -- what is kept -------------------------------------------------------------------- */

static void a_request_keeps_copies(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request;
	char url[TEXT_MAX], method[] = "POST", task[] = "task", step[] = "step";
	char type[] = "text/plain", body[] = "body", name[] = "X-Name", value[] = "value";
	char *const given[] = {url, method, task, step, type, body, name, value};

	memcpy(url, scene->service.url, sizeof(url));
	request = counterfoil_request_new(method, url);
	assert_non_null(request);
	assert_int_equal(counterfoil_request_set_step(request, task, step), 0);
	assert_int_equal(counterfoil_request_set_body(request, type, body, strlen(body)), 0);
	assert_int_equal(counterfoil_request_add_header(request, name, value), 0);
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		memset(given[i], '?', strlen(given[i]));
	counterfoil_result_free(send_now(scene, request));
	assert_int_equal(effects(scene), 1);
	assert_true(was_sent(scene, "POST /v1/payments ") && was_sent(scene, "\r\n\r\nbody"));
	assert_true(was_sent(scene, "X-Name: value\r\n") && was_sent(scene, "text/plain\r\n"));
	assert_true(was_sent(scene, "Counterfoil-Task: task\r\n"));
	counterfoil_request_free(request);
}

static void a_result_outlives_request_and_journal(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result = send_now(scene, request);
	size_t len;

	counterfoil_request_free(request);
	counterfoil_journal_close(scene->journal);
	scene->journal = NULL;
	assert_string_equal(counterfoil_result_outcome(result), "created");
	assert_string_equal(counterfoil_result_state(result), "done");
	assert_string_equal(counterfoil_result_source(result), "answer");
	assert_string_equal(counterfoil_result_advice(result), "stop");
	assert_string_equal(counterfoil_result_body(result, &len), "{\"id\": 1}");
	assert_int_equal(len, strlen("{\"id\": 1}"));
	assert_string_equal(counterfoil_result_headers(result), "Content-Type: application/json\n");
	assert_string_equal(counterfoil_result_body_file(result), "");
	assert_string_equal(counterfoil_result_operation(result), "");
	assert_string_equal(counterfoil_result_difference(result), "");
	assert_string_equal(counterfoil_result_reason(result), "");
	assert_int_equal(counterfoil_result_status(result), 201);
	assert_int_equal(counterfoil_result_attempts(result), 1);
	assert_int_equal(counterfoil_result_after_seconds(result), 0);
	assert_int_equal(counterfoil_result_is_gate(result), 0);
	counterfoil_result_free(result);
}

static void a_result_is_one_json_object(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result = send_now(scene, request);
	char wanted[4 * TEXT_MAX];

	snprintf(wanted, sizeof(wanted),
		 "{\"outcome\":\"created\",\"operation\":null,\"token\":\"%s\","
		 "\"task\":\"invoice 1873\",\"step\":\"pay\",\"method\":\"POST\",\"url\":\"%s\","
		 "\"state\":\"done\",\"status\":201,"
		 "\"headers\":{\"Content-Type\":\"application/json\"},\"body\":{\"id\": 1},"
		 "\"file\":null,\"gate\":false,\"attempts\":1,\"source\":\"answer\","
		 "\"retry\":{\"advice\":\"stop\",\"after\":0},\"reason\":null}",
		 counterfoil_result_token(result), scene->service.url);
	assert_string_equal(counterfoil_result_json(result), wanted);
	assert_ptr_equal(counterfoil_result_json(result), counterfoil_result_json(result));
	counterfoil_result_free(result);
	counterfoil_request_free(request);
}

static void another_body_is_a_conflict_that_is_named(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result;
	size_t len = 1;

	counterfoil_result_free(send_now(scene, request));
	assert_int_equal(counterfoil_request_set_body(request, "application/json", "{\"n\": 2}", 8),
			 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_outcome(result), "conflict");
	assert_string_equal(counterfoil_result_difference(result), "changed: /n");
	assert_null(counterfoil_result_body(result, &len));
	assert_int_equal(len, 0);
	assert_int_equal(counterfoil_result_status(result), 0);
	assert_int_equal(effects(scene), 1);
	counterfoil_result_free(result);
	counterfoil_request_free(request);
}

static void of_what_was_never_sent_nothing_is_known(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result = (counterfoil_result *)scene;

	assert_int_equal(counterfoil_resolve(scene->journal, request, &result), COUNTERFOIL_NONE);
	assert_null(result);
	assert_true(strlen(counterfoil_error()) > 0);
	assert_int_equal(effects(scene), 0);
	counterfoil_request_free(request);
}

static void a_journal_that_others_can_read_is_refused(void **state)
{
	struct scene *scene = *state;
	counterfoil_journal *journal = scene->journal;

	assert_int_equal(chmod(scene->journal_path, 0644), 0);
	assert_refused(counterfoil_journal_open(scene->journal_path, &journal), "chmod 600");
	assert_null(journal);
}

/* A proxy that nobody listens at, and the hosts that are reached without it. */
static void hosts_that_need_no_proxy_are_reached(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result;

	assert_int_equal(counterfoil_request_set_times(request, 0, WAIT_MS), 0);
	assert_int_equal(counterfoil_request_set_proxy(request, "http://127.0.0.1:1"), 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_outcome(result), "not_sent");
	counterfoil_result_free(result);
	assert_int_equal(counterfoil_request_set_no_proxy(request, "a.test, 127.0.0.0/8"), 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_outcome(result), "created");
	assert_int_equal(effects(scene), 1);
	counterfoil_result_free(result);
	counterfoil_request_free(request);
}

static void what_ended_is_forgotten_after_a_time(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	unsigned long count = 7;

	counterfoil_result_free(send_now(scene, request));
	assert_refused(counterfoil_journal_prune(scene->journal, 0, &count), "age");
	assert_refused(counterfoil_journal_prune(scene->journal, 315360001, &count), "age");
	assert_int_equal(count, 7);
	assert_int_equal(counterfoil_journal_prune(scene->journal, 86400, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(counterfoil_journal_prune(scene->journal, 86400, NULL), 0);
	counterfoil_request_free(request);
}

static void nothing_is_a_fine_thing_to_free(void **state)
{
	counterfoil_journal_close(NULL);
	counterfoil_request_free(NULL);
	counterfoil_result_free(NULL);
}

/* -- the output file ----------------------------------------------------------------- */

static void assert_file(const char *path, const char *wanted)
{
	char text[TEXT_MAX];
	FILE *file = fopen(path, "rb");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	assert_string_equal(text, wanted);
}

static void a_body_goes_into_the_file_that_is_named(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result;
	struct stat file;
	size_t len = 1;

	assert_int_equal(counterfoil_request_set_output(request, scene->output), 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_body_file(result), scene->output);
	assert_null(counterfoil_result_body(result, &len));
	assert_int_equal(len, 0);
	assert_file(scene->output, "{\"id\": 1}");
	assert_int_equal(stat(scene->output, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	counterfoil_result_free(result);

	/* Without a name it is in the result, whatever has become of that file. */
	assert_int_equal(unlink(scene->output), 0);
	assert_int_equal(counterfoil_request_set_output(request, NULL), 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_outcome(result), "replayed");
	assert_string_equal(counterfoil_result_body(result, &len), "{\"id\": 1}");
	assert_string_equal(counterfoil_result_body_file(result), "");
	counterfoil_result_free(result);
	assert_int_equal(effects(scene), 1);
	counterfoil_request_free(request);
}

static void a_file_that_cannot_be_written_sends_nothing(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	char below[2 * TEXT_MAX];

	snprintf(below, sizeof(below), "%s/none/answer", scene->folder);
	assert_int_equal(counterfoil_request_set_output(request, below), 0);
	assert_unusable(scene, request, "cannot be written");
	assert_int_equal(counterfoil_request_set_output(request, scene->folder), 0);
	assert_unusable(scene, request, "cannot be written");
	assert_int_equal(effects(scene), 0);
	counterfoil_request_free(request);
}

static void a_file_that_fills_up_loses_no_outcome(void **state)
{
	struct scene *scene = *state;
	counterfoil_request *request = request_of(scene, "pay");
	counterfoil_result *result;
	size_t len;

	assert_int_equal(counterfoil_request_set_output(request, "/dev/full"), 0);
	result = send_now(scene, request);
	assert_string_equal(counterfoil_result_outcome(result), "created");
	assert_string_equal(counterfoil_result_body(result, &len), "{\"id\": 1}");
	assert_string_equal(counterfoil_result_body_file(result), "");
	assert_non_null(strstr(counterfoil_result_reason(result), "/dev/full"));
	assert_int_equal(effects(scene), 1);
	counterfoil_result_free(result);
	counterfoil_request_free(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(headers_that_are_none_are_refused),
		SCENE_TEST(headers_of_ours_are_refused_when_it_is_sent),
		SCENE_TEST(a_body_that_is_refused_leaves_the_one_before),
		SCENE_TEST(times_and_flags_have_bounds),
		SCENE_TEST(flags_that_are_refused_leave_those_before),
		SCENE_TEST(what_is_no_step_or_url_is_refused_when_it_is_used),
		SCENE_TEST(a_token_has_room_or_is_not_told),
		SCENE_TEST(what_is_set_again_takes_the_place_of_the_first),
		SCENE_TEST(a_request_keeps_copies),
		SCENE_TEST(a_result_outlives_request_and_journal),
		SCENE_TEST(hosts_that_need_no_proxy_are_reached),
		SCENE_TEST(what_ended_is_forgotten_after_a_time),
		SCENE_TEST(a_result_is_one_json_object),
		SCENE_TEST(another_body_is_a_conflict_that_is_named),
		SCENE_TEST(of_what_was_never_sent_nothing_is_known),
		SCENE_TEST(a_journal_that_others_can_read_is_refused),
		SCENE_TEST(a_body_goes_into_the_file_that_is_named),
		SCENE_TEST(a_file_that_cannot_be_written_sends_nothing),
		SCENE_TEST(a_file_that_fills_up_loses_no_outcome),
		cmocka_unit_test(nothing_is_a_fine_thing_to_free),
	};

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
