/*
 * Shows that a store gives each lock to one operation at a time, to those that wait in the order of
 * their claims, and to nobody else before it is free. On disk and in memory.
 */
#include "ruled.h"

#include <stdio.h>

static const struct operation_id nobody;

/* The token of a claim that the rules refused is still free. */
static void assert_free(struct world *world, const char *token)
{
	assert_int_equal(world_find_token(world, "acme", token)->result, STORE_ABSENT);
}

/* The second is told who holds the lock; once that one has ended it is free, and counts on. */
static void lock_has_one_holder(void **state)
{
	struct world *world = world_of(state);
	struct store_command *first = ruled_lock(ruled_claim(world, "t1"), 'x'), *second;

	ruled_done(world, first);
	assert_int_equal(first->fence, 1);
	second = ruled_lock(ruled_claim(world, "t2"), 'x');
	assert_int_equal(world_do(world, second), STORE_LOCKED);
	assert_same_id(&second->operation.id, &first->operation.id);
	assert_same_id(&second->view.holder, &first->operation.id);
	assert_str(second->view.lock_name, "service=web");
	assert_int_equal(second->view.lock_version, 0);
	assert_free(world, "t2");
	ruled_done(world, ruled_lock(ruled_claim(world, "t3"), 'y'));
	ruled_settled(world, &first->operation, EVENT_SUCCEEDED);
	second = ruled_lock(ruled_claim(world, "t2"), 'x');
	ruled_done(world, second);
	assert_int_equal(second->fence, 2);
	assert_int_equal(ruled_found(world, &second->operation)->view.lock_version, 1);
}

static void one_batch_has_one_holder_of_a_lock(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claims[5];
	char token[8];

	world_hold(world);
	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof(token), "t%d", i);
		claims[i] = ruled_lock(ruled_claim(world, token), 'x');
		world_submit(world, claims[i]);
	}
	world_release(world);
	world_wait(world, 5);
	assert_int_equal(claims[0]->result, 0);
	for (int i = 1; i < 5; i++)
		assert_int_equal(claims[i]->result, STORE_LOCKED);
}

static void failure_frees_the_lock_as_it_was(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "t1"), 'x'));
	struct store_command *second = ruled_version(ruled_lock(ruled_claim(world, "t2"), 'x'), 0);

	ruled_settled(world, &first, EVENT_REFUSED);
	ruled_done(world, second);
	assert_int_equal(second->fence, 2);
}

/* Whoever is not known to have ended may still be at it. */
static void unknown_keeps_the_lock(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "t1"), 'x'));
	struct store_command *second = ruled_lock(ruled_claim(world, "t2"), 'x');

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(world_do(world, second), STORE_LOCKED);
	assert_int_equal(second->operation.state, STATE_UNKNOWN);
	assert_true(ruled_found(world, &first)->view.holds_lock);
	ruled_moved(world, &first, EVENT_FOUND_DONE);
	second = ruled_version(ruled_lock(ruled_claim(world, "t2"), 'x'), 1);
	ruled_done(world, second);
}

/* Queued and not the dispatcher's: it holds nothing, and its retry is judged anew. */
static void retry_takes_the_lock_anew(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "t1"), 'x'));
	struct store_operation second;
	struct store_command *again;

	ruled_settled(world, &first, EVENT_NOT_SENT);
	assert_false(ruled_found(world, &first)->view.holds_lock);
	assert_false(ruled_found(world, &first)->view.waits_for_lock);
	second = ruled_done(world, ruled_lock(ruled_claim(world, "t2"), 'x'));
	again = ruled_lock(ruled_claim(world, "t1"), 'x');
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), STORE_LOCKED);
	assert_same_id(&again->operation.id, &second.id);
	assert_int_equal(ruled_found(world, &first)->operation.state, STATE_QUEUED);
	assert_int_equal(ruled_found(world, &first)->operation.attempts, 1);
	ruled_settled(world, &second, EVENT_SUCCEEDED);
	again = ruled_lock(ruled_claim(world, "t1"), 'x');
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), 0);
	assert_true(again->did_pick_up);
	assert_int_equal(again->fence, 3);
	assert_true(ruled_found(world, &first)->view.holds_lock);
}

