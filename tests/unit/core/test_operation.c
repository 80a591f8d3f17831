/*
 * An operation moves exactly along the contract's table and no other way, and its id reads
 * back from its text. The table is written here a second time, as a list of moves: a cell
 * that changes in the code has to change here too.
 */
#include "core/operation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const allowed[][3] = {
	{"awaiting_approval", "approved", "queued"},
	{"awaiting_approval", "denied", "cancelled"},
	{"awaiting_approval", "cancelled", "cancelled"},
	{"queued", "picked_up", "running"},
	{"queued", "cancelled", "cancelled"},
	{"running", "succeeded", "completed"},
	{"running", "refused", "failed"},
	{"running", "not_sent", "queued"},
	{"running", "lost_sight", "unknown"},
	{"unknown", "found_done", "completed"},
	{"unknown", "found_failed", "failed"},
	{"unknown", "found_not_done", "queued"},
	{"unknown", "resent", "running"},
	{"awaiting_approval", "asked_again", "awaiting_approval"},
	{"queued", "asked_again", "awaiting_approval"},
	{"running", "asked_again", "awaiting_approval"},
};
enum { ALLOWED = sizeof(allowed) / sizeof(allowed[0]) };

static const char *expected_next(const char *state, const char *event)
{
	for (size_t i = 0; i < ALLOWED; i++) {
		if (strcmp(allowed[i][0], state) == 0 && strcmp(allowed[i][1], event) == 0)
			return allowed[i][2];
	}
	return NULL;
}

static void test_every_state_and_event(void **state_unused)
{
	size_t moves = 0;

	for (int state = STATE_AWAITING_APPROVAL; state < STATE_COUNT; state++) {
		for (int event = 0; event < EVENT_COUNT; event++) {
			const char *from = operation_state_name((enum operation_state)state);
			const char *by = operation_event_name((enum operation_event)event);
			const char *to = expected_next(from, by);
			enum operation_state next = STATE_COUNT;
			int r = operation_move((enum operation_state)state,
					       (enum operation_event)event, &next);

			if (!to) {
				assert_int_equal(r, OPERATION_REFUSED_MOVE);
				assert_int_equal(next, STATE_COUNT);
				continue;
			}
			assert_int_equal(r, 0);
			assert_string_equal(operation_state_name(next), to);
			moves++;
		}
	}
	assert_int_equal(moves, ALLOWED); /* every word of the list above is a real one */
}

static void test_numbers_out_of_range_are_no_moves(void **state)
{
	static const int numbers[] = {-1, 0, STATE_COUNT, 255, INT32_MIN, INT32_MAX};
	enum operation_state next = STATE_COUNT;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(
			operation_move((enum operation_state)numbers[i], EVENT_CANCELLED, &next),
			OPERATION_REFUSED_MOVE);
	}
	assert_int_equal(operation_move(STATE_QUEUED, EVENT_COUNT, &next), OPERATION_REFUSED_MOVE);
	assert_int_equal(operation_move(STATE_QUEUED, (enum operation_event) - 1, &next),
			 OPERATION_REFUSED_MOVE);
	assert_int_equal(next, STATE_COUNT);
}

static void test_open_and_terminal(void **state)
{
	static const bool is_open[STATE_COUNT] = {
		[STATE_AWAITING_APPROVAL] = true,
		[STATE_QUEUED] = true,
		[STATE_RUNNING] = true,
		[STATE_UNKNOWN] = true,
	};

	for (int i = STATE_AWAITING_APPROVAL; i < STATE_COUNT; i++) {
		assert_int_equal(operation_is_open((enum operation_state)i), is_open[i]);
		assert_int_equal(operation_is_terminal((enum operation_state)i), !is_open[i]);
	}
}

static void test_state_names_read_back(void **state)
{
	enum operation_state read = STATE_COUNT;

	for (int i = STATE_AWAITING_APPROVAL; i < STATE_COUNT; i++) {
		const char *name = operation_state_name((enum operation_state)i);

		assert_true(operation_state_from(str_from(name), &read));
		assert_int_equal(read, i);
	}
	read = STATE_COUNT;
	assert_false(operation_state_from(STR("Running"), &read));
	assert_false(operation_state_from(STR("runnin"), &read));
	assert_false(operation_state_from(STR(""), &read));
	assert_int_equal(read, STATE_COUNT);
}

static void test_id_as_text(void **state)
{
	struct operation_id id = {{0}}, read;
	char text[OPERATION_ID_TEXT + 1];

	operation_id_write(&id, text);
	assert_string_equal(text, "op_00000000000000000000000000");
	memset(id.bytes, 0xff, sizeof(id.bytes));
	operation_id_write(&id, text);
	assert_string_equal(text, "op_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	/* 2016-07-30T23:54:10.259Z, 1469922850259 ms, is 01ARZ3NDEK in this alphabet */
	id = (struct operation_id){{0x01, 0x56, 0x3e, 0x3a, 0xb5, 0xd3}};
	operation_id_write(&id, text);
	assert_string_equal(text, "op_01ARZ3NDEK0000000000000000");
	assert_true(operation_id_read(str_from(text), &read));
	assert_memory_equal(read.bytes, id.bytes, OPERATION_ID_SIZE);
}

static void test_id_reads_back_bit_by_bit(void **state)
{
	for (size_t bit = 0; bit < 128; bit++) {
		struct operation_id id = {{0}}, read;
		char text[OPERATION_ID_TEXT + 1];

		id.bytes[bit / 8] = (uint8_t)(0x80 >> bit % 8);
		operation_id_write(&id, text);
		assert_true(operation_id_read(str_from(text), &read));
		assert_memory_equal(read.bytes, id.bytes, OPERATION_ID_SIZE);
		for (char *c = text; *c; c++)
			*c = ascii_lower(*c);
		assert_true(operation_id_read(str_from(text), &read));
		assert_memory_equal(read.bytes, id.bytes, OPERATION_ID_SIZE);
	}
}

static void test_ids_sort_as_their_bytes(void **state)
{
	struct operation_id earlier = {{0x01, 0x99, 0xff}}, later = {{0x01, 0x9a, 0x00}};
	char a[OPERATION_ID_TEXT + 1], b[OPERATION_ID_TEXT + 1];

	operation_id_write(&earlier, a);
	operation_id_write(&later, b);
	assert_true(strcmp(a, b) < 0);
}

static void test_what_is_no_id(void **state)
{
	static const char *const texts[] = {
		"",
		"op_",
		"op_0000000000000000000000000",	  /* 25 digits */
		"op_000000000000000000000000000", /* 27 */
		"op_80000000000000000000000000",  /* 129 bits */
		"op-00000000000000000000000000",
		"xx_00000000000000000000000000",
		"op_0000000000000000000000000I",
		"op_0000000000000000000000000l",
		"op_0000000000000000000000000O",
		"op_0000000000000000000000000u",
		"op_0000000000000000000000000 ",
		"op_0000000000000000000000000-",
	};
	struct operation_id read;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (operation_id_read(str_from(texts[i]), &read))
			fail_msg("taken for an id: %s", texts[i]);
	}
	assert_false(operation_id_read(str_of("op_0000000000000000000000000\0", 29), &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_state_and_event),
		cmocka_unit_test(test_numbers_out_of_range_are_no_moves),
		cmocka_unit_test(test_open_and_terminal),
		cmocka_unit_test(test_state_names_read_back),
		cmocka_unit_test(test_id_as_text),
		cmocka_unit_test(test_id_reads_back_bit_by_bit),
		cmocka_unit_test(test_ids_sort_as_their_bytes),
		cmocka_unit_test(test_what_is_no_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
