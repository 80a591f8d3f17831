/*
 * What entries say.
 *
 * One JSON object an entry, with whatever is known and not empty:
 *
 *   events                    what happened: "attempted", "sent", "completed", …
 *   operation                 its id; none where an attempt was refused and left none
 *   account, token, fingerprint, action, method, path, retry_of   whose it is, and what
 *   from, to, epoch           how it moved, and the number of its sending
 *   attempt, outcome, agent, credential, task, step, request      by which request
 *   by                        caller, dispatcher, reconciler, operator, gate
 *   status, digest, length    the service's answer: SHA-256 of its body and how long that is
 *   reference, resource       what the service calls the effect
 *   needed, given             people who have to agree, and have; with
 *   policy, until_ms          the declaration that asks, and how long it is open
 *   answerer, role            who answered, in which role ("by" is their credential)
 *   reason, note              why
 *   subject                   of administration: which key or secret; of a key, agent and role
 *                             say who has it, and as what
 *   cut                       true where texts were too long for an entry, and were cut
 *
 * The time is the entry's own, but for notes, which are written later: those have at_ms.
 */
#include "store/ledger.h"

#include "base/err.h"
#include "store/protection.h"
#include "json/json.h"

enum { UNCUT = SIZE_MAX };

/* Where an entry would be too long, texts are cut to so many bytes; a path to four times that.
 * Escaped, a byte may take six. */
enum { CUT_TEXT = 512, CUT_PATH = 2048 };

static const char *const event_names[EVENT_COUNT][AUDIT_EVENTS] = {
	[EVENT_APPROVED] = {"approved"},
	[EVENT_DENIED] = {"denied"},
	[EVENT_PICKED_UP] = {"sent"},
	[EVENT_CANCELLED] = {"cancelled"},
	[EVENT_SUCCEEDED] = {"completed"},
	[EVENT_REFUSED] = {"failed"},
	[EVENT_NOT_SENT] = {"not_sent"},
	[EVENT_LOST_SIGHT] = {"unknown"},
	[EVENT_FOUND_DONE] = {"resolved", "completed"},
	[EVENT_FOUND_FAILED] = {"resolved", "failed"},
	[EVENT_FOUND_NOT_DONE] = {"resolved", "not_sent"},
	[EVENT_RESENT] = {"sent"},
	[EVENT_ASKED_AGAIN] = {"asked"},
};

static enum entry_type type_of_event(enum operation_event event)
{
	switch (event) {
	case EVENT_APPROVED:
	case EVENT_DENIED:
	case EVENT_ASKED_AGAIN:
		return ENTRY_APPROVAL;
	case EVENT_PICKED_UP:
	case EVENT_RESENT:
		return ENTRY_SEND;
	case EVENT_SUCCEEDED:
	case EVENT_REFUSED:
	case EVENT_NOT_SENT:
	case EVENT_LOST_SIGHT:
		return ENTRY_OUTCOME;
	default:
		return ENTRY_RESOLUTION;
	}
}

/* -- the text ---------------------------------------------------------------------- */

/* A writer that leaves out what is empty, and cuts what is too long. */
struct teller {
	struct json_writer json;
	size_t cut; /* UNCUT, or how much of a text is told */
};

static void tell(struct teller *teller, const char *name, struct str text, size_t cut)
{
	if (!text.len)
		return;
	if (teller->cut != UNCUT && text.len > cut)
		text.len = cut;
	json_pair(&teller->json, name, text);
}

static void tell_text(struct teller *teller, const char *name, struct str text)
{
	tell(teller, name, text, CUT_TEXT);
}

static void tell_number(struct teller *teller, const char *name, int64_t number)
{
	if (!number)
		return;
	json_name(&teller->json, name);
	json_integer(&teller->json, number);
}

static void tell_hash(struct teller *teller, const char *name, const struct hash *hash)
{
	char hex[2 * HASH_SIZE + 1];

	hex_write(hash->bytes, HASH_SIZE, hex);
	tell_text(teller, name, str_of(hex, 2 * HASH_SIZE));
}

static void tell_events(struct teller *teller, const struct ledger_said *said)
{
	json_name(&teller->json, "events");
	json_open_array(&teller->json);
	for (size_t i = 0; i < AUDIT_EVENTS && said->events[i]; i++)
		json_text(&teller->json, said->events[i]);
	json_close_array(&teller->json);
}

