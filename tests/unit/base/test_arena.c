/*
 * Shows that an arena's pieces are aligned, separate and bounded by its ceiling.
 *
 * Built twice: against the arena of chunks and against its malloc-backed twin. Both must
 * keep the same promises, so nothing here counts on how much padding a piece gets.
 */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROOMY = 1 << 20, PADDING_MAX = 16 };

static void a_new_arena_holds_no_memory(void **state)
{
	struct arena arena;

	arena_init(&arena, ROOMY);
	assert_null(arena.chunks);
	assert_int_equal(arena.used, 0);
	arena_fini(&arena);
}

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
	struct arena arena;
	unsigned char *pieces[200];

	arena_init(&arena, ROOMY);
	for (size_t i = 0; i < 200; i++) {
		pieces[i] = arena_alloc(&arena, i + 1);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
		memset(pieces[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < 200; i++) {
		for (size_t at = 0; at <= i; at++)
			assert_int_equal(pieces[i][at], i);
	}
	arena_fini(&arena);
}

static void a_piece_larger_than_a_chunk_is_whole(void **state)
{
	struct arena arena;
	char *before, *large, *after;

	arena_init(&arena, ROOMY);
	before = arena_alloc(&arena, 8);
	large = arena_alloc(&arena, 300000);
	after = arena_alloc(&arena, 8);
	assert_true(before && large && after);
	memset(before, 'b', 8);
	memset(after, 'a', 8);
	memset(large, 'L', 300000);
	assert_memory_equal(before, "bbbbbbbb", 8);
	assert_memory_equal(after, "aaaaaaaa", 8);
	arena_fini(&arena);
}

static void the_ceiling_is_reached_exactly_and_never_passed(void **state)
{
	struct arena arena;

	arena_init(&arena, 4096);
	assert_null(arena_alloc(&arena, 4097));
	assert_int_equal(arena.used, 0);
	assert_non_null(arena_alloc(&arena, 4096));
	assert_int_equal(arena.used, 4096);
	assert_null(arena_alloc(&arena, 1));
	arena_fini(&arena);
}

static void a_refusal_leaves_room_for_less(void **state)
{
	struct arena arena;

	arena_init(&arena, 1024);
	assert_non_null(arena_alloc(&arena, 512));
	assert_null(arena_alloc(&arena, 600));
	assert_non_null(arena_alloc(&arena, 512));
	arena_fini(&arena);
}

static void small_pieces_sum_up_to_the_ceiling(void **state)
{
	struct arena arena;
	size_t count = 0;

	arena_init(&arena, 10000);
	while (count < 10001 && arena_alloc(&arena, 1))
		count++;
	assert_in_range(count, 10000 / PADDING_MAX, 10000);
	assert_true(arena.used <= 10000);
	arena_fini(&arena);
}

static void a_ceiling_of_nothing_refuses_everything(void **state)
{
	struct arena arena;

	arena_init(&arena, 0);
	assert_null(arena_alloc(&arena, 1));
	assert_null(arena_str(&arena, STR("")).at);
	arena_fini(&arena);
}

static void absurd_sizes_do_not_wrap_around(void **state)
{
	/* Not constants, or the compiler warns of what we mean to do. */
	volatile size_t sizes[] = {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX - 40, SIZE_MAX / 2 + 1};
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_null(arena_alloc(&arena, sizes[i]));
		assert_int_equal(arena.used, 0);
	}
	assert_null(arena_str(&arena, str_of("", SIZE_MAX)).at);
	arena_fini(&arena);
}

static void zalloc_clears_memory_that_was_used_before(void **state)
{
	struct arena arena;

	for (int round = 0; round < 2; round++) {
		unsigned char *piece;

		arena_init(&arena, ROOMY);
		memset(arena_alloc(&arena, 3000), 0xff, 3000);
		arena_fini(&arena);
		piece = arena_zalloc(&arena, 3000);
		assert_non_null(piece);
		for (int i = 0; i < 3000; i++)
			assert_int_equal(piece[i], 0);
		arena_fini(&arena);
	}
}

static void it_can_be_used_again_after_fini(void **state)
{
	struct arena arena;

	arena_init(&arena, 64);
	assert_non_null(arena_alloc(&arena, 64));
	arena_fini(&arena);
	arena_fini(&arena);
	assert_int_equal(arena.used, 0);
	assert_non_null(arena_alloc(&arena, 64));
	arena_fini(&arena);
	arena_fini(NULL);
}

static void a_copied_text_is_its_own_and_ends_in_nul(void **state)
{
	char original[] = "a\0b";
	struct arena arena;
	struct str copy, empty, nothing;

	arena_init(&arena, ROOMY);
	copy = arena_str(&arena, str_of(original, 3));
	original[0] = 'x';
	assert_int_equal(copy.len, 3);
	assert_memory_equal(copy.at, "a\0b", 4);
	empty = arena_str(&arena, STR(""));
	nothing = arena_str(&arena, str_of(NULL, 0));
	assert_string_equal(empty.at, "");
	assert_string_equal(nothing.at, "");
	assert_int_equal(empty.len + nothing.len, 0);
	arena_fini(&arena);
}

static void printf_measures_before_it_writes(void **state)
{
	struct arena arena;
	struct str text, none;

	arena_init(&arena, 4096);
	text = arena_printf(&arena, "%s-%05d", "op", 42);
	assert_string_equal(text.at, "op-00042");
	assert_int_equal(text.len, 8);
	none = arena_printf(&arena, "%5000d", 1);
	assert_null(none.at);
	assert_int_equal(none.len, 0);
	text = arena_printf(&arena, "%2000d", 7);
	assert_int_equal(text.len, 2000);
	assert_int_equal(text.at[1999], '7');
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_arena_holds_no_memory),
		cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
		cmocka_unit_test(a_piece_larger_than_a_chunk_is_whole),
		cmocka_unit_test(the_ceiling_is_reached_exactly_and_never_passed),
		cmocka_unit_test(a_refusal_leaves_room_for_less),
		cmocka_unit_test(small_pieces_sum_up_to_the_ceiling),
		cmocka_unit_test(a_ceiling_of_nothing_refuses_everything),
		cmocka_unit_test(absurd_sizes_do_not_wrap_around),
		cmocka_unit_test(zalloc_clears_memory_that_was_used_before),
		cmocka_unit_test(it_can_be_used_again_after_fini),
		cmocka_unit_test(a_copied_text_is_its_own_and_ends_in_nul),
		cmocka_unit_test(printf_measures_before_it_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
