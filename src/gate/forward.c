/*
 * One forwarding, from the request's lines to the event that it is for its operation.
 *
 * What each sending adds is added here and nowhere else: the downstream key, derived from the
 * operation, the fencing number of its lock, and the gate's own credential. The caller's own lines
 * of those names are taken out, so that the service never sees two. What the answer means is
 * decided here too, once it is whole: by its status, and where the action says so by what is in it.
 * An answer that was not collected says no more than its status.
 */
#include "gate/forward.h"

#include "core/downstream_key.h"
#include "core/text.h"
#include "gate/headers.h"

enum {
	FORWARD_LINES_MAX = 256 * 1024, /* the largest head, and what is added to it */
	FORWARD_KEY_ROOM = 1024,	/* what a spliced body may be longer */
	RETRY_AFTER_MAX_S = 86400,
	READING_FIXED_MEMORY = 64 * 1024,
	READING_FACTOR = 32, /* bytes for each of an answer: the most that json/ ever takes */
};

static bool is_final(const struct forward *forward)
{
	return forward->event == EVENT_SUCCEEDED || forward->event == EVENT_REFUSED;
}

/* By a date: so long from now. */
static int seconds_until(struct str date, int64_t now_ms)
{
	int64_t unix_s, seconds;

	if (!http_date_read(date, &unix_s))
		return -1;
	seconds = unix_s - now_ms / 1000;
	if (seconds < 0)
		return 0;
	return seconds < RETRY_AFTER_MAX_S ? (int)seconds : RETRY_AFTER_MAX_S;
}

/* The service may have said when (RFC 9110 § 10.2.3): within bounds; -1: it has not. */
static int seconds_asked_for(struct str lines, int64_t now_ms)
{
	struct str text = http_line_value(lines, STR("Retry-After"));
	uint64_t seconds;

	if (str_to_u64(text, RETRY_AFTER_MAX_S, &seconds))
		return (int)seconds;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return seconds_until(text, now_ms);
	}
	return text.len ? RETRY_AFTER_MAX_S : -1;
}

static void call_head(struct call *call)
{
	struct forward *forward = call->owner;

	forward->event = outcome_of_sending(forward->policy->statuses, SENDING_ANSWERED,
					    call->answer.status);
	headers_from_upstream(buf_str(&call->answer.fields), &forward->answer_headers,
			      &forward->first_headers);
}

/* Over the limit: offered to whoever waits for it, and only digested. */
static bool run_over(struct forward *forward, struct str piece)
{
	forward->is_over = true;
	return !forward->overflow || forward->overflow(forward, piece);
}

static bool call_data(struct call *call, struct str piece)
{
	struct forward *forward = call->owner;
	struct buf *body = &forward->answer_body;

	if (!is_final(forward))
		return true;
	if (forward->is_over || piece.len > body->max - body->len) {
		if (!run_over(forward, piece))
			return false;
	} else if (buf_append_str(body, piece) != 0) {
		return false;
	}
	forward->answer_length += piece.len;
	hasher_add(&forward->digest, piece.at, piece.len);
	return true;
}

/* Looked into with memory of its own: what a caller's request took of its own decides nothing. */
static void read_answer(struct forward *forward)
{
	const struct action *action = forward->policy->action;
	struct str type = http_line_value(buf_str(&forward->answer_headers), STR("Content-Type"));
	struct response_facts read = {0};
	struct arena mem;

	if (!is_final(forward) || forward->is_over || !action || !response_is_read(action))
		return;
	arena_init(&mem, READING_FIXED_MEMORY + READING_FACTOR * forward->answer_body.len);
	response_read(action, type, buf_str(&forward->answer_body), &mem, &read);
	forward->facts.reference = arena_str(forward->mem, read.reference);
	forward->facts.resource = arena_str(forward->mem, read.resource);
	forward->facts.budget_id = arena_str(forward->mem, read.budget_id);
	forward->facts.has_failed = read.has_failed;
	arena_fini(&mem);
	if (read.has_failed)
		forward->event = EVENT_REFUSED;
}

static const char *reason_of(const struct forward *forward)
{
	switch (forward->event) {
	case EVENT_LOST_SIGHT:
		return forward->call.reason
			       ? forward->call.reason
			       : "the service answered with a status that decides nothing";
	case EVENT_NOT_SENT:
		return forward->status
			       ? "The service said that it did not act (see statuses.not_sent)."
			       : forward->call.reason;
	default:
		return forward->facts.has_failed ? "the answer says that it failed (failed_when)"
						 : NULL;
	}
}

