/*
 * Shows where the journal is, that nobody else can read it, and that what is not a journal of this
 * format is refused as it was.
 */
#include "client_test.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

static unsigned mode_of(const char *path)
{
	struct stat file;

	assert_int_equal(stat(path, &file), 0);
	return file.st_mode & 0777;
}

static struct str under(struct place *place, const char *name)
{
	return arena_printf(&place->mem, "%s/%s", place->folder, name);
}

/* It is not opened, with a sentence that has `word` in it. */
static void assert_refused(struct place *place, const char *path, int wanted, const char *word)
{
	struct journal *journal = NULL;
	int r = journal_open(path, &place->env, &journal, &place->err);

	assert_null(journal);
	assert_int_equal(r, wanted);
	if (!strstr(place->err.text, word))
		fail_msg("%s: %s is not in it", place->err.text, word);
}

static void folders_and_file_are_the_users_alone(void **state)
{
	struct place *place = *state;
	mode_t before = umask(0);

	snprintf(place->path, sizeof(place->path), "%s/a/b/journal.db", place->folder);
	place_open(place);
	umask(before);
	assert_int_equal(mode_of(under(place, "a").at), 0700);
	assert_int_equal(mode_of(under(place, "a/b").at), 0700);
	assert_int_equal(mode_of(place->path), 0600);
	assert_string_equal(journal_path(place->journal), place->path);
}

static void a_file_that_others_can_read_or_write_is_refused(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0666};
	struct place *place = *state;

	place_open(place);
	place_close(place);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(place->path, modes[i]), 0);
		assert_refused(place, place->path, JOURNAL_REFUSED, "chmod 600");
	}
	assert_int_equal(chmod(place->path, 0600), 0);
	place_open(place);
}

/* Anybody could put a file beside it that SQLite would take for an unfinished change. */
static void a_folder_that_everybody_can_write_to_is_refused(void **state)
{
	struct place *place = *state;

	assert_int_equal(mkdir(under(place, "state").at, 0700), 0);
	assert_int_equal(chmod(under(place, "state").at, 01777), 0);
	assert_refused(place, place->path, JOURNAL_REFUSED, "folder of your own");
	assert_int_equal(access(place->path, F_OK), -1);
}

static void what_is_no_file_is_refused(void **state)
{
	struct place *place = *state;

	assert_int_equal(mkdir(under(place, "state").at, 0700), 0);
	assert_refused(place, under(place, "state").at, JOURNAL_REFUSED, "is no file");
	assert_refused(place, under(place, "x/").at, JOURNAL_REFUSED, "is no file");
	assert_refused(place, "", JOURNAL_REFUSED, "empty");
}

static void a_folder_that_is_a_file_is_told(void **state)
{
	struct place *place = *state;
	FILE *file = fopen(under(place, "state").at, "w");

	assert_non_null(file);
	(void)fclose(file);
	assert_refused(place, place->path, FAIL_STORE, "Not a directory");
}

/* The whole file, to see that nothing has changed. */
static struct str bytes_of(struct place *place)
{
	FILE *file = fopen(place->path, "rb");
	char *bytes = arena_alloc(&place->mem, 1 << 20);
	size_t len;

	assert_non_null(file);
	assert_non_null(bytes);
	len = fread(bytes, 1, 1 << 20, file);
	(void)fclose(file);
	return str_of(bytes, len);
}

static void assert_untouched(struct place *place, int wanted, const char *word)
{
	struct str before;

	assert_int_equal(chmod(place->path, 0600), 0);
	before = bytes_of(place);
	assert_refused(place, place->path, wanted, word);
	assert_true(str_equal(bytes_of(place), before));
}

static void a_database_of_another_program_is_refused_untouched(void **state)
{
	struct place *place = *state;

	snprintf(place->path, sizeof(place->path), "%s/other.db", place->folder);
	place_sql(place, "CREATE TABLE t (x)");
	assert_untouched(place, JOURNAL_REFUSED, "another program");
	place_sql(place, "PRAGMA application_id = 7; PRAGMA user_version = 1");
	assert_untouched(place, JOURNAL_REFUSED, "another program");
}

static void a_newer_format_is_refused_untouched(void **state)
{
	struct place *place = *state;

	place_open(place);
	place_close(place);
	place_sql(place, "PRAGMA user_version = 2");
	assert_untouched(place, JOURNAL_REFUSED, "newer");
}

