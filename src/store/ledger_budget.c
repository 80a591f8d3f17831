/*
 * Budgets: what was opened, and what is spent of it by those that have not failed.
 *
 * A budget is a row of its own, under a key of its own, found by the hash of whose it is. It
 * outlives the operation that opened it; when its time is over it is as if it had never been.
 * An operation that spends knows the key, and gives back to that row alone, whatever is opened
 * under the same name later.
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
			 const struct ledger_rule *rule, int64_t until_ms)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_BUDGET_PUT);

	sqlite3_bind_int64(put, 1, key);
	bind_hash(put, 2, hash);
	bind_str(put, 3, str_from(rule->opens.currency));
	sqlite3_bind_int64(put, 4, rule->opens.minor_units);
	sqlite3_bind_int64(put, 5, until_ms);
	return ledger_run(ledger, put);
}

int ledger_open_budget(struct ledger *ledger, const struct hash *hash,
		       const struct ledger_rule *rule, int64_t now_ms)
{
	int64_t lapse_ms = lapse_now(&ledger->lapse, ledger->env), key;
	struct ledger_budget there;
	struct token_hash index;
	int r = ledger_find_budget(ledger, hash, lapse_ms, &index, &there);

	if (r < 0 || there.key)
		return r;
	key = ledger_next_op(ledger, now_ms, false);
	r = insert_budget(ledger, key, hash, rule, time_add(now_ms, rule->budget_ms));
	if (r < 0)
		return r;
	tokens_add(&ledger->tokens, &index, key);
	ledger->added++;
	return 0;
}
