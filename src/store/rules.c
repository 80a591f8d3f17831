/* What a claim and an event mean for a record (see rules.h). */
#include "store/rules.h"

#include "core/downstream_key.h"

/* Do people have to be asked of it, whoever asks? What was let in before they had is not sent so.
 */
static bool must_be_asked(const struct store_command *claim)
{
	return claim->approval.needed && !claim->approval.unless_known;
}

enum claim_way claim_way(const struct store_command *claim, const struct store_operation *record,
			 int64_t now_ms)
{
	if (operation_is_terminal(record->state) && record->expires_ms <= now_ms)
		return claim_way_tombstone(claim, time_add(record->expires_ms, claim->tombstone_ms),
					   now_ms);
	if (claim->may_pick_up && !must_be_asked(claim) && record->state == STATE_QUEUED &&
	    !record->is_dispatched &&
	    hash_equal(&claim->operation.fingerprint, &record->fingerprint))
		return CLAIM_PICKS_UP;
	return CLAIM_IS_TAKEN;
}

enum claim_way claim_way_tombstone(const struct store_command *claim, int64_t until_ms,
				   int64_t now_ms)
{
	return claim->tombstone_ms > 0 && until_ms > now_ms ? CLAIM_IS_EXPIRED : CLAIM_IS_NEW;
}

bool claim_may_retry(const struct store_operation *record)
{
	return record->state == STATE_FAILED || record->state == STATE_CANCELLED;
}

int64_t lapse_now(struct lapse *lapse, const struct env *env)
{
	int64_t wall_ms = env_wall_ms(env), monotonic_ms = env_monotonic_ms(env);
	int64_t expected_ms = lapse->now_ms + monotonic_ms - lapse->told_ms;
	bool is_ahead = lapse->now_ms && wall_ms - expected_ms > LAPSE_STEP_MS;

	if (is_ahead && !lapse->doubted_ms)
		lapse->doubted_ms = monotonic_ms;
	if (is_ahead && monotonic_ms - lapse->doubted_ms < LAPSE_BELIEVED_MS) {
		lapse->now_ms = expected_ms;
	} else {
		lapse->now_ms = wall_ms;
		lapse->doubted_ms = 0;
	}
	lapse->told_ms = monotonic_ms;
	return lapse->now_ms;
}

uint32_t claim_epoch(const struct store_operation *record, uint32_t doubts)
{
	return record->epoch + 1 + doubts;
}

bool identity_is_taken(const struct store_operation *record, int64_t until_ms, int64_t now_ms)
{
	return !claim_may_retry(record) && until_ms > now_ms;
}

bool version_is(int64_t expected, uint64_t version)
{
	return expected >= 0 && (uint64_t)expected == version;
}

bool version_may_come(int64_t expected, uint64_t version)
{
	return expected >= 0 && (uint64_t)expected >= version;
}

int budget_judge_spending(const struct budget_facts *budget, const struct money *spends)
{
	int64_t left;

	if (memcmp(budget->currency, spends->currency, sizeof(budget->currency)) != 0)
		return STORE_OTHER_CURRENCY;
	if (__builtin_sub_overflow(budget->total, budget->used, &left))
		return STORE_OVER_BUDGET;
	return spends->minor_units >= 0 && spends->minor_units <= left ? 0 : STORE_OVER_BUDGET;
}

struct store_attempt attempt_of_claim(const struct store_command *claim, enum operation_state state)
{
	struct store_attempt attempt = claim->attempt;

	if (!attempt.outcome && state == STATE_QUEUED)
		attempt.outcome = OUTCOME_QUEUED;
	if (!attempt.outcome && state == STATE_AWAITING_APPROVAL)
		attempt.outcome = OUTCOME_AWAITING_APPROVAL;
	return attempt;
}

int64_t record_due(bool is_dispatched, enum operation_state next, int64_t next_ms)
{
	bool is_the_gates = next == STATE_UNKNOWN || (next == STATE_QUEUED && is_dispatched);

	return is_the_gates ? next_ms : 0;
}

int64_t queued_due(int64_t due_ms, int64_t changed_ms, int64_t now_ms)
{
	bool was_set_back = changed_ms > time_add(now_ms, CLOCK_SLACK_MS) ||
			    due_ms > time_add(changed_ms, QUEUED_WAIT_MAX_MS);

	return was_set_back && due_ms > now_ms ? now_ms : due_ms;
}

int64_t turn_due(const struct store_operation *record, int64_t now_ms)
{
	return record->updated_ms < now_ms ? record->updated_ms : now_ms;
}

int64_t record_expiry(const struct store_command *command, enum operation_state state,
		      int64_t taken_until_ms, int64_t now_ms)
{
	bool is_plain = state == STATE_FAILED || state == STATE_CANCELLED;
	int64_t until_ms = time_add(now_ms, is_plain && command->plain_retention_ms
						    ? command->plain_retention_ms
						    : command->retention_ms);

	return is_plain || until_ms > taken_until_ms ? until_ms : taken_until_ms;
}

