/*
 * Shows that the memory of recent tokens forgets nothing that it was not told to: through
 * rollbacks, freezing, merging and a restart in the middle of it.
 */
#include "world.h"

#include "store/ledger.h"

#include <sodium.h>
#include <stdio.h>

static void hash_of(uint32_t number, struct token_hash *out_hash)
{
	static const uint8_t key[16] = {7};
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	tokens_hash(key, STR("acme"), str_from(text), out_hash);
}

static void add(struct tokens *tokens, uint32_t number)
{
	struct token_hash hash;

	hash_of(number, &hash);
	tokens_begin(tokens);
	tokens_add(tokens, &hash, (int64_t)number + 1);
}

static int64_t find(const struct tokens *tokens, uint32_t number)
{
	struct token_hash hash;

	hash_of(number, &hash);
	return tokens_may_know(tokens, &hash) ? tokens_find(tokens, &hash) : 0;
}

static void rollback_takes_back_the_last_adds(void **state)
{
	struct tokens tokens;
	struct token_hash hash;

	assert_int_equal(tokens_init(&tokens), 0);
	for (uint32_t i = 0; i < 50000; i++)
		add(&tokens, i);
	tokens_begin(&tokens);
	for (uint32_t i = 49900; i < 50800; i++) { /* some are there already */
		hash_of(i, &hash);
		tokens_add(&tokens, &hash, 1000000 + (int64_t)i);
	}
	assert_int_equal(find(&tokens, 49950), 1049950);
	assert_int_equal(find(&tokens, 50700), 1050700);
	tokens_undo(&tokens);
	for (uint32_t i = 0; i < 50000; i++)
		assert_int_equal(find(&tokens, i), (int64_t)i + 1);
	for (uint32_t i = 50000; i < 50800; i++)
		assert_int_equal(find(&tokens, i), 0);
	assert_int_equal(tokens.active.used, 50000);
	tokens_fini(&tokens);
}

static void frozen_run_is_walked_in_order_and_whole(void **state)
{
	struct tokens tokens;
	const struct token_entry *entry;
	struct token_hash hash;
	uint64_t sum = 0, expected = 0;
	size_t count = 0, steps_back = 0;
	uint8_t last = 0;

	assert_int_equal(tokens_init(&tokens), 0);
	for (uint32_t i = 0; i < TOKENS_RUN; i++) {
		add(&tokens, i);
		expected += i + 1;
	}
	tokens_freeze_if_full(&tokens);
	assert_int_equal(tokens.active.used, 0);
	assert_int_equal(find(&tokens, 17), 18);
	add(&tokens, 17); /* both tables know it */
	hash_of(99, &hash);
	tokens_forget(&tokens, &hash, 55); /* stands for another one */
	assert_int_equal(find(&tokens, 99), 100);
	tokens_forget(&tokens, &hash, 100);
	assert_int_equal(find(&tokens, 99), 0);
	while ((entry = tokens_next(&tokens))) {
		steps_back += entry->hash.bytes[0] < last;
		last = entry->hash.bytes[0];
		sum += (uint64_t)entry->op;
		count++;
	}
	assert_int_equal(count, TOKENS_RUN - 1);
	assert_int_equal(sum, expected - 100);
	assert_true(steps_back < 600); /* neighbours may be out of order, no more */
	tokens_thaw(&tokens);
	assert_int_equal(find(&tokens, 18), 0);
	assert_int_equal(find(&tokens, 17), 18);
	tokens_fini(&tokens);
}

enum { MANY = TOKENS_RUN + 100000, ROUND = 1000 };

/* Claim tokens [from, to), each with an identity of its own, and expect `expected` of each. */
static void claim_as(struct world *world, const char *prefix, uint32_t from, uint32_t to,
		     int expected)
{
	static struct store_command commands[ROUND];
	static char texts[ROUND][24];

	while (from < to) {
		uint32_t count = to - from < ROUND ? to - from : ROUND;

		for (uint32_t i = 0; i < count; i++) {
			snprintf(texts[i], sizeof(texts[i]), "%s%u", prefix, from + i);
			commands[i] = *world_claim(world, "acme", "", 'a');
			commands[i].operation.token = str_from(texts[i]);
			commands[i].operation.state = STATE_QUEUED;
			commands[i].rules.has_unique = true;
			commands[i].rules.unique_ms = DAY_MS;
			memcpy(commands[i].rules.unique.bytes, &(uint32_t){from + i}, 4);
			world_submit(world, &commands[i]);
		}
		world_wait(world, (int)count);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(commands[i].result, expected);
		arena_fini(&world->mem);
		arena_fini(&world->results);
		from += count;
	}
}

