/*
 * Shows that a store lists operations as store/store.h says: newest first, page by page, and only
 * those that were asked for. On disk and in memory.
 */
#include "world.h"

#include "core/downstream_key.h"

#include <stdio.h>

static struct store_command *list(struct world *world, size_t limit)
{
	struct store_command *command = world_command(world, STORE_LIST);

	command->limit = limit;
	return command;
}

static void pages_follow_one_another(void **state)
{
	struct world *world = world_of(state);
	struct operation_id before = {0};
	struct store_command *page;
	char token[16];
	int seen = 0;

	for (int i = 0; i < 25; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		world_completed(world, i % 5 ? "acme" : "globex", token);
	}
	for (int pages = 0; pages < 10; pages++) {
		page = list(world, 6);
		page->filter_account = STR("acme");
		page->before = before;
		assert_int_equal(world_do(world, page), 0);
		for (size_t i = 0; i < page->found_count; i++) {
			while ((24 - seen) % 5 == 0)
				seen++;
			snprintf(token, sizeof(token), "t%d", 24 - seen++);
			assert_str(page->found[i].token, token);
			assert_str(page->found[i].account, "acme");
		}
		if (!page->has_more)
			break;
		before = page->next_before;
	}
	assert_int_equal(seen, 24); /* the last one is globex's */
}

static void lists_are_filtered(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "open", 'a'), *page;

	claim->attempt.task = STR("nightly");
	world_completed(world, "acme", "t1");
	assert_int_equal(world_do(world, claim), 0);
	page = list(world, 10);
	page->filter_state = STATE_RUNNING;
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 1);
	assert_str(page->found[0].token, "open");
	page = list(world, 10);
	page->filter_state = STATE_COMPLETED;
	world_do(world, page);
	assert_int_equal(page->found_count, 1);
	assert_str(page->found[0].token, "t1");
	assert_int_equal(page->found[0].attempts, 1);

	world_do(world, world_settle(world, &claim->operation, EVENT_LOST_SIGHT));
	page = list(world, 10);
	page->filter_task = STR("nightly");
	world_do(world, page);
	assert_int_equal(page->found_count, 1);
	assert_str(page->found[0].token, "open");
	page->filter_account = STR("globex");
	world_do(world, page);
	assert_int_equal(page->found_count, 0);
	assert_false(page->has_more);

	page = list(world, 10);
	page->filter_account = STR("acme");
	page->filter_token = STR("t1");
	world_do(world, page);
	assert_int_equal(page->found_count, 1);
	page->filter_state = STATE_RUNNING;
	world_do(world, page);
	assert_int_equal(page->found_count, 0);
}

static void assert_referred_to(struct world *world, const char *reference, const char *account,
			       const char *token)
{
	struct store_command *page = list(world, 10);

	page->filter_reference = str_from(reference);
	page->filter_account = str_from(account);
	assert_int_equal(world_do(world, page), 0);
	assert_false(page->has_more);
	assert_int_equal(page->found_count, token ? 1 : 0);
	if (token)
		assert_str(page->found[0].token, token);
}

/* The service's name for the effect, or the key under which it was sent there. */
static void lists_are_filtered_by_reference(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a'), *settle, *page;
	char key[DOWNSTREAM_KEY_TEXT + 1];

	world_completed(world, "acme", "before");
	world_do(world, claim);
	settle = world_settle(world, &claim->operation, EVENT_SUCCEEDED);
	settle->operation.reference = STR("pay_7");
	assert_int_equal(world_do(world, settle), 0);
	world_completed(world, "acme", "after");
	downstream_key_write(&claim->operation.id, key);
	assert_referred_to(world, "pay_7", "", "t1");
	assert_referred_to(world, key, "", "t1");
	assert_referred_to(world, key, "acme", "t1");
	assert_referred_to(world, key, "globex", NULL);
	assert_referred_to(world, "pay_", "", NULL);
	key[0] = key[0] == 'a' ? 'b' : 'a';
	assert_referred_to(world, key, "", NULL);

	page = list(world, 10);
	page->filter_account = STR("acme");
	page->filter_token = STR("before");
	page->filter_reference = STR("pay_7");
	assert_int_equal(world_do(world, page), 0);
	assert_int_equal(page->found_count, 0);
}

static void assert_of_action(struct world *world, const char *token, const char *action,
			     size_t count)
{
	struct store_command *page = list(world, 10);

	page->filter_account = STR("acme");
	page->filter_token = str_from(token);
	page->filter_action = str_from(action);
	assert_int_equal(world_do(world, page), 0);
	assert_false(page->has_more);
	assert_int_equal(page->found_count, count);
	if (count)
		assert_str(page->found[0].token, "t1");
}

/* By name, whole; an operation of no action has none. */
static void lists_are_filtered_by_action(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = world_claim(world, "acme", "t1", 'a');

	claim->operation.action = STR("payments.create");
	world_completed(world, "acme", "before");
	assert_int_equal(world_do(world, claim), 0);
	assert_of_action(world, "", "payments.create", 1);
	assert_of_action(world, "t1", "payments.create", 1);
	assert_of_action(world, "", "payments", 0);
	assert_of_action(world, "t1", "payments", 0);
	assert_of_action(world, "before", "payments.create", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(pages_follow_one_another),
		WORLD_BOTH(lists_are_filtered),
		WORLD_BOTH(lists_are_filtered_by_reference),
		WORLD_BOTH(lists_are_filtered_by_action),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
