/* Shows that a buffer keeps its bytes in order, never holds more than its maximum, and
 * stays spoiled after a refusal until it is cleared. */
#include "base/buf.h"
#include "base/err.h"
#include "death.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_holds(const struct buf *buf, const char *text)
{
	assert_int_equal(buf->len, strlen(text));
	assert_memory_equal(buf->at ? buf->at : "", text, buf->len);
}

static void an_empty_buffer_takes_no_memory(void **state)
{
	struct buf buf;

	buf_init(&buf, 10);
	assert_null(buf.memory);
	assert_int_equal(buf_append(&buf, NULL, 0), 0);
	assert_int_equal(buf_append_str(&buf, str_of(NULL, 0)), 0);
	buf_consume(&buf, 0);
	assert_null(buf.memory);
	assert_int_equal(buf_str(&buf).len, 0);
	buf_fini(&buf);
	buf_fini(NULL);
}

static void every_way_to_append_appends(void **state)
{
	struct buf buf;

	buf_init(&buf, 1000);
	assert_int_equal(buf_append(&buf, "GET ", 4), 0);
	assert_int_equal(buf_append_str(&buf, STR("/v1")), 0);
	assert_int_equal(buf_append_byte(&buf, '?'), 0);
	assert_int_equal(buf_append_u64(&buf, 0), 0);
	assert_int_equal(buf_append_byte(&buf, ' '), 0);
	assert_int_equal(buf_append_u64(&buf, UINT64_MAX), 0);
	assert_int_equal(buf_printf(&buf, " %s %d", "x", -1), 0);
	assert_holds(&buf, "GET /v1?0 18446744073709551615 x -1");
	buf_fini(&buf);
}

static void the_maximum_is_reached_exactly(void **state)
{
	struct buf buf;

	buf_init(&buf, 5);
	assert_int_equal(buf_append(&buf, "12345", 5), 0);
	assert_int_equal(buf_append(&buf, "6", 1), FAIL_LIMIT);
	assert_holds(&buf, "12345");
	buf_fini(&buf);
}

static void a_refusal_changes_nothing_and_spoils(void **state)
{
	struct buf buf;

	buf_init(&buf, 8);
	assert_int_equal(buf_append_str(&buf, STR("abc")), 0);
	assert_int_equal(buf_append_str(&buf, STR("123456")), FAIL_LIMIT);
	assert_holds(&buf, "abc");
	assert_true(buf.is_spoiled);
	assert_int_equal(buf_append_byte(&buf, 'd'), FAIL_LIMIT);
	assert_int_equal(buf_append(&buf, "", 0), FAIL_LIMIT);
	assert_int_equal(buf_printf(&buf, "%s", ""), FAIL_LIMIT);
	assert_null(buf_reserve(&buf, 1));
	assert_holds(&buf, "abc");
	buf_clear(&buf);
	assert_int_equal(buf_append_byte(&buf, 'd'), 0);
	assert_holds(&buf, "d");
	buf_fini(&buf);
}

static void an_absurd_length_is_refused(void **state)
{
	volatile size_t absurd = SIZE_MAX;
	struct buf buf;

	buf_init(&buf, 100);
	assert_int_equal(buf_append(&buf, "abc", 3), 0);
	assert_null(buf_reserve(&buf, absurd));
	buf_clear(&buf);
	buf.max = SIZE_MAX;
	assert_int_equal(buf_append(&buf, "abc", 3), 0);
	assert_null(buf_reserve(&buf, absurd - 3));
	assert_holds(&buf, "abc");
	buf_fini(&buf);
}

static void printf_may_fill_it_to_the_last_byte(void **state)
{
	struct buf buf;

	for (int length = 250; length <= 520; length++) {
		buf_init(&buf, (size_t)length);
		assert_int_equal(buf_printf(&buf, "%0*d", length, 7), 0);
		assert_int_equal(buf.len, length);
		assert_int_equal(buf.at[length - 1], '7');
		assert_int_equal(buf_printf(&buf, "%d", 1), FAIL_LIMIT);
		buf_fini(&buf);
	}
	buf_init(&buf, 299);
	assert_int_equal(buf_printf(&buf, "%300d", 7), FAIL_LIMIT);
	assert_true(buf.is_spoiled);
	buf_fini(&buf);
}

static void consumed_bytes_make_room_again(void **state)
{
	struct buf buf;
	char expected[8];
	unsigned written = 0, read = 0;

	/* Far more passes through than it may hold; the order must survive. */
	buf_init(&buf, 4000);
	while (read < 20000) {
		while (written < 20000 && buf.len + 7 <= buf.max)
			assert_int_equal(buf_printf(&buf, "%06u,", written++), 0);
		for (int i = 0; i < 101 && buf.len; i++) {
			snprintf(expected, sizeof(expected), "%06u,", read++);
			assert_memory_equal(buf.at, expected, 7);
			buf_consume(&buf, 7);
		}
	}
	assert_int_equal(buf.len, 0);
	assert_true(buf.capacity <= 2 * 4096);
	buf_fini(&buf);
}

static void reserved_room_is_committed_in_part(void **state)
{
	struct buf buf;
	char *room;

	buf_init(&buf, 1000);
	room = buf_reserve(&buf, 600);
	assert_non_null(room);
	memcpy(room, "hello", 5);
	assert_int_equal(buf.len, 0);
	buf_commit(&buf, 5);
	assert_holds(&buf, "hello");
	assert_null(buf_reserve(&buf, 996));
	buf_fini(&buf);
	buf_init(&buf, 10);
	assert_non_null(buf_reserve(&buf, 0));
	buf_fini(&buf);
}

static void commit_past_the_maximum(void *given)
{
	buf_commit(given, 11);
}

static void consume_more_than_held(void *given)
{
	buf_consume(given, 4);
}

static void misuse_stops_the_process(void **state)
{
	struct buf buf;

	buf_init(&buf, 10);
	assert_int_equal(buf_append(&buf, "abc", 3), 0);
	assert_true(dies(consume_more_than_held, &buf));
	buf_clear(&buf);
	assert_non_null(buf_reserve(&buf, 10));
	assert_true(dies(commit_past_the_maximum, &buf));
	buf_fini(&buf);
}

static void an_idle_buffer_gives_its_memory_back(void **state)
{
	struct buf buf;

	buf_init(&buf, 10);
	assert_int_equal(buf_append(&buf, "abc", 3), 0);
	buf_release_if_empty(&buf);
	assert_holds(&buf, "abc");
	buf_consume(&buf, 3);
	assert_int_equal(buf_append(&buf, "12345678901", 11), FAIL_LIMIT);
	buf_release_if_empty(&buf);
	assert_null(buf.memory);
	assert_true(buf.is_spoiled);
	assert_int_equal(buf.max, 10);
	buf_clear(&buf);
	assert_int_equal(buf_append(&buf, "1234567890", 10), 0);
	buf_fini(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_buffer_takes_no_memory),
		cmocka_unit_test(every_way_to_append_appends),
		cmocka_unit_test(the_maximum_is_reached_exactly),
		cmocka_unit_test(a_refusal_changes_nothing_and_spoils),
		cmocka_unit_test(an_absurd_length_is_refused),
		cmocka_unit_test(printf_may_fill_it_to_the_last_byte),
		cmocka_unit_test(consumed_bytes_make_room_again),
		cmocka_unit_test(reserved_room_is_committed_in_part),
		cmocka_unit_test(misuse_stops_the_process),
		cmocka_unit_test(an_idle_buffer_gives_its_memory_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
