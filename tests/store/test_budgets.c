/*
 * Shows what a store tells of budgets to whoever lists them: what was opened and by whom, what is
 * spent of it, and whose it is. On disk and in memory. How they are spent is test_rules.c's.
 */
#include "ruled.h"

#include <sqlite3.h>
#include <stdio.h>

static struct store_command *budgets(struct world *world, size_t limit, const char *account)
{
	struct store_command *command = world_command(world, STORE_BUDGETS);

	command->limit = limit;
	command->filter_account = str_from(account);
	assert_int_equal(world_do(world, command), 0);
	return command;
}

/* A success of `account` opens a budget of 100 for `for_ms`; who did. */
static struct store_operation open_for(struct world *world, const char *account, const char *token,
				       char budget, int64_t for_ms)
{
	struct store_command *claim = ruled_opens(world_claim(world, account, token, 'a'), 100);
	struct store_command *settle;
	struct store_operation opener;

	claim->operation.action = STR("payments.create");
	claim->rules.budget_ms = for_ms;
	opener = ruled_done(world, claim);
	settle = world_settle(world, &opener, EVENT_SUCCEEDED);
	settle->operation.reference = STR("pay_7");
	settle->opens = ruled_hash('b', budget);
	assert_int_equal(world_do(world, settle), 0);
	return opener;
}

static void a_budget_is_told_whole(void **state)
{
	struct world *world = world_of(state);
	struct store_operation opener, fails;
	struct store_command *list;

	assert_int_equal(budgets(world, 10, "")->budget_count, 0);
	opener = open_for(world, "acme", "pay", 'p', RULED_FOR_MS);
	ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 60));
	fails = ruled_done(world, ruled_budget(ruled_claim(world, "t2"), 'p', 30));
	assert_int_equal(budgets(world, 10, "")->budgets[0].used, 90);
	ruled_settled(world, &fails, EVENT_REFUSED);
	list = budgets(world, 10, "");
	assert_int_equal(list->budget_count, 1);
	assert_false(list->has_more);
	assert_same_id(&list->budgets[0].opener, &opener.id);
	assert_str(list->budgets[0].account, "acme");
	assert_str(list->budgets[0].action, "payments.create");
	assert_str(list->budgets[0].reference, "pay_7");
	assert_string_equal(list->budgets[0].currency, "EUR");
	assert_int_equal(list->budgets[0].total, 100);
	assert_int_equal(list->budgets[0].used, 60);
	assert_int_equal(list->budgets[0].until_ms, world->now_ms + RULED_FOR_MS);
}

/* A second success under the same name is not its opener. */
static void the_first_success_is_its_opener(void **state)
{
	struct world *world = world_of(state);
	struct store_operation opener = open_for(world, "acme", "p1", 'p', RULED_FOR_MS);
	struct store_command *list;

	open_for(world, "acme", "p2", 'p', RULED_FOR_MS);
	list = budgets(world, 10, "");
	assert_int_equal(list->budget_count, 1);
	assert_same_id(&list->budgets[0].opener, &opener.id);
}

static void newest_come_first(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = open_for(world, "acme", "p1", 'p', RULED_FOR_MS);
	struct store_operation second = open_for(world, "globex", "p2", 'q', RULED_FOR_MS);
	struct store_operation third = open_for(world, "acme", "p3", 'r', RULED_FOR_MS);
	struct store_command *list = budgets(world, 2, "");

	assert_int_equal(list->budget_count, 2);
	assert_true(list->has_more);
	assert_same_id(&list->budgets[0].opener, &third.id);
	assert_same_id(&list->budgets[1].opener, &second.id);
	list = budgets(world, 3, "");
	assert_int_equal(list->budget_count, 3);
	assert_false(list->has_more);
	assert_same_id(&list->budgets[2].opener, &first.id);
}

static void an_account_has_its_own(void **state)
{
	struct world *world = world_of(state);
	struct store_operation own = open_for(world, "acme", "p1", 'p', RULED_FOR_MS);
	struct store_command *list;

	open_for(world, "globex", "p2", 'q', RULED_FOR_MS);
	list = budgets(world, 1, "acme");
	assert_int_equal(list->budget_count, 1);
	assert_false(list->has_more);
	assert_same_id(&list->budgets[0].opener, &own.id);
	assert_int_equal(budgets(world, 10, "initech")->budget_count, 0);
}

