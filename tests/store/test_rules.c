/*
 * Shows that a store judges claims by the rules of their actions as store/store.h says: one living
 * operation for each identity, no budget overspent. On disk and in memory. Locks are
 * test_locks.c's.
 */
#include "ruled.h"

#include <stdio.h>

/* The token of a claim that the rules refused is still free. */
static void assert_free(struct world *world, const char *token)
{
	assert_int_equal(world_find_token(world, "acme", token)->result, STORE_ABSENT);
}

/* Another token with the identity of one that lives is told of that one, and records nothing. */
static void identity_is_taken_across_tokens(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	struct store_command *second = ruled_unique(ruled_claim(world, "t2"), 'i');

	assert_int_equal(world_do(world, second), STORE_REUSED);
	assert_same_id(&second->operation.id, &first.id);
	assert_int_equal(second->operation.state, STATE_RUNNING);
	assert_free(world, "t2");
	ruled_done(world, ruled_unique(ruled_claim(world, "t3"), 'j'));
}

/* The answer comes along whatever the fingerprint: it is the same business. */
static void reuse_has_the_answer(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	struct store_command *second = ruled_unique(world_claim(world, "acme", "t2", 'b'), 'i');

	ruled_settled(world, &first, EVENT_SUCCEEDED);
	assert_int_equal(world_do(world, second), STORE_REUSED);
	assert_int_equal(second->operation.state, STATE_COMPLETED);
	assert_int_equal(second->operation.answer.status, 201);
	assert_str(second->operation.answer.body, "{\"id\":7}");
}

/* Its own token is a duplicate, as ever. */
static void own_token_is_no_reuse(void **state)
{
	struct world *world = world_of(state);

	ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	assert_int_equal(world_do(world, ruled_unique(ruled_claim(world, "t1"), 'i')),
			 STORE_EXISTS);
}

static void one_batch_has_one_owner_of_an_identity(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claims[5];
	char token[8];

	world_hold(world);
	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		claims[i] = ruled_unique(ruled_claim(world, token), 'i');
		world_submit(world, claims[i]);
	}
	world_release(world);
	world_wait(world, 5);
	assert_int_equal(claims[0]->result, 0);
	for (int i = 1; i < 5; i++) {
		assert_int_equal(claims[i]->result, STORE_REUSED);
		assert_same_id(&claims[i]->operation.id, &claims[0]->operation.id);
	}
}

/* What failed or was cancelled has no effect: the identity is free for another try. */
static void failure_frees_the_identity(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	struct store_operation second;

	ruled_settled(world, &first, EVENT_REFUSED);
	second = ruled_done(world, ruled_unique(ruled_claim(world, "t2"), 'i'));
	ruled_settled(world, &second, EVENT_NOT_SENT);
	assert_int_equal(world_do(world, ruled_unique(ruled_claim(world, "t3"), 'i')),
			 STORE_REUSED);
	ruled_moved(world, &second, EVENT_CANCELLED);
	ruled_done(world, ruled_unique(ruled_claim(world, "t3"), 'i'));
}

/* Nobody knows what became of it: it may have its effect. */
static void unknown_keeps_the_identity(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	struct store_command *second = ruled_unique(ruled_claim(world, "t2"), 'i');

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(world_do(world, second), STORE_REUSED);
	assert_int_equal(second->operation.state, STATE_UNKNOWN);
}

static void identity_ends_with_its_time(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));

	ruled_settled(world, &first, EVENT_SUCCEEDED);
	world->now_ms += RULED_FOR_MS - 1;
	assert_int_equal(world_do(world, ruled_unique(ruled_claim(world, "t2"), 'i')),
			 STORE_REUSED);
	world->now_ms += 1;
	ruled_done(world, ruled_unique(ruled_claim(world, "t2"), 'i'));
}

