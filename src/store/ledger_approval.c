/*
 * Questions to people: asked with a claim, answered, lapsed, asked again.
 *
 * A row of `approval` stands beside the operation's for as long as that is kept. What it is asked
 * about cannot change under it: the operation's row has the fingerprint, the row of `request` what
 * is sent, and both were written with it. Who agrees names that fingerprint, and it is kept, so
 * that what is taken for sending is compared once more with what was agreed to.
 *
 * Whoever answers at the same time is answered one after the other, in the store's own thread: the
 * first answer that ends a question is its end, and the others are told so.
 *
 * Always true: a question waits only while its operation is awaiting approval; it is told in the
 * audit log, in an entry of its own, when it is asked and each time it is answered.
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/approvals.h"

/* One operation, its rule and its question, while it is changed. */
struct asked {
	struct store_operation *record;
	struct store_approval *approval;
	struct hash agreed;
	struct ledger_rule rule;
};

/* What a person is shown has the command's fields in it: it is sealed. */
static struct vault_place shown_place(int64_t op)
{
	return (struct vault_place){"shown", op, STR("")};
}

static bool column_approval(sqlite3_stmt *row, struct arena *mem, struct store_approval *approval,
			    struct hash *out_agreed)
{
	bool is_full = false;

	approval->needed = (unsigned)sqlite3_column_int(row, 0);
	approval->given = (unsigned)sqlite3_column_int(row, 1);
	approval->stand = (enum approval_stand)sqlite3_column_int(row, 2);
	approval->asked_ms = sqlite3_column_int64(row, 3);
	approval->expires_ms = sqlite3_column_int64(row, 4);
	approval->for_ms = approval->expires_ms - approval->asked_ms;
	column_hash(row, 5, &approval->policy);
	column_hash(row, 6, &approval->alike);
	column_hash(row, 7, &approval->agent_hash);
	column_hash(row, 8, out_agreed);
	approval->asked_by = column_str(row, 9, mem, &is_full);
	approval->asked_agent = column_str(row, 10, mem, &is_full);
	approval->answers = column_str(row, 11, mem, &is_full);
	return !is_full;
}

int ledger_read_approval(struct ledger *ledger, int64_t op, struct arena *mem, bool with_shown,
			 struct store_approval *out_approval, struct hash *out_agreed)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_APPROVAL_GET);
	int r;

	sqlite3_bind_int64(get, 1, op);
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	*out_approval = (struct store_approval){0};
	r = column_approval(get, mem, out_approval, out_agreed) ? 0 : FAIL_MEMORY;
	if (r == 0 && with_shown)
		r = ledger_column_unsealed(ledger, get, 12, shown_place(op), mem,
					   &out_approval->shown);
	sqlite3_reset(get);
	return r;
}

int ledger_tell_approval(struct ledger *ledger, const struct store_operation *record,
			 struct store_command *command)
{
	struct store_approval *approval;
	struct hash unused;
	int r = 0;

	if (!record->is_asked && !command->approval.needed)
		return 0;
	approval = arena_zalloc(command->mem, sizeof(*approval));
	if (!approval)
		return FAIL_MEMORY;
	if (record->is_asked)
		r = ledger_read_approval(ledger, id_op(&record->id), command->mem, true, approval,
					 &unused);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	command->question = approval;
	return 0;
}

int ledger_judge_asking(struct ledger *ledger, struct store_command *command,
			struct ledger_plan *plan)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_KNOWN_GET);
	const struct store_approval *asked = &command->approval;
	int64_t known = 0;
	int r = 0;

	if (!asked->needed)
		return 0;
	require(command->request.method.len);
	if (asked->unless_known && command->operation.state != STATE_AWAITING_APPROVAL) {
		bind_hash(get, 1, &asked->agent_hash);
		r = ledger_number(ledger, get, 0, &known);
	}
	if (r < 0)
		return r;
	command->question = arena_zalloc(command->mem, sizeof(*command->question));
	if (!command->question)
		return FAIL_MEMORY;
	plan->asks = !known;
	if (plan->asks)
		*command->question = *asked;
	return 0;
}

