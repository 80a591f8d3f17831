/*
 * Shows that a store keeps what store/store.h says is always true, whatever comes: random commands
 * against a model of a hundred lines, on disk and in memory. After each step the store has given
 * the answer that the model gave, its operations and locks are the model's, and by its own word no
 * identity has two living operations, no lock two holders, no line another order than its claims',
 * and no budget is overspent. A failure names the seed, and the seed brings it back.
 */
#include "ruled.h"

#include <stdio.h>

enum {
	SEEDS = 10,
	STEPS = 250,
	IDENTITIES = 4,
	LOCKS = 2,
	BUDGETS = 2,
	BURST = 4,	/* claims in one batch */
	THINGS = 190,	/* operations: one page */
	TAKES_MAX = 50, /* until nothing is due */
};

/* An operation as the model has it. -1: it has none. */
struct thing {
	struct operation_id id;
	enum operation_state state;
	uint32_t epoch, tries;
	uint64_t fence;
	int identity, lock, budget, opens;
	bool queues, has_version, is_dispatched, asks;
	int64_t version, amount, opens_amount, identity_until_ms, due_ms, sent_ms;
	bool is_reserved;   /* its amount counts */
	bool lost_its_lock; /* by force, since it was sent */
};

struct model {
	struct world *world;
	unsigned seed, step;
	uint64_t random;
	char what[160]; /* the step, for whoever reads of its failure */
	int looked_at;	/* the operation that is being compared; -1: none */
	struct thing things[THINGS + BURST];
	int count;
	struct {
		int holder;
		uint64_t version, fence;
	} locks[LOCKS];
	struct {
		bool is_open;
		int64_t total, used;
	} budgets[BUDGETS];
};

static void expect(const struct model *model, bool is_true, const char *what)
{
	if (!is_true)
		fail_msg("seed %u, step %u (%s), operation %d: %s", model->seed, model->step,
			 model->what, model->looked_at, what);
}

static int pick(struct model *model, int below)
{
	model->random ^= model->random << 13;
	model->random ^= model->random >> 7;
	model->random ^= model->random << 17;
	return (int)(model->random % (uint64_t)below);
}

static bool happens(struct model *model, int percent)
{
	return pick(model, 100) < percent;
}

static bool may_have_happened(const struct thing *thing)
{
	return thing->state != STATE_FAILED && thing->state != STATE_CANCELLED;
}

static bool is_at_it(const struct thing *thing)
{
	return thing->state == STATE_RUNNING || thing->state == STATE_UNKNOWN;
}

static bool waits(const struct thing *thing)
{
	return thing->state == STATE_QUEUED && thing->is_dispatched;
}

static int first_in_line(const struct model *model, int lock)
{
	for (int i = 0; i < model->count; i++)
		if (model->things[i].lock == lock && waits(&model->things[i]))
			return i;
	return -1;
}

/* Who is before a thing that is not in the line itself; -1: nobody. */
static int before(const struct model *model, int lock)
{
	int holder = model->locks[lock].holder;

	return holder >= 0 ? holder : first_in_line(model, lock);
}

static bool is_its_version(const struct model *model, const struct thing *thing)
{
	return !thing->has_version || thing->version == (int64_t)model->locks[thing->lock].version;
}

static int judge(const struct model *model, const struct thing *thing, size_t waiting_max,
		 bool *out_must_wait)
{
	size_t waiting = 0;

	for (int i = 0; i < model->count; i++) {
		const struct thing *other = &model->things[i];

		waiting += thing->asks ? other->state == STATE_AWAITING_APPROVAL : waits(other);
		if (thing->identity >= 0 && other->identity == thing->identity &&
		    may_have_happened(other) && other->identity_until_ms > model->world->now_ms)
			return STORE_REUSED;
	}
	*out_must_wait = !thing->asks && thing->lock >= 0 && before(model, thing->lock) >= 0;
	if (*out_must_wait && !thing->queues)
		return STORE_LOCKED;
	if (thing->lock >= 0 && !thing->asks && !is_its_version(model, thing) &&
	    (!*out_must_wait || thing->version < (int64_t)model->locks[thing->lock].version))
		return STORE_VERSION;
	if (thing->budget >= 0 && !model->budgets[thing->budget].is_open)
		return STORE_NO_BUDGET;
	if (thing->budget >= 0 && model->budgets[thing->budget].used + thing->amount >
					  model->budgets[thing->budget].total)
		return STORE_OVER_BUDGET;
	if (!*out_must_wait && thing->state == STATE_RUNNING)
		return 0;
	return waiting_max && waiting >= waiting_max ? STORE_FULL : 0;
}

