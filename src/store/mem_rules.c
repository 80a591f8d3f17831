/*
 * Identities, locks and budgets of the in-memory store.
 *
 * An identity is no row of its own: it is looked for among the operations. A lock's row knows who
 * holds it; who waits for it is looked for among the operations as well, whose rows are in the
 * order of their claims. A budget's row has its sum, since it outlives the operations.
 *
 * Always true after a command: of those that wait for a lock only the first is due, and only while
 * nobody holds it.
 */
#include "store/mem_internal.h"

#include "base/err.h"

struct record *identity_owner(const struct memory *memory, const struct hash *unique,
			      int64_t lapse_ms)
{
	for (size_t i = record_count(memory); i-- > 0;) {
		struct record *record = record_at(memory, i);

		if (record_is_there(record) && record->rules.has_unique &&
		    hash_equal(&record->rules.unique, unique) &&
		    identity_is_taken(&record->operation, record->identity_until_ms, lapse_ms))
			return record;
	}
	return NULL;
}

struct lock *lock_by_hash(const struct memory *memory, const struct hash *hash)
{
	for (size_t i = 0; i < memory->tables[TABLE_LOCKS].count; i++)
		if (hash_equal(&lock_at(memory, i)->hash, hash))
			return lock_at(memory, i);
	return NULL;
}

bool lock_is_waited_for_by(const struct record *record)
{
	return record_is_there(record) && record->rules.has_lock &&
	       record->operation.state == STATE_QUEUED && record->operation.is_dispatched;
}

static struct record *first_in_line(const struct memory *memory, const struct hash *hash)
{
	for (size_t i = 0; i < record_count(memory); i++) {
		struct record *record = record_at(memory, i);

		if (lock_is_waited_for_by(record) && hash_equal(&record->rules.lock, hash))
			return record;
	}
	return NULL;
}

uint64_t lock_version(const struct memory *memory, const struct hash *hash)
{
	const struct lock *lock = lock_by_hash(memory, hash);

	return lock ? lock->version : 0;
}

int lock_judge(const struct memory *memory, const struct rule_facts *rules,
	       const struct record *self, struct record **out_before)
{
	const struct lock *lock = lock_by_hash(memory, &rules->lock);
	struct record *before = lock ? lock->holder : NULL;

	if (!before)
		before = first_in_line(memory, &rules->lock);
	if (before && before != self) {
		*out_before = before;
		return STORE_LOCKED;
	}
	if (rules->has_version && !version_is(rules->version, lock_version(memory, &rules->lock)))
		return STORE_VERSION;
	return 0;
}

int lock_note(struct memory *memory, const struct record *record)
{
	struct lock *lock;

	if (lock_by_hash(memory, &record->rules.lock))
		return 0;
	lock = mem_add(memory, TABLE_LOCKS, sizeof(*lock));
	if (!lock)
		return fail(FAIL_UNPLANNED);
	lock->hash = record->rules.lock;
	lock->account = record->operation.account;
	lock->name = record->rules.lock_name;
	if (!take_text(&memory->lock_texts, &lock->account) ||
	    !take_text(&memory->lock_texts, &lock->name))
		return fail(FAIL_UNPLANNED);
	return 0;
}

int lock_take(struct memory *memory, struct record *record, int64_t now_ms)
{
	int r = lock_note(memory, record);
	struct lock *lock;

	if (r < 0)
		return r;
	lock = lock_by_hash(memory, &record->rules.lock);
	require(!lock->holder);
	r = mem_touch(memory, lock, sizeof(*lock));
	if (r < 0)
		return r;
	lock->holder = record;
	lock->since_ms = now_ms;
	record->fence = ++lock->fence;
	return 0;
}

int lock_free(struct memory *memory, struct lock *lock, const struct record *record,
	      bool has_succeeded)
{
	int r = mem_touch(memory, lock, sizeof(*lock));

	if (r < 0)
		return r;
	if (lock->holder == record) {
		lock->holder = NULL;
		lock->since_ms = 0;
	}
	lock->version += has_succeeded;
	return 0;
}

int lock_line(struct memory *memory, const struct hash *hash, int64_t now_ms, bool *out_makes_due)
{
	const struct lock *lock = lock_by_hash(memory, hash);
	bool is_taken = lock && lock->holder;
	int r;

	for (size_t i = 0; i < record_count(memory); i++) {
		struct record *record = record_at(memory, i);
		int64_t due_ms = record->operation.due_ms;

		if (!lock_is_waited_for_by(record) || !hash_equal(&record->rules.lock, hash))
			continue;
		if (is_taken)
			due_ms = INT64_MAX;
		else if (due_ms == INT64_MAX)
			due_ms = turn_due(&record->operation, now_ms);
		is_taken = true; /* for those behind it */
		if (due_ms == record->operation.due_ms)
			continue;
		r = record_touch(memory, record);
		if (r < 0)
			return r;
		record->operation.due_ms = due_ms;
		if (due_ms != INT64_MAX)
			*out_makes_due = true;
	}
	return 0;
}

