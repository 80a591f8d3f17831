/*
 * Forgetting what has expired.
 *
 * One command forgets at most STORE_PURGE_MAX records and PURGE_BYTES_MAX of answers, so
 * that nobody waits long behind it. An open operation is never forgotten: the index that
 * is walked has only terminal ones, and their state is checked once more.
 *
 * A forgotten operation leaves a tombstone; its token's entry in the index stays and leads
 * to it. Without a tombstone, or when that has had its time, the entry goes. The entry of its
 * identity goes at once: its time is over, or it stands in nobody's way. Budgets whose time is over
 * are forgotten too; locks never are.
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/rules.h"

enum { PURGE_BYTES_MAX = 4 * 1024 * 1024 };

/* What to forget, read before anything is deleted. */
struct doomed {
	struct token_entry entries[STORE_PURGE_MAX];
	int64_t until_ms[STORE_PURGE_MAX]; /* of the tombstone */
	size_t count;
	bool has_more;
};

static int find_expired(struct ledger *ledger, int64_t now_ms, int64_t tombstone_ms,
			struct doomed *doomed);
static int forget_operation(struct ledger *ledger, const struct token_entry *entry,
			    int64_t until_ms, int64_t now_ms);
static int drop_tombstones(struct ledger *ledger, struct store_command *command, int64_t now_ms,
			   bool *out_has_more);
static int drop_budgets(struct ledger *ledger, int64_t now_ms, bool *out_has_more);

int ledger_purge(struct ledger *ledger, struct store_command *command)
{
	int64_t now_ms = lapse_now(&ledger->lapse, ledger->env);
	struct doomed doomed;
	bool more_tombstones = false, more_budgets = false;
	int r;

	r = find_expired(ledger, now_ms, command->tombstone_ms, &doomed);
	for (size_t i = 0; r == 0 && i < doomed.count; i++)
		r = forget_operation(ledger, &doomed.entries[i], doomed.until_ms[i], now_ms);
	command->purged = doomed.count;
	command->tombstones = 0;
	if (r == 0)
		r = drop_tombstones(ledger, command, now_ms, &more_tombstones);
	if (r == 0)
		r = drop_budgets(ledger, now_ms, &more_budgets);
	ledger_counter_put(ledger, COUNTER_LAST_OP, ledger->last_op, &r);
	command->has_more = doomed.has_more || more_tombstones || more_budgets;
	return r;
}

static int answer_bytes(struct ledger *ledger, int64_t op, int64_t *out_bytes)
{
	sqlite3_stmt *length = ledger_statement(ledger, SQL_ANSWER_LENGTH);

	sqlite3_bind_int64(length, 1, op);
	return ledger_number(ledger, length, 0, out_bytes);
}

static int find_expired(struct ledger *ledger, int64_t now_ms, int64_t tombstone_ms,
			struct doomed *doomed)
{
	sqlite3_stmt *expired = ledger_statement(ledger, SQL_OPERATION_EXPIRED);
	int64_t total = 0, bytes;
	int r;

	doomed->count = 0;
	doomed->has_more = false;
	sqlite3_bind_int64(expired, 1, now_ms);
	sqlite3_bind_int(expired, 2, STORE_PURGE_MAX + 1);
	while ((r = ledger_step(ledger, expired)) > 0) {
		struct token_entry *entry = &doomed->entries[doomed->count];

		if (doomed->count == STORE_PURGE_MAX || total > PURGE_BYTES_MAX) {
			doomed->has_more = true;
			break;
		}
		entry->op = sqlite3_column_int64(expired, 0);
		require(operation_is_terminal(
			(enum operation_state)sqlite3_column_int(expired, 2)));
		doomed->until_ms[doomed->count] =
			tombstone_ms > 0 ? time_add(sqlite3_column_int64(expired, 3), tombstone_ms)
					 : 0;
		if (!ledger_column_token(expired, 1, &entry->hash))
			r = fail(FAIL_UNPLANNED);
		if (r >= 0)
			r = answer_bytes(ledger, entry->op, &bytes);
		if (r < 0)
			break;
		total += bytes;
		doomed->count++;
	}
	sqlite3_reset(expired);
	return r < 0 ? r : 0;
}

/* Take the token out of the index, now on disk and after the commit in memory. */
static int free_token(struct ledger *ledger, const struct token_entry *entry)
{
	sqlite3_stmt *statement = ledger_statement(ledger, SQL_TOKEN_DELETE);

	ledger->forgotten[ledger->forgotten_count++] = *entry;
	sqlite3_bind_blob(statement, 1, entry->hash.bytes, TOKEN_HASH, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, entry->op);
	return ledger_run(ledger, statement);
}