static void version_is_expected_exactly(void **state)
{
	struct world *world = world_of(state);
	static const int64_t wrong[] = {-1, 1, INT64_MAX};
	struct store_operation first;
	struct store_command *claim;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		claim = ruled_version(ruled_lock(ruled_claim(world, "t1"), 'x'), wrong[i]);
		assert_int_equal(world_do(world, claim), STORE_VERSION);
		assert_int_equal(claim->view.lock_version, 0);
		assert_free(world, "t1");
	}
	claim = ruled_version(ruled_lock(ruled_claim(world, "t1"), 'x'), 0);
	first = ruled_done(world, claim);
	claim = ruled_version(ruled_lock(ruled_claim(world, "t2"), 'x'), 7);
	assert_int_equal(world_do(world, claim), STORE_LOCKED); /* that comes first */
	ruled_settled(world, &first, EVENT_SUCCEEDED);
	claim = ruled_version(ruled_lock(ruled_claim(world, "t2"), 'x'), 0);
	assert_int_equal(world_do(world, claim), STORE_VERSION);
	assert_int_equal(claim->view.lock_version, 1);
	assert_str(claim->view.lock_name, "service=web");
	ruled_done(world, ruled_version(ruled_lock(ruled_claim(world, "t2"), 'x'), 1));
}

static void retry_is_judged_by_its_version(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first, second;
	struct store_command *again;

	first = ruled_done(world, ruled_version(ruled_lock(ruled_claim(world, "t1"), 'x'), 0));
	ruled_settled(world, &first, EVENT_NOT_SENT);
	second = ruled_done(world, ruled_lock(ruled_claim(world, "t2"), 'x'));
	ruled_settled(world, &second, EVENT_SUCCEEDED);
	again = ruled_version(ruled_lock(ruled_claim(world, "t1"), 'x'), 0);
	again->may_pick_up = true;
	assert_int_equal(world_do(world, again), STORE_VERSION);
	assert_int_equal(again->view.lock_version, 1);
	assert_int_equal(ruled_found(world, &first)->operation.state, STATE_QUEUED);
}

/* A free lock is taken at once by who would wait for it, and sent by who asks. */
static void free_lock_is_not_queued_for(void **state)
{
	struct world *world = world_of(state);
	struct store_command *claim = ruled_queue(ruled_claim(world, "t1"), 'x');

	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_RUNNING);
	assert_int_equal(claim->operation.epoch, 1);
	assert_int_equal(claim->fence, 1);
	assert_false(claim->makes_due);
}

/* Those that wait get the lock one by one, in the order of their claims. */
static void line_is_in_the_order_of_claims(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation waiting[3];
	struct store_command *claim, *settle, *take;
	char token[8];

	for (int i = 0; i < 3; i++) {
		snprintf(token, sizeof(token), "w%d", i);
		claim = ruled_queue(ruled_claim(world, token), 'x');
		waiting[i] = ruled_done(world, claim);
		assert_int_equal(waiting[i].state, STATE_QUEUED);
		assert_int_equal(waiting[i].due_ms, INT64_MAX);
		assert_int_equal(claim->fence, 0);
		assert_false(claim->makes_due);
		assert_true(ruled_found(world, &waiting[i])->view.waits_for_lock);
	}
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 0);
	assert_int_equal(take->due_ms, 0);
	for (int i = 0; i < 3; i++) {
		settle = ruled_settled(world, &holder, EVENT_SUCCEEDED);
		assert_true(settle->makes_due);
		take = ruled_taken(world, 10);
		assert_int_equal(take->errand_count, 1);
		assert_same_id(&take->errands[0].operation.id, &waiting[i].id);
		assert_int_equal(take->errands[0].fence, i + 2);
		holder = take->errands[0].operation;
	}
	assert_false(ruled_settled(world, &holder, EVENT_SUCCEEDED)->makes_due);
}