static void call_done(struct call *call, enum sending sending)
{
	struct forward *forward = call->owner;

	credential_end(&forward->credential);
	forward->sending = sending;
	forward->status = call->answer.status;
	forward->event =
		outcome_of_sending(forward->policy->statuses, sending, call->answer.status);
	read_answer(forward);
	forward->reason = reason_of(forward);
	forward->retry_after_s =
		seconds_asked_for(buf_str(&forward->first_headers), env_wall_ms(forward->env));
	forward->done(forward);
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

/* Is it a digest of the body? It would no longer be true of one that a key was put into. */
static bool is_digest(struct str name)
{
	return str_equal_nocase(name, STR("Content-Digest")) ||
	       str_equal_nocase(name, STR("Repr-Digest")) ||
	       str_equal_nocase(name, STR("Digest")) || str_equal_nocase(name, STR("Content-MD5"));
}

static void write_lines(struct forward *forward, const char *key)
{
	const struct action *action = forward->policy->action;
	const struct rule_downstream_key *rule = &forward->policy->downstream_key;
	struct str fencing = action && forward->fence ? action->lock.fencing : STR("");
	struct buf *out = &forward->call_headers;
	struct str lines = forward->headers;
	struct http_field field;

	while (http_next_line(&lines, &field)) {
		if ((rule->header.len && text_names_header(field.name, rule->header)) ||
		    (fencing.len && text_names_header(field.name, fencing)) ||
		    credential_replaces(policy_upstream(forward->policy), field.name) ||
		    (rule->field.len && is_digest(field.name)))
			continue;
		http_write_field(out, field.name, field.value);
	}
	if (rule->header.len)
		http_write_field(out, rule->header, str_from(key));
	if (fencing.len)
		http_write_field_u64(out, fencing, forward->fence);
}

/* The body to send. False: it has no place for the key, so nothing may be sent. */
static bool write_body(struct forward *forward, const char *key, struct str *out_body)
{
	struct str field = forward->policy->downstream_key.field;

	*out_body = forward->body;
	if (!field.len)
		return true;
	if (downstream_key_splice(forward->body, field, key, &forward->call_body) != 0)
		return false;
	*out_body = buf_str(&forward->call_body);
	return true;
}

void forward_start(struct generation *generation, struct forward *forward)
{
	char key[DOWNSTREAM_KEY_TEXT + 1] = "";
	struct str body;
	bool has_place;

	buf_init(&forward->call_headers, FORWARD_LINES_MAX);
	buf_init(&forward->call_body, forward->body.len + FORWARD_KEY_ROOM);
	buf_init(&forward->answer_headers, FORWARD_LINES_MAX);
	buf_init(&forward->first_headers, FORWARD_LINES_MAX);
	buf_init(&forward->answer_body, forward->policy->max_response);
	hasher_init(&forward->digest);
	forward->retry_after_s = -1;
	if (policy_has_downstream_key(forward->policy))
		downstream_key_write(&forward->id, key);
	write_lines(forward, key);
	has_place = write_body(forward, key, &body);
	forward->call = (struct call){
		.events = &call_events,
		.owner = forward,
		.method = forward->method,
		.target = forward->target,
		.body = body,
		.has_body = forward->has_body,
		.has_total_timeout = true,
		.timeout_ms = forward->policy->timeout_ms,
		.is_spoiled = forward->are_headers_spoiled || !has_place,
	};
	credential_start(&forward->credential, generation, forward->policy->upstream,
			 &forward->call, &forward->call_headers);
}

static struct store_answer answer_of(const struct forward *forward)
{
	struct hasher digest = forward->digest; /* a copy: settling may have to be repeated */
	struct store_answer answer = {0};

	if (!is_final(forward))
		return answer;
	answer.status = forward->status;
	answer.is_kept = !forward->is_over;
	answer.headers = buf_str(&forward->answer_headers);
	if (answer.is_kept)
		answer.body = buf_str(&forward->answer_body);
	answer.length = forward->answer_length;
	hasher_end(&digest, &answer.digest);
	return answer;
}

void forward_settlement(struct forward *forward, struct str account, struct store_command *command)
{
	const struct policy *policy = forward->policy;

	command->kind = STORE_SETTLE;
	command->event = forward->event;
	command->answer = answer_of(forward);
	command->retention_ms = policy->retention_ms;
	command->plain_retention_ms = policy->plain_retention_ms;
	command->operation.id = forward->id;
	command->operation.reference = forward->facts.reference;
	command->operation.resource = forward->facts.resource;
	if (forward->event != EVENT_NOT_SENT) /* that is no end; its try says why */
		command->operation.reason = str_from(forward->reason);
	if (forward->event == EVENT_SUCCEEDED && forward->facts.budget_id.len)
		budget_hash(account, policy->settings->upstreams[policy->upstream].name,
			    forward->facts.budget_id, &command->opens);
}

void forward_fini(struct forward *forward)
{
	if (forward->call.client)
		call_fini(&forward->call);
	buf_fini_wiped(&forward->call_headers);
	buf_fini(&forward->call_body);
	buf_fini(&forward->answer_headers);
	buf_fini(&forward->first_headers);
	buf_fini(&forward->answer_body);
}
