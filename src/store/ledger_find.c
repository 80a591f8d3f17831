/* Reading: one operation with all that belongs to it, and pages of them. */
#include "store/ledger.h"

#include "base/err.h"

static int find_by_token(struct ledger *ledger, struct store_command *command,
			 struct store_operation **out_record);
static int read_attempts(struct ledger *ledger, struct store_command *command, int64_t op);
static int read_rules(struct ledger *ledger, struct store_command *command,
		      const struct store_operation *record);
static int read_retries(struct ledger *ledger, struct store_command *command,
			const struct store_operation *record);

int ledger_find(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *record;
	int r;

	if (command->by_id)
		r = ledger_read_id(ledger, &command->operation.id, command->operation.account,
				   command->mem, &record);
	else
		r = find_by_token(ledger, command, &record);
	if (r == 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0)
		r = ledger_read_answer(ledger, command->mem, record);
	if (r == 0)
		r = read_attempts(ledger, command, id_op(&record->id));
	if (r == 0)
		r = read_rules(ledger, command, record);
	if (r == 0)
		r = read_retries(ledger, command, record);
	if (r == 0)
		r = ledger_find_approval(ledger, command, record);
	if (r == 0)
		command->record = record;
	return r;
}

static int find_by_token(struct ledger *ledger, struct store_command *command,
			 struct store_operation **out_record)
{
	struct token_hash hash;
	int64_t op;
	int r;

	tokens_hash(ledger->key, command->operation.account, command->operation.token, &hash);
	r = ledger_find_token(ledger, &hash, &op);
	return r == 0 ? ledger_read(ledger, op, command->mem, out_record) : r;
}

static bool read_attempt(sqlite3_stmt *row, struct arena *mem, struct store_attempt *attempt)
{
	bool is_full = false;
	struct str remark;

	attempt->at_ms = sqlite3_column_int64(row, 0);
	attempt->outcome = (enum outcome)sqlite3_column_int(row, 1);
	attempt->agent = column_str(row, 2, mem, &is_full);
	attempt->task = column_str(row, 3, mem, &is_full);
	attempt->step = column_str(row, 4, mem, &is_full);
	attempt->request_id = column_str(row, 5, mem, &is_full);
	attempt->delivered = sqlite3_column_int(row, 6);
	remark = column_str(row, 7, mem, &is_full);
	if (remark.len) {
		attempt->by = (enum store_actor)(remark.at[0] - '0');
		remark = str_of(remark.at + 1, remark.len - 1);
	}
	attempt->note = remark;
	attempt->credential = column_str(row, 8, mem, &is_full);
	return !is_full;
}

static int read_attempts(struct ledger *ledger, struct store_command *command, int64_t op)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_ATTEMPT_LIST);
	size_t count = 0;
	int r;

	command->attempts =
		arena_zalloc(command->mem, STORE_HISTORY_MAX * sizeof(struct store_attempt));
	command->attempt_count = 0;
	if (!command->attempts)
		return FAIL_MEMORY;
	sqlite3_bind_int64(list, 1, op);
	while (count < STORE_HISTORY_MAX && (r = ledger_step(ledger, list)) != 0) {
		if (r < 0)
			return r;
		if (!read_attempt(list, command->mem, &command->attempts[count])) {
			sqlite3_reset(list);
			return FAIL_MEMORY;
		}
		count++;
	}
	sqlite3_reset(list);
	command->attempt_count = count;
	return 0;
}

static int read_rules(struct ledger *ledger, struct store_command *command,
		      const struct store_operation *record)
{
	struct ledger_rule rule;
	int r = ledger_read_rule(ledger, id_op(&record->id), &rule);

	command->view = (struct store_rule_view){0};
	command->request = (struct store_request){0};
	if (r != 0)
		return r < 0 ? r : 0;
	r = ledger_view(ledger, record, &rule, command);
	if (r == 0 && command->by_id)
		r = ledger_read_request(ledger, id_op(&record->id), command->mem,
					&command->request);
	return r;
}

/* Those that name it, oldest first. They are of its account: a claim sees to that. */
static int read_retries(struct ledger *ledger, struct store_command *command,
			const struct store_operation *record)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_OPERATION_RETRIES);
	int r;

	command->retry_count = 0;
	command->retries = NULL;
	if (!claim_may_retry(record))
		return 0;
	command->retries =
		arena_zalloc(command->mem, STORE_WAITERS_LISTED * sizeof(*command->retries));
	if (!command->retries)
		return FAIL_MEMORY;
	sqlite3_bind_int64(list, 1, id_op(&record->id));
	sqlite3_bind_int(list, 2, STORE_WAITERS_LISTED);
	while ((r = ledger_step(ledger, list)) > 0)
		id_make(sqlite3_column_int64(list, 0), sqlite3_column_int64(list, 1),
			&command->retries[command->retry_count++]);
	return r;
}

