/* Commands run in groups of their own, are bounded in time, and are ended whole. */
#include "drill/shell.h"

#include "drill_test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void test_output_of_a_command(void **state)
{
	char why[SHELL_WHY_MAX] = "";
	struct arena mem;
	struct str output;

	arena_init(&mem, TEST_MEMORY_MAX);
	assert_int_equal(shell_run(STR("echo 12; echo 3"), 5000, &mem, &output, why), 0);
	assert_str(output, "12\n3\n");
	arena_fini(&mem);
}

static void test_a_command_that_fails(void **state)
{
	char why[SHELL_WHY_MAX] = "";

	assert_int_equal(shell_run(STR("echo sorry >&2; exit 3"), 5000, NULL, NULL, why),
			 SHELL_FAILED);
	assert_non_null(strstr(why, "status 3"));
	assert_non_null(strstr(why, "sorry"));
	assert_int_equal(shell_run(STR("kill -9 $$"), 5000, NULL, NULL, why), SHELL_FAILED);
	assert_non_null(strstr(why, "signal 9"));
}

static void test_a_command_that_does_not_end(void **state)
{
	char why[SHELL_WHY_MAX] = "";

	assert_int_equal(shell_run(STR("sleep 600"), 50, NULL, NULL, why), SHELL_FAILED);
	assert_non_null(strstr(why, "still running"));
}

/* Until the process has gone, which its parent's end does not wait for. */
static bool goes_away(pid_t pid)
{
	for (int i = 0; i < 500; i++) {
		char stat[64], line[256] = "";
		FILE *file;

		if (kill(pid, 0) != 0 && errno == ESRCH)
			return true;
		snprintf(stat, sizeof(stat), "/proc/%d/stat", (int)pid);
		file = fopen(stat, "re");
		if (file && fgets(line, sizeof(line), file) && strstr(line, ") Z "))
			i = 500; /* nobody reaps it here, but it has ended */
		if (file)
			fclose(file);
		if (i == 500)
			return true;
		usleep(10000);
	}
	return false;
}

static void test_a_group_ends_whole(void **state)
{
	char why[SHELL_WHY_MAX] = "", text[SHELL_WHY_MAX] = "";
	struct shell_child child;

	assert_int_equal(shell_start(STR("sleep 600 & echo $!; wait"), &child, why), 0);
	for (int i = 0; i < 500 && !text[0]; i++) {
		usleep(10000);
		shell_last_words(&child, text);
	}
	assert_true(text[0]);
	assert_false(shell_is_over(&child));
	shell_end(&child, 0);
	assert_int_equal(child.pid, 0);
	assert_true(goes_away((pid_t)strtol(text, NULL, 10)));
	shell_end(&child, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_of_a_command),
		cmocka_unit_test(test_a_command_that_fails),
		cmocka_unit_test(test_a_command_that_does_not_end),
		cmocka_unit_test(test_a_group_ends_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
