/* Shows that a process that runs is alive, one that has ended is dead, and of one elsewhere nothing
 * is said. */
#include "client/owner.h"

#include "client_test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What a child tells of itself; it lives until its input ends. */
struct child {
	int pid, tell[2], hold[2];
	char owner[OWNER_TEXT];
};

static int tell_and_wait(void *given)
{
	struct child *child = given;
	char owner[OWNER_TEXT] = "", byte;

	close(child->hold[1]);
	owner_of_self(owner);
	return write(child->tell[1], owner, OWNER_TEXT) == OWNER_TEXT &&
			       read(child->hold[0], &byte, 1) == 0
		       ? 0
		       : 1;
}

static void begin(struct child *child, int (*act)(void *given))
{
	assert_int_equal(pipe(child->tell), 0);
	assert_int_equal(pipe(child->hold), 0);
	child->pid = child_start(act, child);
	close(child->tell[1]);
	close(child->hold[0]);
	assert_int_equal(read(child->tell[0], child->owner, OWNER_TEXT), OWNER_TEXT);
	close(child->tell[0]);
}

static void a_process_is_alive_until_it_ends(void **state)
{
	struct child child;
	siginfo_t ended;

	begin(&child, tell_and_wait);
	assert_int_equal(owner_standing(str_from(child.owner)), OWNER_ALIVE);
	close(child.hold[1]);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &ended, WEXITED | WNOWAIT), 0);
	/* It has ended, and is still to be reaped. */
	assert_int_equal(owner_standing(str_from(child.owner)), OWNER_DEAD);
	assert_int_equal(child_end(child.pid), 0);
	assert_int_equal(owner_standing(str_from(child.owner)), OWNER_DEAD);
}

static void *wait_in_a_thread(void *given)
{
	/* Not _exit(): a leak checker would miss what only the first thread's stack held. */
	syscall(SYS_exit_group, tell_and_wait(given));
	return NULL;
}

/* Its first thread ends; the process does not. */
static int leave_a_thread(void *given)
{
	static struct child ours; /* the first thread's stack goes with it */
	pthread_t thread;

	ours = *(struct child *)given;
	if (pthread_create(&thread, NULL, wait_in_a_thread, &ours) != 0)
		return 1;
	pthread_exit(NULL);
}

/* "Z" in /proc/PID/stat: its first thread has ended. */
static bool looks_ended(int pid)
{
	char path[64], text[256] = "", *behind;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	behind = strrchr(text, ')');
	return behind && behind[2] == 'Z';
}

static void a_process_lives_on_without_its_first_thread(void **state)
{
	struct child child;
	int looks = 0;

	begin(&child, leave_a_thread);
	while (!looks_ended(child.pid)) {
		assert_true(looks++ < 10000);
		usleep(1000);
	}
	assert_int_equal(owner_standing(str_from(child.owner)), OWNER_ALIVE);
	close(child.hold[1]);
	assert_int_equal(child_end(child.pid), 0);
	assert_int_equal(owner_standing(str_from(child.owner)), OWNER_DEAD);
}

/* This process, with one part of its name changed. */
static enum owner_standing standing_with(int at, const char *part)
{
	char self[OWNER_TEXT], other[2 * OWNER_TEXT] = "";
	struct str rest, word;
	size_t len = 0;

	owner_of_self(self);
	rest = str_from(self);
	for (int i = 0; str_split(&rest, ' ', &word); i++)
		len += (size_t)snprintf(other + len, sizeof(other) - len, "%s%.*s", i ? " " : "",
					i == at ? (int)strlen(part) : (int)word.len,
					i == at ? part : word.at);
	return owner_standing(str_from(other));
}

static void every_part_counts(void **state)
{
	assert_int_equal(standing_with(-1, ""), OWNER_ALIVE);
	assert_int_equal(standing_with(0, "0123456789abcdef"), OWNER_ELSEWHERE);
	assert_int_equal(standing_with(2, "1"), OWNER_ELSEWHERE);
	assert_int_equal(standing_with(4, "1"), OWNER_DEAD); /* the number has come again */
	assert_int_equal(standing_with(4, "-"), OWNER_ALIVE);
	assert_int_equal(standing_with(3, "2147483646"), OWNER_DEAD);
}

/* Another boot of a machine that has a name; without one it may be another machine. */
static void another_boot_is_dead_where_the_machine_is_known(void **state)
{
	char self[OWNER_TEXT];

	owner_of_self(self);
	assert_int_equal(standing_with(1, "0"), *self == '-' ? OWNER_ELSEWHERE : OWNER_DEAD);
}

static void what_is_no_name_is_dead(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"a",
		"a b c d",
		"a b c 1 2 3",
		"a b c 0 1",
		"a b c -1 1",
		"a b c x 1",
		"a b c 99999999999 1",
		"a b c 12345678901234567890123456789012345678901234567890 1"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(owner_standing(str_from(texts[i])), OWNER_DEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_alive_until_it_ends),
		cmocka_unit_test(a_process_lives_on_without_its_first_thread),
		cmocka_unit_test(every_part_counts),
		cmocka_unit_test(another_boot_is_dead_where_the_machine_is_known),
		cmocka_unit_test(what_is_no_name_is_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