static struct budget *budget_by_hash(const struct memory *memory, const struct hash *hash,
				     int64_t lapse_ms)
{
	const struct table *table = &memory->tables[TABLE_BUDGETS];

	for (size_t i = table->count; i-- > 0;) {
		struct budget *budget = table->rows[i];

		if (hash_equal(&budget->hash, hash) && budget->until_ms > lapse_ms)
			return budget;
	}
	return NULL;
}

int budget_judge(const struct memory *memory, const struct rule_facts *rules, int64_t lapse_ms)
{
	const struct budget *budget = budget_by_hash(memory, &rules->budget, lapse_ms);

	if (!budget)
		return rules->lets_unknown_budget ? 0 : STORE_NO_BUDGET;
	return budget_judge_spending(&budget->facts, &rules->spends);
}

int budget_reserve(struct memory *memory, struct record *record, int64_t lapse_ms)
{
	struct budget *budget = budget_by_hash(memory, &record->rules.budget, lapse_ms);
	int r;

	if (!budget)
		return 0;
	r = mem_touch(memory, budget, sizeof(*budget));
	if (r < 0)
		return r;
	budget->facts.used += record->rules.spends.minor_units;
	record->spends_from = budget;
	return 0;
}

int budget_give_back(struct memory *memory, struct record *record)
{
	struct budget *budget = record->spends_from;
	int r;

	if (!budget)
		return 0;
	r = mem_touch(memory, budget, sizeof(*budget));
	if (r < 0)
		return r;
	budget->facts.used -= record->rules.spends.minor_units;
	record->spends_from = NULL;
	return 0;
}

int budget_open(struct memory *memory, const struct record *record, const struct hash *hash,
		int64_t now_ms, int64_t lapse_ms)
{
	struct budget *budget;

	if (budget_by_hash(memory, hash, lapse_ms))
		return 0;
	budget = mem_add(memory, TABLE_BUDGETS, sizeof(*budget));
	if (!budget)
		return fail(FAIL_UNPLANNED);
	budget->hash = *hash;
	memcpy(budget->facts.currency, record->rules.opens.currency,
	       sizeof(budget->facts.currency));
	budget->facts.total = record->rules.opens.minor_units;
	budget->until_ms = time_add(now_ms, record->rules.budget_ms);
	budget->opener = record;
	return 0;
}

static void view_lock(const struct memory *memory, const struct rule_facts *rules,
		      const struct record *record, struct store_rule_view *view)
{
	const struct lock *lock = lock_by_hash(memory, &rules->lock);

	view->waits_for_lock = record && lock_is_waited_for_by(record);
	view->fence = record ? record->fence : 0;
	if (!lock)
		return;
	view->lock_version = lock->version;
	view->holds_lock = record && lock->holder == record;
	if (lock->holder)
		view->holder = lock->holder->operation.id;
}

static void view_budget(const struct memory *memory, const struct rule_facts *rules,
			const struct record *record, int64_t lapse_ms, struct store_rule_view *view)
{
	const struct budget *budget = record ? record->spends_from : NULL;

	if (!budget)
		budget = budget_by_hash(memory, &rules->budget, lapse_ms);
	view->spends = rules->spends.minor_units;
	memcpy(view->currency, budget ? budget->facts.currency : rules->spends.currency,
	       sizeof(view->currency));
	if (budget) {
		view->budget_total = budget->facts.total;
		view->budget_used = budget->facts.used;
	}
}

int rules_view(const struct memory *memory, const struct rule_facts *rules,
	       const struct record *record, int64_t lapse_ms, struct arena *mem,
	       struct store_rule_view *out_view)
{
	struct store_rule_view view = {
		.has_unique = rules->has_unique,
		.has_lock = rules->has_lock,
		.has_budget = rules->has_budget,
		.opens_budget = rules->opens_budget,
		.unique_until_ms = record ? record->identity_until_ms : 0,
		.lock_name = rules->lock_name,
	};

	if (!take_text(mem, &view.lock_name))
		return FAIL_MEMORY;
	if (rules->has_lock)
		view_lock(memory, rules, record, &view);
	if (rules->has_budget)
		view_budget(memory, rules, record, lapse_ms, &view);
	*out_view = view;
	return 0;
}