static int put_approval(struct ledger *ledger, const struct store_operation *record,
			const struct store_approval *approval)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_APPROVAL_PUT);
	int64_t op = id_op(&record->id);
	int r = ledger_bind_sealed(ledger, put, 13, shown_place(op), approval->shown);

	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int(put, 2, (int)approval->needed);
	sqlite3_bind_int(put, 3, (int)approval->given);
	sqlite3_bind_int(put, 4, (int)approval->stand);
	sqlite3_bind_int64(put, 5, approval->asked_ms);
	sqlite3_bind_int64(put, 6, approval->expires_ms);
	bind_hash(put, 7, &approval->policy);
	bind_hash(put, 8, &approval->alike);
	bind_hash(put, 9, &approval->agent_hash);
	bind_str(put, 10, approval->asked_by);
	bind_str(put, 11, approval->asked_agent);
	bind_str(put, 12, approval->answers);
	bind_str(put, 14, record->account);
	bind_str(put, 15, record->action);
	return ledger_run(ledger, put);
}

int ledger_begin_approval(struct ledger *ledger, struct store_command *command)
{
	struct store_operation *record = &command->operation;

	int r;

	approval_ask(command->question, record->created_ms);
	r = put_approval(ledger, record, command->question);
	return r == 0 ? ledger_begin_notices(ledger, command) : r;
}

/* What was answered, and what was agreed to. */
static int put_answers(struct ledger *ledger, int64_t op, const struct store_approval *approval,
		       const struct hash *agreed)
{
	sqlite3_stmt *put = ledger_statement(ledger, SQL_APPROVAL_ANSWER);

	sqlite3_bind_int64(put, 1, op);
	sqlite3_bind_int(put, 2, (int)approval->given);
	sqlite3_bind_int(put, 3, (int)approval->stand);
	bind_str(put, 4, approval->answers);
	bind_hash(put, 5, agreed);
	return ledger_run(ledger, put);
}

int ledger_follow_approval(struct ledger *ledger, const struct ledger_step *step)
{
	int r = 0;

	if (step->before == STATE_AWAITING_APPROVAL && step->next == STATE_CANCELLED) {
		r = ledger_run_on(ledger, SQL_APPROVAL_WITHDRAW, step->op);
		return r == 0 && sqlite3_changes(ledger->db)
			       ? ledger_add_notice(ledger, step->op, NOTICE_WITHDRAWN, step->now_ms)
			       : r;
	}
	if (step->next == STATE_COMPLETED)
		return ledger_run_on(ledger, SQL_APPROVAL_DONE, step->op);
	return 0;
}

/* The operation with its question: 0; STORE_ABSENT; STORE_LOST: it was never asked. */
static int read_asked(struct ledger *ledger, struct store_command *command, struct asked *out)
{
	int r = ledger_read_whole(ledger, command, &out->record);
	int64_t op;

	if (r != 0)
		return r;
	command->record = out->record;
	if (!out->record->is_asked)
		return STORE_LOST;
	op = id_op(&out->record->id);
	out->approval = arena_zalloc(command->mem, sizeof(*out->approval));
	if (!out->approval)
		return FAIL_MEMORY;
	r = ledger_read_rule(ledger, op, &out->rule);
	if (r == 0)
		r = ledger_read_approval(ledger, op, command->mem, true, out->approval,
					 &out->agreed);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	command->question = out->approval;
	return 0;
}

/* The move that an answer makes, and all that hangs on it. */
static int move(struct ledger *ledger, struct store_command *command, struct asked *asked,
		enum operation_event event, int64_t now_ms)
{
	struct store_operation *record = asked->record;
	sqlite3_stmt *due = ledger_statement(ledger, SQL_OPERATION_DUE_GET);
	struct ledger_step step = {
		.op = id_op(&record->id), .before = record->state, .now_ms = now_ms};
	int r;

	if (operation_move(record->state, event, &step.next) != 0)
		return fail(FAIL_UNPLANNED);
	record->state = step.next;
	record->updated_ms = now_ms;
	record->due_ms = record_due(record->is_dispatched, step.next, now_ms);
	if (operation_is_terminal(step.next))
		record->expires_ms = time_add(now_ms, asked->rule.plain_ms);
	command->makes_due = record->due_ms != 0;
	r = ledger_update(ledger, record);
	if (r == 0)
		r = ledger_follow(ledger, &asked->rule, &step, command);
	sqlite3_bind_int64(due, 1, step.op);
	if (r == 0)
		r = ledger_number(ledger, due, 0, &record->due_ms);
	ledger->counts[step.before]--;
	ledger->counts[step.next]++;
	return r;
}

