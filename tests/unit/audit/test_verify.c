/* A log that is whole verifies; whatever is done to one has its own name. */
#include "test_log.h"

#include "audit/tiles.h"
#include "base/err.h"
#undef fail /* cmocka has one too */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_SINCE str_of(NULL, 0)

static struct verify_report report;

static void expect_since(struct test_log *log, uint32_t key_epoch, struct str since,
			 enum verify_result result)
{
	log_verify(log, key_epoch, since, &report);
	if (report.result != result)
		fail_msg("%s and not %s: %s", verify_result_text(report.result),
			 verify_result_text(result), report.why);
	assert_true((report.why[0] == '\0') == (result == VERIFY_OK));
}

static void expect(struct test_log *log, enum verify_result result)
{
	expect_since(log, 0, NO_SINCE, result);
}

/* The first bad entry, exactly. */
static void expect_tampered(struct test_log *log, uint64_t index)
{
	expect(log, VERIFY_TAMPERED);
	assert_true(report.has_bad);
	assert_int_equal(report.bad_from, index);
	assert_int_equal(report.bad_to, index);
}

/* Three checkpoints, the last over 20 entries. */
static struct test_log *small(void)
{
	struct test_log *log = log_new();

	log_add(log, 5);
	log_publish(log);
	log_add(log, 5);
	log_publish(log);
	log_add(log, 10);
	log_publish(log);
	return log;
}

/* Three epochs, one of them empty: entries 0 to 9, 12 and 13, 14 to 23. */
static struct test_log *with_epochs(struct test_log *model, uint64_t edited)
{
	struct test_log *log = log_new();

	log->model = model;
	log->edited = edited;
	log_add(log, 5);
	log_publish(log);
	log_add(log, 5);
	log_rotate(log);
	log_rotate(log);
	log->model = NULL;
	log_add(log, 10);
	log_publish(log);
	return log;
}

static void test_a_good_log(void **state)
{
	struct test_log *log = small();

	expect(log, VERIFY_OK);
	assert_int_equal(report.entries, 20);
	assert_int_equal(report.unsealed, 0);
	assert_true(report.has_head);
	assert_int_equal(report.head_size, 20);
	assert_int_equal(report.checkpoints, 4); /* three, and the newest one again */
	assert_int_equal(report.epochs, 1);
	assert_int_equal(report.unreadable, 0);
	log_free(log);
}

static void test_an_empty_log(void **state)
{
	struct test_log *log = log_new();

	log_publish(log);
	expect(log, VERIFY_OK);
	assert_int_equal(report.entries, 0);
	log_free(log);
}

/* Whole bundles, tiles of the second level, at each size around their edges. */
static void test_a_long_log(void **state)
{
	static const size_t sizes[] = {1, 255, 256, 257, 511, 512, 513, 800};
	struct test_log *log = log_new();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		log_add(log, sizes[i] - (size_t)log->tip.frontier.size);
		log_publish(log);
		expect(log, VERIFY_OK);
		assert_int_equal(report.entries, sizes[i]);
	}
	log_free(log);
}

/* Partial tiles may go once there are whole ones. */
static void test_old_partial_tiles_are_not_needed(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 100);
	log_publish(log);
	log_add(log, 200);
	log_publish(log);
	log_remove(log, "tile/0/000.p/100");
	log_remove(log, "tile/entries/000.p/100");
	expect(log, VERIFY_OK);
	log_free(log);
}

static void test_entries_that_are_not_sealed_yet(void **state)
{
	struct test_log *log = small();

	log_add(log, 7);
	log_publish_tiles(log);
	expect(log, VERIFY_OK_UNSEALED);
	assert_int_equal(report.unsealed, 7);
	assert_int_equal(report.entries, 27);
	assert_int_equal(report.head_size, 20);
	log_free(log);
}

static void test_an_edited_entry(void **state)
{
	struct test_log *log = small();

	log_find(log, "tile/entries/000.p/20")->at[2 + 13 * 144 + 130] ^= 1;
	expect(log, VERIFY_TAMPERED);
	assert_true(report.bad_from > 5 && report.bad_from < 20);
	log_free(log);
}

