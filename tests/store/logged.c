/* A store whose audit log is looked at (see logged.h). */
#include "logged.h"

#include "audit/keys.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char directory[64];
struct world world;
struct logged told;

int logged_set_up(void **state)
{
	world_audit = NULL;
	world_directory(directory);
	return 0;
}

int logged_tear_down(void **state)
{
	world_remove(directory);
	return 0;
}

static int collect(void *state, uint64_t index, struct str bytes, const struct entry *entry)
{
	struct buf text;

	assert_non_null(entry);
	assert_in_range(told.count, 0, ENTRIES_MAX - 1);
	buf_init(&text, TEXT_SIZE - 1);
	assert_int_equal(entry_open(bytes, &told.key, &text), 0);
	snprintf(told.texts[told.count], TEXT_SIZE, "%.*s", (int)text.len, text.at);
	told.types[told.count++] = entry->type;
	buf_fini(&text);
	return 0;
}

/* Verify the published log and read what it says, where somebody collects that. */
static void read_log(int (*on_entry)(void *, uint64_t, struct str, const struct entry *))
{
	struct verify_order order = {.on_entry = on_entry};
	struct note_verifier verifier;
	char path[128], why[256], vkey[NOTE_KEY_MAX] = "";
	static const struct vault_master own;
	struct vault *vault = NULL;
	struct log_folder folder;
	FILE *file;

	snprintf(path, sizeof(path), "%s/keys/audit.vkey", directory);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(vkey, sizeof(vkey), file));
	fclose(file);
	vkey[strcspn(vkey, "\n")] = '\0';
	assert_true(note_verifier_read(str_from(vkey), &verifier));
	snprintf(path, sizeof(path), "%s/keys", directory);
	assert_int_equal(vault_open(path, &own, &env_machine, &vault, why, sizeof(why)), 0);
	assert_int_equal(audit_data_key_read(path, vault, 0, &told.key, why, sizeof(why)), 0);
	vault_close(vault);
	snprintf(path, sizeof(path), "%s/audit", directory);
	assert_int_equal(log_folder_open(&folder, path), 0);
	told.count = 0;
	order.log = &folder.reader;
	order.key = &verifier;
	assert_int_equal(verify_log(&order, &told.report), 0);
	log_folder_close(&folder);
}

void close_and_read(size_t entries)
{
	world_close(&world);
	read_log(collect);
	assert_int_equal(told.report.result, VERIFY_OK);
	assert_int_equal(told.count, entries);
}

void close_and_count(size_t entries)
{
	world_close(&world);
	read_log(NULL);
	assert_int_equal(told.report.result, VERIFY_OK);
	assert_int_equal(told.report.entries, entries);
}

void assert_told(size_t index, enum entry_type type, const char *part)
{
	assert_in_range(index, 0, told.count - 1);
	assert_int_equal(told.types[index], type);
	if (!strstr(told.texts[index], part))
		print_error("no %s in %s\n", part, told.texts[index]);
	assert_non_null(strstr(told.texts[index], part));
}

void open_world(void)
{
	if (world_open(&world, directory) != 0)
		print_error("%s\n", world.why);
	assert_non_null(world.store);
}

void assert_refused(const char *part)
{
	assert_int_equal(world_open(&world, directory), FAIL_STORE);
	if (!strstr(world.why, part))
		print_error("%s\n", world.why);
	assert_non_null(strstr(world.why, part));
}

void execute(const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

void shell(const char *script)
{
	assert_int_equal(setenv("D", directory, 1), 0);
	assert_int_equal(system(script), 0);
}

bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

void assert_comes(const char *name)
{
	for (int i = 0; i < 1000 && !is_there(name); i++)
		usleep(10000);
	assert_true(is_there(name));
}

int number_of(const char *sql)
{
	sqlite3_stmt *count;
	char path[128];
	sqlite3 *db;
	int number;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &count, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(count), SQLITE_ROW);
	number = sqlite3_column_int(count, 0);
	sqlite3_finalize(count);
	sqlite3_close(db);
	return number;
}
