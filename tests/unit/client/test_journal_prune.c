/*
 * Shows that pruning forgets what ended long ago and nothing else: not what is new or has no known
 * end, not what somebody is at, and never so that an older entry becomes the step's.
 */
#include "client_test.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, place_teardown)

enum { DAY_MS = 24 * 60 * 60 * 1000, MANY = 2300 };

static int set_up(void **state)
{
	place_setup(state);
	place_open(*state);
	return 0;
}

/* A step that was sent and came to this. */
static struct journal_entry settled(struct place *place, const char *step, enum entry_state end)
{
	struct journal_entry entry = place_entry(place, step), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(place_settle(place, entry.id, end), 0);
	return entry;
}

/* Forget what has not changed since; as many as were foretold. */
static uint64_t pruned(struct place *place, int64_t before_ms)
{
	uint64_t foretold, open, count = UINT64_MAX;

	assert_int_equal(
		journal_count_old(place->journal, before_ms, &foretold, &open, &place->err), 0);
	assert_int_equal(journal_prune(place->journal, before_ms, &count, &place->err), 0);
	assert_int_equal(count, foretold);
	return count;
}

static bool is_there(struct place *place, int64_t id)
{
	struct journal_filter filter = {.limit = MANY};
	struct journal_entry *entries;
	size_t count;

	assert_int_equal(
		journal_list(place->journal, &filter, &place->mem, &entries, &count, &place->err),
		0);
	for (size_t i = 0; i < count; i++)
		if (entries[i].id == id)
			return true;
	return false;
}

static void what_ended_long_ago_is_forgotten(void **state)
{
	struct place *place = *state;
	struct journal_entry done = settled(place, "done", ENTRY_DONE), young;
	struct journal_entry failed = settled(place, "failed", ENTRY_FAILED);
	int64_t then = place->now_ms;

	place->now_ms += DAY_MS;
	young = settled(place, "young", ENTRY_DONE);
	assert_int_equal(pruned(place, then), 0); /* not since: they changed then */
	assert_int_equal(pruned(place, then + 1), 2);
	assert_false(is_there(place, done.id));
	assert_false(is_there(place, failed.id));
	assert_true(is_there(place, young.id));
	assert_int_equal(place_entry(place, "done").state, ENTRY_NEW);
}

static void what_has_no_known_end_stays(void **state)
{
	struct place *place = *state;
	struct journal_entry fresh = place_entry(place, "new"),
			     sending = place_entry(place, "sending"), found;
	uint64_t prunable, open;

	settled(place, "open", ENTRY_OPEN);
	settled(place, "unknown", ENTRY_UNKNOWN);
	assert_int_equal(place_claim(place, sending.id, 1, &found), 0);
	place_sql(place, "UPDATE entry SET state = 'a state of tomorrow' WHERE step = 'open'");
	assert_int_equal(pruned(place, INT64_MAX), 0);
	assert_int_equal(
		journal_count_old(place->journal, INT64_MAX, &prunable, &open, &place->err), 0);
	assert_int_equal(open, 4);
	assert_true(is_there(place, fresh.id));
}

/* Nobody has an owner when it has ended; where there is one all the same, it is left alone. */
static void what_has_an_owner_stays(void **state)
{
	struct place *place = *state;
	struct journal_entry done = settled(place, "s", ENTRY_DONE);

	place_sql(place, "UPDATE entry SET owner = 'a b c 0 0'");
	assert_int_equal(pruned(place, INT64_MAX), 0);
	assert_true(is_there(place, done.id));
}

/* Else the older one would be the step's again, and its action done in place of the newer one's. */
static void an_older_one_that_stays_keeps_the_current_one(void **state)
{
	struct place *place = *state;
	struct journal_entry first = settled(place, "s", ENTRY_UNKNOWN), second, third;

	place_entry_anew(place, "s");
	second = settled(place, "s", ENTRY_FAILED);
	place_entry_anew(place, "s");
	third = settled(place, "s", ENTRY_DONE);
	assert_int_equal(pruned(place, INT64_MAX), 1);
	assert_false(is_there(place, second.id));
	assert_int_equal(place_entry(place, "s").id, third.id);
	place_sql(place, "UPDATE entry SET state = 'failed' WHERE is_current = 0");
	assert_int_equal(pruned(place, INT64_MAX), 2);
	assert_false(is_there(place, first.id));
}

/* More than one transaction takes: the current ones go last. */
static void many_are_forgotten(void **state)
{
	struct place *place = *state;

	settled(place, "s", ENTRY_DONE);
	place_sql(place,
		  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
		  "i < 2299) INSERT INTO entry (task, step, method, url, token, is_current, "
		  "state, created_ms, changed_ms) SELECT 't', i / 2, 'POST', 'http://a/', i, "
		  "i % 2, 'done', 0, 0 FROM n");
	assert_int_equal(pruned(place, INT64_MAX), MANY);
	assert_int_equal(pruned(place, INT64_MAX), 0);
}

static void a_file_that_cannot_be_written_forgets_nothing(void **state)
{
	struct place *place = *state;
	struct journal_entry done = settled(place, "s", ENTRY_DONE);
	uint64_t count = 7;

	place_make_readonly(place);
	assert_int_equal(journal_prune(place->journal, INT64_MAX, &count, &place->err), FAIL_STORE);
	assert_int_equal(count, 7);
	assert_true(is_there(place, done.id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_ended_long_ago_is_forgotten),
		TEST(what_has_no_known_end_stays),
		TEST(what_has_an_owner_stays),
		TEST(an_older_one_that_stays_keeps_the_current_one),
		TEST(many_are_forgotten),
		TEST(a_file_that_cannot_be_written_forgets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