/* Nobody has agreed in time. */
static int lapse(struct ledger *ledger, struct store_command *command, struct asked *asked,
		 int64_t now_ms)
{
	enum operation_state before = asked->record->state;
	int r;

	asked->approval->stand = APPROVAL_LAPSED;
	approval_say_end(asked->approval, command, asked->record);
	r = put_answers(ledger, id_op(&asked->record->id), asked->approval, &asked->agreed);
	if (r == 0)
		r = ledger_add_notice(ledger, id_op(&asked->record->id), NOTICE_EXPIRED, now_ms);
	if (r == 0)
		r = move(ledger, command, asked, EVENT_DENIED, now_ms);
	return r == 0 ? ledger_say_approval(ledger, NULL, asked->record, asked->approval, before)
		      : r;
}

/* What an answer that counts does. */
static int carry_out(struct ledger *ledger, struct store_command *command, struct asked *asked,
		     int64_t now_ms)
{
	struct store_approval *approval = asked->approval;
	enum operation_state before = asked->record->state;
	sqlite3_stmt *known = ledger_statement(ledger, SQL_KNOWN_PUT);
	int r = put_answers(ledger, id_op(&asked->record->id), approval,
			    &command->consent.fingerprint);

	if (r == 0)
		r = ledger_add_notice(ledger, id_op(&asked->record->id), approval_notice(approval),
				      now_ms);
	if (r == 0 && approval->stand == APPROVAL_GIVEN) {
		bind_hash(known, 1, &approval->agent_hash);
		r = ledger_run(ledger, known);
	}
	if (r == 0 && approval->stand == APPROVAL_GIVEN)
		r = move(ledger, command, asked, EVENT_APPROVED, now_ms);
	if (approval->stand == APPROVAL_DENIED)
		approval_say_end(approval, command, asked->record);
	if (r == 0 && approval->stand == APPROVAL_DENIED)
		r = move(ledger, command, asked, EVENT_DENIED, now_ms);
	if (r == 0)
		r = ledger_record_attempt(ledger, asked->record, &command->attempt);
	return r == 0 ? ledger_say_approval(ledger, command, asked->record, approval, before) : r;
}

int ledger_answer(struct ledger *ledger, struct store_command *command)
{
	int64_t now_ms = env_wall_ms(ledger->env);
	struct asked asked = {0};
	int r;

	command->makes_due = false;
	r = read_asked(ledger, command, &asked);
	if (r == 0)
		r = approval_judge(command, asked.record, asked.approval, now_ms, command->mem);
	if (r == STORE_LAPSED) {
		r = lapse(ledger, command, &asked, now_ms);
		return r < 0 ? r : STORE_LAPSED;
	}
	if (r == 0)
		r = approval_answer(asked.approval, command, now_ms, command->mem);
	return r == 0 ? carry_out(ledger, command, &asked, now_ms) : r;
}

/* The question that takes the old one's place; who asked is who asked. */
static void renew(struct store_approval *approval, const struct store_approval *asked,
		  int64_t now_ms)
{
	approval->needed = asked->needed;
	approval->for_ms = asked->for_ms;
	approval->policy = asked->policy;
	approval->alike = asked->alike;
	approval->shown = asked->shown;
	approval_ask(approval, now_ms);
}

static int ask_anew(struct ledger *ledger, struct store_command *command, struct asked *asked,
		    int64_t now_ms)
{
	struct store_operation *record = asked->record;
	enum operation_state before = record->state;
	int r;

	renew(asked->approval, &command->approval, now_ms);
	r = put_approval(ledger, record, asked->approval);
	if (r == 0)
		r = ledger_add_notice(ledger, id_op(&record->id), NOTICE_ASKED, now_ms);
	if (r == 0)
		r = move(ledger, command, asked, EVENT_ASKED_AGAIN, now_ms);
	if (r == 0 && before == STATE_RUNNING)
		r = ledger_end_attempt(ledger, id_op(&record->id), command->attempt_number,
				       OUTCOME_AWAITING_APPROVAL);
	if (r == 0)
		r = ledger_record_attempt(ledger, record, &command->attempt);
	return r == 0 ? ledger_say_approval(ledger, NULL, record, asked->approval, before) : r;
}