/* A clock that is wrong for a moment makes no second effect of one intention. */
static void a_wrong_clock_frees_no_identity(void **state)
{
	struct world *world = world_of(state);

	ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	world_find_token(world, "acme", "t1");
	world->wrong_ms += 2 * (int64_t)RULED_FOR_MS;
	world->now_ms += 2 * (int64_t)RULED_FOR_MS;
	assert_int_equal(world_do(world, ruled_unique(ruled_claim(world, "t2"), 'i')),
			 STORE_REUSED);
}

/* What succeeded is kept for the time of its identity, though the settings have changed since its
 * claim; whoever settles it. */
static void a_success_is_kept_as_long_as_its_claim_said(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	struct store_operation second =
		ruled_done(world, ruled_unique(ruled_claim(world, "t2"), 'j'));
	struct store_command *settle = world_settle(world, &first, EVENT_SUCCEEDED);
	struct store_command *move = world_command(world, STORE_MOVE);

	settle->retention_ms = 1000;
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(settle->operation.expires_ms, world->now_ms + RULED_FOR_MS);
	ruled_settled(world, &second, EVENT_LOST_SIGHT);
	move->operation.id = second.id;
	move->any_epoch = true;
	move->event = EVENT_FOUND_DONE;
	move->retention_ms = 1000;
	assert_int_equal(world_do(world, move), 0);
	world->now_ms += 2000;
	assert_int_equal(world_do(world, world_command(world, STORE_PURGE)), 0);
	assert_int_equal(world_do(world, ruled_unique(ruled_claim(world, "t3"), 'i')),
			 STORE_REUSED);
	assert_int_equal(world_do(world, ruled_unique(ruled_claim(world, "t4"), 'j')),
			 STORE_REUSED);
}

/* Only what succeeded is kept for the time of its identity. */
static void failures_have_the_plain_retention(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_unique(ruled_claim(world, "t1"), 'i'));
	struct store_command *settle = world_settle(world, &first, EVENT_REFUSED);

	settle->plain_retention_ms = 5000;
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(settle->operation.expires_ms, world->now_ms + 5000);
	first = ruled_done(world, ruled_unique(ruled_claim(world, "t2"), 'i'));
	settle = world_settle(world, &first, EVENT_SUCCEEDED);
	settle->plain_retention_ms = 5000;
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(settle->operation.expires_ms, world->now_ms + DAY_MS);
}

/* What a success opened is spent until it is gone, and then refused with what is left. */
static void budget_is_spent_to_its_end(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim;

	ruled_open_budget(world, "pay", 'p', 100);
	ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 60));
	claim = ruled_budget(ruled_claim(world, "t2"), 'p', 41);
	assert_int_equal(world_do(world, claim), STORE_OVER_BUDGET);
	assert_string_equal(claim->view.currency, "EUR");
	assert_int_equal(claim->view.budget_total, 100);
	assert_int_equal(claim->view.budget_used, 60);
	assert_int_equal(claim->view.spends, 41);
	assert_free(world, "t2");
	ruled_done(world, ruled_budget(ruled_claim(world, "t2"), 'p', 40));
	ruled_done(world, ruled_budget(ruled_claim(world, "t3"), 'p', 0));
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t4"), 'p', 1)),
			 STORE_OVER_BUDGET);
}

static void one_batch_does_not_overspend(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claims[5];
	int done = 0;
	char token[8];

	ruled_open_budget(world, "pay", 'p', 100);
	world_hold(world);
	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		claims[i] = ruled_budget(ruled_claim(world, token), 'p', 30);
		world_submit(world, claims[i]);
	}
	world_release(world);
	world_wait(world, 5);
	for (int i = 0; i < 5; i++)
		done += claims[i]->result == 0;
	assert_int_equal(done, 3);
	assert_int_equal(claims[3]->result, STORE_OVER_BUDGET);
	assert_int_equal(claims[3]->view.budget_used, 90);
}