/* A free lock with a line is not free for who comes now. */
static void nobody_passes_the_line(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation first = ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	struct store_command *refused, *behind;

	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	refused = ruled_lock(ruled_claim(world, "t1"), 'x');
	assert_int_equal(world_do(world, refused), STORE_LOCKED);
	assert_same_id(&refused->operation.id, &first.id);
	assert_same_id(&refused->view.holder, &nobody);
	behind = ruled_queue(ruled_claim(world, "t2"), 'x');
	ruled_done(world, behind);
	assert_int_equal(behind->operation.state, STATE_QUEUED);
	assert_int_equal(behind->operation.due_ms, INT64_MAX);
}

/* The first one could not be sent: it keeps its place while it backs off. */
static void nobody_passes_who_backs_off(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_queue(ruled_claim(world, "w1"), 'x'));
	struct store_operation second =
		ruled_done(world, ruled_queue(ruled_claim(world, "w2"), 'x'));
	struct store_command *take;

	assert_true(ruled_settled_until(world, &first, EVENT_NOT_SENT, 1000)->makes_due);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 0);
	assert_int_equal(take->due_ms, world->now_ms + 1000);
	assert_int_equal(ruled_found(world, &second)->operation.due_ms, INT64_MAX);
	world->now_ms += 1000;
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &first.id);
	assert_int_equal(take->errands[0].fence, 2);
}

/* The first of the line gives up its place: the next one's turn has come. */
static void cancelled_one_leaves_the_line(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first =
		ruled_done(world, ruled_queue(ruled_claim(world, "w1"), 'x'));
	struct store_operation second =
		ruled_done(world, ruled_queue(ruled_claim(world, "w2"), 'x'));
	struct store_command *take;

	ruled_settled_until(world, &first, EVENT_NOT_SENT, 1000);
	assert_true(ruled_moved(world, &first, EVENT_CANCELLED)->makes_due);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &second.id);
}

/* Versions only grow: who expects one that is past does not wait for it. */
static void past_version_does_not_wait(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder =
		ruled_done(world, ruled_lock(ruled_claim(world, "h1"), 'x'));
	struct store_command *claim;

	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	ruled_done(world, ruled_lock(ruled_claim(world, "h2"), 'x'));
	claim = ruled_version(ruled_queue(ruled_claim(world, "w1"), 'x'), 0);
	assert_int_equal(world_do(world, claim), STORE_VERSION);
	assert_int_equal(claim->view.lock_version, 1);
	assert_free(world, "w1");
	claim = ruled_version(ruled_queue(ruled_claim(world, "w1"), 'x'), 2);
	ruled_done(world, claim);
	assert_int_equal(claim->operation.state, STATE_QUEUED);
}

/* The version moved while one waited: it is cancelled when its turn comes, and the next one gets
 * it. */
static void moved_version_cancels_who_waits(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation first, second;
	struct store_command *find, *take;

	first = ruled_done(world, ruled_version(ruled_queue(ruled_claim(world, "w1"), 'x'), 0));
	second = ruled_done(world, ruled_version(ruled_queue(ruled_claim(world, "w2"), 'x'), 1));
	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	take = ruled_taken(world, 10);
	assert_int_equal(take->cancelled_count, 1);
	assert_same_id(&take->cancelled[0], &first.id);
	for (int i = 0; take->errand_count == 0 && i < 2; i++)
		take = ruled_taken(world, 10); /* it may come with the next take */
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &second.id);
	find = ruled_found(world, &first);
	assert_int_equal(find->operation.state, STATE_CANCELLED);
	assert_true(find->operation.reason.len > 0);
	assert_int_equal(find->operation.attempts, 1);
	assert_int_equal(find->operation.expires_ms, world->now_ms + DAY_MS);
}