int ledger_ask_again(struct ledger *ledger, struct store_command *command)
{
	struct asked asked = {0};
	int r;

	require(command->approval.needed);
	command->makes_due = false;
	r = read_asked(ledger, command, &asked);
	if (r == 0)
		r = approval_judge_asking(command, asked.record);
	return r == 0 ? ask_anew(ledger, command, &asked, env_wall_ms(ledger->env)) : r;
}

/* -- what lapses ------------------------------------------------------------------- */

/* The first that is over at `now_ms`, as *out_op; 0: none is. */
static int find_over(struct ledger *ledger, int64_t now_ms, int64_t *out_op)
{
	sqlite3_stmt *over = ledger_statement(ledger, SQL_APPROVAL_OVER);
	sqlite3_stmt *ahead = ledger_statement(ledger, SQL_APPROVAL_AHEAD);
	int r;

	sqlite3_bind_int64(over, 1, now_ms);
	r = ledger_number(ledger, over, 0, out_op);
	if (r < 0 || *out_op)
		return r;
	sqlite3_bind_int64(ahead, 1, time_add(now_ms, CLOCK_SLACK_MS));
	return ledger_number(ledger, ahead, 0, out_op);
}

static int find_next(struct ledger *ledger, struct store_command *command)
{
	int r = ledger_number(ledger, ledger_statement(ledger, SQL_APPROVAL_NEXT), 0,
			      &command->due_ms);

	return r == 0 ? ledger_number(ledger, ledger_statement(ledger, SQL_APPROVAL_OLDEST), 0,
				      &command->oldest_ms)
		      : r;
}

int ledger_has_lapsed(struct ledger *ledger, struct store_command *command)
{
	int64_t op = 0;
	int r = find_over(ledger, env_wall_ms(ledger->env), &op);

	command->cancelled_count = 0;
	command->has_more = false;
	if (r == 0)
		r = find_next(ledger, command);
	return r < 0 ? r : op != 0;
}

static int lapse_one(struct ledger *ledger, struct store_command *command, int64_t op,
		     int64_t now_ms)
{
	struct store_command one = {.kind = STORE_LAPSE, .mem = command->mem};
	struct asked asked = {0};
	int r = ledger_id_of(ledger, op, &one.operation.id);

	if (r == 0)
		r = read_asked(ledger, &one, &asked);
	if (r != 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	r = lapse(ledger, &one, &asked, now_ms);
	command->cancelled[command->cancelled_count++] = one.operation.id;
	command->makes_due = command->makes_due || one.makes_due;
	return r;
}

int ledger_lapse(struct ledger *ledger, struct store_command *command)
{
	int64_t now_ms = env_wall_ms(ledger->env), op = 0;
	int r = 0;

	require(command->limit >= 1 && command->limit <= STORE_ERRANDS_MAX);
	command->cancelled_count = 0;
	command->has_more = command->makes_due = false;
	command->cancelled =
		arena_zalloc(command->mem, command->limit * sizeof(*command->cancelled));
	if (!command->cancelled)
		return FAIL_MEMORY;
	while (r == 0 && (r = find_over(ledger, now_ms, &op)) == 0 && op) {
		command->has_more = command->cancelled_count == command->limit;
		if (command->has_more)
			break;
		r = lapse_one(ledger, command, op, now_ms);
	}
	if (r == FAIL_MEMORY && command->cancelled_count) { /* the others are over still */
		command->has_more = true;
		r = 0;
	}
	return r == 0 ? find_next(ledger, command) : r;
}

/* -- reading ----------------------------------------------------------------------- */

static int read_alike(struct ledger *ledger, struct store_command *command, int64_t op)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_APPROVAL_ALIKE);
	int r;

	command->alike = arena_zalloc(command->mem, STORE_WAITERS_LISTED * sizeof(*command->alike));
	if (!command->alike)
		return FAIL_MEMORY;
	bind_hash(list, 1, &command->question->alike);
	sqlite3_bind_int64(list, 2, op);
	sqlite3_bind_int(list, 3, STORE_WAITERS_LISTED);
	while ((r = ledger_step(ledger, list)) > 0)
		id_make(sqlite3_column_int64(list, 0), sqlite3_column_int64(list, 1),
			&command->alike[command->alike_count++]);
	return r;
}

