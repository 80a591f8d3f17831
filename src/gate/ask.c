/*
 * One question to a service.
 *
 * It must never be more than a question. So nothing of the write that it is about goes along but
 * what says who asks: a method override would make a write of it, a token or a key of the service's
 * would make it a repetition, a condition would hide what is there. And nothing but a whole,
 * plain answer is judged: a broken one, one that is too large and one in a coding are doubt.
 */
#include "gate/ask.h"

#include "core/text.h"
#include "gate/headers.h"

enum { ASK_LINES_MAX = 256 * 1024 };

static bool is_among(struct str name, const char *const names[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(name, str_from(names[i])))
			return true;
	}
	return false;
}

/* Of the write's body, of its conditions, of how it was to be done. */
static bool is_of_the_write(struct str name)
{
	static const char *const names[] = {
		"Digest",	   "Repr-Digest",
		"Want-Digest",	   "Range",
		"Prefer",	   "Expect",
		"Trailer",	   "Transfer-Encoding",
		"Idempotency-Key", "X-Idempotency-Key",
		"Accept-Encoding",
	};

	return str_starts_with_nocase(name, STR("Content-")) ||
	       str_starts_with_nocase(name, STR("If-")) ||
	       is_among(name, names, sizeof(names) / sizeof(names[0]));
}

/* What names this one write to somebody: the caller's token, the service's key, a lock's number. */
static bool is_a_key(struct str name, const struct policy *policy)
{
	const struct action *action = policy->action;

	if (text_names_header(name, policy->settings->tokens.header))
		return true;
	return action && (text_names_header(name, action->downstream_key.header) ||
			  text_names_header(name, action->lock.fencing));
}

void ask_headers(struct str lines, const struct policy *policy, struct buf *out)
{
	struct http_field field;

	while (http_next_line(&lines, &field)) {
		if (is_of_the_write(field.name) || is_a_key(field.name, policy) ||
		    headers_is_override(&field) ||
		    credential_replaces(policy_upstream(policy), field.name))
			continue;
		http_write_field(out, field.name, field.value);
	}
	buf_append_str(out, STR("Accept-Encoding: identity\r\n"));
}

static void call_head(struct call *call)
{
}

/* What is too much is read to its end, which the timeout bounds, and not judged. */
static bool call_data(struct call *call, struct str piece)
{
	struct ask *ask = call->owner;

	buf_append_str(&ask->body, piece);
	return true;
}

static enum inquiry_verdict doubt(struct ask *ask, const char *why)
{
	struct str copy = arena_str(ask->mem, str_from(why));

	ask->why = copy.at ? copy.at : "the question was not answered";
	return INQUIRY_DOUBT;
}

static bool is_coded(const struct call *call)
{
	struct str coding = http_line_value(buf_str(&call->answer.fields), STR("Content-Encoding"));

	return coding.len && !str_equal_nocase(coding, STR("identity"));
}

static struct store_answer answer_of(const struct ask *ask, struct str lines)
{
	struct str body = ask->found_body;
	struct store_answer answer = {
		.status = ask->inquiry->found_as,
		.is_kept = body.len <= ask->policy->max_response,
		.headers = lines,
		.length = body.len,
	};

	if (answer.is_kept)
		answer.body = body;
	hash_bytes(body.at, body.len, &answer.digest);
	return answer;
}

/* What replays will say: the value's own text, or where it is no JSON the answer as it came. */
static enum inquiry_verdict keep(struct ask *ask, const struct json_value *found, struct str type)
{
	struct str lines = STR("");

	if (found)
		type = STR("application/json");
	else
		ask->found_body = arena_str(ask->mem, buf_str(&ask->body));
	if (type.len)
		lines = arena_printf(ask->mem, "Content-Type: %.*s\r\n", STR_ARG(type));
	if (!lines.at || !ask->found_body.at)
		return doubt(ask, "what was found is too large to be kept");
	ask->answer = answer_of(ask, lines);
	if (found)
		response_read_value(ask->policy->action, found, ask->mem, &ask->facts);
	return INQUIRY_FOUND;
}

static enum inquiry_verdict judge(struct ask *ask)
{
	const struct call *call = &ask->call;
	struct str type = http_line_value(buf_str(&call->answer.fields), STR("Content-Type"));
	const struct json_value *found;
	enum inquiry_verdict verdict;

	if (ask->body.is_spoiled)
		return doubt(ask, "the answer is too large to be looked into");
	if (is_coded(call))
		return doubt(ask, "the answer came in a coding that was not asked for");
	verdict = inquiry_judge(ask->inquiry, call->answer.status, type, buf_str(&ask->body),
				ask->mem, &found, &ask->found_body, &ask->why);
	return verdict == INQUIRY_FOUND ? keep(ask, found, type) : verdict;
}

static const char *why_unanswered(const struct call *call)
{
	return call->reason ? call->reason : "the question was not answered";
}

static void put(struct ask *ask);

/* A question may be asked as often as one likes: so a token that had run out is no answer to it. */
static void ask_again(struct ask *ask)
{
	ask->is_asked_again = true;
	call_fini(&ask->call);
	buf_fini_wiped(&ask->call_headers);
	buf_clear(&ask->body);
	put(ask);
}

static void call_done(struct call *call, enum sending sending)
{
	struct ask *ask = call->owner;
	bool can_renew = credential_end(&ask->credential);

	if (can_renew && !ask->is_asked_again && !ask->is_broken_off) {
		ask_again(ask);
		return;
	}
	ask->verdict = sending == SENDING_ANSWERED ? judge(ask) : doubt(ask, why_unanswered(call));
	ask->done(ask);
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

static void put(struct ask *ask)
{
	buf_init(&ask->call_headers, ASK_LINES_MAX);
	ask_headers(ask->headers, ask->policy, &ask->call_headers);
	ask->call = (struct call){
		.events = &call_events,
		.owner = ask,
		.method = STR("GET"),
		.target = ask->target,
		.has_total_timeout = true,
		.timeout_ms = ask->inquiry->timeout_ms,
	};
	credential_start(&ask->credential, ask->generation, ask->policy->upstream, &ask->call,
			 &ask->call_headers);
}

void ask_start(struct generation *generation, struct ask *ask)
{
	ask->generation = generation;
	buf_init(&ask->body, ASK_ANSWER_MAX);
	put(ask);
}

void ask_break_off(struct ask *ask)
{
	ask->is_broken_off = true;
	call_cancel(&ask->call);
}

bool ask_was_broken_off(const struct ask *ask)
{
	return ask->is_broken_off && ask->verdict == INQUIRY_DOUBT;
}

void ask_settlement(const struct ask *ask, struct str account, struct store_command *command)
{
	const struct policy *policy = ask->policy;
	const struct response_facts *facts = &ask->facts;

	command->answer = ask->answer;
	command->operation.reference = facts->reference;
	command->operation.resource = facts->resource;
	if (!facts->has_failed && facts->budget_id.len)
		budget_hash(account, policy->settings->upstreams[policy->upstream].name,
			    facts->budget_id, &command->opens);
}

void ask_fini(struct ask *ask)
{
	if (ask->call.client)
		call_fini(&ask->call);
	buf_fini_wiped(&ask->call_headers);
	buf_fini(&ask->body);
}