static void send(struct model *model, struct thing *thing)
{
	thing->state = STATE_RUNNING;
	thing->epoch++;
	thing->tries++;
	thing->due_ms = 0;
	if (!thing->sent_ms)
		thing->sent_ms = model->world->now_ms;
	thing->lost_its_lock = false;
	if (thing->lock < 0)
		return;
	expect(model, model->locks[thing->lock].holder < 0, "the model gives a lock away twice");
	model->locks[thing->lock].holder = (int)(thing - model->things);
	thing->fence = ++model->locks[thing->lock].fence;
}

/* A thing has come to another state: what it held and spent. */
static void follow(struct model *model, struct thing *thing, enum operation_state state)
{
	bool held = thing->lock >= 0 &&
		    model->locks[thing->lock].holder == (int)(thing - model->things);

	thing->state = state;
	if (held && !is_at_it(thing))
		model->locks[thing->lock].holder = -1;
	if (thing->lock >= 0 && state == STATE_COMPLETED)
		model->locks[thing->lock].version++; /* also where it was lost by force */
	if (thing->is_reserved && !may_have_happened(thing)) {
		model->budgets[thing->budget].used -= thing->amount;
		thing->is_reserved = false;
	}
}

static void draft_spending(struct model *model, struct store_command *claim, struct thing *thing)
{
	if (happens(model, 20)) {
		thing->opens = pick(model, BUDGETS);
		thing->opens_amount = 40 + pick(model, 60);
		ruled_opens(claim, thing->opens_amount);
		claim->rules.budget_ms = INT64_MAX;
	}
	if (happens(model, 40)) {
		thing->budget = pick(model, BUDGETS);
		thing->amount = pick(model, 30);
		ruled_budget(claim, (char)('a' + thing->budget), thing->amount);
	}
}

static void draft_lock(struct model *model, struct store_command *claim, struct thing *thing)
{
	thing->lock = pick(model, LOCKS);
	thing->queues = happens(model, 50);
	(thing->queues ? ruled_queue : ruled_lock)(claim, (char)('a' + thing->lock));
	claim->rules.lock_name = thing->lock ? STR("lock=b") : STR("lock=a");
	if (!happens(model, 30))
		return;
	thing->has_version = true;
	thing->version = (int64_t)model->locks[thing->lock].version;
	if (happens(model, 30))
		thing->version += pick(model, 4) - 1;
	ruled_version(claim, thing->version);
}

/* A claim at random; the model has it as `*thing`. */
static struct store_command *draft(struct model *model, int n, struct thing *thing)
{
	struct store_command *claim;
	char token[32];

	*thing = (struct thing){
		.state = STATE_RUNNING, .identity = -1, .lock = -1, .budget = -1, .opens = -1};
	snprintf(token, sizeof(token), "token-%u-%u-%d", model->seed, model->step, n);
	claim = ruled_claim(model->world, token);
	if (happens(model, 15)) {
		ruled_outbox(claim);
		thing->state = STATE_QUEUED;
		thing->due_ms = model->world->now_ms;
	}
	if (happens(model, 30)) {
		thing->identity = pick(model, IDENTITIES);
		thing->identity_until_ms = model->world->now_ms + RULED_FOR_MS;
		ruled_unique(claim, (char)('a' + thing->identity));
	}
	if (happens(model, 60))
		draft_lock(model, claim, thing);
	draft_spending(model, claim, thing);
	thing->is_dispatched = claim->operation.is_dispatched;
	if (happens(model, 15)) {
		ruled_asking(claim, 1)->approval.for_ms = INT64_MAX;
		thing->asks = thing->is_dispatched = true;
		thing->state = STATE_AWAITING_APPROVAL;
		thing->due_ms = 0;
	}
	claim->waiting_max = happens(model, 20) ? 3 : 0;
	return claim;
}

