/* Shows that entries may be gone where one that is signed for says so, and nowhere else. */
#include "test_log.h"

#include "audit/tiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct verify_report report;

static void expect(struct test_log *log, enum verify_result result)
{
	log_verify(log, 0, str_of(NULL, 0), &report);
	if (report.result != result)
		fail_msg("%s and not %s: %s", verify_result_text(report.result),
			 verify_result_text(result), report.why);
}

static void expect_tampered(struct test_log *log, uint64_t from)
{
	expect(log, VERIFY_TAMPERED);
	assert_int_equal(report.bad_from, from);
	log_free(log);
}

static void say_pruned(struct test_log *log, unsigned from, unsigned to)
{
	char text[100];

	snprintf(text, sizeof(text), "{\"erased_epoch\":0,\"pruned_from\":%u,\"pruned_to\":%u}",
		 from, to);
	log_append(log, ENTRY_KEY_ERASED, str_from(text));
}

/* 600 entries, a new epoch, 50 more; the entry that lets 0 to 602 go is number 652. */
static struct test_log *long_log(void)
{
	struct test_log *log = log_new();

	log_add(log, 256);
	log_publish(log);
	log_add(log, 344);
	log_rotate(log);
	log_add(log, 50);
	say_pruned(log, 0, 602);
	return log;
}

static void test_what_is_told(void **state)
{
	struct test_log *log = long_log();

	log_publish(log);
	expect(log, VERIFY_OK);
	assert_int_equal(report.erased, 1);
	log_remove(log, "tile/entries/000");
	expect(log, VERIFY_OK);
	assert_int_equal(report.pruned, 256);
	log_remove(log, "tile/entries/001");
	expect(log, VERIFY_OK);
	assert_int_equal(report.pruned, 512);
	assert_int_equal(report.entries, 653);
	assert_int_equal(report.epochs, 2);
	log_free(log);
}

static void test_what_is_not_told(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 600);
	log_publish(log);
	log_remove(log, "tile/entries/001");
	expect_tampered(log, 256);
}

static void test_more_than_is_told(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 600);
	say_pruned(log, 256, 511);
	log_publish(log);
	log_remove(log, "tile/entries/001");
	expect_tampered(log, 256);
}

/* Whoever takes entries away could write that one too, while nobody has signed it. */
static void test_what_is_told_unsigned(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 600);
	log_publish(log);
	say_pruned(log, 0, 600);
	log_publish_tiles(log);
	log_remove(log, "tile/entries/001");
	expect_tampered(log, 256);
}

static void test_a_tile_that_was_changed(void **state)
{
	struct test_log *log = long_log();

	log_publish(log);
	log_remove(log, "tile/entries/001");
	log_find(log, "tile/0/001")->at[100] ^= 1;
	expect(log, VERIFY_TAMPERED);
	log_free(log);
}

/* The seal of the first epoch, and with it the second one's key. */
static void test_the_end_of_an_epoch(void **state)
{
	struct test_log *log = long_log();

	log_add(log, 200);
	log_publish(log);
	log_remove(log, "tile/entries/002");
	expect(log, VERIFY_TAMPERED);
	log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_told),
		cmocka_unit_test(test_what_is_not_told),
		cmocka_unit_test(test_more_than_is_told),
		cmocka_unit_test(test_what_is_told_unsigned),
		cmocka_unit_test(test_a_tile_that_was_changed),
		cmocka_unit_test(test_the_end_of_an_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