/* Neither a huge amount nor one below nothing gets round the sum. */
static void odd_amounts_make_no_room(void **state)
{
	struct world *world = world_of(state);

	ruled_open_budget(world, "pay", 'p', 100);
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t1"), 'p', INT64_MAX)),
			 STORE_OVER_BUDGET);
	ruled_done(world, ruled_budget(ruled_claim(world, "t2"), 'p', 1));
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t3"), 'p', INT64_MAX)),
			 STORE_OVER_BUDGET);
	world_do(world, ruled_budget(ruled_claim(world, "t4"), 'p', -50));
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t5"), 'p', 100)),
			 STORE_OVER_BUDGET);
}

/* What did not happen is given back; what may have happened is not. */
static void only_failures_give_back(void **state)
{
	struct world *world = world_of(state);
	struct store_operation fails, queued, unknown;

	ruled_open_budget(world, "pay", 'p', 100);
	fails = ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 50));
	queued = ruled_done(world, ruled_budget(ruled_claim(world, "t2"), 'p', 30));
	unknown = ruled_done(world, ruled_budget(ruled_claim(world, "t3"), 'p', 20));
	ruled_settled(world, &queued, EVENT_NOT_SENT);
	ruled_settled(world, &unknown, EVENT_LOST_SIGHT);
	assert_int_equal(ruled_found(world, &unknown)->view.budget_used, 100);
	ruled_settled(world, &fails, EVENT_REFUSED);
	assert_int_equal(ruled_found(world, &unknown)->view.budget_used, 50);
	ruled_moved(world, &queued, EVENT_CANCELLED);
	assert_int_equal(ruled_found(world, &unknown)->view.budget_used, 20);
	ruled_moved(world, &unknown, EVENT_FOUND_FAILED);
	ruled_done(world, ruled_budget(ruled_claim(world, "t4"), 'p', 100));
}

/* Picked up again it is the same amount, not one more. */
static void retry_spends_once(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first;
	struct store_command *again;

	ruled_open_budget(world, "pay", 'p', 100);
	first = ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 100));
	ruled_settled(world, &first, EVENT_NOT_SENT);
	again = ruled_budget(ruled_claim(world, "t1"), 'p', 100);
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), 0);
	assert_int_equal(ruled_found(world, &first)->view.budget_used, 100);
}

static void budget_that_nobody_opened(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_budget(ruled_claim(world, "t1"), 'p', 10);

	assert_int_equal(world_do(world, claim), STORE_NO_BUDGET);
	assert_free(world, "t1");
	claim = ruled_budget(ruled_claim(world, "t1"), 'p', 10);
	claim->rules.lets_unknown_budget = true;
	ruled_done(world, claim); /* and does not count, now or later */
	ruled_open_budget(world, "pay", 'p', 100);
	claim = ruled_budget(ruled_claim(world, "t2"), 'p', 100);
	claim->rules.lets_unknown_budget = true;
	ruled_done(world, claim);
	claim = ruled_budget(ruled_claim(world, "t3"), 'p', 1);
	claim->rules.lets_unknown_budget = true;
	assert_int_equal(world_do(world, claim), STORE_OVER_BUDGET);
}

static void budget_has_one_currency(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_budget(ruled_claim(world, "t1"), 'p', 10);

	ruled_open_budget(world, "pay", 'p', 100);
	memcpy(claim->rules.spends.currency, "USD", 4);
	assert_int_equal(world_do(world, claim), STORE_OTHER_CURRENCY);
	assert_string_equal(claim->view.currency, "EUR");
	assert_free(world, "t1");
}

