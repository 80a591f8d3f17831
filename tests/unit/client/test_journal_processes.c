/*
 * Shows what the journal is for: of any number of processes one sends a step, and whenever one of
 * them dies, the next one knows whether something may have been sent.
 *
 * A byte appended to the file `effects` stands for a request that left.
 */
#include "client_test.h"

#include "base/err.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

enum { PROCESSES = 8, ROUNDS = 5, KILLS = 60, KILL_SPREAD_US = 6000 };
enum { SENT = 0, KEPT_OUT = 1, ASKED = 2, BROKEN = 3 };

/* What a child is given: its folder, and a pipe that is closed when all are to begin. */
struct work {
	struct place *place;
	int gate[2];
	char step[16];
};

static void effects_path(const struct place *place, const char *step, char out[PLACE_PATH * 2])
{
	snprintf(out, PLACE_PATH * 2, "%s/effects-%s", place->folder, step);
}

static int64_t effects_of(const struct place *place, const char *step)
{
	char path[PLACE_PATH * 2];
	struct stat file;

	effects_path(place, step, path);
	return stat(path, &file) == 0 ? file.st_size : 0;
}

static bool act(const struct place *place, const char *step)
{
	char path[PLACE_PATH * 2];
	bool is_done;
	int fd;

	effects_path(place, step, path);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	is_done = write(fd, "x", 1) == 1;
	close(fd);
	return is_done;
}

/* Find the step, claim it, act where it is new, settle it. */
static int deliver(struct place *place, const char *name)
{
	struct step step = place_step(name);
	struct journal_entry entry, found;
	struct payload payload;
	int r;

	if (journal_open(place->path, &place->env, &place->journal, &place->err) != 0 ||
	    journal_token(place->journal, &step, false, &place->mem, &entry, &place->err) != 0 ||
	    payload_of(STR(""), STR("body"), entry.step.token, &place->mem, &payload) != 0)
		return BROKEN;
	r = journal_claim(place->journal, entry.id, &payload, NULL, &place->mem, &found,
			  &place->err);
	if (r == JOURNAL_BUSY || r == JOURNAL_ENDED)
		return KEPT_OUT;
	if (r != 0)
		return BROKEN;
	if (found.state == ENTRY_NEW && !act(place, name))
		return BROKEN;
	if (place_settle(place, entry.id, ENTRY_DONE) != 0)
		return BROKEN;
	return found.state == ENTRY_NEW ? SENT : ASKED;
}

static int begin_together(void *given)
{
	struct work *work = given;
	char byte;
	int r;

	close(work->gate[1]);
	if (read(work->gate[0], &byte, 1) != 0)
		return BROKEN;
	r = deliver(work->place, work->step);
	if (r == BROKEN)
		fprintf(stderr, "%s\n", work->place->err.text);
	return r;
}

/* The file and its tables are made by whoever comes first, too. */
static void one_of_many_processes_sends_a_step(void **state)
{
	struct work work = {.place = *state};
	int children[PROCESSES], ends[BROKEN + 1] = {0};

	for (int round = 0; round < ROUNDS; round++) {
		snprintf(work.step, sizeof(work.step), "s%d", round);
		assert_int_equal(pipe(work.gate), 0);
		for (int i = 0; i < PROCESSES; i++)
			children[i] = child_start(begin_together, &work);
		close(work.gate[0]);
		close(work.gate[1]);
		for (int i = 0; i < PROCESSES; i++) {
			int end = child_end(children[i]);

			assert_in_range(end, SENT, KEPT_OUT);
			ends[end]++;
		}
		assert_int_equal(ends[SENT], round + 1);
		assert_int_equal(effects_of(work.place, work.step), 1);
	}
}

