/*
 * Shows that publishing goes on from wherever it was left, and signs nothing that does not follow.
 */
#include "audit/publisher.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

enum { ENTRIES = 600 };

static char folder[64];
static struct note_signer signer;
static const struct publisher_keys keys = {.signer = &signer};
static struct entry_key key;
static struct buf entries[ENTRIES];
static struct tip tip; /* over all of them */

static void make_entries(void)
{
	const uint8_t secret[ENTRY_KEY_SIZE] = {1};
	char text[40];

	entry_key_init(&key, secret);
	tip_init(&tip);
	for (int i = 0; i < ENTRIES; i++) {
		struct tip_entry entry = {.type = ENTRY_CLAIM, .time_ms = 1700000000000};

		snprintf(text, sizeof(text), "{\"n\":%d}", i);
		entry.text = str_from(text);
		buf_init(&entries[i], ENTRY_SIZE_MAX);
		assert_int_equal(tip_append(&tip, &entry, &key, &entries[i], NULL), 0);
	}
}

static int set_up_all(void **state)
{
	const uint8_t seed[NOTE_SEED_SIZE] = {7};

	assert_true(note_signer_init(&signer, STR("test.example/log"), seed));
	make_entries();
	return 0;
}

static int tear_down_all(void **state)
{
	for (int i = 0; i < ENTRIES; i++)
		buf_fini(&entries[i]);
	return 0;
}