/* Whichever entry is edited, it is named; the last one too. */
static void test_the_edited_entry_is_named(void **state)
{
	for (size_t index = 0; index < 20; index++) {
		struct test_log *log = small();
		size_t order[20];

		for (size_t i = 0; i < 20; i++)
			order[i] = i;
		log->entries[index].at[ENTRY_HEAD_SIZE] ^= 1;
		log_write_bundle(log, "tile/entries/000.p/20", order, 20);
		expect_tampered(log, index);
		log_free(log);
	}
}

/* Without tiles the chain names it, but for the last. */
static void test_the_chain_names_it_too(void **state)
{
	struct test_log *log = small();
	size_t order[20];

	for (size_t i = 0; i < 20; i++)
		order[i] = i;
	log->entries[7].at[ENTRY_HEAD_SIZE] ^= 1;
	log_write_bundle(log, "tile/entries/000.p/20", order, 20);
	log_remove(log, "tile/0/000.p/20");
	expect_tampered(log, 7);
	log_free(log);
}

/* Edited, chained again, tiles made again: signed roots differ, from the one after it. */
static void test_an_edit_with_everything_after_it(void **state)
{
	struct test_log *log = small(), *forged = log_new();

	forged->edited = 7;
	log_add(forged, 20);
	log_publish(forged);
	log_take(forged, log, "checkpoint");
	log_take(forged, log, "checkpoints/5");
	log_take(forged, log, "checkpoints/10");
	log_take(forged, log, "checkpoints/20");
	expect(forged, VERIFY_TAMPERED);
	assert_int_equal(report.bad_from, 5);
	assert_int_equal(report.bad_to, 9);
	log_free(forged);
	log_free(log);
}

static void test_a_deleted_entry(void **state)
{
	struct test_log *log = small();
	size_t order[19];

	for (size_t i = 0; i < 19; i++)
		order[i] = i < 6 ? i : i + 1;
	log_write_bundle(log, "tile/entries/000.p/20", order, 19);
	expect_tampered(log, 6);
	log_free(log);
}

static void test_a_deleted_bundle(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 700);
	log_publish(log);
	log_remove(log, "tile/entries/001");
	expect_tampered(log, 256);
	log_free(log);
}

static void test_reordered_entries(void **state)
{
	struct test_log *log = small();
	size_t order[20];

	for (size_t i = 0; i < 20; i++)
		order[i] = i == 8 ? 9 : i == 9 ? 8 : i;
	log_write_bundle(log, "tile/entries/000.p/20", order, 20);
	expect_tampered(log, 8);
	log_remove(log, "tile/0/000.p/20");
	expect(log, VERIFY_TAMPERED);
	log_free(log);
}

static void test_an_entry_twice(void **state)
{
	struct test_log *log = small();
	size_t order[21];

	for (size_t i = 0; i < 21; i++)
		order[i] = i < 8 ? i : i - 1;
	log_write_bundle(log, "tile/entries/000.p/20", order, 21);
	expect_tampered(log, 8);
	log_free(log);
}

/* Two ciphertexts of one length change places; the heads stay. */
static void test_swapped_ciphertexts(void **state)
{
	struct test_log *log = small();
	size_t order[20];

	for (size_t i = 0; i < 20; i++)
		order[i] = i;
	for (size_t i = ENTRY_HEAD_SIZE; i < log->entries[3].len; i++) {
		char byte = log->entries[3].at[i];

		log->entries[3].at[i] = log->entries[4].at[i];
		log->entries[4].at[i] = byte;
	}
	log_write_bundle(log, "tile/entries/000.p/20", order, 20);
	expect_tampered(log, 3);
	log_free(log);
}

static void test_a_changed_tile(void **state)
{
	struct test_log *log = small();

	log_find(log, "tile/0/000.p/20")->at[12 * HASH_SIZE] ^= 1;
	expect_tampered(log, 12);
	log_free(log);
	log = log_new();
	log_add(log, 600);
	log_publish(log);
	log_find(log, "tile/1/000.p/2")->at[HASH_SIZE] ^= 1;
	expect_tampered(log, 256);
	log_free(log);
}