/* However long the line of those whose version has moved, the end of it gets its turn. */
static void many_whose_version_moved(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation last;
	struct store_command *take;
	size_t cancelled = 0;
	char token[16];

	for (int i = 0; i < 150; i++) {
		snprintf(token, sizeof(token), "w%d", i);
		ruled_done(world, ruled_version(ruled_queue(ruled_claim(world, token), 'x'), 0));
	}
	last = ruled_done(world, ruled_version(ruled_queue(ruled_claim(world, "last"), 'x'), 1));
	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	for (int i = 0; i < 150; i++) {
		take = ruled_taken(world, 10);
		cancelled += take->cancelled_count;
		if (take->errand_count)
			break;
		assert_int_equal(take->due_ms, world->now_ms);
	}
	assert_int_equal(cancelled, 150);
	assert_same_id(&take->errands[0].operation.id, &last.id);
}

static struct store_command *force(struct world *world, const struct store_operation *operation)
{
	struct store_command *release = world_command(world, STORE_RELEASE);

	release->operation.id = operation->id;
	release->attempt = (struct store_attempt){.at_ms = world->now_ms,
						  .outcome = OUTCOME_UNKNOWN,
						  .by = ACTOR_OPERATOR,
						  .note = STR("looked: nothing runs there"),
						  .delivered = -1};
	world_do(world, release);
	return release;
}

/* By force: the operation stays unknown, the next one gets the lock and a higher number. */
static void lock_is_taken_away_by_force(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation next = ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	struct store_command *release, *find, *take;

	ruled_settled(world, &holder, EVENT_LOST_SIGHT);
	release = force(world, &holder);
	assert_int_equal(release->result, 0);
	assert_true(release->makes_due);
	assert_false(release->view.holds_lock);
	find = ruled_found(world, &holder);
	assert_int_equal(find->operation.state, STATE_UNKNOWN);
	assert_int_equal(find->attempt_count, 2);
	assert_int_equal(find->attempts[1].by, ACTOR_OPERATOR);
	assert_str(find->attempts[1].note, "looked: nothing runs there");
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &next.id);
	assert_int_equal(take->errands[0].fence, 2);
}

/* What is sent again has its lock still, under the same number. */
static void sent_again_under_its_lock(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));

	ruled_settled(world, &holder, EVENT_LOST_SIGHT);
	ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	assert_int_equal(ruled_moved(world, &holder, EVENT_RESENT)->fence, 1);
	assert_true(ruled_found(world, &holder)->view.holds_lock);
	assert_int_equal(ruled_found(world, &holder)->view.fence, 1);
}

/* It lost its lock by force and nobody came: sent again, it has it back under a new number. */
static void sent_again_takes_the_lock_back(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));

	ruled_settled(world, &holder, EVENT_LOST_SIGHT);
	assert_int_equal(force(world, &holder)->result, 0);
	assert_int_equal(ruled_moved(world, &holder, EVENT_RESENT)->fence, 2);
	assert_true(ruled_found(world, &holder)->view.holds_lock);
	assert_int_equal(ruled_found(world, &holder)->view.fence, 2);
	assert_int_equal(world_do(world, ruled_lock(ruled_claim(world, "t"), 'x')), STORE_LOCKED);
}

/* It lost its lock to somebody, or to a line: sent again there would be two of them. */
static void nothing_is_sent_again_beside_a_holder(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation next = ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(force(world, &first)->result, 0);
	for (int i = 0; i < 2; i++) {
		struct store_command *move = world_command(world, STORE_MOVE);

		move->operation.id = first.id;
		move->any_epoch = true;
		move->event = EVENT_RESENT;
		assert_int_equal(world_do(world, move), STORE_LOCKED);
		assert_same_id(&move->operation.id, &first.id);
		assert_int_equal(ruled_found(world, &first)->operation.state, STATE_UNKNOWN);
		assert_int_equal(ruled_found(world, &first)->operation.epoch, 1);
		assert_int_equal(ruled_taken(world, 10)->errand_count, i == 0);
	}
	assert_true(ruled_found(world, &next)->view.holds_lock);
}