/* The next claim, and the answer that is right. */
static struct store_command *claim_one(struct model *model, int n, int *out_expected)
{
	struct thing thing;
	struct store_command *claim = draft(model, n, &thing);
	bool must_wait;

	*out_expected = judge(model, &thing, claim->waiting_max, &must_wait);
	if (*out_expected)
		return claim;
	if (must_wait)
		thing.state = STATE_QUEUED;
	thing.is_reserved = thing.budget >= 0;
	if (thing.is_reserved)
		model->budgets[thing.budget].used += thing.amount;
	model->things[model->count++] = thing;
	if (thing.state == STATE_RUNNING)
		send(model, &model->things[model->count - 1]);
	return claim;
}

/* New claims, some of them in one batch. */
static void step_claim(struct model *model)
{
	int n = happens(model, 30) ? 1 + pick(model, BURST) : 1, first = model->count;
	struct store_command *claims[BURST];
	int expected[BURST];

	if (model->count >= THINGS)
		return;
	world_hold(model->world);
	for (int i = 0; i < n; i++) {
		claims[i] = claim_one(model, i, &expected[i]);
		world_submit(model->world, claims[i]);
	}
	world_release(model->world);
	world_wait(model->world, n);
	for (int i = 0; i < n; i++) {
		struct thing *thing = &model->things[first];

		snprintf(model->what, sizeof(model->what), "claim %d of %d: %d where %d is right",
			 i + 1, n, claims[i]->result, expected[i]);
		expect(model, claims[i]->result == expected[i], "the answer");
		if (expected[i])
			continue;
		thing->id = claims[i]->operation.id;
		expect(model, claims[i]->operation.state == thing->state, "the state");
		expect(model, claims[i]->fence == thing->fence, "the fencing number");
		first++;
	}
}

/* One at random of those in `state`; NULL: there is none. */
static struct thing *any_in(struct model *model, enum operation_state state)
{
	int from = model->count ? pick(model, model->count) : 0;

	for (int i = 0; i < model->count; i++) {
		struct thing *thing = &model->things[(from + i) % model->count];

		if (thing->state == state)
			return thing;
	}
	return NULL;
}

static const char *text_of(struct model *model, const struct operation_id *id)
{
	char *text = arena_zalloc(&model->world->mem, OPERATION_ID_TEXT + 1);

	operation_id_write(id, text);
	return text;
}

/* A retry of one that could not be sent, under its own token. */
static void step_pick_up(struct model *model)
{
	struct thing *thing = any_in(model, STATE_QUEUED);
	struct store_command *again, *find;
	int expected = 0;

	if (!thing)
		return;
	find = world_find_id(model->world, &thing->id, "acme");
	again = ruled_claim(model->world, "");
	again->operation.token = find->operation.token;
	again->may_pick_up = true;
	if (thing->is_dispatched)
		expected = STORE_EXISTS;
	else if (thing->lock >= 0 && before(model, thing->lock) >= 0)
		expected = STORE_LOCKED;
	else if (thing->lock >= 0 && !is_its_version(model, thing))
		expected = STORE_VERSION;
	world_do(model->world, again);
	snprintf(model->what, sizeof(model->what), "pick up %s: %d where %d is right",
		 text_of(model, &thing->id), again->result, expected);
	expect(model, again->result == expected, "the answer");
	if (expected == 0)
		send(model, thing);
	expect(model, expected || again->fence == thing->fence, "the fencing number");
}

static bool may_send_again(const struct model *model, const struct thing *thing,
			   enum operation_event event)
{
	int first = thing->lock < 0 ? -1 : before(model, thing->lock);

	return event != EVENT_RESENT || first < 0 || first == (int)(thing - model->things);
}