static void what_is_no_database_is_told(void **state)
{
	struct place *place = *state;
	FILE *file;

	snprintf(place->path, sizeof(place->path), "%s/text", place->folder);
	file = fopen(place->path, "w");
	assert_non_null(file);
	for (int i = 0; i < 100; i++)
		fputs("no database, but text that is long enough\n", file);
	(void)fclose(file);
	assert_untouched(place, FAIL_STORE, "is no journal");
}

/* One file has one journal beside it, whichever way it is named. */
static void links_lead_to_one_journal(void **state)
{
	struct place *place = *state;

	place_open(place);
	assert_int_equal(
		place_claim(place, place_entry(place, "s").id, 1, &(struct journal_entry){.id = 0}),
		0);
	place_close(place);
	assert_int_equal(symlink("state", under(place, "folder").at), 0);
	assert_int_equal(symlink("state/journal.db", under(place, "file.db").at), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(place->path, sizeof(place->path), "%s/%s", place->folder,
			 i ? "file.db" : "folder/journal.db");
		place_open(place);
		assert_int_equal(place_entry(place, "s").state, ENTRY_SENDING);
		place_close(place);
	}
}

/* SQLite would keep ":memory:" nowhere, and take "file:…" for a URL. */
static void names_that_mean_something_to_sqlite_are_paths(void **state)
{
	static const char *const names[] = {":memory:", "file:x?mode=memory", "j.db"};
	struct place *place = *state;
	char back[PLACE_PATH];

	assert_non_null(getcwd(back, sizeof(back)));
	assert_int_equal(chdir(place->folder), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(place->path, sizeof(place->path), "%s", names[i]);
		place_open(place);
		place_entry(place, "s");
		place_close(place);
		assert_true(bytes_of(place).len > 0);
	}
	assert_int_equal(chdir(back), 0);
}

static struct str place_for(struct place *place, const char *journal, const char *state,
			    const char *home)
{
	static const char *const names[] = {"COUNTERFOIL_JOURNAL", "XDG_STATE_HOME", "HOME"};
	const char *values[] = {journal, state, home};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (values[i])
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
	}
	return journal_place(&place->mem, &place->err);
}

static void the_place_follows_the_environment(void **state)
{
	struct place *place = *state;

	assert_string_equal(place_for(place, "/j.db", "/s", "/h").at, "/j.db");
	assert_string_equal(place_for(place, "", "/s", "/h").at, "/s/counterfoil/journal.db");
	assert_string_equal(place_for(place, NULL, "s", "/h").at,
			    "/h/.local/state/counterfoil/journal.db");
	assert_string_equal(place_for(place, NULL, NULL, "/h").at,
			    "/h/.local/state/counterfoil/journal.db");
	assert_null(place_for(place, NULL, NULL, NULL).at);
	assert_non_null(strstr(place->err.text, "set HOME"));
	assert_refused(place, NULL, JOURNAL_REFUSED, "set HOME");
}

static void a_full_disk_is_said_and_nothing_has_changed(void **state)
{
	struct place *place = *state;
	struct journal_entry entry, found;

	place_open(place);
	entry = place_entry(place, "s");
	place_fill(place);
	assert_int_equal(place_claim(place, entry.id, 1, &found), FAIL_STORE);
	assert_non_null(strstr(place->err.text, "disk is full"));
	place_close(place);
	place_open(place);
	assert_int_equal(place_entry(place, "s").state, ENTRY_NEW);
	assert_int_equal(place_entry(place, "s").attempts, 0);
}

static void a_journal_that_cannot_be_written_is_said(void **state)
{
	struct place *place = *state;
	struct step step = place_step("s");
	struct journal_entry entry;

	place_open(place);
	place_make_readonly(place);
	assert_int_equal(
		journal_token(place->journal, &step, false, &place->mem, &entry, &place->err),
		FAIL_STORE);
	assert_non_null(strstr(place->err.text, "cannot be written by this user"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders_and_file_are_the_users_alone),
		TEST(a_file_that_others_can_read_or_write_is_refused),
		TEST(a_folder_that_everybody_can_write_to_is_refused),
		TEST(what_is_no_file_is_refused),
		TEST(a_folder_that_is_a_file_is_told),
		TEST(a_database_of_another_program_is_refused_untouched),
		TEST(a_newer_format_is_refused_untouched),
		TEST(what_is_no_database_is_told),
		TEST(links_lead_to_one_journal),
		TEST(names_that_mean_something_to_sqlite_are_paths),
		TEST(the_place_follows_the_environment),
		TEST(a_full_disk_is_said_and_nothing_has_changed),
		TEST(a_journal_that_cannot_be_written_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