static void test_truncated(void **state)
{
	struct test_log *log = small();
	size_t order[12];

	for (size_t i = 0; i < 12; i++)
		order[i] = i;
	log_write_bundle(log, "tile/entries/000.p/20", order, 12);
	expect(log, VERIFY_TRUNCATED);
	assert_int_equal(report.entries, 12);
	log_remove(log, "tile/entries/000.p/20");
	expect(log, VERIFY_TRUNCATED);
	assert_int_equal(report.entries, 10); /* an older bundle is still there */
	log_free(log);
}

/* In the middle of an entry. */
static void test_cut_off(void **state)
{
	struct test_log *log = small();

	log_find(log, "tile/entries/000.p/20")->len -= 3;
	expect(log, VERIFY_TRUNCATED);
	assert_int_equal(report.entries, 19);
	log_free(log);
}

static void test_missing_tiles(void **state)
{
	struct test_log *log = small();

	log_find(log, "tile/0/000.p/20")->len -= 1;
	expect(log, VERIFY_TRUNCATED);
	log_remove(log, "tile/0/000.p/20");
	expect(log, VERIFY_TRUNCATED);
	assert_int_equal(report.missing_tiles, 1);
	log_free(log);
}

/* Everything as it was at 10 entries. Only what is kept elsewhere knows better. */
static void test_rolled_back(void **state)
{
	struct test_log *log = small();
	struct str newest = buf_str(log_find(log, "checkpoints/20"));
	struct test_log *older = log_new();

	log_add(older, 5);
	log_publish(older);
	log_add(older, 5);
	log_publish(older);
	expect(older, VERIFY_OK);
	expect_since(older, 0, newest, VERIFY_ROLLED_BACK);
	assert_int_equal(report.entries, 10);
	log_take(older, log, "checkpoints/20"); /* forgotten in the history */
	expect(older, VERIFY_ROLLED_BACK);
	log_free(older);
	log_free(log);
}

static void test_since_an_older_one(void **state)
{
	struct test_log *log = small();

	expect_since(log, 0, buf_str(log_find(log, "checkpoints/5")), VERIFY_OK);
	expect_since(log, 0, buf_str(log_find(log, "checkpoints/20")), VERIFY_OK);
	log_free(log);
}

/* Only the file `checkpoint` is old: the history has the newer one, and the entries are there. */
static void test_a_tip_that_lags(void **state)
{
	struct test_log *log = small();

	log_take(log, log, "checkpoint");
	log_put(log, "checkpoint", buf_str(log_find(log, "checkpoints/10")));
	expect(log, VERIFY_OK);
	assert_int_equal(report.head_size, 20);
	log_free(log);
}

/* The same key has signed another history: against the anchor, and in the folder itself. */
static void test_forked(void **state)
{
	struct test_log *log = small(), *other = log_new();

	other->edited = 7;
	log_add(other, 10);
	log_publish(other);
	log_add(other, 15);
	log_publish(other);
	expect(other, VERIFY_OK);
	expect_since(other, 0, buf_str(log_find(log, "checkpoints/20")), VERIFY_FORKED);
	expect_since(other, 0, buf_str(log_find(log, "checkpoints/5")), VERIFY_OK);
	log_take(other, log, "checkpoints/10");
	expect(other, VERIFY_FORKED);
	log_free(other);
	log_free(log);
}

/* One size, two roots. */
static void test_forked_at_one_size(void **state)
{
	struct test_log *log = small(), *other = log_new();

	other->edited = 19;
	log_add(other, 20);
	log_publish(other);
	expect_since(other, 0, buf_str(log_find(log, "checkpoint")), VERIFY_FORKED);
	log_free(other);
	log_free(log);
}

static void flip_signature(struct buf *note)
{
	char *at = note->at + note->len - 8;

	*at = *at == 'A' ? 'B' : 'A';
}

