/*
 * Shows what the files of a store reveal: nothing of answers, kept requests, questions and values
 * of documents; that what an earlier version left in clear is still read; and that a row which was
 * changed, or a vault that is another one, is not believed.
 */
#include "ruled.h"
#include "world.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static struct world world;

static const char marker[] = "zq9-unheard-of-zq9";

static int set_up(void **state)
{
	world_is_in_clear = false;
	world_directory(directory);
	return 0;
}

static int tear_down(void **state)
{
	world_is_in_clear = false;
	world_remove(directory);
	return 0;
}

static void open_world(void)
{
	if (world_open(&world, directory) != 0)
		print_error("%s\n", world.why);
	assert_non_null(world.store);
}

static void open_again(void)
{
	world_close(&world);
	open_world();
}

/* -- writes that carry the marker -------------------------------------------------- */

static struct store_operation write_answer(const char *token)
{
	struct store_command *claim = world_claim(&world, "acme", token, 'a'), *settle;

	assert_int_equal(world_do(&world, claim), 0);
	settle = world_settle(&world, &claim->operation, EVENT_SUCCEEDED);
	settle->answer.headers = STR("X-Told: zq9-unheard-of-zq9\r\n");
	settle->answer.body = STR("{\"told\":\"zq9-unheard-of-zq9\"}");
	assert_int_equal(world_do(&world, settle), 0);
	return claim->operation;
}

static struct store_operation write_request(const char *token)
{
	struct store_command *claim = ruled_claim(&world, token);

	claim->operation.state = STATE_QUEUED;
	claim->operation.is_dispatched = true;
	claim->operation.probe = STR("GET /q?is=zq9-unheard-of-zq9");
	claim->request.method = STR("POST");
	claim->request.target = STR("/v1/tickets?q=zq9-unheard-of-zq9");
	claim->request.headers = STR("Authorization: zq9-unheard-of-zq9\r\n");
	claim->request.body = STR("{\"asked\":\"zq9-unheard-of-zq9\"}");
	claim->request.has_body = true;
	claim->request.lookup = STR("GET /is?there=zq9-unheard-of-zq9");
	assert_int_equal(world_do(&world, claim), 0);
	return claim->operation;
}

static void write_document(void)
{
	struct store_command *keep = world_command(&world, STORE_KEEP);

	keep->document.kind = DOCUMENT_SECRET;
	keep->document.name = STR("pay_key");
	keep->document.value = str_from(marker);
	assert_int_equal(world_do(&world, keep), 0);
}

static void assert_answer_is_read(const struct store_operation *operation)
{
	struct store_command *find = world_find_id(&world, &operation->id, "acme");

	assert_int_equal(find->result, 0);
	assert_str(find->operation.answer.headers, "X-Told: zq9-unheard-of-zq9\r\n");
	assert_str(find->operation.answer.body, "{\"told\":\"zq9-unheard-of-zq9\"}");
	assert_true(find->operation.answer.is_kept);
}

static void assert_request_is_read(const struct store_operation *operation)
{
	struct store_command *find = world_find_id(&world, &operation->id, "acme");

	assert_int_equal(find->result, 0);
	assert_str(find->operation.probe, "GET /q?is=zq9-unheard-of-zq9");
	assert_str(find->request.method, "POST");
	assert_str(find->request.target, "/v1/tickets?q=zq9-unheard-of-zq9");
	assert_str(find->request.headers, "Authorization: zq9-unheard-of-zq9\r\n");
	assert_str(find->request.body, "{\"asked\":\"zq9-unheard-of-zq9\"}");
	assert_true(find->request.has_body);
	assert_str(find->request.lookup, "GET /is?there=zq9-unheard-of-zq9");
}

static void assert_document_is_read(void)
{
	struct store_command *kept = world_command(&world, STORE_KEPT);

	kept->document.kind = DOCUMENT_SECRET;
	assert_int_equal(world_do(&world, kept), 0);
	assert_int_equal(kept->document_count, 1);
	assert_str(kept->documents[0].value, marker);
}

/* -- looking at the files ---------------------------------------------------------- */

static size_t found, looked_at;

static int look_into(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
	size_t size = (size_t)facts->st_size;
	char *bytes;
	FILE *file;

	if (kind != FTW_F || !size)
		return 0;
	bytes = malloc(size);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, size, file), size);
	fclose(file);
	looked_at++;
	found += memmem(bytes, size, marker, strlen(marker)) != NULL;
	free(bytes);
	return 0;
}

/* In how many files of the directory is the marker? */
static size_t files_with_marker(void)
{
	found = looked_at = 0;
	assert_int_equal(nftw(directory, look_into, 16, FTW_PHYS), 0);
	assert_true(looked_at >= 4);
	return found;
}

