/*
 * Budgets: what was opened, and what is spent of it by those that have not failed.
 *
 * A budget is a row of its own, under a key of its own, found by the hash of whose it is. It
 * outlives the operation that opened it; when its time is over it is as if it had never been.
 * An operation that spends knows the key, and gives back to that row alone, whatever is opened
 * under the same name later. Who opened it is known by its key alone, and only until that is
 * forgotten; of one that an earlier version opened, not at all.
 */
#include "store/ledger.h"

#include "base/err.h"

/* 0; STORE_ABSENT. */
static int read_row(struct ledger *ledger, int64_t key, struct ledger_budget *out_budget,
		    struct hash *out_hash, int64_t *out_until_ms)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_BUDGET_GET);
	int r;

	*out_budget = (struct ledger_budget){0};
	sqlite3_bind_int64(get, 1, key);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	column_hash(get, 0, out_hash);
	out_budget->key = key;
	column_currency(get, 1, out_budget->facts.currency);
	out_budget->facts.total = sqlite3_column_int64(get, 2);
	out_budget->facts.used = sqlite3_column_int64(get, 3);
	*out_until_ms = sqlite3_column_int64(get, 4);
	sqlite3_reset(get);
	return 0;
}

int ledger_read_budget(struct ledger *ledger, int64_t key, struct ledger_budget *out_budget)
{
	struct hash hash;
	int64_t until_ms;

	return read_row(ledger, key, out_budget, &hash, &until_ms);
}

int ledger_find_budget(struct ledger *ledger, const struct hash *hash, int64_t now_ms,
		       struct token_hash *out_index, struct ledger_budget *out_budget)
{
	struct ledger_budget budget;
	struct hash there;
	int64_t key, until_ms;
	int r;

	*out_budget = (struct ledger_budget){0};
	tokens_hash_kind(ledger->key, KIND_BUDGET, hash, out_index);
	r = ledger_find_token(ledger, out_index, &key);
	if (r == 0)
		r = read_row(ledger, key, &budget, &there, &until_ms);
	if (r == 0 && hash_equal(hash, &there) && until_ms > now_ms)
		*out_budget = budget;
	return r < 0 ? r : 0;
}

int ledger_use_budget(struct ledger *ledger, int64_t key, int64_t amount)
{
	sqlite3_stmt *use = ledger_statement(ledger, SQL_BUDGET_USE);

	sqlite3_bind_int64(use, 1, key);
	sqlite3_bind_int64(use, 2, amount);
	return ledger_run(ledger, use);
}

static int insert_budget(struct ledger *ledger, int64_t key, const struct hash *hash,
			 const struct ledger_rule *rule, const struct ledger_step *step)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_BUDGET_PUT);

	sqlite3_bind_int64(put, 1, key);
	bind_hash(put, 2, hash);
	bind_str(put, 3, str_from(rule->opens.currency));
	sqlite3_bind_int64(put, 4, rule->opens.minor_units);
	sqlite3_bind_int64(put, 5, time_add(step->now_ms, rule->budget_ms));
	sqlite3_bind_int64(put, 6, step->op);
	return ledger_run(ledger, put);
}

int ledger_open_budget(struct ledger *ledger, const struct hash *hash,
		       const struct ledger_rule *rule, const struct ledger_step *step)
{
	int64_t lapse_ms = lapse_now(&ledger->lapse, ledger->env), key;
	struct ledger_budget there;
	struct token_hash index;
	int r = ledger_find_budget(ledger, hash, lapse_ms, &index, &there);

	if (r < 0 || there.key)
		return r;
	key = ledger_next_op(ledger, step->now_ms, false);
	r = insert_budget(ledger, key, hash, rule, step);
	if (r < 0)
		return r;
	tokens_add(&ledger->tokens, &index, key);
	ledger->added++;
	return 0;
}

static bool take_row(sqlite3_stmt *row, struct arena *mem, struct store_budget *budget)
{
	bool is_full = false;

	if (sqlite3_column_type(row, 0) != SQLITE_NULL)
		id_make(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 2),
			&budget->opener);
	budget->account = column_str(row, 1, mem, &is_full);
	budget->action = column_str(row, 3, mem, &is_full);
	budget->reference = column_str(row, 4, mem, &is_full);
	column_currency(row, 5, budget->currency);
	budget->total = sqlite3_column_int64(row, 6);
	budget->used = sqlite3_column_int64(row, 7);
	budget->until_ms = sqlite3_column_int64(row, 8);
	return !is_full;
}

static bool is_wanted(sqlite3_stmt *row, const struct store_command *command, int64_t lapse_ms)
{
	struct str account = command->filter_account;

	return sqlite3_column_int64(row, 8) > lapse_ms &&
	       (!account.len || str_equal(account, column_bytes(row, 1)));
}

/* Bounded like any list: who sees one account alone may be told that there may be more. */
int ledger_budgets(struct ledger *ledger, struct store_command *command)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_BUDGET_LIST);
	int64_t lapse_ms = lapse_now(&ledger->lapse, ledger->env);
	int64_t before = id_op(&command->before);
	size_t scanned = 0;
	int r;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->budget_count = 0;
	command->has_more = false;
	command->budgets = arena_zalloc(command->mem, command->limit * sizeof(*command->budgets));
	if (!command->budgets)
		return FAIL_MEMORY;
	sqlite3_bind_int64(list, 1, before ? before : INT64_MAX);
	while ((r = ledger_step(ledger, list)) > 0) {
		bool is_one = is_wanted(list, command, lapse_ms);

		command->has_more = (is_one && command->budget_count == command->limit) ||
				    ++scanned > STORE_SCAN_MAX;
		if (command->has_more)
			break;
		id_make(sqlite3_column_int64(list, 9), 0, &command->next_before);
		if (!is_one)
			continue;
		if (!take_row(list, command->mem, &command->budgets[command->budget_count])) {
			r = FAIL_MEMORY;
			break;
		}
		command->budget_count++;
	}
	sqlite3_reset(list);
	return r < 0 ? r : 0;
}