static void test_bad_signatures(void **state)
{
	struct test_log *log = small();
	struct buf since;

	buf_init(&since, NOTE_SIZE_MAX);
	(void)buf_append_str(&since, buf_str(log_find(log, "checkpoint")));
	flip_signature(&since);
	expect_since(log, 0, buf_str(&since), VERIFY_BAD_SIGNATURE);
	log_put(log, "checkpoints/10", buf_str(&since)); /* not of its size */
	expect(log, VERIFY_BAD_SIGNATURE);
	log_remove(log, "checkpoints/10");
	flip_signature(log_find(log, "checkpoints/5"));
	expect(log, VERIFY_BAD_SIGNATURE);
	log_remove(log, "checkpoints/5");
	expect(log, VERIFY_OK);
	flip_signature(log_find(log, "checkpoint"));
	expect(log, VERIFY_BAD_SIGNATURE);
	log_put(log, "checkpoint", STR("no note\n"));
	expect(log, VERIFY_BAD_SIGNATURE);
	buf_fini(&since);
	log_free(log);
}

/* A size that is not there, by nobody: the signature is what is wrong. */
static void test_a_bad_signature_beyond(void **state)
{
	struct test_log *log = small();
	struct buf *tip = log_find(log, "checkpoint");

	tip->at[str_find(buf_str(tip), '\n') + 1] = '9';
	expect(log, VERIFY_BAD_SIGNATURE);
	log_free(log);
}

/* Tip and key are replaced: the log agrees with itself, and not with the operator's key. */
static void test_another_key(void **state)
{
	struct test_log *log = log_new();

	log->epoch = 0;
	log->signers[0] = log->signers[3];
	log_add(log, 20);
	log_publish(log);
	expect(log, VERIFY_OK);
	expect_since(log, 1, NO_SINCE, VERIFY_KEY_MISMATCH);
	log_free(log);
}

static void test_another_log(void **state)
{
	struct test_log *log = small();
	uint8_t seed[32] = {1};

	assert_true(note_signer_init(&log->signers[0], STR("example.com/other"), seed));
	expect(log, VERIFY_KEY_MISMATCH);
	log_free(log);
}

static void test_missing_anchors(void **state)
{
	struct test_log *log = log_new();

	expect(log, VERIFY_MISSING_ANCHOR);
	log_add(log, 3);
	log_publish_tiles(log);
	expect(log, VERIFY_MISSING_ANCHOR);
	log_publish(log);
	expect(log, VERIFY_OK);
	expect_since(log, 0, STR("no checkpoint"), VERIFY_MISSING_ANCHOR);
	expect_since(log, 0, STR(""), VERIFY_MISSING_ANCHOR);
	log_free(log);
}

/* The anchor elsewhere is enough. */
static void test_only_since(void **state)
{
	struct test_log *log = small();
	struct buf since;

	buf_init(&since, NOTE_SIZE_MAX);
	(void)buf_append_str(&since, buf_str(log_find(log, "checkpoint")));
	log_remove(log, "checkpoint");
	log_remove(log, "checkpoints/5");
	log_remove(log, "checkpoints/10");
	log_remove(log, "checkpoints/20");
	expect(log, VERIFY_MISSING_ANCHOR);
	expect_since(log, 0, buf_str(&since), VERIFY_OK);
	buf_fini(&since);
	log_free(log);
}

static void test_epochs(void **state)
{
	struct test_log *log = with_epochs(NULL, UINT64_MAX);

	expect(log, VERIFY_OK);
	assert_int_equal(report.entries, 24);
	assert_int_equal(report.epochs, 3);
	assert_int_equal(report.seals, 2);
	assert_int_equal(report.unchecked, 0);
	assert_int_equal(report.head_size, 24);
	log_free(log);
}

/* With a later key the earlier signatures are not checked, and that is said. */
static void test_epochs_with_a_later_key(void **state)
{
	struct test_log *log = with_epochs(NULL, UINT64_MAX);

	expect_since(log, 1, NO_SINCE, VERIFY_OK);
	assert_int_equal(report.unchecked, 4); /* checkpoints/5, certificate, seal, /12 */
	expect_since(log, 2, NO_SINCE, VERIFY_OK);
	assert_int_equal(report.unchecked, 7);
	expect_since(log, 3, NO_SINCE, VERIFY_KEY_MISMATCH);
	log_free(log);
}

/* Right after the end of an epoch an idle log is signed by the next key. */
static void test_an_idle_epoch(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 4);
	log_rotate(log);
	log_publish(log);
	expect(log, VERIFY_OK);
	expect_since(log, 1, NO_SINCE, VERIFY_OK);
	log_free(log);
}