static void execute(const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* -- tests ------------------------------------------------------------------------- */

static void nothing_is_in_clear(void **state)
{
	struct store_operation answered, queued;

	open_world();
	answered = write_answer("t1");
	queued = write_request("t2");
	write_document();
	assert_int_equal(files_with_marker(), 0); /* the write-ahead log is there */
	assert_answer_is_read(&answered);
	assert_request_is_read(&queued);
	assert_document_is_read();
	open_again();
	assert_answer_is_read(&answered);
	assert_request_is_read(&queued);
	assert_document_is_read();
	world_close(&world);
	assert_int_equal(files_with_marker(), 0);
}

static void what_was_left_in_clear_is_read(void **state)
{
	struct store_operation answered, queued, later;

	world_is_in_clear = true;
	open_world();
	answered = write_answer("t1");
	queued = write_request("t2");
	write_document();
	assert_true(files_with_marker() > 0); /* else the search finds nothing ever */
	world_close(&world);
	world_is_in_clear = false;
	open_world();
	assert_answer_is_read(&answered);
	assert_request_is_read(&queued);
	assert_document_is_read();
	later = write_answer("t3");
	assert_answer_is_read(&later);
	world_close(&world);
}

static void taken_request_is_whole(void **state)
{
	struct store_command *take;
	struct store_operation queued;

	open_world();
	queued = write_request("t2");
	take = world_command(&world, STORE_TAKE);
	take->operation.upstream = queued.upstream;
	take->limit = 4;
	take->attempt = (struct store_attempt){.by = ACTOR_DISPATCHER, .delivered = -1};
	assert_int_equal(world_do(&world, take), 0);
	assert_int_equal(take->errand_count, 1);
	assert_str(take->errands[0].request.body, "{\"asked\":\"zq9-unheard-of-zq9\"}");
	world_close(&world);
}

static void answer_of_another_row_is_not_believed(void **state)
{
	struct store_operation first, second;

	open_world();
	first = write_answer("t1");
	second = write_answer("t2");
	world_close(&world);
	execute("UPDATE answer SET body = (SELECT body FROM answer ORDER BY op LIMIT 1)");
	open_world();
	assert_answer_is_read(&first);
	assert_int_equal(world_find_id(&world, &second.id, "acme")->result, FAIL_STORE);
	world_close(&world);
}

static void changed_answer_is_not_believed(void **state)
{
	struct store_operation first;

	open_world();
	first = write_answer("t1");
	world_close(&world);
	execute("UPDATE answer SET body = substr(body, 1, length(body) - 1) || x'00'");
	open_world();
	assert_int_equal(world_find_id(&world, &first.id, "acme")->result, FAIL_STORE);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t1", 'a')), FAIL_STORE);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t9", 'a')), 0);
	world_close(&world);
}

static void headers_are_told_where_the_body_has_no_room(void **state)
{
	struct store_command *claim, *settle, *find;
	static char body[40000];
	struct arena small;

	open_world();
	claim = world_claim(&world, "acme", "t1", 'a');
	assert_int_equal(world_do(&world, claim), 0);
	settle = world_settle(&world, &claim->operation, EVENT_SUCCEEDED);
	memset(body, 'b', sizeof(body));
	settle->answer.body = str_of(body, sizeof(body));
	assert_int_equal(world_do(&world, settle), 0);
	arena_init(&small, 30000); /* for the history, and not for the body */
	find = world_command(&world, STORE_FIND);
	find->by_id = true;
	find->operation.id = claim->operation.id;
	find->mem = &small;
	world_do(&world, find);
	assert_int_equal(find->result, 0);
	assert_str(find->operation.answer.headers, "Location: /v1/tickets/7\r\n");
	assert_int_equal(find->operation.answer.body.len, 0);
	assert_false(find->operation.answer.is_kept);
	world_close(&world);
	arena_fini(&small);
}

static void other_vault_is_refused(void **state)
{
	char path[128];

	open_world();
	write_answer("t1");
	world_close(&world);
	snprintf(path, sizeof(path), "%s/keys/vault.json", directory);
	assert_int_equal(remove(path), 0);
	assert_int_equal(world_open(&world, directory), FAIL_STORE);
	assert_non_null(strstr(world.why, "keys/vault.json does not have"));
	vault_close(world.vault);
}

static void older_copy_of_the_keys_is_refused(void **state)
{
	static const struct vault_master own;
	char folder[128], why[512];
	uint32_t number;

	open_world();
	write_answer("t1");
	world_close(&world);
	snprintf(folder, sizeof(folder), "%s/keys", directory);
	assert_int_equal(setenv("D", directory, 1), 0);
	assert_int_equal(system("cp -p $D/keys/vault.json $D/older"), 0);
	assert_int_equal(vault_add_key(folder, &own, &env_machine, &number, why, sizeof(why)), 0);
	open_world();
	write_answer("t2");
	world_close(&world);
	assert_int_equal(system("cp -p $D/older $D/keys/vault.json"), 0);
	assert_int_equal(world_open(&world, directory), FAIL_STORE);
	assert_non_null(strstr(world.why, "keys/vault.json does not have"));
	vault_close(world.vault);
}

static void new_data_key_is_used_without_a_restart(void **state)
{
	static const struct vault_master own;
	struct store_operation before, after;
	char folder[128], why[512];
	uint32_t number;

	open_world();
	before = write_answer("t1");
	snprintf(folder, sizeof(folder), "%s/keys", directory);
	assert_int_equal(vault_add_key(folder, &own, &env_machine, &number, why, sizeof(why)), 0);
	assert_int_equal(vault_reload(world.vault, &own, why, sizeof(why)), 0);
	after = write_answer("t2");
	assert_answer_is_read(&before);
	assert_answer_is_read(&after);
	world_close(&world);
	execute("CREATE TABLE told AS SELECT hex(substr(body, 2, 4)) AS key FROM answer ORDER BY "
		"op;"
		"CREATE TABLE good(key CHECK (key IN ('00000001', '00000002')));"
		"INSERT INTO good SELECT key FROM told;"
		"CREATE TABLE both(n CHECK (n = 2));"
		"INSERT INTO both SELECT count(DISTINCT key) FROM good;"
		"DROP TABLE told; DROP TABLE good; DROP TABLE both");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(nothing_is_in_clear),
		ROW(what_was_left_in_clear_is_read),
		ROW(taken_request_is_whole),
		ROW(answer_of_another_row_is_not_believed),
		ROW(changed_answer_is_not_believed),
		ROW(headers_are_told_where_the_body_has_no_room),
		ROW(other_vault_is_refused),
		ROW(older_copy_of_the_keys_is_refused),
		ROW(new_data_key_is_used_without_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