static void tell_operation(struct teller *teller, const struct store_operation *operation)
{
	char id[OPERATION_ID_TEXT + 1];

	if (id_op(&operation->id)) {
		operation_id_write(&operation->id, id);
		tell_text(teller, "operation", str_of(id, OPERATION_ID_TEXT));
	}
	tell_text(teller, "account", operation->account);
	tell_text(teller, "token", operation->token);
	tell_hash(teller, "fingerprint", &operation->fingerprint);
	tell_text(teller, "action", operation->action);
	tell_text(teller, "method", operation->method);
	tell(teller, "path", operation->path, CUT_PATH);
	tell_text(teller, "retry_of", operation->retry_of);
}

static void tell_move(struct teller *teller, const struct ledger_said *said)
{
	if (said->from)
		tell_text(teller, "from", str_from(operation_state_name(said->from)));
	if (said->has_moved)
		tell_text(teller, "to", str_from(operation_state_name(said->operation->state)));
	tell_number(teller, "epoch", said->operation->epoch);
	tell_number(teller, "attempt", said->attempt_number);
}

static void tell_attempt(struct teller *teller, const struct store_attempt *attempt)
{
	if (attempt->outcome)
		tell_text(teller, "outcome", str_from(outcome_name(attempt->outcome)));
	tell_text(teller, "agent", attempt->agent);
	tell_text(teller, "credential", attempt->credential);
	tell_text(teller, "task", attempt->task);
	tell_text(teller, "step", attempt->step);
	tell_text(teller, "request", attempt->request_id);
	tell_text(teller, "note", attempt->note);
}

static void tell_answer(struct teller *teller, const struct store_answer *answer)
{
	tell_number(teller, "status", answer->status);
	if (!answer->status)
		return;
	tell_hash(teller, "digest", &answer->digest);
	tell_number(teller, "length", (int64_t)answer->length);
}

/* Whoever decided; else whose attempt it is. A settlement only says so where it is not the one who
 * began it. */
static void tell_by(struct teller *teller, const struct ledger_said *said)
{
	if (said->has_end && said->operation->decided_by.len)
		tell_text(teller, "by", said->operation->decided_by);
	else if (said->attempt && (said->attempt->by || said->type != ENTRY_OUTCOME))
		tell_text(teller, "by", str_from(store_actor_name(said->attempt->by)));
}

static void tell_end(struct teller *teller, const struct store_operation *operation)
{
	tell_text(teller, "reference", operation->reference);
	tell_text(teller, "resource", operation->resource);
	tell_text(teller, "reason", operation->reason);
}

static void tell_approval(struct teller *teller, const struct store_approval *approval)
{
	tell_number(teller, "needed", approval->needed);
	tell_number(teller, "given", approval->given);
	tell_hash(teller, "policy", &approval->policy);
	tell_number(teller, "until_ms", approval->expires_ms);
}

static void tell_consent(struct teller *teller, const struct store_consent *consent)
{
	tell_text(teller, "by", consent->by);
	tell_text(teller, "answerer", consent->agent);
	if (consent->role)
		tell_text(teller, "role", str_from(role_name(consent->role)));
	tell_text(teller, "reason", consent->why);
}

static void tell_change(struct teller *teller, const struct ledger_said *said)
{
	tell_operation(teller, said->operation);
	tell_move(teller, said);
	if (said->attempt)
		tell_attempt(teller, said->attempt);
	if (said->type == ENTRY_REPLAY)
		tell_number(teller, "at_ms", said->attempt->at_ms);
	if (said->approval)
		tell_approval(teller, said->approval);
	if (said->consent)
		tell_consent(teller, said->consent);
	else
		tell_by(teller, said);
	if (said->answer)
		tell_answer(teller, said->answer);
	if (said->has_end)
		tell_end(teller, said->operation);
}

static void tell_administration(struct teller *teller,
				const struct store_administration *administration)
{
	tell_text(teller, "subject", administration->subject);
	tell_text(teller, "account", administration->account);
	tell_text(teller, "agent", administration->agent);
	if (administration->role)
		tell_text(teller, "role", str_from(role_name(administration->role)));
	tell_text(teller, "by", administration->by);
	tell_text(teller, "reason", administration->why);
}