/* Under the lock that it has, or has back. */
static void send_again(struct model *model, struct thing *thing)
{
	if (thing->lock < 0 || model->locks[thing->lock].holder < 0) {
		send(model, thing);
		return;
	}
	thing->state = STATE_RUNNING;
	thing->epoch++;
	thing->tries++;
	thing->due_ms = 0;
}

/* A settlement or a move that the model knows to be right. */
static void change(struct model *model, struct thing *thing, struct store_command *command,
		   enum operation_event event)
{
	enum operation_state next;
	bool backs_off = thing->lock < 0 || event == EVENT_LOST_SIGHT;
	int64_t delay_ms = backs_off ? pick(model, 20000) : 0;
	int expected = may_send_again(model, thing, event) ? 0 : STORE_LOCKED;

	command->operation.id = thing->id;
	command->operation.epoch = thing->epoch;
	command->event = event;
	command->next_ms = model->world->now_ms + delay_ms;
	if (thing->opens >= 0)
		command->opens = ruled_hash('b', (char)('a' + thing->opens));
	snprintf(model->what, sizeof(model->what), "%s of a %s %s", operation_event_name(event),
		 operation_state_name(thing->state), text_of(model, &thing->id));
	expect(model, operation_move(thing->state, event, &next) == 0, "a move that there is");
	expect(model, world_do(model->world, command) == expected, "the answer");
	if (expected)
		return;
	if (next == STATE_RUNNING) {
		send_again(model, thing);
		return;
	}
	follow(model, thing, next);
	thing->due_ms = next == STATE_UNKNOWN || waits(thing) ? command->next_ms : 0;
	if (event == EVENT_LOST_SIGHT || event == EVENT_FOUND_NOT_DONE)
		thing->tries = 0;
	thing->tries -= command->is_untried;
	if (next == STATE_COMPLETED && thing->opens >= 0 && !model->budgets[thing->opens].is_open) {
		model->budgets[thing->opens].is_open = true;
		model->budgets[thing->opens].total = thing->opens_amount;
	}
}

static void step_settle(struct model *model)
{
	static const enum operation_event events[] = {
		EVENT_SUCCEEDED, EVENT_SUCCEEDED, EVENT_REFUSED, EVENT_NOT_SENT, EVENT_LOST_SIGHT};
	struct thing *thing = any_in(model, STATE_RUNNING);
	enum operation_event event = events[pick(model, 5)];
	struct store_command *settle;
	struct store_operation old;

	if (!thing)
		return;
	old = (struct store_operation){.id = thing->id, .epoch = thing->epoch - 1};
	snprintf(model->what, sizeof(model->what), "an old epoch settles");
	expect(model, world_do(model->world, world_settle(model->world, &old, event)) == STORE_LOST,
	       "the answer");
	settle = world_settle(model->world, &old, event);
	settle->is_untried = event == EVENT_NOT_SENT && happens(model, 30);
	change(model, thing, settle, event);
}

static void step_find_out(struct model *model)
{
	static const enum operation_event events[] = {EVENT_FOUND_DONE, EVENT_FOUND_FAILED,
						      EVENT_FOUND_NOT_DONE, EVENT_RESENT};
	struct thing *thing = any_in(model, STATE_UNKNOWN);

	if (thing)
		change(model, thing, world_command(model->world, STORE_MOVE),
		       events[pick(model, 4)]);
}

/* Somebody answers; sometimes the requester itself, which counts for nothing. */
static void step_answer(struct model *model)
{
	struct thing *thing = any_in(model, STATE_AWAITING_APPROVAL);
	bool agrees = happens(model, 70), is_own = agrees && happens(model, 20);
	struct store_operation named = {0};
	struct store_command *answer;

	if (!thing)
		return;
	named.id = thing->id;
	named.fingerprint = world_find_id(model->world, &thing->id, "acme")->operation.fingerprint;
	answer = ruled_answering(model->world, agrees ? STORE_APPROVE : STORE_DENY, &named,
				 is_own ? "key_agent" : "alice");
	snprintf(model->what, sizeof(model->what), "%s %s", agrees ? "approved" : "denied",
		 text_of(model, &thing->id));
	expect(model, world_do(model->world, answer) == (is_own ? STORE_OWN : 0), "the answer");
	if (is_own)
		return;
	follow(model, thing, agrees ? STATE_QUEUED : STATE_CANCELLED);
	thing->due_ms = agrees ? model->world->now_ms : 0;
}