/* Deliver one step after the other, each in a journal that is opened anew, until killed. */
static int deliver_for_ever(void *given)
{
	struct work *work = given;

	for (int n = 0; n < 100000; n++) {
		snprintf(work->step, sizeof(work->step), "k%d", n);
		if (deliver(work->place, work->step) == BROKEN)
			return BROKEN;
		place_close(work->place);
		arena_fini(&work->place->mem);
		arena_init(&work->place->mem, PLACE_MEMORY);
	}
	return SENT;
}

/* Whatever moment it was: never two effects, and none of what is called new. */
static void check_entries(struct place *place)
{
	struct journal_filter filter = {.limit = 10000};
	struct journal_entry *entries;
	size_t count = 0;

	place_open(place);
	assert_int_equal(
		journal_list(place->journal, &filter, &place->mem, &entries, &count, &place->err),
		0);
	for (size_t i = 0; i < count; i++) {
		const struct journal_entry *entry = &entries[i];
		int64_t effects = effects_of(place, entry->step.step.at);

		assert_false(entry->is_owner_alive);
		assert_in_range(effects, 0, 1);
		if (entry->state == ENTRY_NEW)
			assert_int_equal(effects, 0);
	}
	place_close(place);
}

static void whoever_is_killed_leaves_no_second_sending(void **state)
{
	struct work work = {.place = *state};
	unsigned short dice[3] = {1, 2, 3};

	for (int i = 0; i < KILLS; i++) {
		int child = child_start(deliver_for_ever, &work);

		usleep((useconds_t)(nrand48(dice) % KILL_SPREAD_US * (i % 4 + 1)));
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(child_end(child), 128 + SIGKILL);
		if (access(work.place->path, F_OK) == 0)
			check_entries(work.place);
		arena_fini(&work.place->mem);
		arena_init(&work.place->mem, PLACE_MEMORY);
	}
	assert_int_equal(deliver(work.place, "last"), SENT); /* and the journal is as good as new */
	assert_int_equal(effects_of(work.place, "last"), 1);
}

/* Killed right behind the effect, before anything was settled. */
static int act_and_die(void *given)
{
	struct work *work = given;
	struct place *place = work->place;
	struct journal_entry entry, found;

	place_open(place);
	entry = place_entry(place, work->step);
	if (place_claim(place, entry.id, 1, &found) == 0 && act(place, work->step))
		raise(SIGKILL);
	return BROKEN;
}

static void a_killed_sender_leaves_doubt(void **state)
{
	struct work work = {.place = *state, .step = "s"};
	struct journal_entry found;

	assert_int_equal(child_end(child_start(act_and_die, &work)), 128 + SIGKILL);
	place_open(work.place);
	found = place_entry(work.place, "s");
	assert_int_equal(found.state, ENTRY_SENDING);
	assert_false(found.is_owner_alive);
	assert_int_equal(place_claim(work.place, found.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_SENDING); /* not new: so it asks first */
	assert_int_equal(effects_of(work.place, "s"), 1);
}

/* Of many that come after the dead one, one finds out what became of it. */
static void one_of_many_takes_over(void **state)
{
	struct work work = {.place = *state, .step = "s"};
	int children[PROCESSES], ends[BROKEN + 1] = {0};

	place_open(work.place);
	place_entry(work.place, "s");
	place_sql(work.place, "UPDATE entry SET state = 'sending', owner = 'a b c 0 0'");
	place_close(work.place);
	assert_int_equal(pipe(work.gate), 0);
	for (int i = 0; i < PROCESSES; i++)
		children[i] = child_start(begin_together, &work);
	close(work.gate[0]);
	close(work.gate[1]);
	for (int i = 0; i < PROCESSES; i++) {
		int end = child_end(children[i]);

		assert_in_range(end, KEPT_OUT, ASKED);
		ends[end]++;
	}
	assert_int_equal(ends[ASKED], 1);
	assert_int_equal(effects_of(work.place, "s"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_of_many_processes_sends_a_step),
		TEST(whoever_is_killed_leaves_no_second_sending),
		TEST(a_killed_sender_leaves_doubt),
		TEST(one_of_many_takes_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