static void tell_all(const struct ledger_said *said, size_t cut, struct buf *out)
{
	struct teller teller = {.cut = cut};

	buf_clear(out);
	json_writer_init(&teller.json, out);
	json_open_object(&teller.json);
	tell_events(&teller, said);
	if (said->administration)
		tell_administration(&teller, said->administration);
	else
		tell_change(&teller, said);
	if (cut != UNCUT) {
		json_name(&teller.json, "cut");
		json_boolean(&teller.json, true);
	}
	json_close_object(&teller.json);
}

int ledger_say(struct ledger *ledger, const struct ledger_said *said)
{
	struct buf *text = &ledger->audit.text;

	if (!store_is_protected())
		return 0;
	tell_all(said, UNCUT, text);
	if (text->is_spoiled)
		tell_all(said, CUT_TEXT, text);
	return ledger_audit_append(ledger, said->type);
}

/* -- each change ------------------------------------------------------------------- */

static struct str column_text(sqlite3_stmt *row, int column)
{
	const void *bytes = sqlite3_column_blob(row, column);

	return bytes ? str_of(bytes, (size_t)sqlite3_column_bytes(row, column)) : STR("");
}

void ledger_audit_columns(sqlite3_stmt *row, int first, struct store_operation *out_operation)
{
	out_operation->account = column_text(row, first);
	out_operation->token = column_text(row, first + 1);
	column_hash(row, first + 2, &out_operation->fingerprint);
	out_operation->method = column_text(row, first + 3);
	out_operation->path = column_text(row, first + 4);
	out_operation->action = column_text(row, first + 5);
}

int ledger_say_claim(struct ledger *ledger, const struct store_command *command,
		     const struct store_operation *record, enum operation_state from)
{
	bool is_sent = record->state == STATE_RUNNING;
	const struct ledger_said said = {
		.type = ENTRY_CLAIM,
		.events = {"attempted", is_sent ? "sent" : NULL},
		.operation = record,
		.from = from,
		.has_moved = true,
		.attempt = &command->attempt,
		.attempt_number = command->attempt_number,
	};

	return ledger_say(ledger, &said);
}

int ledger_say_settled(struct ledger *ledger, const struct store_command *command)
{
	sqlite3_stmt *subject = ledger_statement(ledger, SQL_AUDIT_SUBJECT);
	struct store_operation operation = command->operation;
	const struct ledger_said said = {
		.type = type_of_event(command->event),
		.events = {event_names[command->event][0], event_names[command->event][1]},
		.operation = &operation,
		.from = STATE_RUNNING,
		.has_moved = true,
		.has_end = true,
		.attempt = &command->attempt,
		.attempt_number = command->attempt_number,
		.answer = &command->answer,
	};
	int r;

	if (!store_is_protected())
		return 0;
	if (operation.token.len)
		return ledger_say(ledger, &said);
	sqlite3_bind_int64(subject, 1, id_op(&operation.id));
	r = ledger_step(ledger, subject);
	if (r <= 0)
		return r < 0 ? r : fail(FAIL_UNPLANNED);
	ledger_audit_columns(subject, 0, &operation);
	r = ledger_say(ledger, &said);
	sqlite3_reset(subject);
	return r;
}

int ledger_say_moved(struct ledger *ledger, const struct store_command *command,
		     const struct store_operation *record, enum operation_state from)
{
	bool withdraws = record->is_asked && from == STATE_AWAITING_APPROVAL;
	const char *first = event_names[command->event][0];
	const struct ledger_said said = {
		.type = withdraws ? ENTRY_APPROVAL : type_of_event(command->event),
		.events = {withdraws ? "withdrawn" : first,
			   withdraws ? first : event_names[command->event][1]},
		.operation = record,
		.from = from,
		.has_moved = true,
		.has_end = type_of_event(command->event) != ENTRY_SEND,
		.attempt = &command->attempt,
		.attempt_number = command->attempt.outcome ? record->attempts : 0,
		.answer = &command->answer,
	};

	return ledger_say(ledger, &said);
}

static const char *name_of_stand(const struct store_command *answer,
				 const struct store_approval *approval)
{
	if (answer)
		return answer->kind == STORE_DENY ? "denied" : "approved";
	return approval->stand == APPROVAL_WAITS ? "asked" : "expired";
}

