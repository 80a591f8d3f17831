/* Shows that a log is found whole whatever its gate does while it is verified. */
#include "test_log.h"

#include "audit/tiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { BUSY_STEPS = 60 };

/* A gate that goes on before the `moment`th read, and each `pace` reads after that. */
struct busy {
	struct test_log *log;
	struct log_reader reader;
	size_t moment, pace, reads, step, steps;
	uint64_t last, older; /* sizes of its last two checkpoints */
};

static void remove_part(struct test_log *log, struct tile tile, uint64_t size)
{
	char path[TILE_PATH_MAX];

	tile.width = tile_width(tile.level, tile.index, size);
	if (tile.width == 0 || tile.width == TILE_WIDTH)
		return;
	tile_path(&tile, path);
	if (log_find(log, path))
		log_remove(log, path);
}

static void remove_parts_of(struct test_log *log, unsigned level, uint64_t size)
{
	uint64_t index = (size >> TILE_HEIGHT * level) / TILE_WIDTH;

	remove_part(log, (struct tile){.level = level, .index = index}, size);
	if (level == 0)
		remove_part(log, (struct tile){.is_entries = true, .index = index}, size);
}

static bool is_needed(unsigned level, uint64_t of, uint64_t by)
{
	uint64_t index = (of >> TILE_HEIGHT * level) / TILE_WIDTH;

	return tile_width(level, index, of) == tile_width(level, index, by);
}

/* Parts of tiles that are whole, and what only the checkpoint before the last one needed. */
static void remove_outdated(struct busy *busy)
{
	uint64_t newest = busy->log->published;

	for (unsigned level = 0; level < 2; level++) {
		bool is_whole = newest >> TILE_HEIGHT * (level + 1) !=
				busy->last >> TILE_HEIGHT * (level + 1);

		if (!is_needed(level, busy->older, newest) &&
		    (is_whole || !is_needed(level, busy->older, busy->last)))
			remove_parts_of(busy->log, level, busy->older);
		if (is_whole)
			remove_parts_of(busy->log, level, busy->last);
	}
}

static void go_on(struct busy *busy)
{
	log_add(busy->log, busy->step);
	log_publish(busy->log);
	remove_outdated(busy);
	busy->older = busy->last;
	busy->last = busy->log->published;
}

static int read_busily(void *state, const char *path, struct buf *out)
{
	struct busy *busy = state;

	if (busy->reads >= busy->moment && (busy->reads - busy->moment) % busy->pace == 0 &&
	    busy->steps++ < BUSY_STEPS)
		go_on(busy);
	busy->reads++;
	return busy->log->reader.read(busy->log, path, out);
}

static int list_busily(void *state, int (*visit)(void *visitor, struct str name), void *visitor)
{
	struct busy *busy = state;

	return busy->log->reader.list(busy->log, visit, visitor);
}

static void verify_busily(size_t begin, size_t moment, size_t pace, size_t step)
{
	struct test_log *log = log_new();
	struct busy busy = {.log = log, .moment = moment, .pace = pace, .step = step};
	struct verify_order order = {.log = &busy.reader, .key = &log->signers[0].verifier};
	struct verify_report report;

	busy.reader = (struct log_reader){read_busily, list_busily, &busy};
	log_add(log, begin);
	log_publish(log);
	busy.older = busy.last = begin;
	go_on(&busy);
	assert_int_equal(verify_log(&order, &report), 0);
	if (report.result != VERIFY_OK && report.result != VERIFY_OK_UNSEALED)
		fail_msg("begun with %zu, at read %zu, then each %zu, %zu more: %s: %s", begin,
			 moment, pace, step, verify_result_text(report.result), report.why);
	assert_true(report.head_size >= begin + step);
	log_free(log);
}

static void test_beside_a_busy_gate(void **state)
{
	static const size_t begins[] = {3, 200, 253, 254, 300};
	static const size_t paces[] = {3, 40, 100000};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		for (size_t j = 0; j < sizeof(paces) / sizeof(paces[0]); j++) {
			for (size_t moment = 1; moment < 270; moment += moment < 12 ? 1 : 7) {
				verify_busily(begins[i], moment, paces[j], 1);
				verify_busily(begins[i], moment, paces[j], 5);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_a_busy_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