static void step_cancel(struct model *model)
{
	enum operation_state state = happens(model, 30) ? STATE_AWAITING_APPROVAL : STATE_QUEUED;
	struct thing *thing = any_in(model, state);

	if (thing)
		change(model, thing, world_command(model->world, STORE_MOVE), EVENT_CANCELLED);
}

static void step_release(struct model *model)
{
	enum operation_state state = (enum operation_state)(STATE_QUEUED + pick(model, 3));
	struct thing *thing = any_in(model, state);
	struct store_command *release = world_command(model->world, STORE_RELEASE);
	bool holds;

	if (!thing)
		return;
	holds = thing->lock >= 0 &&
		model->locks[thing->lock].holder == (int)(thing - model->things);
	release->operation.id = thing->id;
	snprintf(model->what, sizeof(model->what), "release of %s", text_of(model, &thing->id));
	expect(model, world_do(model->world, release) == (holds ? 0 : STORE_LOST), "the answer");
	if (!holds)
		return;
	model->locks[thing->lock].holder = -1;
	thing->lost_its_lock = true;
}

/* What a dispatcher may send now, sent; or cancelled, where its version has moved. */
static int take_from_model(struct model *model)
{
	int taken = 0;

	for (int i = 0; i < model->count; i++) {
		struct thing *thing = &model->things[i];
		bool has_turn = thing->lock < 0 || (model->locks[thing->lock].holder < 0 &&
						    first_in_line(model, thing->lock) == i);

		if (!waits(thing) || !has_turn || thing->due_ms > model->world->now_ms)
			continue;
		if (thing->lock >= 0 && !is_its_version(model, thing)) {
			thing->due_ms = 0;
			follow(model, thing, STATE_CANCELLED);
			continue;
		}
		send(model, thing);
		taken++;
	}
	return taken;
}

/* Until nothing is due: what is cancelled by the way may make somebody due for the next take. */
static void step_take(struct model *model)
{
	int expected = take_from_model(model), taken = 0;
	struct store_command *take;
	int takes = 0;

	do {
		take = ruled_taken(model->world, 1 + (size_t)pick(model, STORE_ERRANDS_MAX));
		taken += (int)take->errand_count;
		takes++;
		for (size_t i = 0; i < take->errand_count; i++)
			for (int n = 0; n < model->count; n++)
				if (memcmp(&model->things[n].id, &take->errands[i].operation.id,
					   OPERATION_ID_SIZE) == 0 &&
				    take->errands[i].fence)
					expect(model,
					       take->errands[i].fence == model->things[n].fence,
					       "the fencing number");
	} while (takes < TAKES_MAX && take->due_ms && take->due_ms <= model->world->now_ms);
	snprintf(model->what, sizeof(model->what), "%d taken where %d were due", taken, expected);
	expect(model, taken == expected, "what is taken");
}

/* What is unknown and due is handed out once, and left alone for a while. */
static void step_look(struct model *model)
{
	size_t expected = 0, handed_out = 0;
	struct store_command *look;

	for (int i = 0; i < model->count; i++) {
		struct thing *thing = &model->things[i];

		if (thing->state != STATE_UNKNOWN || thing->due_ms > model->world->now_ms)
			continue;
		thing->due_ms = model->world->now_ms + STORE_LEASE_MS;
		expected++;
	}
	for (int looks = 0; looks < TAKES_MAX; looks++) {
		look = ruled_looked(model->world, 1 + (size_t)pick(model, 3));
		handed_out += look->errand_count;
		if (!look->errand_count)
			break;
	}
	snprintf(model->what, sizeof(model->what), "%zu handed out where %zu were due", handed_out,
		 expected);
	expect(model, handed_out == expected, "what is handed out");
}