/* A failure opens nothing, and the first success decides. */
static void first_success_opens_the_budget(void **state)
{
	struct world *world = world_of(state);
	struct store_operation payment =
		ruled_done(world, ruled_opens(ruled_claim(world, "p1"), 70));
	struct store_command *settle = world_settle(world, &payment, EVENT_REFUSED);

	settle->opens = ruled_hash('b', 'p');
	assert_int_equal(world_do(world, settle), 0);
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t1"), 'p', 10)),
			 STORE_NO_BUDGET);
	ruled_open_budget(world, "p2", 'p', 100);
	ruled_open_budget(world, "p3", 'p', 500);
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t1"), 'p', 101)),
			 STORE_OVER_BUDGET);
	ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 100));
}

/* A success that names no budget opens none; nor does one whose action opens none. */
static void budget_is_opened_by_who_says_so(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_opens(ruled_claim(world, "p1"), 70));
	struct store_operation second = ruled_done(world, ruled_claim(world, "p2"));
	struct store_command *settle = world_settle(world, &second, EVENT_SUCCEEDED), *claim;

	ruled_settled(world, &first, EVENT_SUCCEEDED);
	settle->opens = ruled_hash('b', 'p');
	assert_int_equal(world_do(world, settle), 0);
	claim = ruled_budget(ruled_claim(world, "t1"), 'p', 1);
	assert_int_equal(world_do(world, claim), STORE_NO_BUDGET);
	claim->rules.budget = (struct hash){0};
	assert_int_equal(world_do(world, claim), STORE_NO_BUDGET);
}

/* What somebody found out opens a budget as an answer does. */
static void found_success_opens_the_budget(void **state)
{
	struct world *world = world_of(state);
	struct store_operation payment =
		ruled_done(world, ruled_opens(ruled_claim(world, "p"), 100));
	struct store_command *move = world_command(world, STORE_MOVE);

	ruled_settled(world, &payment, EVENT_LOST_SIGHT);
	move->operation.id = payment.id;
	move->any_epoch = true;
	move->event = EVENT_FOUND_DONE;
	move->opens = ruled_hash('b', 'p');
	assert_int_equal(world_do(world, move), 0);
	ruled_done(world, ruled_budget(ruled_claim(world, "t"), 'p', 100));
}

/* Budgets outlive the records of those that opened and spent them, and end with their own time. */
static void budget_outlives_its_operations(void **state)
{
	struct world *world = world_of(state);
	struct store_command *purge = world_command(world, STORE_PURGE);
	struct store_operation spends;

	ruled_open_budget(world, "pay", 'p', 100);
	spends = ruled_done(world, ruled_budget(ruled_claim(world, "t1"), 'p', 60));
	ruled_settled(world, &spends, EVENT_SUCCEEDED);
	world->now_ms += RULED_FOR_MS - 1;
	purge->tombstone_ms = 0;
	purge->kind = STORE_PURGE;
	assert_int_equal(world_do(world, purge), 0);
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t2"), 'p', 41)),
			 STORE_OVER_BUDGET);
	world->now_ms += 1;
	assert_int_equal(world_do(world, ruled_budget(ruled_claim(world, "t2"), 'p', 41)),
			 STORE_NO_BUDGET);
}

/* One command, all rules: what is refused first is what is said. */
static void rules_are_judged_in_their_order(void **state)
{
	struct world *world = world_of(state);
	struct store_operation owner =
		ruled_done(world, ruled_unique(ruled_claim(world, "u"), 'i'));
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "l"), 'x'));
	static const int expected[] = {STORE_RETRY_REFUSED, STORE_REUSED,    STORE_LOCKED,
				       STORE_VERSION,	    STORE_NO_BUDGET, 0};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct store_command *claim = ruled_unique(ruled_claim(world, "t"), 'i');

		ruled_version(ruled_lock(claim, 'x'), i < 4 ? 7 : 0);
		ruled_budget(claim, 'p', 10);
		claim->operation.retry_of = i == 0 ? STR("op_none") : STR("");
		assert_int_equal(world_do(world, claim), expected[i]);
		if (i == 1)
			ruled_settled(world, &owner, EVENT_REFUSED);
		if (i == 2)
			ruled_settled(world, &holder, EVENT_REFUSED);
		if (i == 4)
			ruled_open_budget(world, "pay", 'p', 100);
	}
}