bool record_tries_anew(const struct store_command *command, enum operation_state next)
{
	if (next == STATE_UNKNOWN)
		return command->attempt.by != ACTOR_RECONCILER;
	return next == STATE_QUEUED && command->event != EVENT_NOT_SENT;
}

bool record_was_untried(const struct store_command *command, enum operation_state next)
{
	return command->kind == STORE_SETTLE && command->is_untried && next == STATE_QUEUED &&
	       command->event == EVENT_NOT_SENT;
}

bool record_says_anew(const struct store_command *command, enum operation_state next)
{
	return command->kind == STORE_SETTLE && next != STATE_QUEUED;
}

void record_send(struct store_operation *record, uint32_t doubts, int64_t now_ms)
{
	record->epoch = claim_epoch(record, doubts);
	record->state = STATE_RUNNING;
	record->tries++;
	record->due_ms = 0;
	record->updated_ms = now_ms;
	if (!record->sent_ms)
		record->sent_ms = now_ms;
}

static void replace_if_given(struct str *text, struct str given)
{
	if (given.len)
		*text = given;
}

/* Asking is one command, answering another; and what was asked about is sent by the dispatcher
 * alone, which looks at what was agreed to. */
static bool is_for_people(const struct store_operation *record, enum operation_event event)
{
	bool is_answer = event == EVENT_APPROVED || event == EVENT_DENIED;

	return event == EVENT_ASKED_AGAIN ||
	       (record->is_asked && (is_answer || event == EVENT_PICKED_UP));
}

int record_move(struct store_operation *record, const struct store_command *command,
		int64_t taken_until_ms, int64_t now_ms)
{
	const struct store_operation *given = &command->operation;
	bool any_epoch = command->kind == STORE_MOVE && command->any_epoch;
	enum operation_state next;

	if (!any_epoch && record->epoch != given->epoch)
		return STORE_LOST;
	if (is_for_people(record, command->event))
		return STORE_LOST;
	if (command->kind == STORE_SETTLE && record->state != STATE_RUNNING)
		return STORE_LOST;
	if (operation_move(record->state, command->event, &next) != 0)
		return STORE_LOST;
	record->state = next;
	if (next == STATE_RUNNING) {
		record->epoch++;
		record->tries++;
	}
	if (record_tries_anew(command, next))
		record->tries = 0;
	if (record_was_untried(command, next) && record->tries)
		record->tries--;
	record->due_ms = record_due(record->is_dispatched, next, command->next_ms);
	record->updated_ms = now_ms;
	if (operation_is_terminal(next))
		record->expires_ms = record_expiry(command, next, taken_until_ms, now_ms);
	if (record_says_anew(command, next))
		record->reason = record->decided_by = STR("");
	replace_if_given(&record->reference, given->reference);
	replace_if_given(&record->resource, given->resource);
	replace_if_given(&record->reason, given->reason);
	replace_if_given(&record->decided_by, given->decided_by);
	return 0;
}

void record_start(struct store_operation *record, int64_t now_ms, int64_t retention_ms)
{
	if (record->state != STATE_QUEUED && record->state != STATE_AWAITING_APPROVAL)
		record->state = STATE_RUNNING;
	record->epoch = record->tries = record->state == STATE_RUNNING ? 1 : 0;
	record->attempts = 0;
	record->sent_ms = record->state == STATE_RUNNING ? now_ms : 0;
	record->due_ms = record_due(record->is_dispatched, record->state, now_ms);
	record->created_ms = record->updated_ms = now_ms;
	record->expires_ms = time_add(now_ms, retention_ms);
}

int64_t attempt_time(const struct store_attempt *attempt, int64_t created_ms)
{
	return attempt->at_ms > created_ms ? attempt->at_ms : created_ms;
}

int record_postpone(struct store_operation *record, const struct store_command *command)
{
	if (record->state != STATE_UNKNOWN || record->epoch != command->operation.epoch)
		return STORE_LOST;
	record->due_ms = command->next_ms;
	record->tries++;
	return 0;
}

bool is_referred_to(const struct operation_id *id, struct str reference, struct str wanted)
{
	char key[DOWNSTREAM_KEY_TEXT + 1];

	if (!wanted.len || str_equal(wanted, reference))
		return true;
	if (wanted.len != DOWNSTREAM_KEY_TEXT)
		return false;
	downstream_key_write(id, key);
	return str_equal(wanted, str_from(key));
}

bool document_fits(const struct store_document *document)
{
	return document->name.len && document->name.len <= STORE_DOCUMENT_NAME_MAX &&
	       document->value.len <= STORE_DOCUMENT_VALUE_MAX;
}

const char *store_actor_name(enum store_actor actor)
{
	switch (actor) {
	case ACTOR_CALLER:
		return "caller";
	case ACTOR_DISPATCHER:
		return "dispatcher";
	case ACTOR_RECONCILER:
		return "reconciler";
	case ACTOR_OPERATOR:
		return "operator";
	}
	return "?";
}