static int leave_tombstone(struct ledger *ledger, const struct token_entry *entry, int64_t until_ms)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_TOMBSTONE_PUT);

	sqlite3_bind_int64(put, 1, entry->op);
	sqlite3_bind_blob(put, 2, entry->hash.bytes, TOKEN_HASH, SQLITE_STATIC);
	sqlite3_bind_int64(put, 3, until_ms);
	return ledger_run(ledger, put);
}

static int count_out(struct ledger *ledger, int64_t op)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_OPERATION_GET);
	int r;

	sqlite3_bind_int64(get, 1, op);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r;
	ledger->counts[sqlite3_column_int(get, 9)]--;
	sqlite3_reset(get);
	return 0;
}

/* What its rules left. Its request went when it ended, its lock is somebody else's. */
static int forget_rule(struct ledger *ledger, int64_t op)
{
	struct token_entry identity = {.op = op};
	struct ledger_rule rule;
	int r = ledger_read_rule(ledger, op, &rule);

	if (r != 0)
		return r < 0 ? r : 0;
	if (rule.flags & RULE_IDENTITY) {
		tokens_hash_kind(ledger->key, KIND_IDENTITY, &rule.identity, &identity.hash);
		r = free_token(ledger, &identity);
	}
	if (r == 0 && rule.flags & RULE_APPROVAL)
		r = ledger_run_on(ledger, SQL_APPROVAL_DELETE, op);
	if (r == 0 && rule.flags & RULE_APPROVAL)
		r = ledger_run_on(ledger, SQL_NOTICE_DELETE, op);
	return r < 0 ? r : ledger_run_on(ledger, SQL_RULE_DELETE, op);
}

static int forget_operation(struct ledger *ledger, const struct token_entry *entry,
			    int64_t until_ms, int64_t now_ms)
{
	int r = count_out(ledger, entry->op);

	if (r == 0)
		r = forget_rule(ledger, entry->op);
	if (r == 0)
		r = ledger_run_on(ledger, SQL_OPERATION_DELETE, entry->op);
	if (r == 0)
		r = ledger_run_on(ledger, SQL_ANSWER_DELETE, entry->op);
	if (r == 0)
		r = ledger_run_on(ledger, SQL_ATTEMPT_DELETE, entry->op);
	if (r < 0)
		return r;
	return until_ms > now_ms ? leave_tombstone(ledger, entry, until_ms)
				 : free_token(ledger, entry);
}

static int drop_tombstones(struct ledger *ledger, struct store_command *command, int64_t now_ms,
			   bool *out_has_more)
{
	sqlite3_stmt *expired = ledger_statement(ledger, SQL_TOMBSTONE_EXPIRED);
	struct token_entry entries[STORE_PURGE_MAX];
	size_t count = 0;
	int r;

	sqlite3_bind_int64(expired, 1, now_ms);
	sqlite3_bind_int(expired, 2, STORE_PURGE_MAX + 1);
	while ((r = ledger_step(ledger, expired)) > 0) {
		*out_has_more = count == STORE_PURGE_MAX;
		if (*out_has_more)
			break;
		entries[count].op = sqlite3_column_int64(expired, 0);
		if (ledger_column_token(expired, 1, &entries[count].hash))
			count++;
	}
	sqlite3_reset(expired);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		r = ledger_run_on(ledger, SQL_TOMBSTONE_DELETE, entries[i].op);
		if (r == 0)
			r = free_token(ledger, &entries[i]);
	}
	command->tombstones = count;
	return r < 0 ? r : 0;
}

static int drop_budgets(struct ledger *ledger, int64_t now_ms, bool *out_has_more)
{
	sqlite3_stmt *expired = ledger_statement(ledger, SQL_BUDGET_EXPIRED);
	struct token_entry entries[STORE_PURGE_MAX];
	struct hash hash;
	size_t count = 0;
	int r;

	sqlite3_bind_int64(expired, 1, now_ms);
	sqlite3_bind_int(expired, 2, STORE_PURGE_MAX + 1);
	while ((r = ledger_step(ledger, expired)) > 0) {
		*out_has_more = count == STORE_PURGE_MAX;
		if (*out_has_more)
			break;
		entries[count].op = sqlite3_column_int64(expired, 0);
		column_hash(expired, 1, &hash);
		tokens_hash_kind(ledger->key, KIND_BUDGET, &hash, &entries[count++].hash);
	}
	sqlite3_reset(expired);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		r = ledger_run_on(ledger, SQL_BUDGET_DELETE, entries[i].op);
		if (r == 0)
			r = free_token(ledger, &entries[i]);
	}
	return r < 0 ? r : 0;
}