/* What a reader is told of an operation under every rule, and of one under none. */
static void view_tells_of_the_rules(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_unique(ruled_claim(world, "t"), 'i');
	struct store_operation plain = ruled_done(world, ruled_claim(world, "p"));
	struct store_rule_view view;

	ruled_open_budget(world, "pay", 'p', 100);
	ruled_opens(ruled_budget(ruled_lock(claim, 'x'), 'p', 30), 5);
	ruled_done(world, claim);
	view = ruled_found(world, &claim->operation)->view;
	assert_true(view.has_unique && view.has_lock && view.has_budget && view.opens_budget);
	assert_int_equal(view.unique_until_ms, world->now_ms + RULED_FOR_MS);
	assert_str(view.lock_name, "service=web");
	assert_true(view.holds_lock);
	assert_false(view.waits_for_lock);
	assert_int_equal(view.fence, 1);
	assert_same_id(&view.holder, &claim->operation.id);
	assert_string_equal(view.currency, "EUR");
	assert_int_equal(view.spends, 30);
	assert_int_equal(view.budget_total, 100);
	assert_int_equal(view.budget_used, 30);
	view = ruled_found(world, &plain)->view;
	assert_false(view.has_unique || view.has_lock || view.has_budget || view.opens_budget);
	assert_false(view.holds_lock || view.waits_for_lock);
}

/* A transaction that is lost leaves neither a holder nor a claim on a budget. */
static void lost_transaction_leaves_no_rule_behind(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim;

	ruled_open_budget(world, "pay", 'p', 100);
	world->script.faults[0].transaction = world->script.transactions + 1;
	world->script.faults[0].kind = STORE_MEM_REFUSED;
	world->script.fault_count = 1;
	claim = ruled_budget(ruled_lock(ruled_unique(ruled_claim(world, "t1"), 'i'), 'x'), 'p', 60);
	assert_int_equal(world_do(world, claim), FAIL_STORE);
	claim = ruled_budget(ruled_lock(ruled_unique(ruled_claim(world, "t2"), 'i'), 'x'), 'p', 60);
	ruled_done(world, claim);
	assert_int_equal(claim->fence, 1);
	assert_int_equal(ruled_found(world, &claim->operation)->view.budget_used, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(identity_is_taken_across_tokens),
		WORLD_BOTH(reuse_has_the_answer),
		WORLD_BOTH(own_token_is_no_reuse),
		WORLD_BOTH(one_batch_has_one_owner_of_an_identity),
		WORLD_BOTH(failure_frees_the_identity),
		WORLD_BOTH(unknown_keeps_the_identity),
		WORLD_BOTH(identity_ends_with_its_time),
		WORLD_BOTH(a_wrong_clock_frees_no_identity),
		WORLD_BOTH(a_success_is_kept_as_long_as_its_claim_said),
		WORLD_BOTH(failures_have_the_plain_retention),
		WORLD_BOTH(budget_is_spent_to_its_end),
		WORLD_BOTH(one_batch_does_not_overspend),
		WORLD_BOTH(odd_amounts_make_no_room),
		WORLD_BOTH(only_failures_give_back),
		WORLD_BOTH(retry_spends_once),
		WORLD_BOTH(budget_that_nobody_opened),
		WORLD_BOTH(budget_has_one_currency),
		WORLD_BOTH(first_success_opens_the_budget),
		WORLD_BOTH(budget_is_opened_by_who_says_so),
		WORLD_BOTH(found_success_opens_the_budget),
		WORLD_BOTH(budget_outlives_its_operations),
		WORLD_BOTH(rules_are_judged_in_their_order),
		WORLD_BOTH(view_tells_of_the_rules),
		WORLD_ROW(lost_transaction_leaves_no_rule_behind, world_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
