/* Shows that failures keep their code and name their place, and that a broken invariant
 * stops the process with a word about it. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before cmocka, which has a fail() of its own. */
static void fail_twice(void)
{
	if (fail(FAIL_STORE) != FAIL_STORE || fail_errno(FAIL_IO, EPIPE) != FAIL_IO)
		_exit(1);
}

#include <cmocka.h>

/* What `call` writes to stderr, as a text; *out_status is how its process ended. */
static void stderr_of(void (*call)(void), char out[1024], int *out_status)
{
	const struct rlimit no_core = {0, 0};
	size_t len = 0;
	ssize_t n;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		call();
		_exit(0);
	}
	close(ends[1]);
	while (len < 1023 && (n = read(ends[0], out + len, 1023 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, out_status, 0), child);
}

static void a_failure_is_one_line_and_its_own_code(void **state)
{
	char text[1024];
	int status;

	stderr_of(fail_twice, text, &status);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_non_null(strstr(text, "\"what\":\"the store failed\",\"errno\":0,"));
	assert_non_null(strstr(text, "\"what\":\"input or output failed\",\"errno\":32,"));
	assert_non_null(strstr(text, "test_err.c:"));
	assert_non_null(strstr(text, "\"in\":\"fail_twice\"}\n{"));
}

static void every_failure_has_a_text_of_its_own(void **state)
{
	for (int code = FAIL_UNPLANNED; code <= FAIL_MEMORY; code++) {
		assert_string_not_equal(fail_text(code), "unknown failure");
		for (int other = code + 1; other <= FAIL_MEMORY; other++)
			assert_string_not_equal(fail_text(code), fail_text(other));
	}
	assert_string_equal(fail_text(0), "unknown failure");
	assert_string_equal(fail_text(FAIL_UNPLANNED - 1), "unknown failure");
}

static void require_the_impossible(void)
{
	require(1 + 1 == 2);
	require(1 + 1 == 3);
}

static void come_where_nobody_comes(void)
{
	unreachable("nobody comes here");
}

static void what_must_be_true_stops_the_process(void **state)
{
	char text[1024];
	int status;

	stderr_of(require_the_impossible, text, &status);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, "must be true and was not: 1 + 1 == 3\n"));
	stderr_of(come_where_nobody_comes, text, &status);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, "nobody comes here\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_one_line_and_its_own_code),
		cmocka_unit_test(every_failure_has_a_text_of_its_own),
		cmocka_unit_test(what_must_be_true_stops_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