/*
 * Today's key is stolen and an old entry is edited, everything after it made again. What the
 * erased keys have signed cannot be.
 */
static void test_forged_with_a_stolen_key(void **state)
{
	struct test_log *log = with_epochs(NULL, UINT64_MAX), *forged = with_epochs(log, 3);

	log_remove(forged, "checkpoints/5");
	log_remove(forged, "checkpoints/12");
	log_remove(forged, "checkpoints/14");
	expect(forged, VERIFY_FORKED);
	log_take(forged, log, "checkpoints/12");
	expect(forged, VERIFY_FORKED);
	log_free(forged);
	log_free(log);
}

/* The thief signs the end of an old epoch himself. */
static void test_a_forged_certificate(void **state)
{
	struct test_log *forged = log_new();
	struct note_signer first = forged->signers[0];

	forged->signers[0] = forged->signers[2];
	log_add(forged, 5);
	log_rotate(forged);
	log_add(forged, 5);
	log_publish(forged);
	forged->signers[0] = first;
	expect(forged, VERIFY_KEY_MISMATCH);
	forged->signers[0] = forged->signers[1]; /* who trusts only the newest key sees nothing */
	expect_since(forged, 1, NO_SINCE, VERIFY_OK);
	log_free(forged);
}

/* A later key signs an old checkpoint again. */
static void test_a_later_key_cannot_speak_for_an_earlier_time(void **state)
{
	struct test_log *log = with_epochs(NULL, UINT64_MAX), *first = log_new();

	first->signers[0] = first->signers[2];
	log_add(first, 5);
	log_publish(first);
	log_take(log, first, "checkpoints/5");
	expect(log, VERIFY_KEY_MISMATCH);
	log_free(first);
	log_free(log);
}

/* And an old key does not sign after its end. */
static void test_an_erased_key_cannot_go_on(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 5);
	log_rotate(log);
	log->signers[1] = log->signers[0];
	log_add(log, 5);
	log_publish(log);
	expect(log, VERIFY_KEY_MISMATCH);
	log_free(log);
}

/* An entry of the next epoch where no seal was. */
static void test_no_gap_between_epochs(void **state)
{
	struct test_log *log = log_new();

	log_add(log, 5);
	log->epoch = 1;
	log_add(log, 5);
	log->epoch = 0;
	log_publish(log);
	expect_tampered(log, 5);
	log_free(log);
}

static void test_truncated_before_a_certificate(void **state)
{
	struct test_log *log = with_epochs(NULL, UINT64_MAX);
	struct buf *bundle = log_find(log, "tile/entries/000.p/24");
	size_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};

	assert_non_null(bundle);
	log_write_bundle(log, "tile/entries/000.p/24", order, 8);
	expect(log, VERIFY_TRUNCATED);
	log_free(log);
}

/* What is no entry, signed by the log: it is reported, and all others are looked at. */
static void test_an_unreadable_entry(void **state)
{
	struct test_log *log = log_new();
	struct tree_growth growth;

	log_add(log, 3);
	buf_init(&log->entries[3], ENTRY_SIZE_MAX);
	(void)buf_append_str(&log->entries[3], STR("no entry"));
	tree_hash_leaf(buf_str(&log->entries[3]), &log->tip.last);
	assert_int_equal(tree_append(&log->tip.frontier, &log->tip.last, &growth), 0);
	log->hashes[0][3] = log->tip.last;
	log_add(log, 3);
	log_publish(log);
	expect(log, VERIFY_OK);
	assert_int_equal(report.unreadable, 1);
	assert_int_equal(report.first_unreadable, 3);
	assert_int_equal(report.entries, 7);
	log_free(log);
}

static int stop_at_4(void *state, uint64_t index, struct str bytes, const struct entry *entry)
{
	assert_int_equal(index, (*(uint64_t *)state)++);
	assert_non_null(entry);
	assert_int_equal(entry->seq, index);
	return index == 4 ? 77 : 0;
}