/* Of those that wait for a lock only the first is due, and only while nobody holds it. */
static bool is_due_rightly(const struct model *model, int i, int64_t due_ms)
{
	const struct thing *thing = &model->things[i];

	if (thing->lock < 0 || !waits(thing))
		return due_ms == thing->due_ms;
	if (model->locks[thing->lock].holder >= 0 || first_in_line(model, thing->lock) != i)
		return due_ms == INT64_MAX;
	return due_ms > 0 && due_ms <= model->world->now_ms;
}

/* The store's operations are the model's: all of them, in the state and epoch they should be in. */
static const struct store_command *check_operations(struct model *model)
{
	struct store_command *list = world_command(model->world, STORE_LIST);

	list->limit = STORE_LIST_MAX;
	expect(model, world_do(model->world, list) == 0, "a list");
	expect(model, (int)list->found_count == model->count, "the number of operations");
	for (int i = 0; i < model->count; i++) {
		const struct store_operation *found = &list->found[model->count - 1 - i];
		const struct thing *thing = &model->things[i];

		if (memcmp(&found->id, &thing->id, OPERATION_ID_SIZE) != 0 ||
		    found->state != thing->state || found->epoch != thing->epoch)
			fail_msg("seed %u, step %u (%s): operation %d (%s) is %s in epoch %u, "
				 "and not %s in epoch %u",
				 model->seed, model->step, model->what, i,
				 text_of(model, &found->id), operation_state_name(found->state),
				 found->epoch, operation_state_name(thing->state), thing->epoch);
		model->looked_at = i;
		expect(model, found->is_dispatched == thing->is_dispatched, "whose it is to send");
		expect(model, found->tries == thing->tries, "the count of tries");
		expect(model, found->sent_ms == thing->sent_ms, "when it was first sent");
		expect(model, is_due_rightly(model, i, found->due_ms), "when it is due");
	}
	model->looked_at = -1;
	return list;
}

/* By the states that the store tells: one living operation an identity, one at it a lock. */
static void check_alone(struct model *model, const struct store_command *list)
{
	int living[IDENTITIES] = {0}, holding[LOCKS] = {0};
	int64_t spent[BUDGETS] = {0};

	for (int i = 0; i < model->count; i++) {
		const struct thing *thing = &model->things[i];
		struct thing told = {.state = list->found[model->count - 1 - i].state};

		if (thing->identity >= 0 && thing->identity_until_ms > model->world->now_ms)
			living[thing->identity] += may_have_happened(&told);
		if (thing->lock >= 0 && !thing->lost_its_lock)
			holding[thing->lock] += is_at_it(&told);
		if (thing->budget >= 0 && may_have_happened(&told))
			spent[thing->budget] += thing->amount;
	}
	for (int i = 0; i < IDENTITIES; i++)
		expect(model, living[i] <= 1, "an identity has two living operations");
	for (int i = 0; i < LOCKS; i++)
		expect(model, holding[i] <= 1, "a lock has two holders");
	for (int i = 0; i < BUDGETS; i++)
		expect(model, spent[i] <= model->budgets[i].total, "a budget is overspent");
}

static void check_line(struct model *model, const struct store_lock *told, int lock)
{
	size_t waiting = 0;

	for (int i = 0; i < model->count; i++) {
		const struct thing *thing = &model->things[i];

		if (thing->lock != lock || !waits(thing))
			continue;
		if (waiting < told->waiter_count)
			expect(model,
			       memcmp(&told->waiters[waiting], &thing->id, OPERATION_ID_SIZE) == 0,
			       "the order of a line");
		waiting++;
	}
	expect(model, told->waiting == waiting, "the length of a line");
	expect(model,
	       told->waiter_count ==
		       (waiting < STORE_WAITERS_LISTED ? waiting : STORE_WAITERS_LISTED),
	       "the number of waiters listed");
}