/* It lost its lock, and somebody had it since: sent again it would undo what that one did. */
static void nothing_is_sent_again_after_a_successor(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation next;
	struct store_command *move = world_command(world, STORE_MOVE);

	ruled_settled(world, &first, EVENT_LOST_SIGHT);
	assert_int_equal(force(world, &first)->result, 0);
	next = ruled_done(world, ruled_lock(ruled_claim(world, "n"), 'x'));
	ruled_settled(world, &next, EVENT_SUCCEEDED);
	move->operation.id = first.id;
	move->any_epoch = true;
	move->event = EVENT_RESENT;
	assert_int_equal(world_do(world, move), STORE_LOCKED);
	assert_int_equal(ruled_found(world, &first)->operation.state, STATE_UNKNOWN);
}

/* Whoever moves a queued one to running by hand would pass its lock. */
static void nothing_is_moved_past_its_lock(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "t"), 'x'));
	struct store_command *move = world_command(world, STORE_MOVE);

	ruled_settled(world, &first, EVENT_NOT_SENT);
	ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	move->operation.id = first.id;
	move->any_epoch = true;
	move->event = EVENT_PICKED_UP;
	assert_int_equal(world_do(world, move), STORE_LOST);
	assert_int_equal(ruled_found(world, &first)->operation.state, STATE_QUEUED);
}

/* It lost its lock, and succeeded all the same: what the lock guards is another by that. */
static void success_counts_without_the_lock(void **state)
{
	struct world *world = world_of(state);
	struct store_operation first = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_command *next;

	assert_int_equal(force(world, &first)->result, 0);
	ruled_settled(world, &first, EVENT_SUCCEEDED);
	next = ruled_version(ruled_lock(ruled_claim(world, "n"), 'x'), 0);
	assert_int_equal(world_do(world, next), STORE_VERSION);
	assert_int_equal(next->view.lock_version, 1);
}

/* The end of one that lost its lock frees nothing of its successor's. */
static void who_lost_the_lock_frees_it_for_nobody(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation next;

	assert_int_equal(force(world, &holder)->result, 0);
	next = ruled_done(world, ruled_lock(ruled_claim(world, "n"), 'x'));
	ruled_settled(world, &holder, EVENT_REFUSED);
	assert_true(ruled_found(world, &next)->view.holds_lock);
	assert_int_equal(world_do(world, ruled_lock(ruled_claim(world, "t"), 'x')), STORE_LOCKED);
}

static void only_a_holder_loses_its_lock(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation waits = ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	struct store_operation plain = ruled_done(world, ruled_claim(world, "p"));
	struct store_operation absent = plain;

	assert_int_equal(force(world, &waits)->result, STORE_LOST);
	assert_int_equal(force(world, &plain)->result, STORE_LOST);
	assert_int_equal(ruled_found(world, &plain)->operation.attempts, 1);
	absent.id.bytes[OPERATION_ID_SIZE - 1] ^= 1;
	assert_int_equal(force(world, &absent)->result, STORE_ABSENT);
	assert_int_equal(force(world, &holder)->result, 0);
	assert_int_equal(force(world, &holder)->result, STORE_LOST);
}

static struct store_command *locks(struct world *world, size_t limit, const char *account)
{
	struct store_command *command = world_command(world, STORE_LOCKS);

	command->limit = limit;
	command->filter_account = str_from(account);
	assert_int_equal(world_do(world, command), 0);
	return command;
}