static void test_entries_are_told(void **state)
{
	struct test_log *log = small();
	uint64_t next = 0;
	struct verify_order order = {.log = &log->reader,
				     .key = &log->signers[0].verifier,
				     .on_entry = stop_at_4,
				     .state = &next};

	assert_int_equal(verify_log(&order, &report), 77);
	assert_int_equal(next, 5);
	log_free(log);
}

static int fail_to_read(void *state, const char *path, struct buf *out)
{
	return --*(int *)state == 0 ? FAIL_IO : LOG_ABSENT;
}

static int list_nothing(void *state, int (*visit)(void *, struct str), void *visitor)
{
	return 0;
}

/* A disk that cannot be read is no verdict. */
static void test_reading_fails(void **state)
{
	struct test_log *log = log_new();
	int countdown = 1;
	struct log_reader reader = {fail_to_read, list_nothing, &countdown};
	struct verify_order order = {.log = &reader, .key = &log->signers[0].verifier};

	assert_int_equal(verify_log(&order, &report), FAIL_IO);
	log_free(log);
}

/* The same from a folder, where what is no file is not there. */
static void test_a_folder(void **state)
{
	char path[] = "/tmp/counterfoil-audit-XXXXXX", name[64], command[128];
	struct test_log *log = with_epochs(NULL, UINT64_MAX);
	struct log_folder folder;
	struct verify_order order = {.log = &folder.reader, .key = &log->signers[0].verifier};

	assert_non_null(mkdtemp(path));
	log_write_folder(log, path);
	assert_int_equal(log_folder_open(&folder, path), 0);
	assert_int_equal(verify_log(&order, &report), 0);
	assert_int_equal(report.result, VERIFY_OK);
	assert_int_equal(report.entries, 24);
	snprintf(name, sizeof(name), "%s/checkpoint", path);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(verify_log(&order, &report), 0);
	assert_int_equal(report.result, VERIFY_OK); /* by the history */
	log_folder_close(&folder);
	assert_int_equal(log_folder_open(&folder, name), LOG_ABSENT);
	snprintf(command, sizeof(command), "rm -r %s", path);
	assert_int_equal(system(command), 0);
	log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_log),
		cmocka_unit_test(test_an_empty_log),
		cmocka_unit_test(test_a_long_log),
		cmocka_unit_test(test_old_partial_tiles_are_not_needed),
		cmocka_unit_test(test_entries_that_are_not_sealed_yet),
		cmocka_unit_test(test_an_edited_entry),
		cmocka_unit_test(test_the_edited_entry_is_named),
		cmocka_unit_test(test_the_chain_names_it_too),
		cmocka_unit_test(test_an_edit_with_everything_after_it),
		cmocka_unit_test(test_a_deleted_entry),
		cmocka_unit_test(test_a_deleted_bundle),
		cmocka_unit_test(test_reordered_entries),
		cmocka_unit_test(test_an_entry_twice),
		cmocka_unit_test(test_swapped_ciphertexts),
		cmocka_unit_test(test_a_changed_tile),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_missing_tiles),
		cmocka_unit_test(test_rolled_back),
		cmocka_unit_test(test_since_an_older_one),
		cmocka_unit_test(test_a_tip_that_lags),
		cmocka_unit_test(test_forked),
		cmocka_unit_test(test_forked_at_one_size),
		cmocka_unit_test(test_bad_signatures),
		cmocka_unit_test(test_a_bad_signature_beyond),
		cmocka_unit_test(test_another_key),
		cmocka_unit_test(test_another_log),
		cmocka_unit_test(test_missing_anchors),
		cmocka_unit_test(test_only_since),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_epochs_with_a_later_key),
		cmocka_unit_test(test_an_idle_epoch),
		cmocka_unit_test(test_forged_with_a_stolen_key),
		cmocka_unit_test(test_a_forged_certificate),
		cmocka_unit_test(test_a_later_key_cannot_speak_for_an_earlier_time),
		cmocka_unit_test(test_an_erased_key_cannot_go_on),
		cmocka_unit_test(test_no_gap_between_epochs),
		cmocka_unit_test(test_truncated_before_a_certificate),
		cmocka_unit_test(test_an_unreadable_entry),
		cmocka_unit_test(test_entries_are_told),
		cmocka_unit_test(test_reading_fails),
		cmocka_unit_test(test_a_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