static void check_locks(struct model *model)
{
	struct store_command *list = world_command(model->world, STORE_LOCKS);
	size_t wanted = 0;

	list->limit = 10;
	expect(model, world_do(model->world, list) == 0, "a list of locks");
	for (int lock = 0; lock < LOCKS; lock++)
		wanted += before(model, lock) >= 0;
	expect(model, list->lock_count == wanted, "the number of locks that somebody wants");
	for (size_t i = 0; i < list->lock_count; i++) {
		const struct store_lock *told = &list->locks[i];
		int lock = str_equal(told->name, STR("lock=b"));
		int holder = model->locks[lock].holder;

		expect(model, told->is_held == (holder >= 0), "a lock is held");
		expect(model,
		       holder < 0 || memcmp(&told->holder, &model->things[holder].id,
					    OPERATION_ID_SIZE) == 0,
		       "the holder");
		expect(model, told->fence == model->locks[lock].fence, "the count of takings");
		expect(model, told->version == model->locks[lock].version, "the version");
		check_line(model, told, lock);
	}
}

/* What the store says of a budget to whoever looks at its newest spender. */
static void check_budgets(struct model *model)
{
	for (int budget = 0; budget < BUDGETS; budget++) {
		int i = model->count - 1;
		struct store_command *find;

		while (i >= 0 && model->things[i].budget != budget)
			i--;
		if (i < 0)
			continue;
		find = world_find_id(model->world, &model->things[i].id, "acme");
		expect(model, find->result == 0, "a find");
		expect(model, find->view.budget_total == model->budgets[budget].total,
		       "the total of a budget");
		expect(model, find->view.budget_used == model->budgets[budget].used,
		       "what is used of a budget");
	}
}

/*
 * A transaction that is lost with whatever was in it: the model is as it was. Only the store in
 * memory can be told to lose one.
 */
static void step_lost(struct model *model)
{
	struct world *world = model->world;
	struct model before = *model;
	struct thing *thing = any_in(model, STATE_RUNNING);
	enum operation_event event = happens(model, 50) ? EVENT_SUCCEEDED : EVENT_NOT_SENT;
	int n = 1 + pick(model, BURST), expected;

	if (world->directory[0] || model->count >= THINGS)
		return;
	world->script.faults[0] =
		(struct store_mem_fault){world->script.transactions + 1, STORE_MEM_REFUSED};
	world->script.fault_count = 1;
	world_hold(world);
	for (int i = 0; i < n; i++)
		world_submit(world, claim_one(model, i, &expected));
	if (thing)
		world_submit(world, world_settle(world,
						 &(struct store_operation){.id = thing->id,
									   .epoch = thing->epoch},
						 event));
	world_release(world);
	world_wait(world, n + (thing != NULL));
	world->script.fault_count = 0;
	before.random = model->random;
	*model = before;
	snprintf(model->what, sizeof(model->what), "a lost transaction");
}

static void step(struct model *model)
{
	int way = pick(model, 100);

	snprintf(model->what, sizeof(model->what), "nothing");
	if (way < 40)
		step_claim(model);
	else if (way < 62)
		step_settle(model);
	else if (way < 72)
		step_find_out(model);
	else if (way < 75)
		step_cancel(model);
	else if (way < 79)
		step_answer(model);
	else if (way < 81)
		step_release(model);
	else if (way < 90)
		step_take(model);
	else if (way < 92)
		step_look(model);
	else if (way < 95)
		step_pick_up(model);
	else if (way < 97)
		step_lost(model);
	else
		model->world->now_ms += pick(model, RULED_FOR_MS / 4);
	check_alone(model, check_operations(model));
	check_locks(model);
	check_budgets(model);
	arena_fini(&model->world->mem);
	arena_fini(&model->world->results);
}

static void run(struct world *world, unsigned seed)
{
	struct model model = {
		.world = world, .seed = seed, .random = seed * UINT64_C(0x9e3779b97f4a7c15)};

	for (int i = 0; i < LOCKS; i++)
		model.locks[i].holder = -1;
	for (model.step = 0; model.step < STEPS; model.step++)
		step(&model);
}

/* Each seed on a store of its own. */
static void store_is_as_its_model(void **state)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		run(world_of(state), seed);
		assert_int_equal(world_tear_down(state), 0);
		assert_int_equal(world_set_up(state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {WORLD_BOTH(store_is_as_its_model)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