/* Who holds and who waits, the held ones first; a lock that nobody wants is not there. */
static void locks_are_listed(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder, waiting[2];
	struct store_command *list;

	holder = ruled_done(world, ruled_lock(ruled_claim(world, "f"), 'z'));
	ruled_settled(world, &holder, EVENT_SUCCEEDED);
	ruled_done(world, ruled_lock(ruled_outbox(ruled_claim(world, "o")), 'y'));
	world->now_ms += 5;
	holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	waiting[0] = ruled_done(world, ruled_queue(ruled_claim(world, "w0"), 'x'));
	waiting[1] = ruled_done(world, ruled_queue(ruled_claim(world, "w1"), 'x'));
	list = locks(world, 10, "");
	assert_int_equal(list->lock_count, 2);
	assert_true(list->locks[0].is_held);
	assert_str(list->locks[0].account, "acme");
	assert_str(list->locks[0].name, "service=web");
	assert_int_equal(list->locks[0].fence, 1);
	assert_int_equal(list->locks[0].version, 0);
	assert_int_equal(list->locks[0].since_ms, world->now_ms);
	assert_int_equal(list->locks[0].holder_state, STATE_RUNNING);
	assert_same_id(&list->locks[0].holder, &holder.id);
	assert_int_equal(list->locks[0].waiting, 2);
	assert_int_equal(list->locks[0].waiter_count, 2);
	assert_same_id(&list->locks[0].waiters[0], &waiting[0].id);
	assert_same_id(&list->locks[0].waiters[1], &waiting[1].id);
	assert_false(list->locks[1].is_held);
	assert_int_equal(list->locks[1].waiting, 1);
	assert_false(list->has_more);
	list = locks(world, 1, "");
	assert_int_equal(list->lock_count, 1);
	assert_true(list->has_more);
	assert_int_equal(locks(world, 10, "acme")->lock_count, 2);
	assert_int_equal(locks(world, 10, "globex")->lock_count, 0);
}

/* Every lock once, in the order of the parts, whatever the size of the pages. */
static void expect_pages(struct world *world, size_t limit, const char *account, size_t expected)
{
	struct operation_id before = {0}, seen[16];
	enum store_lock_part part = LOCKS_RUNNING, shown = LOCKS_RUNNING;
	size_t count = 0;
	bool has_more = true;

	for (int pages = 0; has_more && pages < 20; pages++) {
		struct store_command *page = world_command(world, STORE_LOCKS);

		page->limit = limit;
		page->filter_account = str_from(account);
		page->before = before;
		page->lock_part = part;
		assert_int_equal(world_do(world, page), 0);
		assert_true(page->lock_count == limit || !page->has_more);
		for (size_t i = 0; i < page->lock_count; i++) {
			const struct store_lock *lock = &page->locks[i];
			enum store_lock_part its = !lock->is_held ? LOCKS_AWAITED
						   : lock->holder_state == STATE_RUNNING
							   ? LOCKS_RUNNING
							   : LOCKS_UNKNOWN;

			assert_true(its >= shown);
			shown = its;
			assert_in_range(count, 0, 15);
			seen[count] = lock->is_held ? lock->holder : lock->waiters[0];
			for (size_t k = 0; k < count; k++)
				assert_memory_not_equal(&seen[k], &seen[count], sizeof(seen[k]));
			count++;
		}
		has_more = page->has_more;
		before = page->next_before;
		part = page->lock_part;
	}
	assert_false(has_more);
	assert_int_equal(count, expected);
}

static void pages_of_locks_follow_one_another(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder;
	char token[8];

	expect_pages(world, 1, "", 0);
	for (int i = 0; i < 12; i++) {
		const char *account = i % 3 ? "acme" : "globex";
		struct store_command *claim;

		snprintf(token, sizeof(token), "t%d", i);
		claim = ruled_lock(world_claim(world, account, token, 'a'), (char)('a' + i));
		if (i % 4 == 3)
			claim = ruled_outbox(claim);
		holder = ruled_done(world, claim);
		if (i % 4 == 1)
			ruled_settled(world, &holder, EVENT_LOST_SIGHT);
	}
	for (size_t limit = 1; limit <= 13; limit++) {
		expect_pages(world, limit, "", 12);
		expect_pages(world, limit, "acme", 8);
		expect_pages(world, limit, "globex", 4);
		expect_pages(world, limit, "initech", 0);
	}
}