static int set_up(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/counterfoil-publisher-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static void shell(const char *script)
{
	assert_int_equal(setenv("D", folder, 1), 0);
	assert_int_equal(system(script), 0);
}

static int tear_down(void **state)
{
	shell("rm -r \"$D\"");
	return 0;
}

static void assert_opens(void)
{
	struct publisher publisher;
	char why[256] = "";

	if (publisher_open(&publisher, folder, &keys, why, sizeof(why)) != 0)
		print_error("%s\n", why);
	assert_string_equal(why, "");
	publisher_close(&publisher);
}

static void assert_refused(const char *part)
{
	struct publisher publisher;
	char why[256] = "";

	assert_int_equal(publisher_open(&publisher, folder, &keys, why, sizeof(why)),
			 PUBLISHER_FORKED);
	assert_non_null(strstr(why, part));
}

/* Publish entries up to `end`, in a process of its own so to say. */
static int publish(uint64_t end, bool is_sealed)
{
	struct publisher publisher;
	char why[256] = "";
	int r = publisher_open(&publisher, folder, &keys, why, sizeof(why));

	assert_int_equal(r, 0);
	while (r == 0 && publisher.tip.frontier.size < end) {
		uint64_t seq = publisher.tip.frontier.size;
		struct str entry = buf_str(&entries[seq]);
		struct hash leaf;

		tree_hash_leaf(entry, &leaf);
		r = publisher_take(&publisher, entry, seq % 3 ? &leaf : NULL);
	}
	if (r == 0 && is_sealed)
		r = publisher_seal(&publisher);
	publisher_close(&publisher);
	return r;
}

static void log_goes_on_from_any_size(void **state)
{
	struct publisher publisher;
	struct hash root, expected;
	char why[256];

	for (uint64_t end = 1; end < ENTRIES; end += end % 17 + 1)
		assert_int_equal(publish(end, true), 0);
	assert_int_equal(publish(ENTRIES, true), 0);
	assert_int_equal(publisher_open(&publisher, folder, &keys, why, sizeof(why)), 0);
	tip_root(&publisher.tip, &root);
	tip_root(&tip, &expected);
	assert_int_equal(publisher.published, ENTRIES);
	assert_memory_equal(&root, &expected, sizeof(root));
	assert_memory_equal(&publisher.tip.last, &tip.last, sizeof(tip.last));
	publisher_close(&publisher);
}

static void entry_that_does_not_follow_is_not_taken(void **state)
{
	struct publisher publisher;
	char why[256];

	assert_int_equal(publish(3, true), 0);
	assert_int_equal(publisher_open(&publisher, folder, &keys, why, sizeof(why)), 0);
	assert_int_equal(publisher_take(&publisher, buf_str(&entries[4]), NULL), PUBLISHER_FORKED);
	assert_int_equal(publisher_take(&publisher, buf_str(&entries[2]), NULL), PUBLISHER_FORKED);
	assert_int_equal(publisher_take(&publisher, STR("no entry"), NULL), PUBLISHER_FORKED);
	assert_int_equal(publisher.tip.frontier.size, 3);
	assert_int_equal(publisher_take(&publisher, buf_str(&entries[3]), NULL), 0);
	publisher_close(&publisher);
}

/* A crash after a whole tile and before its checkpoint. */
static void whole_tile_of_a_crash_is_found_again(void **state)
{
	assert_int_equal(publish(200, true), 0);
	assert_int_equal(publish(300, false), 0);
	shell("test -f \"$D/tile/0/000\" && test ! -e \"$D/tile/0/000.p\"");
	assert_int_equal(publish(300, true), 0);
	assert_int_equal(publish(ENTRIES, true), 0);
}

static void whole_tile_is_never_written_over(void **state)
{
	assert_int_equal(publish(200, true), 0);
	assert_int_equal(publish(300, false), 0);
	shell("printf x | dd of=\"$D/tile/0/000\" bs=1 seek=8000 conv=notrunc 2>/dev/null");
	assert_int_equal(publish(300, true), PUBLISHER_FORKED);
}

static void parts_that_are_not_needed_go(void **state)
{
	for (uint64_t end = 1; end <= 5; end++)
		assert_int_equal(publish(end, true), 0);
	assert_int_equal(publish(256, true), 0);
	shell("test ! -e \"$D/tile/entries/000.p\" && test -f \"$D/tile/entries/000\"");
	shell("test -f \"$D/checkpoints/3\" && test -f \"$D/checkpoints/256\"");
}

/* Of a long history the newest ones stay, the first, and every second one between. */
static void history_is_thinned_out(void **state)
{
	assert_int_equal(publish(1, true), 0);
	shell("cd \"$D/checkpoints\" && seq 1001 1767 | xargs touch");
	assert_int_equal(publish(2, true), 0);
	shell("test $(ls \"$D/checkpoints\" | wc -l) -eq 513");
	shell("cd \"$D/checkpoints\" && test -e 1 -a ! -e 2 -a -e 1001 -a ! -e 1002");
	shell("cd \"$D/checkpoints\" && test $(seq 1512 1767 | xargs ls | wc -l) -eq 256");
	assert_int_equal(publish(3, true), 0);
	shell("test $(ls \"$D/checkpoints\" | wc -l) -eq 514");
	assert_opens();
}

static void files_that_were_changed_are_refused(void **state)
{
	assert_int_equal(publish(10, true), 0);
	assert_opens();
	shell("cp -r \"$D\" \"$D.kept\"; rm \"$D/tile/0/000.p/10\"");
	assert_refused("tiles are not what");
	shell("rm -r \"$D\"; cp -r \"$D.kept\" \"$D\";"
	      "printf x | dd of=\"$D/tile/entries/000.p/10\" bs=1 seek=300 conv=notrunc "
	      "2>/dev/null");
	assert_refused("tiles are not what");
	shell("rm -r \"$D\"; cp -r \"$D.kept\" \"$D\"; echo > \"$D/checkpoint\"");
	assert_refused("is no checkpoint");
	shell("rm -r \"$D\"; mv \"$D.kept\" \"$D\"");
	assert_opens();
}

static void log_of_another_key_is_refused(void **state)
{
	const uint8_t seed[NOTE_SEED_SIZE] = {8};
	struct note_signer ours = signer;

	assert_int_equal(publish(10, true), 0);
	assert_true(note_signer_init(&signer, STR("test.example/log"), seed));
	assert_refused("not signed with this gate's key");
	assert_true(note_signer_init(&signer, STR("test.example/other"), seed));
	assert_refused("of another log");
	signer = ours;
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(log_goes_on_from_any_size),
		ROW(entry_that_does_not_follow_is_not_taken),
		ROW(whole_tile_of_a_crash_is_found_again),
		ROW(whole_tile_is_never_written_over),
		ROW(parts_that_are_not_needed_go),
		ROW(history_is_thinned_out),
		ROW(files_that_were_changed_are_refused),
		ROW(log_of_another_key_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