static void claim_all(struct world *world, uint32_t from, uint32_t to, int expected)
{
	claim_as(world, "", from, to, expected);
}

static int count_rows(const char *directory, const char *sql)
{
	sqlite3_stmt *statement;
	char path[128];
	sqlite3 *db;
	int count;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	count = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return count;
}

/* More than a run: one is frozen, and being merged when the ledger is closed. Identities are found
 * as tokens are. */
static void ledger_knows_every_token_across_runs_and_restarts(void **state)
{
	static struct world world;
	char directory[64];

	world_directory(directory);
	assert_int_equal(world_open(&world, directory), 0);
	claim_all(&world, 0, TOKENS_RUN + 40000, 0);
	claim_all(&world, 0, TOKENS_RUN + 40000, STORE_EXISTS);
	world_close(&world);
	assert_int_equal(world_open(&world, directory), 0);
	claim_all(&world, TOKENS_RUN + 40000, MANY, 0); /* the run ends meanwhile */
	claim_all(&world, 0, MANY, STORE_EXISTS);
	world_close(&world);
	assert_true(count_rows(directory, "SELECT count(*) FROM token") >= TOKENS_RUN);
	assert_int_equal(world_open(&world, directory), 0);
	claim_all(&world, 0, MANY, STORE_EXISTS);
	claim_as(&world, "other ", 0, MANY, STORE_REUSED);
	world_close(&world);
	world_remove(directory);
}

/* What is added again is the newer one: in one table, and while the older one is being merged. */
static void newest_of_one_hash_counts(void **state)
{
	struct token_hash hash;
	struct tokens tokens;

	assert_int_equal(tokens_init(&tokens), 0);
	for (uint32_t i = 0; i < TOKENS_RUN; i++)
		add(&tokens, i);
	tokens_freeze_if_full(&tokens);
	assert_int_equal(tokens.active.used, 0);
	hash_of(7, &hash);
	tokens_begin(&tokens);
	tokens_add(&tokens, &hash, 200000);
	tokens_add(&tokens, &hash, 200001);
	assert_int_equal(find(&tokens, 7), 200001);
	tokens_undo(&tokens);
	assert_int_equal(find(&tokens, 7), 8);
	tokens_add(&tokens, &hash, 200002);
	tokens_forget(&tokens, &hash, 8); /* the older operation is purged */
	assert_int_equal(find(&tokens, 7), 200002);
	tokens_thaw(&tokens);
	assert_int_equal(find(&tokens, 7), 200002);
	tokens_fini(&tokens);
}

/* The same 32 bytes as identity, lock and budget are three entries, and none a token's. */
static void kinds_do_not_meet(void **state)
{
	static const uint8_t key[16] = {7};
	struct token_hash hashes[4];
	struct hash hash = {{1, 2, 3}};

	tokens_hash_kind(key, KIND_IDENTITY, &hash, &hashes[0]);
	tokens_hash_kind(key, KIND_LOCK, &hash, &hashes[1]);
	tokens_hash_kind(key, KIND_BUDGET, &hash, &hashes[2]);
	tokens_hash(key, STR(""), str_of((const char *)hash.bytes, HASH_SIZE), &hashes[3]);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(hashes[i].bytes, hashes[j].bytes, TOKEN_HASH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rollback_takes_back_the_last_adds),
		cmocka_unit_test(newest_of_one_hash_counts),
		cmocka_unit_test(kinds_do_not_meet),
		cmocka_unit_test(frozen_run_is_walked_in_order_and_whole),
		cmocka_unit_test(ledger_knows_every_token_across_runs_and_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