/* Of `account`, each budget once, the newest first. */
static void expect_pages(struct world *world, size_t limit, const char *account,
			 const struct store_operation *openers, size_t count, size_t step)
{
	struct operation_id before = {0};
	size_t left = count;
	bool has_more = true;

	for (int pages = 0; has_more && pages < 20; pages++) {
		struct store_command *page = world_command(world, STORE_BUDGETS);

		page->limit = limit;
		page->filter_account = str_from(account);
		page->before = before;
		assert_int_equal(world_do(world, page), 0);
		for (size_t i = 0; i < page->budget_count; i++) {
			assert_in_range(left, 1, count);
			left -= step;
			assert_same_id(&page->budgets[i].opener, &openers[left].id);
		}
		has_more = page->has_more;
		before = page->next_before;
	}
	assert_false(has_more);
	assert_int_equal(left, 0);
}

static void pages_of_budgets_follow_one_another(void **state)
{
	struct world *world = world_of(state);
	struct store_operation openers[10];
	char token[8];

	expect_pages(world, 1, "", openers, 0, 1);
	for (int i = 0; i < 10; i++) {
		snprintf(token, sizeof(token), "p%d", i);
		openers[i] = open_for(world, i % 2 ? "globex" : "acme", token, (char)('a' + i),
				      RULED_FOR_MS);
	}
	for (size_t limit = 1; limit <= 11; limit++) {
		expect_pages(world, limit, "", openers, 10, 1);
		expect_pages(world, limit, "acme", openers, 10, 2);
	}
}

static void its_time_is_over(void **state)
{
	struct world *world = world_of(state);

	open_for(world, "acme", "p1", 'p', RULED_FOR_MS);
	open_for(world, "acme", "p2", 'q', INT64_MAX);
	world->now_ms += RULED_FOR_MS - 1;
	assert_int_equal(budgets(world, 10, "")->budget_count, 2);
	world->now_ms += 1;
	assert_int_equal(budgets(world, 10, "")->budget_count, 1);
	assert_int_equal(budgets(world, 10, "")->budgets[0].until_ms, INT64_MAX);
}

/* Nobody knows any more whose it was: no account is shown it. */
static void a_forgotten_opener_is_nobody(void **state)
{
	static const struct operation_id nobody;
	struct world *world = world_of(state);
	struct store_command *list;

	open_for(world, "acme", "p1", 'p', INT64_MAX);
	world->now_ms += 2 * (int64_t)DAY_MS;
	assert_int_equal(world_do(world, world_command(world, STORE_PURGE)), 0);
	assert_int_equal(world_find_token(world, "acme", "p1")->result, STORE_ABSENT);
	list = budgets(world, 10, "");
	assert_int_equal(list->budget_count, 1);
	assert_same_id(&list->budgets[0].opener, &nobody);
	assert_str(list->budgets[0].account, "");
	assert_str(list->budgets[0].reference, "");
	assert_int_equal(list->budgets[0].total, 100);
	assert_int_equal(budgets(world, 10, "acme")->budget_count, 0);
}

static void execute(const char *directory, const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* What an earlier version opened is still there to be spent; by whom it was opened is not known. */
static void an_earlier_version_did_not_note_the_opener(void **state)
{
	static const struct operation_id nobody;
	struct world *world = world_of(state);
	struct store_command *list;
	char directory[64];

	open_for(world, "acme", "p1", 'p', RULED_FOR_MS);
	memcpy(directory, world->directory, sizeof(directory));
	world_close(world);
	execute(directory, "ALTER TABLE budget DROP COLUMN opener; PRAGMA user_version = 6");
	assert_int_equal(world_open(world, directory), 0);
	ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 60));
	open_for(world, "acme", "p2", 'q', RULED_FOR_MS);
	list = budgets(world, 10, "");
	assert_int_equal(list->budget_count, 2);
	assert_str(list->budgets[0].account, "acme");
	assert_same_id(&list->budgets[1].opener, &nobody);
	assert_int_equal(list->budgets[1].used, 60);
	assert_int_equal(budgets(world, 10, "acme")->budget_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(a_budget_is_told_whole),
		WORLD_BOTH(the_first_success_is_its_opener),
		WORLD_BOTH(newest_come_first),
		WORLD_BOTH(an_account_has_its_own),
		WORLD_BOTH(pages_of_budgets_follow_one_another),
		WORLD_BOTH(its_time_is_over),
		WORLD_BOTH(a_forgotten_opener_is_nobody),
		WORLD_ROW(an_earlier_version_did_not_note_the_opener, world_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