int ledger_say_approval(struct ledger *ledger, const struct store_command *answer,
			const struct store_operation *record, const struct store_approval *approval,
			enum operation_state from)
{
	const struct ledger_said said = {
		.type = ENTRY_APPROVAL,
		.events = {name_of_stand(answer, approval)},
		.operation = record,
		.from = from,
		.has_moved = from && from != record->state,
		.has_end = !answer && operation_is_terminal(record->state),
		.approval = approval,
		.consent = answer ? &answer->consent : NULL,
	};

	return ledger_say(ledger, &said);
}

int ledger_say_taken(struct ledger *ledger, const struct store_errand *errand,
		     const struct store_attempt *attempt)
{
	const struct ledger_said said = {
		.type = ENTRY_SEND,
		.events = {"sent"},
		.operation = &errand->operation,
		.from = STATE_QUEUED,
		.has_moved = true,
		.attempt = attempt,
		.attempt_number = errand->attempt_number,
	};

	return ledger_say(ledger, &said);
}

int ledger_say_outdated(struct ledger *ledger, const struct store_operation *record)
{
	const struct ledger_said said = {
		.type = ENTRY_RESOLUTION,
		.events = {"cancelled"},
		.operation = record,
		.from = STATE_QUEUED,
		.has_moved = true,
		.has_end = true,
	};

	return ledger_say(ledger, &said);
}

int ledger_say_released(struct ledger *ledger, const struct store_command *command,
			const struct store_operation *record)
{
	struct store_operation operation = *record;
	const struct ledger_said said = {
		.type = ENTRY_LOCK,
		.events = {"lock_forced"},
		.operation = &operation,
		.has_end = true,
		.attempt = &command->attempt,
		.attempt_number = command->attempt.outcome ? record->attempts : 0,
	};

	operation.reference = operation.resource = STR("");
	operation.reason = command->operation.reason;
	operation.decided_by = command->operation.decided_by;
	return ledger_say(ledger, &said);
}

static const char *name_of_note(const struct store_attempt *attempt)
{
	if (attempt->by)
		return "asked";
	switch (attempt->outcome) {
	case OUTCOME_REPLAYED:
		return "replayed";
	case OUTCOME_REUSED:
		return "reused";
	case OUTCOME_CONFLICT:
		return "conflict";
	case OUTCOME_LOCKED:
	case OUTCOME_REFUSED:
	case OUTCOME_DENIED:
		return "refused";
	case OUTCOME_EXPIRED:
		return "expired";
	default:
		return "attempted";
	}
}

int ledger_say_noted(struct ledger *ledger, const struct store_command *command,
		     const struct store_operation *record)
{
	const struct ledger_said said = {
		.type = ENTRY_REPLAY,
		.events = {name_of_note(&command->attempt)},
		.operation = record,
		.attempt = &command->attempt,
		.attempt_number = record->attempts,
	};

	return ledger_say(ledger, &said);
}

int ledger_say_administration(struct ledger *ledger,
			      const struct store_administration *administration)
{
	const struct ledger_said said = {
		.type = ENTRY_ADMINISTRATION,
		.events = {administration->event},
		.administration = administration,
	};

	return administration->event ? ledger_say(ledger, &said) : 0;
}

int ledger_say_lost(struct ledger *ledger, const char *reason)
{
	sqlite3_stmt *running = ledger_statement(ledger, SQL_AUDIT_RUNNING);
	struct store_operation operation = {
		.state = STATE_UNKNOWN, .reason = str_from(reason), .decided_by = STR("gate")};
	const struct ledger_said said = {
		.type = ENTRY_OUTCOME,
		.events = {"unknown"},
		.operation = &operation,
		.from = STATE_RUNNING,
		.has_moved = true,
		.has_end = true,
	};
	int r;

	sqlite3_bind_int(running, 1, STATE_RUNNING);
	while ((r = ledger_step(ledger, running)) > 0) {
		id_make(sqlite3_column_int64(running, 0), sqlite3_column_int64(running, 1),
			&operation.id);
		operation.epoch = (uint32_t)sqlite3_column_int64(running, 2);
		ledger_audit_columns(running, 3, &operation);
		r = ledger_say(ledger, &said);
		if (r < 0) {
			sqlite3_reset(running);
			return r;
		}
	}
	return r;
}