static bool column_is(sqlite3_stmt *row, int column, struct str wanted)
{
	const void *at = sqlite3_column_blob(row, column);
	size_t len = (size_t)sqlite3_column_bytes(row, column);

	return wanted.len == 0 || str_equal(wanted, str_of(at, len));
}

/* The service's name for it, or its own there. */
static bool is_candidate_referred_to(sqlite3_stmt *row, struct str wanted)
{
	const void *at = sqlite3_column_blob(row, 4);
	struct str reference = str_of(at, (size_t)sqlite3_column_bytes(row, 4));
	struct operation_id id;

	id_make(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 5), &id);
	return is_referred_to(&id, reference, wanted);
}

static bool candidate_matches(sqlite3_stmt *row, const struct store_command *command)
{
	return column_is(row, 1, command->filter_account) &&
	       column_is(row, 2, command->filter_token) &&
	       (!command->filter_state ||
		sqlite3_column_int(row, 3) == (int)command->filter_state) &&
	       column_is(row, 6, command->filter_action) &&
	       is_candidate_referred_to(row, command->filter_reference);
}

/* The statement whose rows, newest first, are nearest to what is asked for. */
static sqlite3_stmt *candidates(struct ledger *ledger, const struct store_command *command,
				int64_t before)
{
	sqlite3_stmt *list;

	if (command->filter_task.len) {
		list = ledger_statement(ledger, SQL_LIST_TASK);
		bind_str(list, 2, command->filter_task);
	} else if (command->filter_state && operation_is_open(command->filter_state)) {
		list = ledger_statement(ledger, SQL_LIST_OPEN);
		sqlite3_bind_int(list, 2, (int)command->filter_state);
	} else {
		list = ledger_statement(ledger, SQL_LIST_ALL);
	}
	sqlite3_bind_int64(list, 1, before ? before : INT64_MAX);
	return list;
}

static int take_candidate(struct ledger *ledger, struct store_command *command, int64_t op)
{
	struct store_operation *record;
	struct hash unused;
	int r = ledger_read(ledger, op, command->mem, &record);

	if (r == 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0 && record->is_asked)
		r = ledger_read_approval(ledger, op, command->mem, false,
					 &command->approvals[command->found_count], &unused);
	if (r == 0)
		command->found[command->found_count++] = *record;
	return r < 0 ? r : 0;
}

/* A page from the candidates; where it had to stop, `has_more` and `next_before` say so. */
static int take_page(struct ledger *ledger, struct store_command *command, sqlite3_stmt *list)
{
	int64_t op, last = 0;
	size_t scanned = 0;
	int r;

	while ((r = ledger_step(ledger, list)) > 0) {
		op = sqlite3_column_int64(list, 0);
		if (op == last) /* a task's attempts of one operation follow one another */
			continue;
		if (command->found_count == command->limit || scanned == STORE_SCAN_MAX) {
			command->has_more = true;
			id_make(last, 0, &command->next_before);
			break;
		}
		scanned++;
		last = op;
		if (candidate_matches(list, command))
			r = take_candidate(ledger, command, op);
		if (r < 0)
			break;
	}
	sqlite3_reset(list);
	return r < 0 ? r : 0;
}

/* What the account and the token have not asked already. */
static bool found_matches(const struct store_operation *found, const struct store_command *command)
{
	return (!command->filter_state || found->state == command->filter_state) &&
	       (!command->filter_action.len || str_equal(found->action, command->filter_action)) &&
	       is_referred_to(&found->id, found->reference, command->filter_reference);
}

int ledger_list(struct ledger *ledger, struct store_command *command)
{
	int64_t before = id_op(&command->before);
	struct token_hash hash;
	int64_t op;
	int r;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->found_count = 0;
	command->has_more = false;
	command->found = arena_zalloc(command->mem, command->limit * sizeof(*command->found));
	command->approvals =
		arena_zalloc(command->mem, command->limit * sizeof(*command->approvals));
	if (!command->found || !command->approvals)
		return FAIL_MEMORY;
	if (!command->filter_token.len || !command->filter_account.len || command->filter_task.len)
		return take_page(ledger, command, candidates(ledger, command, before));
	tokens_hash(ledger->key, command->filter_account, command->filter_token, &hash);
	r = ledger_find_token(ledger, &hash, &op);
	if (r < 0)
		return r;
	if (r == 0 && (!before || op < before))
		r = take_candidate(ledger, command, op);
	if (command->found_count && !found_matches(&command->found[0], command))
		command->found_count = 0;
	return r < 0 ? r : 0;
}