static void waiters_listed_are_bounded(void **state)
{
	struct world *world = world_of(state);
	struct store_command *list;
	char token[8];

	ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	for (int i = 0; i < STORE_WAITERS_LISTED + 3; i++) {
		snprintf(token, sizeof(token), "w%d", i);
		ruled_done(world, ruled_queue(ruled_claim(world, token), 'x'));
	}
	list = locks(world, 10, "");
	assert_int_equal(list->lock_count, 1);
	assert_int_equal(list->locks[0].waiter_count, STORE_WAITERS_LISTED);
	assert_int_equal(list->locks[0].waiting, STORE_WAITERS_LISTED + 3);
}

/* The process dies with a lock held: its holder is unknown, and holds it still. */
static void lock_survives_a_restart(void **state)
{
	struct world *world = world_of(state);
	struct store_operation holder = ruled_done(world, ruled_lock(ruled_claim(world, "h"), 'x'));
	struct store_operation waits = ruled_done(world, ruled_queue(ruled_claim(world, "w"), 'x'));
	struct store_command *refused, *take;
	char directory[64];

	memcpy(directory, world->directory, sizeof(directory));
	world_close(world);
	assert_int_equal(world_open(world, directory), 0);
	refused = ruled_lock(ruled_claim(world, "t"), 'x');
	assert_int_equal(world_do(world, refused), STORE_LOCKED);
	assert_same_id(&refused->operation.id, &holder.id);
	assert_int_equal(refused->operation.state, STATE_UNKNOWN);
	assert_int_equal(ruled_taken(world, 10)->errand_count, 0);
	assert_true(ruled_moved(world, &holder, EVENT_FOUND_FAILED)->makes_due);
	take = ruled_taken(world, 10);
	assert_int_equal(take->errand_count, 1);
	assert_same_id(&take->errands[0].operation.id, &waits.id);
	assert_int_equal(take->errands[0].fence, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(lock_has_one_holder),
		WORLD_BOTH(one_batch_has_one_holder_of_a_lock),
		WORLD_BOTH(failure_frees_the_lock_as_it_was),
		WORLD_BOTH(unknown_keeps_the_lock),
		WORLD_BOTH(retry_takes_the_lock_anew),
		WORLD_BOTH(version_is_expected_exactly),
		WORLD_BOTH(retry_is_judged_by_its_version),
		WORLD_BOTH(free_lock_is_not_queued_for),
		WORLD_BOTH(line_is_in_the_order_of_claims),
		WORLD_BOTH(nobody_passes_the_line),
		WORLD_BOTH(nobody_passes_who_backs_off),
		WORLD_BOTH(cancelled_one_leaves_the_line),
		WORLD_BOTH(past_version_does_not_wait),
		WORLD_BOTH(moved_version_cancels_who_waits),
		WORLD_BOTH(many_whose_version_moved),
		WORLD_BOTH(lock_is_taken_away_by_force),
		WORLD_BOTH(who_lost_the_lock_frees_it_for_nobody),
		WORLD_BOTH(sent_again_under_its_lock),
		WORLD_BOTH(sent_again_takes_the_lock_back),
		WORLD_BOTH(nothing_is_sent_again_beside_a_holder),
		WORLD_BOTH(nothing_is_sent_again_after_a_successor),
		WORLD_BOTH(nothing_is_moved_past_its_lock),
		WORLD_BOTH(success_counts_without_the_lock),
		WORLD_BOTH(only_a_holder_loses_its_lock),
		WORLD_BOTH(locks_are_listed),
		WORLD_BOTH(pages_of_locks_follow_one_another),
		WORLD_BOTH(waiters_listed_are_bounded),
		WORLD_ROW(lock_survives_a_restart, world_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