static int read_previous(struct ledger *ledger, struct store_command *command,
			 const struct store_operation *record)
{
	sqlite3_stmt *get = ledger_statement(ledger, SQL_APPROVAL_PREVIOUS);
	int r;

	bind_str(get, 1, record->account);
	bind_str(get, 2, record->action);
	sqlite3_bind_int64(get, 3, id_op(&record->id));
	r = ledger_step(ledger, get);
	if (r <= 0)
		return r;
	id_make(sqlite3_column_int64(get, 0), sqlite3_column_int64(get, 1), &command->previous);
	command->previous_ms = sqlite3_column_int64(get, 2);
	r = ledger_column_unsealed(ledger, get, 3, shown_place(sqlite3_column_int64(get, 0)),
				   command->mem, &command->previous_shown);
	sqlite3_reset(get);
	return r;
}

int ledger_find_approval(struct ledger *ledger, struct store_command *command,
			 const struct store_operation *record)
{
	int r;

	command->alike_count = 0;
	command->previous = (struct operation_id){0};
	command->previous_ms = 0;
	command->previous_shown = str_of("", 0);
	r = ledger_tell_approval(ledger, record, command);
	if (r < 0 || !record->is_asked)
		return r;
	r = read_alike(ledger, command, id_op(&record->id));
	return r == 0 ? read_previous(ledger, command, record) : r;
}

/* What a page has taken so far. */
struct page {
	size_t scanned; /* looked at */
	size_t shown;	/* bytes; whoever asks with large commands hides nobody else's */
};

/* One more of the page. */
static int add_found(struct ledger *ledger, struct store_command *command, int64_t op,
		     struct page *page)
{
	struct store_approval *approval = &command->approvals[command->found_count];
	struct store_operation *record;
	struct hash unused;
	int r = ledger_read(ledger, op, command->mem, &record);

	if (r == 0)
		r = ledger_count_attempts(ledger, record);
	if (r == 0)
		r = ledger_read_approval(ledger, op, command->mem, true, approval, &unused);
	if (r == STORE_ABSENT)
		return 0;
	if (r == 0)
		command->found[command->found_count++] = *record;
	page->shown += approval->shown.len;
	return r;
}

static bool is_over(const struct store_command *command, const struct page *page)
{
	return command->found_count == command->limit || page->scanned == STORE_SCAN_MAX ||
	       page->shown >= STORE_SHOWN_MAX;
}

/* Fill the page from one of its two parts, behind `before`. */
static int fill_page(struct ledger *ledger, struct store_command *command, int64_t before,
		     struct page *page)
{
	sqlite3_stmt *list = ledger_statement(ledger, command->is_past ? SQL_APPROVALS_PAST
								       : SQL_APPROVALS_WAITING);
	int r = 0;

	sqlite3_bind_int64(list, 1, before ? before : INT64_MAX);
	while (r == 0 && (r = ledger_step(ledger, list)) > 0) {
		struct str account =
			str_of(sqlite3_column_blob(list, 1), (size_t)sqlite3_column_bytes(list, 1));
		int64_t op = sqlite3_column_int64(list, 0);
		bool is_wanted =
			!command->filter_account.len || str_equal(account, command->filter_account);

		r = 0;
		if (is_over(command, page)) {
			command->has_more = true;
			break;
		}
		page->scanned++;
		id_make(op, 0, &command->next_before);
		if (is_wanted)
			r = add_found(ledger, command, op, page);
	}
	sqlite3_reset(list);
	return r;
}

int ledger_approvals(struct ledger *ledger, struct store_command *command)
{
	int64_t before = id_op(&command->before);
	struct page page = {0};
	int r;

	require(command->limit >= 1 && command->limit <= STORE_LIST_MAX);
	command->found_count = 0;
	command->has_more = false;
	command->next_before = command->before;
	command->found = arena_zalloc(command->mem, command->limit * sizeof(*command->found));
	command->approvals =
		arena_zalloc(command->mem, command->limit * sizeof(*command->approvals));
	if (!command->found || !command->approvals)
		return FAIL_MEMORY;
	r = fill_page(ledger, command, before, &page);
	if (r != 0 || command->has_more || command->is_past ||
	    command->filter_state == STATE_AWAITING_APPROVAL)
		return r;
	command->is_past = true;
	command->next_before = (struct operation_id){0};
	return fill_page(ledger, command, 0, &page);
}
